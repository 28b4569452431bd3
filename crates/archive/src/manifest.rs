//! The manifest: which objects are the books of a shard, and how they are verified.
//!
//! A manifest is never changed. Its objects were complete before it was created, and stay until no
//! kept manifest names them. The layout is in docs/formats/archive.md.

use stadium_journal::copy::SegmentHead;
use stadium_journal::{Epoch, JournalId, Position, SegmentNumber};

use crate::Error;
use crate::layout::{self, Upload};
use crate::wire::{Reader, Writer};

const MAGIC: &[u8; 8] = b"STADMANI";
/// Checkpoints that a manifest names at most.
pub(crate) const CHECKPOINTS_MAX: usize = 2;
/// Segments that a manifest names at most: 64 TiB of segments of 64 MiB.
const SEGMENTS_MAX: usize = 1 << 20;
/// Bytes of a mark at most.
pub const MARK_BYTES_MAX: usize = 256;
const SEALED: u32 = 1;
const OPEN: u32 = 2;
const MOVED: u32 = 3;

/// The books of a shard at one time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Manifest {
    pub(crate) shard: u16,
    pub(crate) journal: JournalId,
    pub(crate) epoch: Epoch,
    pub(crate) number: u64,
    /// Drawn for each manifest: its creator recognises it after an answer that was lost.
    pub(crate) random: u64,
    pub(crate) stored_ms: u64,
    pub(crate) checkpoints: Vec<Checkpoint>,
    pub(crate) segments: Vec<Segment>,
}

/// A file and its copy in the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Copy {
    pub(crate) upload: Upload,
    pub(crate) sha256: [u8; 32],
}

/// A checkpoint in the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// The state in it is that before this position.
    pub position: Position,
    /// Bytes of the file.
    pub bytes: u64,
    /// Where the replicated log is read on from, as its writer gave it; empty without such a log.
    pub mark: Vec<u8>,
    pub(crate) copy: Copy,
}

/// A segment in the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its number.
    pub number: SegmentNumber,
    /// The position of its first byte.
    pub base: Position,
    /// The base of the next segment is this many bytes further on.
    pub capacity: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes of the object: the file without the zeros at its end.
    pub stored_bytes: u64,
    /// Whether records may be appended to the file.
    pub state: SegmentState,
    /// The checksum of its header.
    pub(crate) seed: u32,
    pub(crate) copy: Copy,
}

/// Whether records may be appended to a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentState {
    /// Nothing is appended any more. It is stored once.
    Sealed,
    /// It is written, or prepared. It is stored with each manifest.
    Open,
    /// Sealed, with records that stay. Each later manifest names it, since the shard may have
    /// removed its file.
    Moved,
}

impl SegmentState {
    /// Whether nothing is appended any more.
    fn is_sealed(self) -> bool {
        self != Self::Open
    }
}

impl Manifest {
    /// The shard.
    #[must_use]
    pub fn shard(&self) -> u16 {
        self.shard
    }

    /// The journal.
    #[must_use]
    pub fn journal(&self) -> JournalId {
        self.journal
    }

    /// The epoch of the writer.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Its number among the manifests of the shard; the newest has the greatest.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// When its writer stored it, milliseconds since 1970.
    #[must_use]
    pub fn stored_ms(&self) -> u64 {
        self.stored_ms
    }

    /// The checkpoints that are kept, newest first; two at most.
    #[must_use]
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// The segments, oldest first.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Has this manifest and each later one name segments: those that the manifest before it names
    /// so, and those of `moved`.
    ///
    /// # Errors
    /// The number of a segment of `moved` that is neither here nor in the manifest before.
    pub(crate) fn keep_moved(
        &mut self,
        before: Option<&Self>,
        moved: &[SegmentNumber],
    ) -> Result<(), SegmentNumber> {
        let stored: &[Segment] = before.map_or(&[], |before| &before.segments);
        let kept = stored.iter().filter(|segment| segment.state == SegmentState::Moved);
        for number in kept.map(|segment| segment.number).chain(moved.iter().copied()) {
            let is_it = |segment: &&Segment| segment.number == number && segment.state.is_sealed();
            match self.segments.iter_mut().find(|segment| segment.number == number) {
                Some(here) => here.state = SegmentState::Moved,
                None => {
                    let stored = *stored.iter().find(is_it).ok_or(number)?;
                    self.segments.push(Segment { state: SegmentState::Moved, ..stored });
                }
            }
        }
        self.segments.sort_unstable_by_key(|segment| segment.number);
        Ok(())
    }

    /// The mark up to which the replicated log may be trimmed: that of the older kept checkpoint.
    /// `None` while fewer than two are kept, or where there is no such log.
    ///
    /// A manifest comes from the store only, so everything that it names is stored when this is
    /// asked.
    #[must_use]
    pub fn trim_to(&self) -> Option<&[u8]> {
        let [_, older] = &self.checkpoints[..] else { return None };
        (!older.mark.is_empty()).then_some(&older.mark[..])
    }

    /// The names of all objects, with the bytes of each.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (String, u64)> {
        let checkpoints = self.checkpoints.iter().map(|checkpoint| {
            (layout::checkpoint(self.shard, checkpoint.position, checkpoint.copy.upload), checkpoint.bytes)
        });
        let segments = self.segments.iter().map(|segment| {
            (layout::segment(self.shard, segment.number, segment.copy.upload), segment.stored_bytes)
        });
        checkpoints.chain(segments)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut to = Writer::new(MAGIC);
        to.u32(self.shard.into());
        to.u64(self.journal.0);
        to.u64(self.epoch.0);
        to.u64(self.number);
        to.u64(self.random);
        to.u64(self.stored_ms);
        to.u32(u32::try_from(self.checkpoints.len()).expect("they are two at most"));
        to.u32(u32::try_from(self.segments.len()).expect("they are bounded"));
        for checkpoint in &self.checkpoints {
            to.u64(checkpoint.position.0);
            to.u64(checkpoint.bytes);
            checkpoint.copy.encode(&mut to);
            to.u16(u16::try_from(checkpoint.mark.len()).expect("a mark is bounded"));
            to.bytes(&checkpoint.mark);
        }
        for segment in &self.segments {
            to.u64(segment.number.0);
            to.u64(segment.base.0);
            to.u64(segment.capacity);
            to.u64(segment.bytes);
            to.u64(segment.stored_bytes);
            segment.copy.encode(&mut to);
            to.u32(segment.seed);
            to.u32(match segment.state {
                SegmentState::Sealed => SEALED,
                SegmentState::Open => OPEN,
                SegmentState::Moved => MOVED,
            });
        }
        to.end()
    }

    /// Reads a manifest of a shard.
    ///
    /// # Errors
    /// `Damaged`, `Foreign`.
    pub(crate) fn decode(name: &str, object: &[u8], shard: u16, number: u64) -> Result<Self, Error> {
        let mut from = Reader::new(name, MAGIC, object)?;
        if from.u32()? != u32::from(shard) {
            return Err(from.wrong("it is of another shard"));
        }
        let (journal, epoch) = (JournalId(from.u64()?), Epoch(from.u64()?));
        if from.u64()? != number {
            return Err(from.wrong("it has another number than its name"));
        }
        let (random, stored_ms) = (from.u64()?, from.u64()?);
        let (checkpoints, segments) = (from.u32()? as usize, from.u32()? as usize);
        if checkpoints > CHECKPOINTS_MAX || segments > SEGMENTS_MAX {
            return Err(from.wrong("it names too many files"));
        }
        let mut manifest = Self {
            shard,
            journal,
            epoch,
            number,
            random,
            stored_ms,
            checkpoints: Vec::with_capacity(checkpoints),
            segments: Vec::with_capacity(segments),
        };
        for _ in 0..checkpoints {
            let (position, bytes) = (Position(from.u64()?), from.u64()?);
            let copy = Copy::decode(&mut from)?;
            let mark = usize::from(from.u16()?);
            let mark = from.bytes(mark)?.to_vec();
            manifest.checkpoints.push(Checkpoint { position, bytes, mark, copy });
        }
        for _ in 0..segments {
            let (number, base) = (SegmentNumber(from.u64()?), Position(from.u64()?));
            let (capacity, bytes, stored_bytes) = (from.u64()?, from.u64()?, from.u64()?);
            let copy = Copy::decode(&mut from)?;
            let seed = from.u32()?;
            let state = match from.u32()? {
                SEALED => SegmentState::Sealed,
                OPEN => SegmentState::Open,
                MOVED => SegmentState::Moved,
                _ => return Err(from.wrong("a segment has an unknown state")),
            };
            let segment = Segment { number, base, capacity, bytes, stored_bytes, state, seed, copy };
            manifest.segments.push(segment);
        }
        let checked = manifest.check().map_err(|what| from.wrong(&what));
        from.end()?;
        checked.map(|()| manifest)
    }

    /// Checks the rules of a manifest, before it is stored and after it was read.
    ///
    /// # Errors
    /// The rule that it breaks, in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.checkpoints.len() > CHECKPOINTS_MAX || self.segments.len() > SEGMENTS_MAX {
            return Err("it names too many files".to_owned());
        }
        if self.checkpoints.iter().any(|checkpoint| checkpoint.mark.len() > MARK_BYTES_MAX) {
            return Err(format!("a mark has more than {MARK_BYTES_MAX} bytes"));
        }
        if !self.checkpoints.is_sorted_by(|newer, older| newer.position > older.position) {
            return Err("its checkpoints are not ordered".to_owned());
        }
        for pair in self.segments.windows(2) {
            let limit = pair[0].base.0.checked_add(pair[0].capacity);
            if pair[0].number >= pair[1].number || limit.is_none_or(|limit| limit > pair[1].base.0) {
                return Err(format!("segment {} does not follow the one before it", pair[1].number));
            }
        }
        if self.segments.iter().any(|segment| segment.stored_bytes > segment.bytes) {
            return Err("an object is longer than its file".to_owned());
        }
        self.check_coverage()
    }

    /// Without a replicated log, all records behind each checkpoint must stand in segments.
    fn check_coverage(&self) -> Result<(), String> {
        let oldest = self.checkpoints.last();
        if oldest.is_some_and(|checkpoint| !checkpoint.mark.is_empty()) {
            return Ok(());
        }
        let position = oldest.map_or(Position::START, |checkpoint| checkpoint.position);
        let first = self.segments.iter().rposition(|segment| segment.base <= position);
        let Some(first) = first else {
            return Err(format!("the segment with position {position} is missing"));
        };
        let needed = &self.segments[first..];
        match needed.windows(2).find(|pair| pair[0].number.0 + 1 != pair[1].number.0) {
            Some(pair) => Err(format!("the segment after segment {} is missing", pair[0].number)),
            None => Ok(()),
        }
    }
}

impl Copy {
    fn encode(&self, to: &mut Writer) {
        to.u64(self.upload.epoch.0);
        to.u64(self.upload.random);
        to.bytes(&self.sha256);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Error> {
        let upload = Upload { epoch: Epoch(from.u64()?), random: from.u64()? };
        Ok(Self { upload, sha256: from.array()? })
    }
}

impl Segment {
    /// Bytes of the file that is written from it. One without a seal is as long as the segment: an
    /// opening after a crash has made the file shorter, and its seal may not be among what was
    /// stored.
    pub(crate) fn restored_bytes(&self) -> u64 {
        match self.state {
            SegmentState::Sealed | SegmentState::Moved => self.bytes,
            SegmentState::Open => self.bytes.max(self.capacity),
        }
    }

    /// Whether the file with this header is the one that was stored, as far as a header tells.
    pub(crate) fn is_of(&self, head: &SegmentHead, bytes: u64, state: SegmentState) -> bool {
        (self.number, self.seed, self.bytes, self.state.is_sealed())
            == (head.number, head.seed, bytes, state.is_sealed())
    }
}
