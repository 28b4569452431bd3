//! The newest records in memory.
//!
//! A ring over positions: a byte at position p stands at p modulo the ring's length. Whatever isn't on the disk yet is
//! always in it, since it grows to more than may wait for the disk.

use crate::Position;

/// The smallest ring, bytes.
const USUAL_MIN: usize = 4 << 10;

/// The last bytes that were appended.
pub(crate) struct Tail {
    ring: Vec<u8>,
    /// Bytes of the ring, unless more is not yet durable.
    usual: usize,
    /// Bytes that it grows to at most.
    most: usize,
    /// The first position that is still whole.
    start: Position,
    end: Position,
}

impl Tail {
    /// A ring of this many bytes, which the system hands out as they are first used. It grows to `most` where so much is not
    /// durable.
    pub(crate) fn new(usual: usize, most: usize, start: Position) -> Self {
        let usual = usual.max(USUAL_MIN);
        Self { ring: vec![0; usual], usual, most: most.max(usual), start, end: start }
    }

    /// Puts bytes at `position`, at or after the end. All before `durable` is on the disk.
    pub(crate) fn put(&mut self, position: Position, bytes: &[u8], durable: Position) {
        let end = position.plus(bytes.len() as u64);
        let waiting = usize::try_from(end.since(durable.min(position))).unwrap_or(usize::MAX);
        if waiting > self.ring.len() && self.ring.len() < self.most {
            self.resize(waiting.checked_next_power_of_two().map_or(self.most, |bytes| bytes.min(self.most)));
        } else if self.ring.len() > self.usual && waiting <= self.usual / 2 {
            self.resize(self.usual);
        }
        let size = self.ring.len();
        let at = (position.0 % size as u64) as usize;
        let first = bytes.len().min(size - at);
        self.ring[at..at + first].copy_from_slice(&bytes[..first]);
        self.ring[..bytes.len() - first].copy_from_slice(&bytes[first..]);
        self.end = end;
        self.start = self.start.max(Position(self.end.0.saturating_sub(size as u64)));
    }

    /// Another ring with the newest bytes of this one that it has room for.
    fn resize(&mut self, bytes: usize) {
        let mut next = vec![0; bytes];
        let kept = self.start.max(Position(self.end.0.saturating_sub(bytes as u64)));
        let mut at = kept.0;
        while at < self.end.0 {
            let (from, to) = ((at % self.ring.len() as u64) as usize, (at % bytes as u64) as usize);
            let piece = (self.ring.len() - from).min(bytes - to).min((self.end.0 - at) as usize);
            next[to..to + piece].copy_from_slice(&self.ring[from..from + piece]);
            at += piece as u64;
        }
        self.ring = next;
        self.start = kept;
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
        let mut tail =
            Tail { ring: vec![0; 16], usual: 16, most: 16, start: Position(100), end: Position(100) };
        let durable = Position(u64::MAX);
        tail.put(Position(100), b"abcdefgh", durable);
        tail.put(Position(108), b"ijklmnop", durable);
        tail.put(Position(120), b"qrst", durable);
        let mut four = [0; 4];
        assert!(!tail.read(Position(100), &mut four));
        assert!(tail.read(Position(112), &mut four));
        assert_eq!(&four, b"mnop");
        assert!(tail.read(Position(120), &mut four));
        assert_eq!(&four, b"qrst");
        assert!(!tail.read(Position(122), &mut four), "past the end");
    }

    #[test]
    fn what_is_not_durable_stays_and_the_ring_is_small_again_afterwards() {
        let mut tail = Tail::new(0, 1 << 20, Position(4_096));
        assert_eq!(tail.bytes(), USUAL_MIN);
        let record = |number: u64| [number as u8; 1_000];
        let at = |number: u64| Position(4_096 + number * 1_000);
        for number in 0..100 {
            tail.put(at(number), &record(number), Position(4_096));
        }
        let mut into = [0; 1_000];
        for number in 0..100 {
            assert!(tail.read(at(number), &mut into), "{number} waits for the disk");
            assert_eq!(into, record(number));
        }
        assert_eq!(tail.bytes(), 128 << 10);
        tail.put(at(100), &record(100), at(100));
        assert_eq!(tail.bytes(), USUAL_MIN);
        for number in 97..=100 {
            assert!(tail.read(at(number), &mut into), "{number} is among the newest");
            assert_eq!(into, record(number));
        }
        assert!(!tail.read(at(90), &mut into), "it is on the disk alone");
    }

    #[test]
    fn it_grows_no_further_than_it_may() {
        let mut tail = Tail::new(0, 10_000, Position(0));
        for number in 0..100 {
            tail.put(Position(number * 1_000), &[7; 1_000], Position(0));
        }
        assert_eq!(tail.bytes(), 10_000);
    }
}
