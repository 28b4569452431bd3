//! A stamp on a message: its receiver measures by it how long the message was on its way.
//!
//! A stamp is text, so that it also travels in a JSON string: forty bytes at the payload's start.
//!
//! ```text
//! STADIUM1 0000a1b2c3d4e5f6 0000002a 00000007 ......
//! magic    sent, ns         stream   sequence  anything
//! ```
//!
//! (The spaces are not in it.) Numbers are lower-case hexadecimal; time is [`crate::clock::monotonic_ns`].

/// Bytes of a stamp.
pub const STAMP_BYTES: usize = 40;

const MAGIC: &[u8; 8] = b"STADIUM1";
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// When a message was sent, and which one of its stream it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// When its sending was intended, in [`crate::clock::monotonic_ns`].
    pub sent_ns: u64,
    /// Whose numbers `sequence` counts: one stream a run of a broadcaster. Zero for a message that is counted by
    /// nobody: its latency is measured, losses and duplicates are not.
    pub stream: u32,
    /// Counts the messages of a stream from 1 up, without gaps.
    pub sequence: u32,
}

impl Stamp {
    /// A stamp outside any stream.
    pub const fn at(sent_ns: u64) -> Self {
        Stamp { sent_ns, stream: 0, sequence: 0 }
    }

    /// The bytes to put at a payload's start.
    pub fn encode(&self) -> [u8; STAMP_BYTES] {
        let mut bytes = [0; STAMP_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        write_hex(&mut bytes[8..24], self.sent_ns);
        write_hex(&mut bytes[24..32], u64::from(self.stream));
        write_hex(&mut bytes[32..40], u64::from(self.sequence));
        bytes
    }

    /// Appends a payload of `size` bytes that starts with this stamp; of [`STAMP_BYTES`] where `size` is less.
    pub fn append_payload(&self, payload: &mut Vec<u8>, size: usize) {
        payload.extend_from_slice(&self.encode());
        payload.resize(payload.len() + size.saturating_sub(STAMP_BYTES), b'.');
    }

    /// The stamp at a payload's start, where there is one.
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let digits = payload.strip_prefix(MAGIC)?;
        Some(Stamp {
            sent_ns: read_hex(digits.get(..16)?)?,
            stream: u32::try_from(read_hex(digits.get(16..24)?)?).ok()?,
            sequence: u32::try_from(read_hex(digits.get(24..32)?)?).ok()?,
        })
    }
}

fn write_hex(place: &mut [u8], mut value: u64) {
    for digit in place.iter_mut().rev() {
        *digit = DIGITS[(value & 0xF) as usize];
        value >>= 4;
    }
}

fn read_hex(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |value, digit| {
        let nibble = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(value << 4 | u64::from(nibble))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_survives_its_journey() {
        let stamp = Stamp { sent_ns: 0x0123_4567_89AB_CDEF, stream: u32::MAX, sequence: 7 };
        let mut payload = Vec::new();
        stamp.append_payload(&mut payload, 100);
        assert_eq!(payload.len(), 100);
        assert!(payload.is_ascii());
        assert_eq!(Stamp::decode(&payload), Some(stamp));
    }

    #[test]
    fn a_payload_is_never_shorter_than_its_stamp() {
        let mut payload = Vec::new();
        Stamp::at(1).append_payload(&mut payload, 3);
        assert_eq!(Stamp::decode(&payload), Some(Stamp::at(1)));
    }

    #[test]
    fn what_is_no_stamp_is_left_alone() {
        let mut payload = Vec::new();
        Stamp::at(1).append_payload(&mut payload, 40);
        for length in 0..STAMP_BYTES {
            assert_eq!(Stamp::decode(&payload[..length]), None, "cut to {length}");
        }
        payload[20] = b'G';
        assert_eq!(Stamp::decode(&payload), None);
        assert_eq!(Stamp::decode(b"hello"), None);
    }
}
