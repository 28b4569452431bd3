//! MQTT 3.1.1, as little of it as a load client needs. Every server of the comparison speaks it.
//! Section numbers are the specification's.

use super::{Incoming, Message, Wire};

/// Keep-alive that the devices ask for: longer than any scenario, so nobody pings during a measurement.
const KEEP_ALIVE_S: u16 = 600;

/// MQTT 3.1.1 with clean sessions.
pub(crate) struct Mqtt;

impl Wire for Mqtt {
    fn hello(&self, id: &str, out: &mut Vec<u8>) {
        head(out, 0x10, 12 + id.len());
        text(out, "MQTT");
        // Protocol level 4, clean session. 3.1.2.
        out.extend_from_slice(&[4, 0x02]);
        out.extend_from_slice(&KEEP_ALIVE_S.to_be_bytes());
        text(out, id);
    }

    fn subscribe(&self, topics: &[(String, u8)], out: &mut Vec<u8>) -> usize {
        for (index, (topic, qos)) in topics.iter().enumerate() {
            head(out, 0x82, 5 + topic.len());
            let packet_id = u16::try_from(index + 1).expect("a device has a handful of subscriptions");
            out.extend_from_slice(&packet_id.to_be_bytes());
            text(out, topic);
            out.push(*qos);
        }
        topics.len()
    }

    fn publish(&self, message: &Message<'_>, out: &mut Vec<u8>) {
        let (first, id_len) = if message.packet_id.is_some() { (0x32, 2) } else { (0x30, 0) };
        head(out, first, 2 + message.topic.len() + id_len + message.payload.len());
        text(out, message.topic);
        if let Some(packet_id) = message.packet_id {
            out.extend_from_slice(&packet_id.to_be_bytes());
        }
        out.extend_from_slice(message.payload);
    }

    fn acknowledge(&self, packet_id: u16, out: &mut Vec<u8>) {
        let [high, low] = packet_id.to_be_bytes();
        out.extend_from_slice(&[0x40, 2, high, low]);
    }

    fn pong(&self, _out: &mut Vec<u8>) {}

    #[inline]
    fn parse<'a>(&self, bytes: &'a [u8]) -> Option<(Incoming<'a>, usize)> {
        let first = *bytes.first()?;
        let mut length = 0_usize;
        let mut at = 1;
        loop {
            let byte = *bytes.get(at)?;
            length |= usize::from(byte & 0x7f) << (7 * (at - 1));
            at += 1;
            if byte & 0x80 == 0 {
                break;
            }
            assert!(at <= 4, "the server sent a malformed remaining length");
        }
        let body = bytes.get(at..at + length)?;
        let incoming = match first >> 4 {
            2 => match body {
                [_, 0] => Incoming::Welcome,
                _ => Incoming::Refused("CONNACK refused"),
            },
            3 => delivery(first, body),
            4 => Incoming::Accepted,
            9 => Incoming::Subscribed,
            14 => Incoming::Refused("DISCONNECT"),
            _ => Incoming::Other,
        };
        Some((incoming, at + length))
    }
}

#[inline]
fn delivery(first: u8, body: &[u8]) -> Incoming<'_> {
    let topic_len = usize::from(u16::from_be_bytes([body[0], body[1]]));
    let at = 2 + topic_len;
    if first & 0x06 == 0 {
        return Incoming::Delivery { payload: &body[at..], acknowledge: None };
    }
    let packet_id = u16::from_be_bytes([body[at], body[at + 1]]);
    Incoming::Delivery { payload: &body[at + 2..], acknowledge: Some(packet_id) }
}

/// Fixed header: first byte and remaining length. 2.2.
fn head(out: &mut Vec<u8>, first: u8, length: usize) {
    out.push(first);
    let mut rest = length;
    loop {
        let byte = u8::try_from(rest & 0x7f).expect("seven bits fit a byte");
        rest >>= 7;
        out.push(if rest > 0 { byte | 0x80 } else { byte });
        if rest == 0 {
            return;
        }
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    let length = u16::try_from(text.len()).expect("topics and ids of the bench are short");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::{Incoming, Message, Mqtt, Wire};

    #[test]
    fn a_publish_is_parsed_back() {
        for packet_id in [None, Some(513)] {
            let payload = [7; 300];
            let mut bytes = Vec::new();
            Mqtt.publish(&Message { topic: "a/b", packet_id, payload: &payload }, &mut bytes);
            for cut in 0..bytes.len() {
                assert_eq!(Mqtt.parse(&bytes[..cut]), None, "cut at {cut}");
            }
            let expected = Incoming::Delivery { payload: &payload, acknowledge: packet_id };
            assert_eq!(Mqtt.parse(&bytes), Some((expected, bytes.len())));
        }
    }

    #[test]
    fn answers_are_distinguished() {
        assert_eq!(Mqtt.parse(&[0x20, 2, 0, 0]), Some((Incoming::Welcome, 4)));
        assert_eq!(Mqtt.parse(&[0x20, 2, 0, 5]), Some((Incoming::Refused("CONNACK refused"), 4)));
        assert_eq!(Mqtt.parse(&[0x90, 3, 0, 1, 0, 0xff]), Some((Incoming::Subscribed, 5)));
        assert_eq!(Mqtt.parse(&[0x40, 2, 0, 1]), Some((Incoming::Accepted, 4)));
    }

    #[test]
    fn a_hello_has_the_length_it_names() {
        let mut bytes = Vec::new();
        Mqtt.hello("device-1", &mut bytes);
        assert_eq!(usize::from(bytes[1]) + 2, bytes.len());
    }
}
