//! The newest records in memory.
//!
//! A ring over positions: a byte at position p stands at p modulo the ring's length. Whatever isn't on the disk yet is
//! always in it, since it is longer than what may wait for the disk.

use crate::Position;

/// The last bytes that were appended.
pub(crate) struct Tail {
    ring: Vec<u8>,
    /// The first position that is still whole.
    start: Position,
    end: Position,
}

impl Tail {
    /// A ring of this many bytes, which the system hands out as they are first used.
    pub(crate) fn new(bytes: usize, start: Position) -> Self {
        Self { ring: vec![0; bytes], start, end: start }
    }

    /// Puts bytes at `position`, at or after the end. They are fewer than the ring has.
    pub(crate) fn put(&mut self, position: Position, bytes: &[u8]) {
        let size = self.ring.len();
        let at = (position.0 % size as u64) as usize;
        let first = bytes.len().min(size - at);
        self.ring[at..at + first].copy_from_slice(&bytes[..first]);
        self.ring[..bytes.len() - first].copy_from_slice(&bytes[first..]);
        self.end = position.plus(bytes.len() as u64);
        self.start = self.start.max(Position(self.end.0.saturating_sub(size as u64)));
    }

    /// Copies from `position` on. False if it isn't here, or no longer.
    pub(crate) fn read(&self, position: Position, into: &mut [u8]) -> bool {
        if position < self.start || position.plus(into.len() as u64) > self.end {
            return false;
        }
        let size = self.ring.len();
        let at = (position.0 % size as u64) as usize;
        let first = into.len().min(size - at);
        let (front, back) = into.split_at_mut(first);
        front.copy_from_slice(&self.ring[at..at + first]);
        back.copy_from_slice(&self.ring[..back.len()]);
        true
    }

    pub(crate) fn bytes(&self) -> usize {
        self.ring.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_bytes_are_read_and_older_ones_are_not() {
        let mut tail = Tail::new(16, Position(100));
        tail.put(Position(100), b"abcdefgh");
        tail.put(Position(108), b"ijklmnop");
        tail.put(Position(120), b"qrst");
        let mut four = [0; 4];
        assert!(!tail.read(Position(100), &mut four));
        assert!(tail.read(Position(112), &mut four));
        assert_eq!(&four, b"mnop");
        assert!(tail.read(Position(120), &mut four));
        assert_eq!(&four, b"qrst");
        assert!(!tail.read(Position(122), &mut four), "past the end");
    }
}
