//! The delivery path allocates nothing once its buffer is warm: decoding PUBLISH and PUBACK, and encoding
//! them.

use stadium_mqtt::decode;
use stadium_mqtt::encode::{self, PublishHead};
use stadium_mqtt::packet::{AckKind, Packet, QoS, Version};
use stadium_mqtt::reason::ReasonCode;

/// QoS 1 to `a/b`, packet identifier 10, expiry, content type and a user property, payload `hello`.
const PUBLISH: &[u8] = b"\x32\x24\x00\x03a/b\x00\x0A\x15\x02\x00\x00\x00\x3C\x03\x00\x04json\x26\x00\x01k\x00\x03val\x06\x0A\x0Ahello";

fn publish_bytes() -> Vec<u8> {
    // The property length is 5 + 7 + 9; the payload is the rest.
    let mut bytes = PUBLISH.to_vec();
    bytes[1] = (bytes.len() - 2) as u8;
    bytes
}

#[test]
fn a_warm_delivery_allocates_nothing() {
    let received = publish_bytes();
    let puback = [0x40, 4, 0, 10, 0x10, 0];
    let mut out = Vec::with_capacity(256);
    let mut forwardable = Vec::with_capacity(64);
    for version in [Version::V5, Version::V311] {
        let counted = allocation_counter::measure(|| {
            let frame = decode::frame(&received, 1024).unwrap().unwrap();
            let publish = decode::publish(&frame, version).unwrap();
            assert_eq!(publish.packet_id, 10);
            publish.properties.encode_forwardable(&mut forwardable);
            let head = PublishHead {
                dup: false,
                qos: QoS::AtLeastOnce,
                retain: false,
                topic: publish.topic,
                packet_id: 7,
                forwardable: &forwardable,
                message_expiry_s: publish.properties.message_expiry_s,
                topic_alias: Some(3),
                subscription_ids: &[5, 70_000],
            };
            let layout = encode::publish(&mut out, version, &head, publish.payload);
            assert_eq!(layout.len as usize, out.len());
            encode::ack(&mut out, AckKind::Puback, version, 10, ReasonCode::NoMatchingSubscribers);
            encode::pingresp(&mut out);
            Packet::Publish(publish).encode(version, &mut out);
        });
        assert_eq!(counted.count_total, 0, "{version:?}");
        out.clear();
        forwardable.clear();
    }
    let counted = allocation_counter::measure(|| {
        let frame = decode::frame(&puback, 1024).unwrap().unwrap();
        let ack = decode::ack(&frame, Version::V5).unwrap();
        assert_eq!(ack.reason, ReasonCode::NoMatchingSubscribers);
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn the_counter_counts() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!(counted.count_total, 1);
}

#[test]
fn refused_packets_allocate_nothing() {
    let counted = allocation_counter::measure(|| {
        assert!(decode::frame(b"\x00", 1024).is_err());
        let frame = decode::frame(b"\x30\x03\x00\x01#", 1024).unwrap().unwrap();
        assert!(decode::publish(&frame, Version::V311).is_err());
    });
    assert_eq!(counted.count_total, 0);
}
