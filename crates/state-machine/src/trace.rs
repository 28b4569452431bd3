//! The place of an operation in a distributed trace, as W3C Trace Context has it.
//!
//! A context is data: a command may carry it, and a state machine passes it on with the effects of
//! the command. It decides nothing, and no two commands differ by it.

use std::fmt;

/// A trace and the span in it that caused something.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceContext {
    /// Identifies the trace; not all zero.
    pub trace_id: [u8; 16],
    /// Identifies the span; not all zero.
    pub span_id: [u8; 8],
    /// The flags of Trace Context; bit 0: the trace is sampled.
    pub flags: u8,
}

impl TraceContext {
    /// Bytes of [`Self::to_bytes`].
    pub const BYTES: usize = 25;

    /// Bit of the flags: the caller records its spans.
    pub const SAMPLED: u8 = 1;

    /// Whether the trace is sampled.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.flags & Self::SAMPLED != 0
    }

    /// Reads the header `traceparent` (W3C Trace Context, 3.2). A later version may append fields.
    #[must_use]
    pub fn parse(traceparent: &str) -> Option<Self> {
        let bytes = traceparent.as_bytes();
        let (head, tail) = bytes.split_at_checked(HEADER_BYTES)?;
        let [version] = hex::<1>(&head[..2])?;
        let is_ended = tail.is_empty() || version > 0 && tail[0] == b'-';
        if version == 0xff || !is_ended || [head[2], head[35], head[52]] != *b"---" {
            return None;
        }
        let [flags] = hex::<1>(&head[53..])?;
        let context = Self { trace_id: hex(&head[3..35])?, span_id: hex(&head[36..52])?, flags };
        context.is_valid().then_some(context)
    }

    /// The trace id as lower-case hexadecimal digits.
    #[must_use]
    pub fn trace_id_hex(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.trace_id))
    }

    /// The span id as lower-case hexadecimal digits.
    #[must_use]
    pub fn span_id_hex(&self) -> String {
        format!("{:016x}", u64::from_be_bytes(self.span_id))
    }

    /// The context as bytes: trace id, span id, flags.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..16].copy_from_slice(&self.trace_id);
        bytes[16..24].copy_from_slice(&self.span_id);
        bytes[24] = self.flags;
        bytes
    }

    /// Reads [`Self::to_bytes`]; `None` for other bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (trace_id, rest) = bytes.split_first_chunk()?;
        let (span_id, rest) = rest.split_first_chunk()?;
        let [flags] = *rest else { return None };
        let context = Self { trace_id: *trace_id, span_id: *span_id, flags };
        context.is_valid().then_some(context)
    }

    fn is_valid(&self) -> bool {
        self.trace_id != [0; 16] && self.span_id != [0; 8]
    }
}

/// Bytes of a header of version 0.
const HEADER_BYTES: usize = 55;

/// The header `traceparent`, version 0.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace_id, span_id) = (u128::from_be_bytes(self.trace_id), u64::from_be_bytes(self.span_id));
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{:02x}", self.flags)
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Lower-case hexadecimal digits: others are no `traceparent`.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_header_is_read_and_written_as_it_was() {
        let context = TraceContext::parse(HEADER).expect("it is one");
        assert!(context.is_sampled());
        assert_eq!(context.to_string(), HEADER);
        assert_eq!(TraceContext::from_bytes(&context.to_bytes()), Some(context));
    }

    #[test]
    fn a_later_version_may_have_more_fields() {
        let later = format!("cc{}-a-field", &HEADER[2..]);
        assert_eq!(TraceContext::parse(&later), TraceContext::parse(HEADER));
    }

    #[test]
    fn no_other_text_is_a_header() {
        for wrong in [
            "",
            "00",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
            "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
            "00-4bf92f3577b34da6a3ce929d0e0e473\u{e9}-0f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceContext::parse(wrong), None, "{wrong}");
        }
        assert_eq!(TraceContext::from_bytes(&[1; 24]), None);
        assert_eq!(TraceContext::from_bytes(&[1; 26]), None);
        assert_eq!(TraceContext::from_bytes(&[0; 25]), None);
    }
}
