//! A control packet in one line, for logs and traces: never a payload, a password or authentication data.
//!
//! The beginning of a packet is enough for a PUBLISH, so that a large message need not be kept to be shown.
//! Text that a client chose is escaped and cut.

use std::fmt::Write as _;

use crate::decode::{self, Frame};
use crate::packet::{Ack, Connect, Packet, PacketType, QoS, Version};

/// Characters of a text that a line shows; the rest is left out.
const SHOWN_CHARACTERS_MAX: usize = 128;

/// Filters of one packet that a line shows.
const SHOWN_FILTERS_MAX: usize = 8;

/// The line about a packet of which `bytes` are the beginning, or all. `packet_id` takes the place
/// of the one in the bytes, for a packet that many receivers share.
pub fn line(version: Version, bytes: &[u8], packet_id: Option<u16>) -> String {
    let Ok(Some(total)) = decode::frame_len(bytes) else { return "bytes that begin no packet".to_owned() };
    if bytes[0] >> 4 == PacketType::Publish as u8 {
        return publish(version, bytes, total, packet_id);
    }
    let name = name(bytes[0]);
    let Ok(Some(frame)) = decode::frame(bytes, u32::MAX) else { return format!("{name} of {total} bytes") };
    match decode::packet(&frame, version) {
        Ok(packet) => packet_line(&packet, &frame),
        Err(error) => format!("{name} of {total} bytes, malformed: {error}"),
    }
}

/// The line of a CONNECT that was read.
pub fn connect_line(connect: &Connect<'_>) -> String {
    let mut line = format!("CONNECT version={}", connect.version.name());
    let _ = write!(line, " clean_start={} keep_alive={}s", connect.clean_start, connect.keep_alive_s);
    if let Some(seconds) = connect.session_expiry_s {
        let _ = write!(line, " session_expiry={seconds}s");
    }
    if let Some(maximum) = connect.receive_maximum {
        let _ = write!(line, " receive_maximum={maximum}");
    }
    if let Some(username) = connect.username {
        let _ = write!(line, " user={}", shown(username));
    }
    if connect.password.is_some() {
        line.push_str(" password=(hidden)");
    }
    if let Some(will) = &connect.will {
        let _ = write!(line, " will={} will_qos={}", shown(will.topic), will.qos as u8);
        if will.retain {
            line.push_str(" will_retain");
        }
    }
    line
}

/// The topic name of a PUBLISH of which `bytes` are the beginning; `None` where the packet is another, or cut before
/// the topic's end. Empty where an alias stands for it.
pub fn topic_of(bytes: &[u8]) -> Option<&str> {
    if bytes.first()? >> 4 != PacketType::Publish as u8 {
        return None;
    }
    let length = 1 + bytes.iter().skip(1).take(4).position(|byte| *byte < 0x80)? + 1;
    let size = usize::from(u16::from_be_bytes([*bytes.get(length)?, *bytes.get(length + 1)?]));
    std::str::from_utf8(bytes.get(length + 2..length + 2 + size)?).ok()
}

fn publish(version: Version, bytes: &[u8], total: usize, packet_id: Option<u16>) -> String {
    let first = bytes[0];
    let qos = first >> 1 & 0b11;
    let mut line = "PUBLISH".to_owned();
    let Some(topic) = topic_of(bytes) else {
        let _ = write!(line, " of {total} bytes");
        return line;
    };
    match topic {
        "" => line.push_str(" topic=(by alias)"),
        topic => {
            let _ = write!(line, " topic={}", shown(topic));
        }
    }
    let _ = write!(line, " qos={qos}");
    let header = 1 + bytes.iter().skip(1).take_while(|byte| **byte >= 0x80).count() + 1;
    let mut at = header + 2 + topic.len();
    if qos != QoS::AtMostOnce as u8 {
        let id = bytes.get(at..at + 2).map(|id| u16::from_be_bytes([id[0], id[1]]));
        if let Some(id) = packet_id.or(id) {
            let _ = write!(line, " id={id}");
        }
        at += 2;
    }
    if first & 0b1000 != 0 {
        line.push_str(" dup");
    }
    if first & 0b1 != 0 {
        line.push_str(" retain");
    }
    let payload = match version {
        Version::V311 => Some(total.saturating_sub(at)),
        Version::V5 => properties_end(bytes, at).map(|end| total.saturating_sub(end)),
    };
    if let Some(payload) = payload {
        let _ = write!(line, " payload={payload} bytes");
    }
    line
}

/// Where the properties that begin at `at` end, by the variable byte integer in front of them.
fn properties_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut length = 0;
    for (place, shift) in [0, 7, 14, 21].into_iter().enumerate() {
        let byte = *bytes.get(at + place)?;
        length |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(at + place + 1 + length);
        }
    }
    None
}

fn packet_line(packet: &Packet<'_>, frame: &Frame<'_>) -> String {
    let name = name(frame.first);
    let mut line = name.to_owned();
    match packet {
        Packet::Connect(connect) => return connect_line(connect),
        Packet::Connack(connack) => {
            let _ = write!(line, " reason={}", reason(connack.reason as u8));
            let _ = write!(line, " session_present={}", connack.session_present);
            if let Some(id) = connack.assigned_client_id {
                let _ = write!(line, " assigned_client_id={}", shown(id));
            }
            if let Some(seconds) = connack.server_keep_alive_s {
                let _ = write!(line, " server_keep_alive={seconds}s");
            }
        }
        Packet::Puback(ack) | Packet::Pubrec(ack) | Packet::Pubrel(ack) | Packet::Pubcomp(ack) => {
            return ack_line(name, ack);
        }
        Packet::Subscribe(subscribe) => {
            let _ = write!(line, " id={}", subscribe.packet_id);
            for (at, one) in subscribe.filters.iter().enumerate() {
                if at == SHOWN_FILTERS_MAX {
                    line.push_str(" ...");
                    break;
                }
                let _ = write!(line, " filter={} qos={}", shown(one.filter), one.options.qos as u8);
            }
        }
        Packet::Unsubscribe(unsubscribe) => {
            let _ = write!(line, " id={}", unsubscribe.packet_id);
            for (at, filter) in unsubscribe.filters.iter().enumerate() {
                if at == SHOWN_FILTERS_MAX {
                    line.push_str(" ...");
                    break;
                }
                let _ = write!(line, " filter={}", shown(filter));
            }
        }
        Packet::Suback(suback) | Packet::Unsuback(suback) => {
            let _ = write!(line, " id={}", suback.packet_id);
            for code in suback.reasons.iter().take(SHOWN_FILTERS_MAX) {
                let _ = write!(line, " {code:#04X}");
            }
            if suback.reasons.len() > SHOWN_FILTERS_MAX {
                line.push_str(" ...");
            }
        }
        Packet::Disconnect(disconnect) => {
            let _ = write!(line, " reason={}", reason(disconnect.reason as u8));
        }
        Packet::Auth(auth) => {
            let _ = write!(line, " reason={}", reason(auth.reason as u8));
        }
        Packet::Publish(_) | Packet::Pingreq | Packet::Pingresp => {}
    }
    line
}

fn ack_line(name: &str, ack: &Ack<'_>) -> String {
    let mut line = format!("{name} id={}", ack.packet_id);
    if ack.reason as u8 != 0 {
        let _ = write!(line, " reason={}", reason(ack.reason as u8));
    }
    line
}

/// `0x87 (Not authorized)`.
fn reason(code: u8) -> String {
    match crate::reason::ReasonCode::from_byte(code) {
        Some(reason) => format!("{code:#04X} ({})", reason.name()),
        None => format!("{code:#04X}"),
    }
}

/// A client's text, so that it cannot begin a line of its own.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARACTERS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN_CHARACTERS_MAX).is_some() {
        shown.push_str("...");
    }
    shown
}

fn name(first: u8) -> &'static str {
    const NAMES: [&str; 16] = [
        "packet type 0",
        "CONNECT",
        "CONNACK",
        "PUBLISH",
        "PUBACK",
        "PUBREC",
        "PUBREL",
        "PUBCOMP",
        "SUBSCRIBE",
        "SUBACK",
        "UNSUBSCRIBE",
        "UNSUBACK",
        "PINGREQ",
        "PINGRESP",
        "DISCONNECT",
        "AUTH",
    ];
    NAMES[usize::from(first >> 4)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Publish, PublishProperties, Will};
    use crate::reason::ReasonCode;

    fn encoded(version: Version, packet: &Packet<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        packet.encode(version, &mut bytes);
        bytes
    }

    fn message<'a>(topic: &'a str, payload: &'a [u8]) -> Publish<'a> {
        Publish {
            dup: true,
            qos: QoS::AtLeastOnce,
            retain: true,
            topic,
            packet_id: 7,
            properties: PublishProperties { content_type: Some("text/plain"), ..Default::default() },
            payload,
        }
    }

    #[test]
    fn a_publish_is_described_by_its_beginning_and_never_shows_its_payload() {
        let payload = [b'S'; 5_000];
        for version in [Version::V311, Version::V5] {
            let bytes = encoded(version, &Packet::Publish(message("a/b", &payload)));
            for cut in [bytes.len(), 100] {
                assert_eq!(
                    line(version, &bytes[..cut], None),
                    "PUBLISH topic=a/b qos=1 id=7 dup retain payload=5000 bytes"
                );
            }
            assert!(line(version, &bytes, Some(9)).contains(" id=9 "));
            assert_eq!(topic_of(&bytes), Some("a/b"));
            for cut in 1..20 {
                // However little there is, it is a line.
                assert!(!line(version, &bytes[..cut], None).is_empty());
            }
        }
    }

    #[test]
    fn a_connect_shows_who_and_no_secret() {
        let will = Will {
            topic: "gone",
            payload: b"secret will",
            qos: QoS::AtLeastOnce,
            retain: true,
            delay_s: 0,
            properties: PublishProperties::default(),
        };
        let connect = Connect {
            username: Some("anna\n2026"),
            password: Some(b"secret password"),
            will: Some(will),
            ..Connect::new(Version::V5, "phone")
        };
        let line = line(Version::V5, &encoded(Version::V5, &Packet::Connect(connect)), None);
        assert_eq!(
            line,
            "CONNECT version=5.0 clean_start=true keep_alive=60s user=anna\\n2026 password=(hidden) will=gone will_qos=1 \
             will_retain"
        );
    }

    #[test]
    fn every_other_packet_is_a_line_of_its_fields() {
        let ack = |reason| Ack { packet_id: 3, reason, ..Ack::default() };
        let table = [
            (Packet::Puback(ack(ReasonCode::Success)), "PUBACK id=3"),
            (Packet::Pubrec(ack(ReasonCode::NotAuthorized)), "PUBREC id=3 reason=0x87 (Not authorized)"),
            (Packet::Pingreq, "PINGREQ"),
            (
                Packet::Disconnect(crate::packet::Disconnect {
                    reason: ReasonCode::SessionTakenOver,
                    ..Default::default()
                }),
                "DISCONNECT reason=0x8E (Session taken over)",
            ),
        ];
        for (packet, wanted) in table {
            assert_eq!(line(Version::V5, &encoded(Version::V5, &packet), None), wanted);
        }
        assert_eq!(
            line(Version::V311, b"\x82\x06\x00\x05\x00\x01#\x01", None),
            "SUBSCRIBE id=5 filter=# qos=1"
        );
        assert_eq!(line(Version::V311, b"\x90\x03\x00\x05\x80", None), "SUBACK id=5 0x80");
        assert_eq!(line(Version::V311, b"\x82\xFF\x7F", None), "SUBSCRIBE of 16386 bytes");
        assert_eq!(line(Version::V311, b"\x00", None), "bytes that begin no packet");
        let long = "x".repeat(1_000);
        let bytes = encoded(Version::V5, &Packet::Publish(message(&long, b"")));
        assert!(line(Version::V5, &bytes, None).len() < 250);
    }
}
