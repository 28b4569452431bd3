//! The records of a log in memory, in blocks that are given back one by one.
//!
//! ```text
//! trimmed ...│ block 3: bytes ▒▒▒▒▒▒▒▒, ends [120, 304, ...] │ block 4: bytes ▒▒▒░░░░░ │
//!            start                              durable ──────────────────────┘   end
//! ```
//!
//! Records stand without frames, one after the other: the position of a record is that of its first
//! byte, and a block's index has the end of each. So a position that is no record's is recognised.

use std::collections::VecDeque;

use crate::{Error, Position, Room};

/// Bytes of a block; a longer record gets a block of its own.
///
/// Half of it is lost at most, where a long record follows a short one, and a trim keeps one block
/// too many.
const BLOCK_BYTES: usize = 1 << 20;

/// Bytes that the index has for each record.
const INDEX_BYTES: usize = size_of::<u32>();

/// Records that follow one another without a gap.
struct Block {
    start: Position,
    /// Never longer than the capacity that it was made with.
    bytes: Vec<u8>,
    /// Where in `bytes` each record ends.
    ends: Vec<u32>,
}

impl Block {
    fn end(&self) -> Position {
        self.start.plus(self.bytes.len() as u64)
    }

    /// Its cost, bytes of memory.
    fn cost(&self) -> u64 {
        (self.bytes.capacity() + self.ends.len() * INDEX_BYTES) as u64
    }

    /// Where in `bytes` the record with this index begins.
    fn begins(&self, index: usize) -> usize {
        index.checked_sub(1).map_or(0, |before| self.ends[before] as usize)
    }

    /// The index of the first record that begins at `position` or after it.
    fn from(&self, position: Position) -> usize {
        match usize::try_from(position.since(self.start)).unwrap_or(usize::MAX) {
            0 => 0,
            // A record begins where the one before it ends.
            offset => self.ends.partition_point(|&end| (end as usize) < offset) + 1,
        }
    }

    fn record(&self, index: usize) -> Option<Found<'_>> {
        let end = *self.ends.get(index)? as usize;
        let begin = self.begins(index);
        let position = self.start.plus(begin as u64);
        Some(Found { position, end: self.start.plus(end as u64), body: &self.bytes[begin..end] })
    }
}

/// A record in its block.
pub(super) struct Found<'a> {
    pub(super) position: Position,
    pub(super) end: Position,
    pub(super) body: &'a [u8],
}

/// All blocks of a log, oldest first.
pub(super) struct Blocks {
    blocks: VecDeque<Block>,
    /// After the last record.
    end: Position,
    /// After the last record that was trimmed.
    trimmed: Position,
    /// The cost of all blocks, bytes of memory.
    held: u64,
}

impl Blocks {
    pub(super) fn new() -> Self {
        // No record stands at the start of all journals.
        let end = Position::START.plus(1);
        Self { blocks: VecDeque::new(), end, trimmed: Position::START, held: 0 }
    }

    pub(super) fn start(&self) -> Position {
        self.blocks.front().map_or(self.end, |block| block.start)
    }

    pub(super) fn end(&self) -> Position {
        self.end
    }

    /// After the last record that was trimmed; the start of all journals where none was.
    pub(super) fn trimmed(&self) -> Position {
        self.trimmed
    }

    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// Whether a record of so many bytes may be appended, where all blocks may cost so much.
    pub(super) fn has_room(&self, bytes: usize, held_max: u64) -> bool {
        let more = if self.fits(bytes) { 0 } else { bytes.max(BLOCK_BYTES) };
        self.held + (more + INDEX_BYTES) as u64 <= held_max
    }

    /// The records that have room now, where all blocks may cost so much, and so much more for some.
    pub(super) fn room(&self, bytes: usize, held_max: u64, reserve: u64) -> Option<Room> {
        if self.has_room(bytes, held_max) {
            return Some(Room::Ordinary);
        }
        self.has_room(bytes, held_max + reserve).then_some(Room::Reserved)
    }

    fn fits(&self, bytes: usize) -> bool {
        // After a cut the last block does not end where the log does, and nothing may stand in
        // between.
        self.blocks.back().is_some_and(|block| {
            block.end() == self.end && block.bytes.capacity() - block.bytes.len() >= bytes
        })
    }

    /// Appends a record, which is shorter than 4 GiB.
    pub(super) fn append(&mut self, record: &[u8]) -> Position {
        let position = self.end;
        if !self.fits(record.len()) {
            let bytes = Vec::with_capacity(record.len().max(BLOCK_BYTES));
            let block = Block { start: position, bytes, ends: Vec::new() };
            self.held += block.cost();
            self.blocks.push_back(block);
        }
        if let Some(block) = self.blocks.back_mut() {
            block.bytes.extend_from_slice(record);
            block.ends.push(u32::try_from(block.bytes.len()).expect("a block is shorter than 4 GiB"));
            self.held += INDEX_BYTES as u64;
            self.end = block.end();
        }
        position
    }

    /// Drops all from a position on, which is a record's or the end. The positions are not used
    /// again.
    pub(super) fn cut(&mut self, from: Position) {
        while let Some(block) = self.blocks.back_mut() {
            if block.end() <= from {
                return;
            }
            self.held -= block.cost();
            let kept = block.from(from);
            let bytes = block.begins(kept);
            block.bytes.truncate(bytes);
            block.ends.truncate(kept);
            if kept > 0 {
                self.held += block.cost();
                return;
            }
            self.blocks.pop_back();
        }
    }

    /// Gives back each block all of which is before a position.
    pub(super) fn trim(&mut self, below: Position) {
        while let Some(block) = self.blocks.front()
            && block.end() <= below
        {
            self.held -= block.cost();
            self.trimmed = block.end();
            self.blocks.pop_front();
        }
    }

    /// The first record that stands at a position or after it.
    pub(super) fn from(&self, position: Position) -> Option<Found<'_>> {
        let at = self.blocks.partition_point(|block| block.end() <= position);
        let block = self.blocks.get(at)?;
        // Between the position and the end of its block no record may begin.
        block.record(block.from(position)).or_else(|| self.blocks.get(at + 1)?.record(0))
    }

    /// The record at exactly this position.
    pub(super) fn at(&self, position: Position) -> Result<Found<'_>, Error> {
        if position < self.trimmed {
            return Err(Error::Gone(position));
        }
        self.from(position).filter(|found| found.position == position).ok_or(Error::NoRecord(position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(blocks: &Blocks) -> Vec<(u64, Vec<u8>)> {
        let mut at = Position::START;
        let mut bodies = Vec::new();
        while let Some(found) = blocks.from(at) {
            bodies.push((found.position.0, found.body.to_vec()));
            at = found.end;
        }
        bodies
    }

    #[test]
    fn records_stand_one_after_the_other() {
        let mut blocks = Blocks::new();
        let positions: Vec<u64> = [3, 5, 1].map(|bytes| blocks.append(&vec![bytes; bytes.into()]).0).into();
        assert_eq!(positions, [1, 4, 9]);
        assert_eq!(bodies(&blocks), [(1, vec![3; 3]), (4, vec![5; 5]), (9, vec![1; 1])]);
        for no_record in [2, 3, 5, 8, 10] {
            assert!(blocks.at(Position(no_record)).is_err(), "{no_record}");
        }
        assert_eq!(blocks.at(Position(4)).map(|found| found.end), Ok(Position(9)));
    }

    #[test]
    fn positions_that_were_cut_are_not_used_again() {
        let mut blocks = Blocks::new();
        let (_, second) = (blocks.append(b"one"), blocks.append(b"two"));
        blocks.cut(second);
        assert_eq!(bodies(&blocks), [(1, b"one".to_vec())]);
        assert_eq!(blocks.append(b"three"), Position(7));
        assert_eq!(bodies(&blocks), [(1, b"one".to_vec()), (7, b"three".to_vec())]);
        assert!(matches!(blocks.at(second), Err(Error::NoRecord(_))));
        blocks.cut(Position(1));
        assert_eq!((bodies(&blocks), blocks.held()), (vec![], 0));
        assert_eq!(blocks.append(b"four"), Position(12));
    }

    #[test]
    fn blocks_are_given_back_whole() {
        let mut blocks = Blocks::new();
        let record = vec![7; 300 << 10];
        let positions: Vec<Position> = (0..7).map(|_| blocks.append(&record)).collect();
        let held = blocks.held();
        assert_eq!(held, 3 * (BLOCK_BYTES as u64) + 7 * INDEX_BYTES as u64);
        // Three in each block.
        blocks.trim(positions[2]);
        assert_eq!((blocks.start(), blocks.held()), (positions[0], held));
        blocks.trim(positions[5]);
        assert_eq!(blocks.start(), positions[3]);
        assert!(matches!(blocks.at(positions[2]), Err(Error::Gone(_))));
        blocks.trim(blocks.end());
        assert_eq!((blocks.start(), blocks.held()), (blocks.end(), 0));
    }

    #[test]
    fn room_is_what_a_record_will_cost() {
        let mut blocks = Blocks::new();
        let block = BLOCK_BYTES as u64 + INDEX_BYTES as u64;
        assert!(!blocks.has_room(10, block - 1) && blocks.has_room(10, block));
        blocks.append(&[1; 10]);
        assert!(blocks.has_room(10, block + 4) && !blocks.has_room(BLOCK_BYTES, block + 4));
        assert_eq!(blocks.room(10, block, 0), None);
        assert_eq!(blocks.room(10, block, 4), Some(Room::Reserved));
        assert_eq!(blocks.room(10, block + 4, 0), Some(Room::Ordinary));
    }
}
