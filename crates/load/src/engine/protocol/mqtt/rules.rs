//! The client's half of MQTT that users and devices share: which packets are taken, what they ask
//! for, what counts once.
//!
//! Nothing here knows a connection: bytes and packets come in, rules come out.

use stadium_mqtt::decode::{self, DecodeError};
use stadium_mqtt::encode::PublishHead;
use stadium_mqtt::packet::{
    AckKind, Packet, Publish, QoS, RetainHandling, Role, SubscriptionOptions, Version,
};

use crate::engine::dial::ANSWER_BYTES_MAX;

/// Whether the server has accepted the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accepted {
    Yes,
    No,
}

/// The next whole packet of a server, and how many bytes it has; `None` where it is not whole yet.
pub(crate) fn next_packet(
    bytes: &[u8],
    version: Version,
    accepted: Accepted,
) -> Result<Option<(Packet<'_>, usize)>, DecodeError> {
    let Some(frame) = decode::frame(bytes, ANSWER_BYTES_MAX)? else { return Ok(None) };
    let packet = decode::packet_from(&frame, version, Role::Server)?;
    match packet {
        Packet::Connack(_) | Packet::Disconnect(_) => {}
        // The first packet of a server is CONNACK [MQTT-3.2.0-1].
        _ if accepted == Accepted::No => return Err(DecodeError::WrongSender),
        // It would answer an authentication that no client of ours asks for.
        Packet::Auth(_) => return Err(DecodeError::WrongSender),
        _ => {}
    }
    Ok(Some((packet, frame.total)))
}

/// The acknowledgement that a message asks for.
pub(crate) fn acknowledgement(qos: QoS) -> Option<AckKind> {
    match qos {
        QoS::AtMostOnce => None,
        QoS::AtLeastOnce => Some(AckKind::Puback),
        QoS::ExactlyOnce => Some(AckKind::Pubrec),
    }
}

/// QoS 2 messages that came and whose PUBREL has not come: each counts once, however often it comes
/// (MQTT 5.0, 4.3.3).
#[derive(Debug, Default)]
pub(crate) struct Unreleased(Vec<u16>);

impl Unreleased {
    /// Notes a message of QoS 2. Returns whether it came for the first time.
    pub(crate) fn note(&mut self, publish: &Publish<'_>) -> bool {
        let is_new = !self.0.contains(&publish.packet_id);
        if is_new {
            self.0.push(publish.packet_id);
        }
        is_new
    }

    /// PUBREL came.
    pub(crate) fn release(&mut self, packet_id: u16) {
        self.0.retain(|&known| known != packet_id);
    }
}

/// How filters are subscribed to: retained messages come, and one's own.
pub(crate) fn subscription(qos: QoS) -> SubscriptionOptions {
    SubscriptionOptions {
        qos,
        no_local: false,
        retain_as_published: false,
        retain_handling: RetainHandling::Send,
    }
}

/// A message without properties.
pub(crate) fn message(topic: &str, qos: QoS, packet_id: u16) -> PublishHead<'_> {
    PublishHead {
        dup: false,
        qos,
        retain: false,
        topic,
        packet_id,
        forwardable: &[],
        message_expiry_s: None,
        topic_alias: None,
        subscription_ids: &[],
    }
}

#[cfg(test)]
mod tests {
    use stadium_mqtt::encode;
    use stadium_mqtt::packet::PublishProperties;
    use stadium_mqtt::reason::ReasonCode;

    use super::*;

    #[test]
    fn a_server_sends_nothing_before_connack() {
        let mut bytes = Vec::new();
        encode::ack(&mut bytes, AckKind::Puback, Version::V5, 7, ReasonCode::Success);
        let taken = |accepted| next_packet(&bytes, Version::V5, accepted).map(|packet| packet.is_some());
        assert!(taken(Accepted::No).is_err());
        assert_eq!(taken(Accepted::Yes).ok(), Some(true));
        assert!(next_packet(&bytes[..2], Version::V5, Accepted::Yes).expect("so far it is right").is_none());
    }

    #[test]
    fn a_message_of_qos_2_counts_once_until_it_is_released() {
        let publish = Publish {
            dup: false,
            qos: QoS::ExactlyOnce,
            retain: false,
            topic: "t",
            packet_id: 3,
            properties: PublishProperties::default(),
            payload: b"",
        };
        let mut unreleased = Unreleased::default();
        assert!(unreleased.note(&publish) && !unreleased.note(&publish));
        unreleased.release(3);
        assert!(unreleased.note(&publish));
    }
}
