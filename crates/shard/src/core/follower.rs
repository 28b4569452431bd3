//! The state of a shard that follows a journal: what a recovery builds, and a standby keeps.
//!
//! Nothing is decided here: events are applied as they were written. While it catches up, living
//! payloads are not counted; they are counted once it has, and then with each record. So an owner
//! is made of it without a look at its state.

use stadium_journal::{CheckpointReader, Journal, Position, Record};
use stadium_state_machine::{PayloadAt, PayloadChange, Time};

use super::machines::Machines;
use super::opening::Progress;
use super::segments::Segments;
use super::settings::CoreSettings;
use crate::Error;
use crate::frame;

/// Records after which payload changes are dropped that nobody counts.
const RECORDS_A_DROP: u64 = 4_096;

/// The state of a shard after a checkpoint and the records that were applied.
///
/// A standby applies each record as it arrives, to the same state as its owner's. Its memory is the
/// owner's.
pub struct Follower {
    machines: Machines,
    segments: Segments,
    pins: Pins,
    /// What is alive is counted with each record.
    is_counted: bool,
    /// Records that were applied.
    records: u64,
    /// After the last record.
    end: Position,
    /// Changes that nobody counts.
    dropped: Vec<PayloadChange>,
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
        let mut machines = Machines::new(settings.kinds(), settings.place);
        let mut pins = Pins::default();
        let mut end = Position::START;
        if let Some(mut checkpoint) = checkpoint {
            end = checkpoint.info().position;
            pins.known = restore(&mut *checkpoint, &mut machines, progress)?;
        }
        Ok(Self {
            machines,
            segments: Segments::new(settings.stretch_bytes),
            pins,
            is_counted: false,
            records: 0,
            end,
            dropped: Vec::new(),
        })
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

    /// Applies the next record of the journal, which has it already.
    ///
    /// # Errors
    ///
    /// It cannot be applied: a newer version wrote it, or it is damaged. The follower is of no use
    /// then.
    pub fn apply(&mut self, journal: &impl Journal, record: Record<'_>) -> Result<(), Error> {
        let stays = self.take(record)?;
        if !self.is_counted {
            if stays {
                self.pins.pin(journal, record.position);
            }
            return Ok(());
        }
        for (_, slot) in self.machines.all_mut() {
            slot.take_payload_changes(self.segments.changes());
        }
        if stays {
            self.segments.pin(journal, record.position);
        }
        self.segments.apply(journal);
        Ok(())
    }

    /// Applies the next record of a journal whose segments nobody frees.
    pub(super) fn apply_alone(&mut self, record: Record<'_>) -> Result<(), Error> {
        self.take(record).map(drop)
    }

    /// Returns whether the record may never be removed.
    fn take(&mut self, record: Record<'_>) -> Result<bool, Error> {
        let corrupt = |what| Error::Corrupt { position: record.position, what };
        let stays = self.machines.apply(record.position, record.body).map_err(corrupt)?;
        self.records += 1;
        self.end = record.end;
        if !self.is_counted && self.records.is_multiple_of(RECORDS_A_DROP) {
            self.drop_changes();
        }
        Ok(stays)
    }

    /// The follower has caught up with its owner: counts what is alive, once, and goes on with each
    /// record. Takes time in proportion to the living payloads.
    pub fn caught_up(&mut self, journal: &impl Journal) {
        if std::mem::replace(&mut self.is_counted, true) {
            return;
        }
        self.drop_changes();
        self.dropped = Vec::new();
        let Self { machines, segments, pins, .. } = self;
        segments.refresh(journal);
        pins.known.iter().for_each(|&at| segments.pin(journal, Position(at)));
        pins.known = Vec::new();
        let mut book = |at: PayloadAt| segments.book(journal, Position(at.record), i64::from(at.length));
        machines.all().for_each(|(_, slot)| slot.live_payloads(&mut book));
    }

    /// Frees segments of this replica that its owner needs no more, as the owner does. What precedes
    /// `floor`, the position of the older kept checkpoint, is not needed for a recovery.
    pub fn free(&mut self, journal: &mut impl Journal, settings: &CoreSettings, floor: Position, now: Time) {
        if !self.is_counted {
            return;
        }
        self.segments.look(journal, settings, floor, now);
        // Payloads are written again by the owner alone.
        self.segments.rewritten();
        self.segments.remove_dead(journal, self.end);
    }

    /// The state of all machines as the chunks of a checkpoint, for a simulator that compares it
    /// with the owner's.
    pub fn state(&mut self) -> Vec<Vec<u8>> {
        self.machines.state()
    }

    fn drop_changes(&mut self) {
        for (_, slot) in self.machines.all_mut() {
            slot.take_payload_changes(&mut self.dropped);
        }
        self.dropped.clear();
    }

    /// What an owner is made of.
    pub(super) fn into_parts(mut self, journal: &impl Journal) -> (Machines, Segments) {
        self.caught_up(journal);
        (self.machines, self.segments)
    }
}

/// Reads a checkpoint. Answers the segments that were pinned.
fn restore(
    reader: &mut dyn CheckpointReader,
    machines: &mut Machines,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<u64>, Error> {
    let info = reader.info();
    let corrupt =
        |what: String| Error::Corrupt { position: info.position, what: format!("its checkpoint: {what}") };
    let opening = reader.next()?.ok_or_else(|| corrupt("it is empty".into()))?;
    let opening = frame::Opening::decode(opening).map_err(corrupt)?;
    if opening.position != info.position.0 {
        return Err(corrupt(format!("its content is of position {:#x}", opening.position)));
    }
    let mut bytes = 0;
    while let Some(chunk) = reader.next()? {
        bytes += chunk.len() as u64;
        machines.restore(chunk).map_err(corrupt)?;
        progress(Progress::Checkpoint { bytes, bytes_all: info.bytes });
    }
    machines.restore_finish().map_err(corrupt)?;
    Ok(opening.pinned)
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
