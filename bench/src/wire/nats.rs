//! The NATS client protocol, as little of it as a load client needs: INFO, CONNECT, SUB, PUB, MSG, PING.
//!
//! A PONG answers both the hello and the subscriptions: NATS acknowledges neither by itself, so each is
//! followed by a PING, as its own clients do to flush.

use super::{Incoming, Message, Wire};

/// NATS without verbose answers.
pub(crate) struct Nats;

impl Wire for Nats {
    fn hello(&self, id: &str, out: &mut Vec<u8>) {
        let connect = format!(
            "CONNECT {{\"verbose\":false,\"pedantic\":false,\"tls_required\":false,\"name\":\"{id}\",\
             \"lang\":\"bench\",\"version\":\"1\",\"protocol\":1,\"echo\":true}}\r\nPING\r\n"
        );
        out.extend_from_slice(connect.as_bytes());
    }

    fn subscribe(&self, topics: &[(String, u8)], out: &mut Vec<u8>) -> usize {
        for (index, (topic, _)) in topics.iter().enumerate() {
            out.extend_from_slice(format!("SUB {} {}\r\n", subject(topic), index + 1).as_bytes());
        }
        out.extend_from_slice(b"PING\r\n");
        1
    }

    fn publish(&self, message: &Message<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(
            format!("PUB {} {}\r\n", subject(message.topic), message.payload.len()).as_bytes(),
        );
        out.extend_from_slice(message.payload);
        out.extend_from_slice(b"\r\n");
    }

    fn acknowledge(&self, _packet_id: u16, _out: &mut Vec<u8>) {}

    fn pong(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"PONG\r\n");
    }

    #[inline]
    fn parse<'a>(&self, bytes: &'a [u8]) -> Option<(Incoming<'a>, usize)> {
        let line_end = bytes.iter().position(|byte| *byte == b'\n')? + 1;
        let line = bytes[..line_end].trim_ascii_end();
        let incoming = match line.get(..3) {
            Some(b"MSG") => return message(bytes, line, line_end),
            Some(b"PON") => Incoming::Welcome,
            Some(b"PIN") => Incoming::Ping,
            Some(b"-ER") => Incoming::Refused("-ERR"),
            _ => Incoming::Other,
        };
        Some((incoming, line_end))
    }
}

/// `MSG subject sid [reply] length`, then that many bytes and a line end.
#[inline]
fn message<'a>(bytes: &'a [u8], line: &[u8], line_end: usize) -> Option<(Incoming<'a>, usize)> {
    let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let length =
        line[line.len() - digits..].iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
    let total = line_end + length + 2;
    let payload = bytes.get(line_end..total)?;
    Some((Incoming::Delivery { payload: &payload[..length], acknowledge: None }, total))
}

fn subject(topic: &str) -> String {
    topic.replace('/', ".")
}

#[cfg(test)]
mod tests {
    use super::{Incoming, Nats, Wire};

    #[test]
    fn a_message_is_parsed_whole_or_not_at_all() {
        let bytes = b"MSG inbox.d-1 2 5\r\nhello\r\nPING\r\n";
        for cut in 0..26 {
            assert_eq!(Nats.parse(&bytes[..cut]), None, "cut at {cut}");
        }
        let expected = Incoming::Delivery { payload: b"hello", acknowledge: None };
        assert_eq!(Nats.parse(bytes), Some((expected, 26)));
        assert_eq!(Nats.parse(&bytes[26..]), Some((Incoming::Ping, 6)));
    }

    #[test]
    fn info_is_not_an_answer() {
        assert_eq!(Nats.parse(b"INFO {}\r\nPONG\r\n"), Some((Incoming::Other, 9)));
        assert_eq!(Nats.parse(b"PONG\r\n"), Some((Incoming::Welcome, 6)));
    }
}
