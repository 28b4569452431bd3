//! Requests and answers over UDP.
//!
//! A datagram is four big-endian numbers of 16 bits and text: request, sequence, total, 0. A request is
//! one datagram with one command. Its answer is `total` datagrams with its number, which may be lost,
//! doubled or out of order. memcached counts each value of a `get` with several keys from 0 again, so a
//! request here has one key.

use super::decode::LINE_BYTES_MAX;

/// Bytes of a datagram before its text.
pub const DATAGRAM_HEADER_BYTES: usize = 8;

/// Bytes of text that each datagram of an answer has at least, the last one excepted. It bounds the
/// memory that a hostile `total` can take. memcached fills datagrams of 1,400 bytes.
const PART_BYTES_MIN: usize = 500;

/// One datagram of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// The number of the request.
    pub request: u16,
    /// Its place in the answer.
    pub sequence: u16,
    /// Datagrams of the answer.
    pub total: u16,
    /// Its part of the answer.
    pub text: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Reads a datagram; `None` where it is none of a server's.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (header, text) = bytes.split_first_chunk::<DATAGRAM_HEADER_BYTES>()?;
        let number = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let (request, sequence, total) = (number(0), number(2), number(4));
        (sequence < total).then_some(Self { request, sequence, total, text })
    }
}

/// Appends the header of a request.
pub fn datagram_header(out: &mut Vec<u8>, request: u16) {
    out.extend_from_slice(&request.to_be_bytes());
    out.extend_from_slice(&[0, 0, 0, 1, 0, 0]);
}

/// The datagrams of one answer as they come.
#[derive(Debug, Default)]
pub struct Reassembly {
    /// By their places; those that came are not `None`.
    parts: Vec<Option<Vec<u8>>>,
    missing: usize,
    bytes: usize,
}

impl Reassembly {
    /// Takes a datagram of the answer, and returns the answer when it is whole. Ignored are a datagram
    /// that came before, one whose total is another than the first one's, and one with which the answer
    /// would be longer than a value of `value_bytes_max` takes.
    pub fn add(&mut self, datagram: Datagram<'_>, value_bytes_max: usize) -> Option<Vec<u8>> {
        let Datagram { sequence, total, text, .. } = datagram;
        let bytes_max = value_bytes_max.saturating_add(2 * LINE_BYTES_MAX);
        let total = usize::from(total);
        if text.len() > bytes_max - self.bytes.min(bytes_max) || total > bytes_max / PART_BYTES_MIN + 1 {
            return None;
        }
        if self.parts.is_empty() {
            self.parts.resize(total, None);
            self.missing = total;
        }
        let is_of_it = total == self.parts.len();
        let place = self.parts.get_mut(usize::from(sequence)).filter(|part| is_of_it && part.is_none())?;
        *place = Some(text.to_vec());
        self.bytes += text.len();
        self.missing -= 1;
        if self.missing > 0 {
            return None;
        }
        let mut parts = std::mem::take(&mut self.parts).into_iter().flatten();
        let mut answer = parts.next().unwrap_or_default();
        parts.for_each(|part| answer.extend_from_slice(&part));
        self.bytes = 0;
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(sequence: u16, total: u16, text: &[u8]) -> Datagram<'_> {
        Datagram { request: 7, sequence, total, text }
    }

    #[test]
    fn headers_are_written_and_read() {
        let mut out = Vec::new();
        datagram_header(&mut out, 0x0102);
        out.extend_from_slice(b"END\r\n");
        assert_eq!(out, b"\x01\x02\0\0\0\x01\0\0END\r\n");
        let read = Datagram { request: 0x0102, sequence: 0, total: 1, text: b"END\r\n" };
        assert_eq!(Datagram::read(&out), Some(read));
        for cut in 0..8 {
            assert_eq!(Datagram::read(&out[..cut]), None);
        }
        assert_eq!(Datagram::read(&[0, 7, 0, 0, 0, 0, 0, 0]), None, "a total of 0");
        assert_eq!(Datagram::read(&[0, 7, 0, 2, 0, 2, 0, 0]), None, "a sequence beyond the total");
    }

    #[test]
    fn answers_come_together_in_any_order() {
        let mut answer = Reassembly::default();
        assert_eq!(answer.add(datagram(2, 3, b"c"), 100), None);
        assert_eq!(answer.add(datagram(0, 3, b"a"), 100), None);
        assert_eq!(answer.add(datagram(0, 3, b"x"), 100), None, "doubled");
        assert_eq!(answer.add(datagram(1, 2, b"x"), 100), None, "another total");
        assert_eq!(answer.add(datagram(1, 3, b"b"), 100).as_deref(), Some(&b"abc"[..]));
        assert_eq!(Reassembly::default().add(datagram(0, 1, b""), 100).as_deref(), Some(&b""[..]));
    }

    #[test]
    fn the_memory_of_an_answer_is_bounded() {
        let mut answer = Reassembly::default();
        assert_eq!(answer.add(datagram(0, u16::MAX, b"a"), 1_000), None);
        assert!(answer.parts.is_empty());
        let text = vec![b'x'; 3_000];
        assert_eq!(answer.add(datagram(0, 3, &text), 1_000), None);
        assert_eq!(answer.add(datagram(1, 3, &text), 1_000), None, "too long together");
        assert_eq!((answer.missing, answer.bytes), (2, 3_000));
    }
}
