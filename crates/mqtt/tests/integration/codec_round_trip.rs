//! Each encoded packet decodes to the same, and each decoded packet survives the trip: for any
//! packet of both versions, whole, cut, and with other bytes behind it.

use crate::pool;

use pool::Pool;
use proptest::collection::vec;
use proptest::prelude::*;
use stadium_mqtt::decode::{self, DecodeError};
use stadium_mqtt::encode::{self, PublishHead};
use stadium_mqtt::packet::{Packet, QoS, Version};

fn pools() -> impl Strategy<Value = Pool> {
    let filter = prop_oneof![
        "[a-zß/]{1,12}",
        "[a-z]{0,3}/\\+/[a-z]{0,3}",
        "[a-z]{1,3}/#",
        "\\$share/[a-z]{1,4}/[a-z]{1,4}",
        Just("#".to_owned()),
    ];
    (
        vec(any::<u32>(), 1..60),
        vec("\\PC{0,20}", 1..6),
        vec("[a-z$ß/]{1,20}", 1..4),
        vec(filter, 1..6),
        vec(vec(any::<u8>(), 0..200), 1..4),
    )
        .prop_map(|(numbers, strings, topics, filters, blobs)| Pool {
            numbers,
            strings,
            topics,
            filters,
            blobs,
        })
}

fn versions() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V311), Just(Version::V5)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_packet_survives_the_round_trip(pool in pools(), version in versions(), behind in vec(any::<u8>(), 0..8)) {
        pool.with_packet(version, |packet| {
            let mut bytes = Vec::new();
            packet.encode(version, &mut bytes);
            let len = bytes.len();
            prop_assert_eq!(packet.encoded_len(version), len);
            bytes.extend_from_slice(&behind);
            let frame = decode::frame(&bytes, u32::MAX).unwrap().unwrap();
            prop_assert_eq!(frame.total, len);
            prop_assert_eq!(&decode::packet(&frame, version).unwrap(), packet);
            Ok(())
        })?;
    }

    #[test]
    fn a_packet_is_incomplete_until_its_last_byte(pool in pools(), version in versions()) {
        pool.with_packet(version, |packet| {
            let mut bytes = Vec::new();
            packet.encode(version, &mut bytes);
            for end in 0..bytes.len() {
                prop_assert_eq!(decode::frame(&bytes[..end], u32::MAX), Ok(None));
            }
            prop_assert!(decode::frame(&bytes, bytes.len() as u32).unwrap().is_some());
            prop_assert_eq!(
                decode::frame(&bytes[..bytes.len().min(5)], bytes.len() as u32 - 1),
                Err(DecodeError::PacketTooLarge)
            );
            Ok(())
        })?;
    }

    #[test]
    fn a_limited_packet_fits_and_still_decodes(pool in pools(), limit in 2u32..300) {
        pool.with_packet(Version::V5, |packet| {
            let mut bytes = Vec::new();
            let written = packet.encode_within(Version::V5, limit, &mut bytes);
            prop_assert_eq!(written, !bytes.is_empty());
            if packet.encoded_len(Version::V5) <= limit as usize {
                prop_assert!(written);
            }
            if written {
                prop_assert!(bytes.len() <= limit as usize);
                let frame = decode::frame(&bytes, limit).unwrap().unwrap();
                let decoded = decode::packet(&frame, Version::V5).unwrap();
                prop_assert_eq!(std::mem::discriminant(&decoded), std::mem::discriminant(packet));
            }
            Ok(())
        })?;
    }

    #[test]
    fn the_direct_publish_writer_agrees_with_the_packet(pool in pools(), version in versions()) {
        pool.with_packet(version, |packet| {
            let Packet::Publish(publish) = packet else { return Ok(()) };
            let mut forwardable = Vec::new();
            publish.properties.encode_forwardable(&mut forwardable);
            prop_assert_eq!(forwardable.len(), publish.properties.forwardable_len());
            let ids: Vec<u32> = publish.properties.subscription_ids.iter().collect();
            let head = PublishHead {
                dup: publish.dup,
                qos: publish.qos,
                retain: publish.retain,
                topic: publish.topic,
                packet_id: publish.packet_id,
                forwardable: &forwardable,
                message_expiry_s: publish.properties.message_expiry_s,
                topic_alias: publish.properties.topic_alias,
                subscription_ids: &ids,
            };
            let mut direct = b"before".to_vec();
            let layout = encode::publish(&mut direct, version, &head, publish.payload);
            let direct = &direct[6..];
            let mut whole = Vec::new();
            packet.encode(version, &mut whole);
            prop_assert_eq!(direct, &whole);
            prop_assert_eq!(layout.len as usize, whole.len());
            prop_assert_eq!(encode::publish_len(version, &head, publish.payload.len()), whole.len());
            if publish.qos != QoS::AtMostOnce {
                let at = layout.packet_id_at as usize;
                prop_assert_eq!(&direct[at..at + 2], &publish.packet_id.to_be_bytes());
            }
            let mut head_alone = Vec::new();
            let head_layout = encode::publish_head(&mut head_alone, version, &head, publish.payload.len());
            prop_assert_eq!(head_layout, layout);
            prop_assert_eq!(&direct[..direct.len() - publish.payload.len()], &head_alone);
            Ok(())
        })?;
    }

    #[test]
    fn what_a_server_passes_on_is_what_it_was_given(pool in pools()) {
        pool.with_packet(Version::V5, |packet| {
            let Packet::Publish(publish) = packet else { return Ok(()) };
            let mut bytes = Vec::new();
            packet.encode(Version::V5, &mut bytes);
            let frame = decode::frame(&bytes, u32::MAX).unwrap().unwrap();
            let received = decode::publish(&frame, Version::V5).unwrap();
            let mut forwardable = Vec::new();
            received.properties.encode_forwardable(&mut forwardable);
            prop_assert_eq!(forwardable.len(), received.properties.forwardable_len());
            let head = PublishHead {
                dup: false,
                qos: QoS::AtMostOnce,
                retain: false,
                topic: "onward",
                packet_id: 0,
                forwardable: &forwardable,
                message_expiry_s: None,
                topic_alias: None,
                subscription_ids: &[],
            };
            let mut onward = Vec::new();
            encode::publish(&mut onward, Version::V5, &head, received.payload);
            let frame = decode::frame(&onward, u32::MAX).unwrap().unwrap();
            let onward = decode::publish(&frame, Version::V5).unwrap();
            prop_assert_eq!(onward.properties.payload_format, publish.properties.payload_format);
            prop_assert_eq!(onward.properties.response_topic, publish.properties.response_topic);
            prop_assert_eq!(onward.properties.correlation_data, publish.properties.correlation_data);
            prop_assert_eq!(onward.properties.content_type, publish.properties.content_type);
            prop_assert_eq!(onward.properties.user_properties, publish.properties.user_properties);
            prop_assert_eq!(onward.properties.message_expiry_s, None);
            prop_assert_eq!(onward.properties.topic_alias, None);
            prop_assert!(onward.properties.subscription_ids.is_empty());
            prop_assert_eq!(onward.payload, publish.payload);
            Ok(())
        })?;
    }
}
