//! Fuzz body: decode anything, and what decodes must survive being encoded and decoded again.
//!
//! An ordinary function, so that the stable test `codec_fuzz` of crates/mqtt runs it as well.

use stadium_mqtt::decode::{self, Frame};
use stadium_mqtt::packet::{Packet, PublishProperties, Role, Version};
use stadium_mqtt::topic;

/// Decodes `data` in both versions. Panics on a broken promise; returns whether anything decoded.
pub fn mqtt_decode(data: &[u8]) -> bool {
    let Ok(Some(frame)) = decode::frame(data, 1 << 20) else { return false };
    assert!(frame.total <= data.len());
    let mut decoded = false;
    for version in [Version::V311, Version::V5] {
        let packet = match decode::packet(&frame, version) {
            Ok(packet) => packet,
            Err(error) => {
                assert!(error.reason_code().is_error());
                assert!(error.normative().starts_with("MQTT-"));
                continue;
            }
        };
        decoded = true;
        for sender in [Role::Client, Role::Server] {
            if let Ok(same) = decode::packet_from(&frame, version, sender) {
                assert_eq!(same, packet);
            }
        }
        check(&frame, version, &packet);
    }
    decoded
}

fn check(frame: &Frame<'_>, version: Version, packet: &Packet<'_>) {
    let version = if let Packet::Connect(connect) = packet { connect.version } else { version };
    let mut bytes = Vec::new();
    packet.encode(version, &mut bytes);
    assert_eq!(bytes.len(), packet.encoded_len(version));
    assert!(bytes.len() <= frame.total, "the encoder's form is the shortest");
    let again = decode::frame(&bytes, u32::MAX).expect("our own packet").expect("a whole one");
    assert_eq!(&decode::packet(&again, version).expect("our own packet"), packet);
    match packet {
        Packet::Publish(publish) => {
            if !publish.topic.is_empty() {
                topic::TopicName::parse(publish.topic).expect("a decoded topic is valid");
            }
            check_forwarding(&publish.properties);
        }
        Packet::Connect(connect) => {
            if let Some(will) = &connect.will {
                topic::TopicName::parse(will.topic).expect("a decoded topic is valid");
                check_forwarding(&will.properties);
            }
        }
        Packet::Subscribe(subscribe) => {
            assert!(subscribe.filters.count() > 0);
            for row in subscribe.filters.iter() {
                // No bytes make it panic, and a valid filter covers itself.
                if let Ok(topic::Subscribed::Own(filter)) = topic::Subscribed::parse(row.filter) {
                    assert!(filter.covers(filter));
                }
            }
        }
        _ => {}
    }
}

fn check_forwarding(properties: &PublishProperties<'_>) {
    let mut kept = Vec::new();
    properties.encode_forwardable(&mut kept);
    assert_eq!(kept.len(), properties.forwardable_len());
    let rebuilt = PublishProperties { kept: Default::default(), ..*properties };
    assert_eq!(kept.len(), rebuilt.forwardable_len());
}
