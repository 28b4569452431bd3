//! The types of persistent sessions and retained messages.

use stadium_session::{
    Answer, Change, Command, Connect, Figures, Keep, Message, MessageParts, Origin, Outcome, Owed, Page,
    Part, Presence, Receiver, RetainedImage, SessionImage, Subscription, Will, Withdraw,
};

#[cfg(test)]
use crate::tests::Random;
#[cfg(test)]
use crate::value::Field;

enumeration! {
    Part = "SessionPart" { 1 Sessions, 2 Retained }
}

message! {
    Connect = "SessionConnect" {
        1 client, 2 incarnation, 3 version, 4 expiry_s, 5 identity, 6 will,
    }
    Will = "Will" { 1 id, 2 message, 3 delay_s, 4 expiry_s }
    Subscription = "Subscription" { 1 filter, 2 options, 3 id, 4 shared }
    Keep = "Keep" { 1 message, 2 receivers, 3 origin, 4 publisher }
    Receiver = "Receiver" { 1 client, 2 delivery, 3 qos, 4 retain, 5 shared, 6 ids }
    Withdraw = "Withdraw" { 1 receivers, 2 origin, 3 publisher }
    Origin = "Origin" { 1 incarnation, 2 packet_id }
    Page = "SessionPage" { 1 sessions, 2 retained, 3 next }
    RetainedImage = "RetainedImage" { 1 number, 2 owner, 3 set_at, 4 message }
    SessionImage = "SessionImage" { 1 connect, 2 presence, 3 subscriptions, 4 unreleased, 5 owed }
    Owed = "SessionOwed" { 1 delivery, 2 message, 3 qos, 4 retain, 5 shared, 6 ids }
    Figures = "SessionFigures" {
        1 sessions, 2 deliveries, 3 message_bytes, 4 retained, 5 retained_bytes,
    }
}

oneof! {
    Command = "SessionCommand" {
        1 Batch(1 changes),
        2 Page { 1 part, 2 from, 3 entries_max },
        3 Figures,
    }
    Answer = "SessionAnswer" { 1 Batch(1 outcomes), 2 Page[page], 3 Figures[figures] }
    Outcome = "SessionOutcome" { 1 Done, 2 Known, 3 Partly(1 places), 4 PartlyFull(1 places), 5 Full }
    Presence = "Presence" { 1 Here, 2 Away { 1 ends_at, 2 will_at, 3 sent_below } }
    Change = "SessionChange" {
        1 Connect[connect],
        2 Disconnect { 1 client, 2 presence },
        3 WillGone { 1 client, 2 will },
        4 End { 1 client, 2 incarnation },
        5 Subscribe { 1 client, 2 subscription },
        6 Unsubscribe { 1 client, 2 filter },
        7 Keep[keep],
        8 Received { 1 client, 2 delivery },
        9 Done { 1 client, 2 deliveries },
        10 Unreleased { 1 client, 2 packet_id },
        11 Released { 1 client, 2 packet_id },
        12 Forget { 1 origin },
        13 Ask { 1 origin },
        14 Withdraw[withdraw],
        15 Retain { 1 number, 2 owner, 3 message },
        16 ClearNothing { 1 number, 2 message },
    }
}

message! {
    MessageParts = "SessionMessage" {
        1 bytes, 2 topic_bytes, 3 properties_bytes, 4 qos, 5 retain, 6 expires_at,
    }
}

through! {
    Message => MessageParts,
    Message::to_parts,
    |parts| Message::of_parts(parts).ok_or("its lengths are not those of a topic and properties"),
    |random: &mut Random| {
        let message = Message::from_parts(&random.text(), random.text().as_bytes(), b"on");
        let (qos, expires_at) = (random.byte() % 3, Field::sample(random));
        let mut message = message.expect("it is short");
        (message.qos, message.retain, message.expires_at) = (qos, random.flips(), expires_at);
        message
    };
}
