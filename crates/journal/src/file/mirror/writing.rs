//! The owner's side of a mirror: records get positions, and wait in memory until they are accepted.
//!
//! A batch is closed when a commit hands it over, when it is long, and at the end of a segment. Its
//! bytes are the body of a message. All that is not accepted is in the tail, so it can be read.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::body::{BODY_HEADER_BYTES, Body};
use super::files::Files;
use crate::file::segments::SegmentFile;
use crate::file::tail::Tail;
use crate::file::{ROOM_BYTES, SEAL_ROOM};
use crate::frame::{self, BatchNote, FRAME_HEADER_BYTES, NOTE_BYTES, SealNote, SealReason};
use crate::header::HEADER_USED;
use crate::{Epoch, Error, Options, Position, Room, SegmentNumber};

/// A batch takes no further record that makes it longer than this. The longest record is a batch of
/// its own, so a message of the log holds it.
const BATCH_BYTES: u64 = 1 << 20;

/// A whole batch that waits to be accepted.
#[derive(Debug)]
pub struct Batch {
    /// The position of its first frame.
    pub first: Position,
    /// The position after its last frame.
    pub end: Position,
    /// The body of its message, which [`Body::read`] reads.
    pub body: Vec<u8>,
    pub(super) segment: Arc<SegmentFile>,
    /// The number of its records.
    pub records: u32,
    pub(super) records_end: Position,
    pub(super) seals: bool,
}

impl Batch {
    /// Where the batch after it begins: in the next segment, where this one seals its own.
    #[must_use]
    pub fn next(&self) -> Position {
        if self.seals { self.segment.header.limit() } else { self.end }
    }

    /// The same as [`Body::read`] would give, without looking at each frame again.
    pub(super) fn view(&self) -> Body<'_> {
        Body {
            segment: self.segment.header,
            seed: self.segment.seed,
            first: self.first,
            frames: &self.body[BODY_HEADER_BYTES..],
            records: self.records,
            records_end: self.records_end,
            seals: self.seals,
        }
    }

    fn bytes(&self) -> u64 {
        self.end.since(self.first)
    }
}

pub(super) struct Writing {
    epoch: Epoch,
    /// The segment in which the open batch stands; `None` where the next record needs a new one.
    current: Option<Arc<SegmentFile>>,
    /// The header of the current segment, as bodies begin with it.
    header: [u8; HEADER_USED],
    /// Where the next frame or the open batch begins.
    start: Position,
    /// The body of the open batch; empty if there is none.
    open: Vec<u8>,
    records: u32,
    closed: VecDeque<Batch>,
    /// Bytes of closed batches that are not accepted, those on their way included.
    closed_bytes: u64,
    tail: Tail,
    /// After the last record.
    end: Position,
    record_bytes_max: usize,
    waiting_bytes_max: u64,
}

impl Writing {
    /// Goes on behind all that was accepted.
    pub(super) fn begin(files: &mut Files, epoch: Epoch, options: &Options) -> Result<Self, Error> {
        let start = files.end();
        let tail_bytes_max = options.waiting_bytes_max + 2 * options.record_bytes_max;
        let mut writing = Self {
            epoch,
            current: None,
            header: [0; HEADER_USED],
            start,
            open: Vec::new(),
            records: 0,
            closed: VecDeque::with_capacity(8),
            closed_bytes: 0,
            tail: Tail::new(options.tail_bytes, tail_bytes_max, start),
            end: files.records_end,
            record_bytes_max: options.record_bytes_max,
            waiting_bytes_max: options.waiting_bytes_max as u64,
        };
        match files.last.clone() {
            Some(last) if !last.is_sealed => {
                let (segment, _) = files.ensure(&last.header, last.seed, start)?;
                writing.enter(segment, start);
            }
            // On a full disk the first record tries again.
            _ => match writing.rotate(files, 0, Room::Ordinary) {
                Err(error) if !error.is_temporary() => return Err(error),
                _ => {}
            },
        }
        Ok(writing)
    }

    fn enter(&mut self, segment: Arc<SegmentFile>, at: Position) {
        self.header = *segment.header.encode().first_chunk().expect("a page is longer than its header");
        self.start = at;
        self.current = Some(segment);
    }

    /// Makes the segment behind the last one.
    fn next_segment(&self, files: &mut Files, needed: u64, room: Room) -> Result<Arc<SegmentFile>, Error> {
        let last = match &self.current {
            Some(current) => Some(current.header),
            None => files.last.as_ref().map(|last| last.header),
        };
        let (number, base) = match last {
            Some(header) => (SegmentNumber(header.number.0 + 1), header.limit()),
            None => (SegmentNumber(1), Position::START),
        };
        files.make(number, base, self.epoch, needed, room)
    }

    fn frames_bytes(&self) -> usize {
        self.open.len().saturating_sub(BODY_HEADER_BYTES)
    }

    fn open_end(&self) -> Position {
        self.start.plus(self.frames_bytes() as u64)
    }

    /// Bytes of the batch frame that the next record needs: none where a batch is open.
    fn note_bytes(&self) -> u64 {
        if self.open.is_empty() { NOTE_BYTES as u64 } else { 0 }
    }

    /// Bytes that are not accepted.
    pub(super) fn waiting_bytes(&self) -> u64 {
        self.closed_bytes + self.frames_bytes() as u64
    }

    pub(super) fn end(&self) -> Position {
        self.end
    }

    pub(super) fn segments_end(&self) -> Position {
        self.open_end()
    }

    pub(super) fn tail(&self) -> &Tail {
        &self.tail
    }

    /// Whether records of this kind may go into a segment now.
    fn allows(files: &Files, segment: &SegmentFile, room: Room) -> bool {
        room == Room::Reserved || !segment.from_reserve || files.blocks.has_reserve()
    }

    /// Finds the place for a record; begins another segment if need be.
    pub(super) fn place(&mut self, files: &mut Files, bytes: usize, room: Room) -> Result<Position, Error> {
        if bytes > self.record_bytes_max {
            return Err(Error::TooLarge { bytes, bytes_max: self.record_bytes_max });
        }
        let frame = frame::frame_bytes(bytes) as u64;
        let waiting = self.waiting_bytes();
        if waiting > 0 && waiting + frame > self.waiting_bytes_max {
            return Err(Error::Busy { waiting });
        }
        if self.frames_bytes() as u64 + frame > BATCH_BYTES {
            self.close(files);
        }
        // In the next segment it begins a batch.
        let needed = NOTE_BYTES as u64 + frame + SEAL_ROOM;
        let needed_here = self.note_bytes() + frame + SEAL_ROOM;
        let fits = self.current.as_ref().is_some_and(|current| {
            self.open_end().plus(needed_here) <= current.header.limit() && Self::allows(files, current, room)
        });
        if !fits {
            self.rotate(files, needed, room)?;
        }
        Ok(self.open_end().plus(self.note_bytes()))
    }

    /// Seals the current segment, if there is one, and goes on in the next.
    pub(super) fn rotate(&mut self, files: &mut Files, needed: u64, room: Room) -> Result<(), Error> {
        // The seal promises the next segment, so that one is made first.
        let next = self.next_segment(files, needed, room)?;
        if let Some(seed) = self.current.as_ref().map(|current| current.seed) {
            self.begin_batch();
            let note = SealNote { durable: files.end(), reason: SealReason::Rotation };
            let seal = frame::seal(seed, self.open_end(), note);
            self.open.extend_from_slice(&seal);
            self.close_with(files, true);
        }
        let first = next.header.first();
        self.enter(next, first);
        Ok(())
    }

    /// Whether nothing stands in the current segment.
    pub(super) fn is_at_first(&self) -> bool {
        self.current.as_ref().is_some_and(|current| self.open_end() == current.header.first())
    }

    fn begin_batch(&mut self) {
        if self.open.is_empty() {
            self.open.extend_from_slice(&self.header);
            self.open.extend_from_slice(&[0; NOTE_BYTES]);
        }
    }

    pub(super) fn append(&mut self, files: &mut Files, record: &[u8], room: Room) -> Result<Position, Error> {
        if record.is_empty() {
            return Err(Error::Setting("a record has at least one byte".to_owned()));
        }
        let position = self.place(files, record.len(), room)?;
        let seed = self.current.as_ref().expect("a place is in a segment").seed;
        self.begin_batch();
        let from = self.open.len();
        frame::encode_record(&mut self.open, seed, position, record);
        self.tail.put(position, &self.open[from..], files.end());
        self.records += 1;
        self.end = self.open_end();
        let counters = &files.shared.counters;
        counters.records.fetch_add(1, Ordering::Relaxed);
        counters.bytes.fetch_add((self.open.len() - from) as u64, Ordering::Relaxed);
        Ok(position)
    }

    /// Closes the open batch, if there is one.
    pub(super) fn close(&mut self, files: &Files) {
        self.close_with(files, false);
    }

    fn close_with(&mut self, files: &Files, seals: bool) {
        let (Some(segment), false) = (&self.current, self.open.is_empty()) else { return };
        let (first, end) = (self.start, self.open_end());
        let note = BatchNote {
            durable: files.end(),
            bytes: u32::try_from(self.frames_bytes() - NOTE_BYTES).expect("a batch is in one segment"),
            records: self.records,
        };
        let batch_frame = frame::batch(segment.seed, first, note);
        self.open[BODY_HEADER_BYTES..BODY_HEADER_BYTES + NOTE_BYTES].copy_from_slice(&batch_frame);
        let body = std::mem::replace(&mut self.open, files.shared.buffer());
        let records = std::mem::take(&mut self.records);
        let batch = Batch {
            first,
            end,
            body,
            segment: Arc::clone(segment),
            records,
            records_end: self.end.min(end),
            seals,
        };
        self.closed_bytes += batch.bytes();
        self.closed.push_back(batch);
        self.start = end;
    }

    pub(super) fn has_closed(&self) -> bool {
        !self.closed.is_empty()
    }

    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The oldest closed batch, to be sent.
    pub(super) fn take(&mut self) -> Option<Batch> {
        self.closed.pop_front()
    }

    /// Batches that were given up, oldest first, are sent again before all others.
    pub(super) fn put_back(&mut self, batches: &mut VecDeque<Batch>) {
        while let Some(batch) = batches.pop_back() {
            self.closed.push_front(batch);
        }
    }

    /// A batch was accepted; its buffer is used again.
    pub(super) fn accepted(&mut self, files: &Files, batch: Batch) {
        self.closed_bytes -= batch.bytes();
        files.shared.give_back(batch.body);
    }

    /// Which records of an ordinary size an append takes now.
    pub(super) fn room(&self, files: &Files) -> Option<Room> {
        let needed = NOTE_BYTES as u64 + ROOM_BYTES + SEAL_ROOM;
        let has_room = |room| {
            self.current.as_ref().is_some_and(|current| {
                self.open_end().plus(needed) <= current.header.limit() && Self::allows(files, current, room)
            })
        };
        if files.blocks.has_next() || has_room(Room::Ordinary) {
            return Some(Room::Ordinary);
        }
        (has_room(Room::Reserved) || files.blocks.has_reserve()).then_some(Room::Reserved)
    }
}

/// Where a record's body begins.
pub(super) const fn body_at(record: Position, offset: u32) -> Position {
    record.plus(FRAME_HEADER_BYTES as u64 + offset as u64)
}
