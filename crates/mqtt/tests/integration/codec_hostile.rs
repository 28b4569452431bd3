//! Bytes that break a rule, each refused for its own reason. The internet sends all of them.
//!
//! A table for each kind of packet: the bytes, and the error that names the broken statement.

use stadium_mqtt::decode::{self, DecodeError};
use stadium_mqtt::packet::{Role, Version};
use stadium_mqtt::reason::ReasonCode;

use DecodeError as E;
use Version::{V5, V311};

fn refusal(bytes: &[u8], version: Version) -> DecodeError {
    match decode::frame(bytes, 1 << 16) {
        Err(error) => error,
        Ok(None) => panic!("incomplete: {bytes:02x?}"),
        Ok(Some(frame)) => {
            assert_eq!(frame.total, bytes.len(), "the row's own length is wrong: {bytes:02x?}");
            decode::packet(&frame, version).expect_err(&format!("{bytes:02x?}"))
        }
    }
}

fn check(rows: &[(&[u8], Version, DecodeError)]) {
    for &(bytes, version, expected) in rows {
        assert_eq!(refusal(bytes, version), expected, "{bytes:02x?} {version:?}");
    }
}

#[test]
fn fixed_headers() {
    check(&[
        (b"\x00", V5, E::PacketType),
        (b"\x11", V5, E::FixedHeaderFlags),
        (b"\x21", V5, E::FixedHeaderFlags),
        (b"\x36", V5, E::QosThree),
        (b"\x3F", V5, E::QosThree),
        (b"\x38", V5, E::DupAtQosZero),
        (b"\x39", V5, E::DupAtQosZero),
        (b"\x41", V5, E::FixedHeaderFlags),
        (b"\x60", V5, E::FixedHeaderFlags),
        (b"\x63", V5, E::FixedHeaderFlags),
        (b"\x80", V5, E::FixedHeaderFlags),
        (b"\xA0", V5, E::FixedHeaderFlags),
        (b"\xC1", V5, E::FixedHeaderFlags),
        (b"\xE8", V5, E::FixedHeaderFlags),
        (b"\xF1", V5, E::FixedHeaderFlags),
        (b"\x30\xFF\xFF\xFF\xFF", V5, E::LengthEncoding),
        (b"\x30\x80\x80\x80\x80", V5, E::LengthEncoding),
        (b"\x30\xFF\xFF\xFF\x7F", V5, E::PacketTooLarge),
        (b"\x10\x80\x80\x04", V5, E::PacketTooLarge),
        (b"\xC0\x80\x00", V5, E::LengthEncoding),
        (b"\x40\x82\x00\x00\x01", V5, E::LengthEncoding),
        (b"\xC0\x01\x00", V5, E::TrailingBytes),
        (b"\xD0\x01\x00", V311, E::TrailingBytes),
        (b"\xF0\x00", V311, E::NotInVersion),
    ]);
}

#[test]
fn a_padded_length_is_read_in_3_1_1_which_allows_it() {
    let frame = decode::frame(b"\xC0\x80\x00", 100).unwrap().unwrap();
    assert!(decode::packet(&frame, V311).is_ok());
}

#[test]
fn a_length_that_is_still_coming_is_no_fault() {
    for bytes in [&b""[..], b"\x10", b"\x30\x80", b"\x30\xFF\xFF\x03", b"\x30\xFF\xFF\xFF"] {
        assert_eq!(decode::frame(bytes, u32::MAX), Ok(None), "{bytes:02x?}");
    }
}

#[test]
fn connects() {
    check(&[
        (b"\x10\x00", V5, E::Truncated),
        (b"\x10\x0C\x00\x06MQIsdp\x03\x02\x00\x3C", V5, E::ProtocolName),
        (b"\x10\x0C\x00\x04mqtt\x05\x02\x00\x3C\x00\x00", V5, E::ProtocolName),
        (b"\x10\x0C\x00\x04MQTT\x03\x02\x00\x3C\x00\x00", V5, E::ProtocolLevel(3)),
        (b"\x10\x0C\x00\x04MQTT\x06\x02\x00\x3C\x00\x00", V5, E::ProtocolLevel(6)),
        (b"\x10\x0C\x00\x04MQTT\x84\x02\x00\x3C\x00\x00", V5, E::ProtocolLevel(0x84)),
        (b"\x10\x0C\x00\x04MQTT\x04\x03\x00\x3C\x00\x00", V5, E::ConnectFlagReserved),
        (b"\x10\x0C\x00\x04MQTT\x04\x0A\x00\x3C\x00\x00", V5, E::WillFlags),
        (b"\x10\x0C\x00\x04MQTT\x04\x22\x00\x3C\x00\x00", V5, E::WillFlags),
        (b"\x10\x0C\x00\x04MQTT\x04\x1E\x00\x3C\x00\x00", V5, E::WillQosThree),
        (b"\x10\x0E\x00\x04MQTT\x04\x42\x00\x3C\x00\x00\x00\x00", V5, E::PasswordWithoutUserName),
        (b"\x10\x0B\x00\x04MQTT\x04\x02\x00\x3C\x00", V5, E::Truncated),
        (b"\x10\x0C\x00\x04MQTT\x04\x02\x00\x3C\x00\x01", V5, E::Truncated),
        (b"\x10\x0D\x00\x04MQTT\x04\x02\x00\x3C\x00\x00!", V5, E::TrailingBytes),
        (b"\x10\x0D\x00\x04MQTT\x04\x02\x00\x3C\x00\x01\x00", V5, E::NulInString),
        (b"\x10\x0D\x00\x04MQTT\x04\x02\x00\x3C\x00\x01\xFF", V5, E::Utf8),
        (b"\x10\x0F\x00\x04MQTT\x04\x02\x00\x3C\x00\x03\xED\xA0\x80", V5, E::Utf8),
        (b"\x10\x0E\x00\x04MQTT\x04\x02\x00\x3C\x00\x02\xC0\x80", V5, E::Utf8),
        (b"\x10\x0E\x00\x04MQTT\x04\x82\x00\x3C\x00\x00\x00\x01", V5, E::Truncated),
        (b"\x10\x11\x00\x04MQTT\x04\x06\x00\x3C\x00\x00\x00\x01#\x00\x00", V5, E::TopicWildcard),
        (b"\x10\x10\x00\x04MQTT\x04\x06\x00\x3C\x00\x00\x00\x00\x00\x00", V5, E::TopicEmpty),
        // Properties of MQTT 5.
        (b"\x10\x10\x00\x04MQTT\x05\x02\x00\x3C\x03\x21\x00\x00\x00\x00", V5, E::PropertyValue),
        (b"\x10\x12\x00\x04MQTT\x05\x02\x00\x3C\x05\x27\x00\x00\x00\x00\x00\x00", V5, E::PropertyValue),
        (b"\x10\x0F\x00\x04MQTT\x05\x02\x00\x3C\x02\x17\x02\x00\x00", V5, E::PropertyValue),
        (b"\x10\x0F\x00\x04MQTT\x05\x02\x00\x3C\x02\x19\x02\x00\x00", V5, E::PropertyValue),
        (b"\x10\x11\x00\x04MQTT\x05\x02\x00\x3C\x04\x17\x01\x17\x01\x00\x00", V5, E::PropertyRepeated),
        (b"\x10\x0F\x00\x04MQTT\x05\x02\x00\x3C\x02\x01\x01\x00\x00", V5, E::PropertyMisplaced),
        (b"\x10\x0F\x00\x04MQTT\x05\x02\x00\x3C\x02\x04\x01\x00\x00", V5, E::PropertyUnknown),
        (b"\x10\x0F\x00\x04MQTT\x05\x02\x00\x3C\x02\x2B\x01\x00\x00", V5, E::PropertyUnknown),
        (b"\x10\x0F\x00\x04MQTT\x05\x02\x00\x3C\x02\x97\x00\x00\x00", V5, E::PropertyUnknown),
        (b"\x10\x0D\x00\x04MQTT\x05\x02\x00\x3C\x05\x11\x00", V5, E::Truncated),
        (b"\x10\x10\x00\x04MQTT\x05\x02\x00\x3C\x03\x11\x00\x00\x00\x00", V5, E::Truncated),
        (
            b"\x10\x11\x00\x04MQTT\x05\x02\x00\x3C\x04\x16\x00\x01k\x00\x00",
            V5,
            E::AuthenticationMethodMissing,
        ),
        (b"\x10\x0E\x00\x04MQTT\x05\x02\x00\x3C\x80\x00\x00\x00", V5, E::LengthEncoding),
        (
            b"\x10\x18\x00\x04MQTT\x05\x06\x00\x3C\x00\x00\x00\x03\x23\x00\x01\x00\x01t\x00\x01p\x00",
            V5,
            E::PropertyMisplaced,
        ),
    ]);
}

#[test]
fn publishes() {
    check(&[
        (b"\x30\x00", V311, E::Truncated),
        (b"\x30\x01\x00", V311, E::Truncated),
        (b"\x30\x02\x00\x01", V311, E::Truncated),
        (b"\x30\x02\x00\x00", V311, E::TopicEmpty),
        (b"\x30\x03\x00\x01+", V311, E::TopicWildcard),
        (b"\x30\x05\x00\x03a/#", V311, E::TopicWildcard),
        (b"\x30\x04\x00\x02#\x00", V311, E::NulInString),
        (b"\x30\x03\x00\x01\x80", V311, E::Utf8),
        (b"\x32\x03\x00\x01t", V311, E::Truncated),
        (b"\x32\x05\x00\x01t\x00\x00", V311, E::PacketIdZero),
        (b"\x34\x05\x00\x01t\x00\x00", V5, E::PacketIdZero),
        (b"\x30\x03\x00\x01t", V5, E::Truncated),
        (b"\x30\x03\x00\x00\x00", V5, E::TopicEmpty),
        (b"\x30\x07\x00\x01t\x03\x23\x00\x00", V5, E::TopicAliasZero),
        (b"\x30\x06\x00\x01t\x02\x01\x02", V5, E::PropertyValue),
        (b"\x30\x06\x00\x01t\x02\x0B\x00", V5, E::PropertyValue),
        (b"\x30\x08\x00\x01t\x04\x08\x00\x01+", V5, E::ResponseTopicWildcard),
        (b"\x30\x07\x00\x01t\x03\x08\x00\x00", V5, E::TopicEmpty),
        (b"\x30\x0E\x00\x01t\x0A\x02\x00\x00\x00\x01\x02\x00\x00\x00\x01", V5, E::PropertyRepeated),
        (b"\x30\x09\x00\x01t\x05\x11\x00\x00\x00\x01", V5, E::PropertyMisplaced),
        (b"\x30\x09\x00\x01t\x05\x18\x00\x00\x00\x01", V5, E::PropertyMisplaced),
        (b"\x30\x0A\x00\x01t\x06\x26\x00\x01a\x00\x01", V5, E::Truncated),
    ]);
}

#[test]
fn acknowledgements() {
    check(&[
        (b"\x40\x01\x00", V311, E::Truncated),
        (b"\x40\x02\x00\x00", V311, E::PacketIdZero),
        (b"\x40\x03\x00\x01\x00", V311, E::TrailingBytes),
        (b"\x40\x03\x00\x01\x03", V5, E::ReasonCodeUnknown),
        (b"\x40\x03\x00\x01\x92", V5, E::ReasonCodeMisplaced),
        (b"\x62\x03\x00\x01\x10", V5, E::ReasonCodeMisplaced),
        (b"\x70\x03\x00\x01\x80", V5, E::ReasonCodeMisplaced),
        (b"\x50\x05\x00\x01\x00\x00\x00", V5, E::TrailingBytes),
        (b"\x40\x06\x00\x01\x00\x02\x01\x01", V5, E::PropertyMisplaced),
        (b"\x40\x0A\x00\x01\x00\x06\x1F\x00\x00\x1F\x00\x00", V5, E::PropertyRepeated),
        (b"\x20\x02\x02\x00", V311, E::ConnackFlags),
        (b"\x20\x02\x00\x06", V311, E::ReasonCodeUnknown),
        (b"\x20\x03\x00\x00\x00", V311, E::TrailingBytes),
        (b"\x20\x03\x00\x8E\x00", V5, E::ReasonCodeMisplaced),
        (b"\x20\x05\x00\x00\x02\x24\x02", V5, E::PropertyValue),
        (b"\x90\x03\x00\x01\x03", V311, E::ReasonCodeUnknown),
        (b"\x90\x04\x00\x01\x00\x11", V5, E::ReasonCodeMisplaced),
        (b"\xB0\x03\x00\x01\x00", V311, E::TrailingBytes),
        (b"\xB0\x04\x00\x01\x00\x01", V5, E::ReasonCodeMisplaced),
    ]);
}

#[test]
fn subscriptions() {
    check(&[
        (b"\x82\x02\x00\x01", V311, E::SubscribeWithoutFilter),
        (b"\x82\x03\x00\x01\x00", V5, E::SubscribeWithoutFilter),
        (b"\x82\x06\x00\x00\x00\x01t\x00", V311, E::PacketIdZero),
        (b"\x82\x05\x00\x01\x00\x01t", V311, E::Truncated),
        (b"\x82\x06\x00\x01\x00\x01t\x03", V311, E::SubscriptionQosThree),
        (b"\x82\x06\x00\x01\x00\x01t\x04", V311, E::SubscriptionOptions),
        (b"\x82\x06\x00\x01\x00\x01t\x80", V311, E::SubscriptionOptions),
        (b"\x82\x07\x00\x01\x00\x00\x01t\x40", V5, E::SubscriptionOptions),
        (b"\x82\x07\x00\x01\x00\x00\x01t\x03", V5, E::SubscriptionQosThree),
        (b"\x82\x07\x00\x01\x00\x00\x01t\x30", V5, E::RetainHandling),
        (b"\x82\x10\x00\x01\x00\x00\x0A$share/g/t\x04", V5, E::NoLocalOnShared),
        (b"\x82\x09\x00\x01\x02\x0B\x00\x00\x01t\x00", V5, E::PropertyValue),
        (b"\x82\x0B\x00\x01\x04\x0B\x01\x0B\x02\x00\x01t\x00", V5, E::PropertyRepeated),
        (b"\x82\x06\x00\x01\x00\x01\x00\x00", V311, E::NulInString),
        (b"\xA2\x02\x00\x01", V311, E::UnsubscribeWithoutFilter),
        (b"\xA2\x03\x00\x01\x00", V5, E::UnsubscribeWithoutFilter),
        (b"\xA2\x05\x00\x00\x00\x01t", V311, E::PacketIdZero),
        (b"\xA2\x05\x00\x01\x00\x02t", V311, E::Truncated),
        (b"\xA2\x08\x00\x01\x02\x0B\x01\x00\x01t", V5, E::PropertyMisplaced),
    ]);
}

#[test]
fn goodbyes_and_authentication() {
    check(&[
        (b"\xE0\x01\x00", V311, E::TrailingBytes),
        (b"\xE0\x01\x05", V5, E::ReasonCodeUnknown),
        (b"\xE0\x01\x92", V5, E::ReasonCodeMisplaced),
        (b"\xE0\x03\x00\x00\x00", V5, E::TrailingBytes),
        (b"\xE0\x04\x00\x02\x21\x00", V5, E::PropertyMisplaced),
        (b"\xF0\x01\x18", V5, E::Truncated),
        (b"\xF0\x02\x18\x00", V5, E::AuthenticationMethodMissing),
        (b"\xF0\x05\x87\x03\x15\x00\x00", V5, E::ReasonCodeMisplaced),
        (b"\xF0\x06\x00\x04\x16\x00\x01x", V5, E::AuthenticationMethodMissing),
    ]);
}

#[test]
fn each_side_sends_only_its_own() {
    let from = |bytes: &[u8], version, sender| {
        let frame = decode::frame(bytes, 100).unwrap().unwrap();
        decode::packet_from(&frame, version, sender).err()
    };
    for (bytes, version) in [
        (&b"\x20\x02\x00\x00"[..], V311),
        (b"\x90\x03\x00\x01\x00", V311),
        (b"\xB0\x02\x00\x01", V311),
        (b"\xD0\x00", V5),
    ] {
        assert_eq!(from(bytes, version, Role::Client), Some(E::WrongSender), "{bytes:02x?}");
        assert_eq!(from(bytes, version, Role::Server), None, "{bytes:02x?}");
    }
    for (bytes, version) in [
        (&b"\x82\x06\x00\x01\x00\x01t\x00"[..], V311),
        (b"\xA2\x05\x00\x01\x00\x01t", V311),
        (b"\xC0\x00", V5),
        (b"\xE0\x00", V311),
        (b"\xE0\x07\x00\x05\x11\x00\x00\x00\x01", V5),
        (b"\xE0\x01\x04", V5),
        (b"\xF0\x06\x19\x04\x15\x00\x01m", V5),
    ] {
        assert_eq!(from(bytes, version, Role::Server), Some(E::WrongSender), "{bytes:02x?}");
        assert_eq!(from(bytes, version, Role::Client), None, "{bytes:02x?}");
    }
    assert_eq!(from(b"\xF0\x00", V5, Role::Client), Some(E::WrongSender));
    let with_id = b"\x30\x06\x00\x01t\x02\x0B\x01";
    assert_eq!(from(with_id, V5, Role::Client), Some(E::SubscriptionIdFromClient));
    assert_eq!(from(with_id, V5, Role::Server), None);
}

#[test]
fn every_refusal_names_its_reason_and_its_statement() {
    assert_eq!(E::PacketTooLarge.reason_code(), ReasonCode::PacketTooLarge);
    assert_eq!(E::ProtocolLevel(6).reason_code(), ReasonCode::UnsupportedProtocolVersion);
    assert_eq!(E::ProtocolLevel(6).to_string(), "protocol level 6 is neither 4 nor 5");
    assert_eq!(E::TopicAliasZero.reason_code(), ReasonCode::TopicAliasInvalid);
    assert_eq!(E::PacketIdZero.normative(), "MQTT-2.2.1-3");
    assert_eq!(E::Utf8.reason_code(), ReasonCode::MalformedPacket);
    assert_eq!(size_of::<DecodeError>(), 2);
}
