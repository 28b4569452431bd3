//! Events of sessions and retained messages in words.
//!
//! Topics, filters and client identifiers are shown; payloads and identities are not.

use stadium_state_machine::encoding::{Reader, corrupt};
use stadium_state_machine::{Description, Section};

use crate::change::{Change, Connect, Keep, Origin, Presence, Subscription, Withdraw};
use crate::encoding::list;
use crate::machine::{RETAINED_ENDED, RETAINED_OVER};
use crate::{Corrupt, Message};

/// Describes the events of a record.
pub(crate) fn describe(section: Section<'_>, into: &mut Vec<Description>) -> Result<(), Corrupt> {
    let mut input = Reader::new(section.events);
    while !input.is_empty() {
        let text = match section.events[input.position()] {
            RETAINED_OVER => {
                input.byte()?;
                let (until, count) = (input.number()?, input.number()?);
                format!("{count} retained messages that expired by {until} removed")
            }
            RETAINED_ENDED => {
                input.byte()?;
                let until = input.number()?;
                let numbers = list(&mut input, |input| input.number())?;
                format!("retained messages {numbers:?} that expired by {until} removed")
            }
            _ => in_words(&Change::decode(&mut input)?)?,
        };
        into.push(text.into());
    }
    Ok(())
}

fn in_words(change: &Change) -> Result<String, Corrupt> {
    Ok(match change {
        Change::Connect(connect) => of_connect(connect),
        Change::Disconnect { client, presence: Presence::Here } => format!("client {client} connected again"),
        Change::Disconnect { client, presence: Presence::Away { ends_at, will_at, sent_below } } => {
            let ends = ends_at.map_or("never ends".into(), |at| format!("ends at {}", at.0));
            let will = will_at.map_or(String::new(), |at| format!(", its will is due at {}", at.0));
            format!("client {client} disconnected, its session {ends}{will}; sent to it: below {sent_below}")
        }
        Change::WillGone { client, .. } => format!("will of {client} published or withdrawn"),
        Change::End { client, .. } => format!("session of {client} ended"),
        Change::Subscribe { client, subscription } => {
            format!("client {client} subscribed to {}", of_subscription(subscription))
        }
        Change::Unsubscribe { client, filter } => format!("client {client} unsubscribed from {filter}"),
        Change::Keep(keep) => of_keep(keep),
        Change::Received { client, delivery } => {
            format!("client {client} received message {delivery} (PUBREC)")
        }
        Change::Done { client, deliveries } => {
            format!("client {client} is done with messages {deliveries:?}")
        }
        Change::Unreleased { client, packet_id } => {
            format!("QoS 2 publish {packet_id} of {client} taken, not released")
        }
        Change::Released { client, packet_id } => {
            format!("QoS 2 publish {packet_id} of {client} released (PUBREL)")
        }
        Change::Forget { origin } => format!("publish {} forgotten", of_origin(*origin)),
        Change::Withdraw(withdraw) => of_withdraw(withdraw),
        Change::Retain { number, message, .. } if message.payload().is_empty() => {
            format!("retained message of {} removed as {number}", message.topic())
        }
        Change::Retain { number, owner, message } => {
            let owner = match owner.as_deref() {
                None => String::new(),
                Some("") => ", of an anonymous client".into(),
                Some(owner) => format!(", of {owner}"),
            };
            format!("retained as {number}{owner}: {}", of_message(message))
        }
        Change::Ask { .. } | Change::ClearNothing { .. } => {
            return Err(corrupt("a change that is never written"));
        }
    })
}

fn of_connect(connect: &Connect) -> String {
    let Connect { client, incarnation, version, expiry_s, will, .. } = connect;
    let will = will.as_ref().map_or(String::new(), |will| {
        format!(", will after {} s: {}", will.delay_s, of_message(&will.message))
    });
    format!(
        "client {client} connected, session {incarnation}, protocol level {version}, expiry {expiry_s} s{will}"
    )
}

fn of_subscription(subscription: &Subscription) -> String {
    let Subscription { filter, options, id, shared } = subscription;
    let id = id.map_or(String::new(), |id| format!(", identifier {id}"));
    let shared = if *shared == 0 { String::new() } else { format!(", group {shared}") };
    format!("{filter}, options {options:#04x}{id}{shared}")
}

fn of_keep(keep: &Keep) -> String {
    let receivers = keep.receivers.iter().map(|one| format!("{} as {}", one.client, one.delivery));
    let receivers: Vec<_> = receivers.collect();
    let from = of_sender(keep.origin, keep.publisher.as_deref());
    format!("owed to {}: {}{from}", receivers.join(", "), of_message(&keep.message))
}

fn of_withdraw(withdraw: &Withdraw) -> String {
    let receivers = withdraw.receivers.iter().map(|(client, delivery)| format!("{client} as {delivery}"));
    let receivers: Vec<_> = receivers.collect();
    let from = of_sender(withdraw.origin, withdraw.publisher.as_deref());
    format!("refused publish no longer owed to {}{from}", receivers.join(", "))
}

fn of_sender(origin: Option<Origin>, publisher: Option<&str>) -> String {
    let publisher = publisher.map_or(String::new(), |publisher| format!(", published by {publisher}"));
    let origin = origin.map_or(String::new(), |origin| format!(", publish {}", of_origin(origin)));
    publisher + &origin
}

fn of_origin(origin: Origin) -> String {
    format!("{} of session {}", origin.packet_id, origin.incarnation)
}

fn of_message(message: &Message) -> String {
    let retain = if message.retain { ", RETAIN" } else { "" };
    let expires = message.expires_at.map_or(String::new(), |at| format!(", expires at {}", at.0));
    let (topic, qos, bytes) = (message.topic(), message.qos, message.payload().len());
    format!("{topic}, QoS {qos}{retain}, {bytes} bytes{expires}")
}
