//! The state of a shard that follows a journal: what a recovery builds, and a standby keeps.
//!
//! Nothing is decided here: events are applied as they were written. While it catches up, living
//! payloads are not counted; they are counted once it has, and then with each record. So an owner
//! is made of it without a look at its state. A standby writes checkpoints of its own, and frees
//! segments behind them: else its mirror would grow for as long as it follows.

use stadium_journal::{CheckpointInfo, CheckpointReader, Checkpoints, Journal, Position, Record};
use stadium_state_machine::{Milliseconds, PayloadAt, Time};

use super::checkpointing::{Checkpointing, Step};
use super::machines::Machines;
use super::progress::Progress;
use super::segments::Segments;
use super::settings::CoreSettings;
use crate::frame;
use crate::{Contents, Error};

/// The state of a shard after a checkpoint and the records that were applied.
///
/// A standby applies each record as it arrives, to the same state as its owner's. Its memory is the
/// owner's.
pub struct Follower {
    machines: Machines,
    segments: Segments,
    pins: Pins,
    /// Records that stay, since the journal was looked at last.
    staying: Vec<Position>,
    /// Living payloads are counted with each record.
    is_counted: bool,
    /// Records that were applied.
    records: u64,
    /// After the last record.
    end: Position,
    mark: Vec<u8>,
    /// Its own checkpoints, where it writes some.
    checkpointing: Option<Checkpointing>,
}

/// A checkpoint whose first chunk was read.
pub(super) struct Begun {
    reader: Box<dyn CheckpointReader>,
    opening: frame::Opening,
}

impl Begun {
    pub(super) fn read(mut reader: Box<dyn CheckpointReader>) -> Result<Self, Error> {
        let info = reader.info();
        let opening = reader.next()?.ok_or_else(|| corrupt(info, "it is empty".into()))?;
        let opening = frame::Opening::decode(opening).map_err(|what| corrupt(info, what))?;
        if opening.position != info.position.0 {
            return Err(corrupt(info, format!("its content is of position {:#x}", opening.position)));
        }
        Ok(Self { reader, opening })
    }

    pub(super) fn mark(&self) -> &[u8] {
        &self.opening.mark
    }

    /// The first chunk, and the reader of those that follow it.
    pub(super) fn into_parts(self) -> (frame::Opening, Box<dyn CheckpointReader>) {
        (self.opening, self.reader)
    }
}

/// The [mark](Journal::mark) that a checkpoint keeps; empty where it keeps none.
///
/// # Errors
///
/// The beginning of the checkpoint cannot be read.
pub fn checkpoint_mark(checkpoint: Box<dyn CheckpointReader>) -> Result<Vec<u8>, Error> {
    Begun::read(checkpoint).map(|begun| begun.opening.mark)
}

/// A checkpoint that cannot be taken in.
fn corrupt(info: CheckpointInfo, what: String) -> Error {
    Error::Corrupt { position: info.position, what: format!("its checkpoint: {what}") }
}

impl Follower {
    /// The state of a checkpoint; an empty one without it.
    ///
    /// # Errors
    ///
    /// The checkpoint cannot be read, or does not fit the shard's state machines.
    pub fn new(
        settings: &CoreSettings,
        checkpoint: Option<Box<dyn CheckpointReader>>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        Self::of(settings, checkpoint.map(Begun::read).transpose()?, progress)
    }

    pub(super) fn of(
        settings: &CoreSettings,
        checkpoint: Option<Begun>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        let mut follower = Self {
            machines: Machines::new(settings.kinds(), settings.place),
            segments: Segments::new(settings.stretch_bytes),
            pins: Pins::default(),
            staying: Vec::new(),
            is_counted: false,
            records: 0,
            end: Position::START,
            mark: Vec::new(),
            checkpointing: None,
        };
        let Some(Begun { mut reader, opening }) = checkpoint else { return Ok(follower) };
        let info = reader.info();
        let mut bytes = 0;
        while let Some(chunk) = reader.next()? {
            bytes += chunk.len() as u64;
            follower.machines.restore(chunk).map_err(|what| corrupt(info, what))?;
            progress(Progress::Checkpoint { bytes, bytes_all: info.bytes });
        }
        follower.machines.restore_finish().map_err(|what| corrupt(info, what))?;
        follower.end = info.position;
        follower.pins.known = opening.pinned;
        follower.mark = opening.mark;
        Ok(follower)
    }

    /// The state of an owner whose records are all durable, before `end`.
    pub(super) fn of_owner(mut machines: Machines, mut segments: Segments, end: Position) -> Self {
        machines.checkpoint_abort();
        segments.rewritten();
        segments.dead.clear();
        Self {
            machines,
            segments,
            pins: Pins::default(),
            staying: Vec::new(),
            is_counted: true,
            records: 0,
            end,
            mark: Vec::new(),
            checkpointing: None,
        }
    }

    /// The [mark](Journal::mark) of its checkpoint; empty where that keeps none.
    #[must_use]
    pub fn mark(&self) -> &[u8] {
        &self.mark
    }

    /// Records that were applied.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The position after the last record that was applied; the checkpoint's before there is one.
    #[must_use]
    pub fn end(&self) -> Position {
        self.end
    }

    /// Applies the next record of the journal. Those before [`Self::end`] are passed over.
    ///
    /// Call [`Self::settle`] after some thousand records at most, and when there are no more.
    ///
    /// # Errors
    ///
    /// It cannot be applied: a newer version wrote it, or it is damaged. The follower is of no use
    /// then.
    pub fn apply(&mut self, record: Record<'_>) -> Result<(), Error> {
        if record.position < self.end {
            return Ok(());
        }
        let corrupt = |what| Error::Corrupt { position: record.position, what };
        if self.machines.apply(record.position, record.body).map_err(corrupt)? {
            self.staying.push(record.position);
        }
        self.records += 1;
        self.end = record.end;
        Ok(())
    }

    /// Books what the records since the last call mean for the segments of the journal, which has
    /// these records.
    pub fn settle(&mut self, journal: &impl Journal) {
        for (_, slot) in self.machines.all_mut() {
            slot.take_payload_changes(self.segments.changes());
        }
        if !self.is_counted {
            self.segments.changes().clear();
            self.staying.drain(..).for_each(|at| self.pins.pin(journal, at));
            return;
        }
        self.staying.drain(..).for_each(|at| self.segments.pin(journal, at));
        self.segments.apply(journal);
    }

    /// The follower has caught up with its owner: counts what is alive, once, and goes on with each
    /// record. Takes time in proportion to the living payloads.
    pub fn caught_up(&mut self, journal: &impl Journal) {
        self.settle(journal);
        if std::mem::replace(&mut self.is_counted, true) {
            return;
        }
        let Self { machines, segments, pins, .. } = self;
        segments.refresh(journal);
        pins.known.iter().for_each(|&at| segments.pin(journal, Position(at)));
        pins.known = Vec::new();
        let mut book = |at: PayloadAt| segments.book(journal, Position(at.record), i64::from(at.length));
        machines.all().for_each(|(_, slot)| slot.live_payloads(&mut book));
    }

    /// Writes checkpoints there from now on, as often as an owner: [`Self::background`] does it.
    ///
    /// # Errors
    ///
    /// They cannot be listed.
    pub fn write_checkpoints(&mut self, checkpoints: Box<dyn Checkpoints>) -> Result<(), Error> {
        let newest = checkpoints.list()?.first().copied();
        self.checkpointing = Some(Checkpointing::new(checkpoints, newest)?);
        Ok(())
    }

    /// Has a checkpoint written by the next calls of [`Self::background`], if it writes any.
    pub fn checkpoint_soon(&mut self) {
        if let Some(checkpointing) = &mut self.checkpointing {
            checkpointing.soon();
        }
    }

    /// One step of a checkpoint, and of freeing segments of this replica that none needs any more.
    /// Call it when all records of the journal are applied. Returns after how long to call it again,
    /// if there is more to do.
    pub fn background(
        &mut self,
        journal: &mut impl Journal,
        settings: &CoreSettings,
        now: Time,
    ) -> Option<Milliseconds> {
        // The segments with records that stay are known to one that counts only.
        let checkpointing = self.checkpointing.as_mut().filter(|_| self.is_counted)?;
        match checkpointing.step(&mut self.machines, journal, &self.segments, settings, now) {
            Step::AtOnce => Some(0),
            Step::After(wait) => Some(wait),
            Step::Idle | Step::Finished => {
                self.segments.look(journal, settings, checkpointing.floor(), now);
                // Payloads are written again by the owner alone.
                self.segments.rewritten();
                self.segments.remove_dead(journal, self.end);
                None
            }
        }
    }

    /// The state of all machines as the chunks of a checkpoint, for a simulator that compares it
    /// with the owner's.
    pub fn state(&mut self) -> Vec<Vec<u8>> {
        self.machines.state()
    }

    /// Forgets what records mean for segments, where nobody frees any.
    pub(super) fn forget_changes(&mut self) {
        for (_, slot) in self.machines.all_mut() {
            slot.take_payload_changes(self.segments.changes());
        }
        self.segments.changes().clear();
        self.staying.clear();
    }

    /// The contents of the machines.
    pub(super) fn contents(&self) -> Contents {
        self.machines.contents()
    }

    /// The parts of which an owner is made.
    pub(super) fn into_parts(mut self, journal: &impl Journal) -> (Machines, Segments) {
        self.caught_up(journal);
        // A checkpoint that it has not finished is given up. The owner writes its own.
        self.checkpointing = None;
        self.machines.checkpoint_abort();
        (self.machines, self.segments)
    }
}

/// The segments that hold records which stay, while records are read in their order; where there are
/// no segments, the first such record.
#[derive(Default)]
struct Pins {
    /// A position in each.
    known: Vec<u64>,
    /// The limits of the segments from the last pinned one on, the last one first.
    limits: Vec<Position>,
    /// Up to here the segment is known.
    below: Position,
}

impl Pins {
    fn pin(&mut self, journal: &impl Journal, position: Position) {
        if position < self.below {
            return;
        }
        self.skip_before(position);
        // The journal of a follower grows meanwhile.
        if self.limits.is_empty()
            && let Some(segmented) = journal.segmented()
        {
            self.limits = segmented.segments().into_iter().rev().map(|segment| segment.limit).collect();
            self.skip_before(position);
        }
        // Without segments only the first record counts: the log can be trimmed up to it.
        self.below = self.limits.last().copied().unwrap_or(Position(u64::MAX));
        self.known.push(position.0);
    }

    fn skip_before(&mut self, position: Position) {
        while self.limits.last().is_some_and(|&limit| limit <= position) {
            self.limits.pop();
        }
    }
}
