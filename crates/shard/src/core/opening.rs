//! Recovery: the newest checkpoint, and the records after it.
//!
//! The same at the start of a process and after a failure of the journal within it. Nothing is decided
//! here: events are applied as they were written.

use stadium_journal::{CheckpointReader, Holder, Journal, Opening, Position, Reader};
use stadium_state_machine::PayloadAt;

use super::checkpointing::Checkpointing;
use super::direct::Direct;
use super::machines::Machines;
use super::ports::{Caller, Store};
use super::running::Running;
use super::segments::Segments;
use super::settings::CoreSettings;
use crate::Error;
use crate::frame;

/// Records between two words about progress; payload changes are dropped as often.
const RECORDS_A_STEP: u64 = 4_096;

/// How far a recovery is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The newest checkpoint is read.
    Checkpoint {
        /// Bytes so far.
        bytes: u64,
        /// Bytes in all.
        bytes_all: u64,
    },
    /// Records after it are applied.
    Records {
        /// Records so far.
        records: u64,
        /// Bytes of journal so far.
        bytes: u64,
    },
}

/// What the last recovery measured.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Measured {
    pub(super) checkpoint_bytes: u64,
    pub(super) checkpoint_us: u64,
    pub(super) tail_bytes: u64,
    pub(super) tail_us: u64,
}

impl Measured {
    /// Bytes a second that are assumed where too little was measured.
    const CHECKPOINT_RATE: f64 = 200e6;
    const TAIL_RATE: f64 = 100e6;
    const BYTES_MIN: u64 = 1 << 20;

    pub(super) fn total_us(&self) -> u64 {
        self.checkpoint_us + self.tail_us
    }

    /// How long a recovery of so many bytes would take, milliseconds.
    pub(super) fn expected_ms(&self, checkpoint_bytes: u64, tail_bytes: u64) -> u64 {
        let rate = |bytes: u64, us: u64, assumed: f64| {
            if bytes >= Self::BYTES_MIN && us > 0 { bytes as f64 / us as f64 * 1e6 } else { assumed }
        };
        let checkpoint =
            checkpoint_bytes as f64 / rate(self.checkpoint_bytes, self.checkpoint_us, Self::CHECKPOINT_RATE);
        let tail = tail_bytes as f64 / rate(self.tail_bytes, self.tail_us, Self::TAIL_RATE);
        ((checkpoint + tail) * 1e3) as u64
    }
}

/// A shard whose journal is open, and what its recovery measured.
type Opened<S, C, M> = (Running<<S as Store>::Journal, C, M>, Measured);

/// Opens the journal and builds its state. `after_failure` is the durable position when a handle
/// failed before, in this process.
pub(super) fn open<S: Store, C: Caller, M: Direct>(
    store: &mut S,
    settings: &CoreSettings,
    after_failure: Option<Position>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Opened<S, C, M>, Error> {
    let newest = store.checkpoints(None)?.newest()?;
    let info = newest.as_ref().map(|reader| reader.info());
    let from = info.map_or(Position::START, |info| info.position);
    let journal = store.open(Opening { checkpoint: from, after_failure, holder: Holder::Respect })?;

    let mut measured = Measured::default();
    let began = (settings.stopwatch)();
    let mut machines = Machines::new(settings.kinds(), settings.place);
    let mut pins = Pins::new(&journal);
    if let Some(mut reader) = newest {
        pins.known = restore(&mut *reader, &mut machines, progress)?;
        measured.checkpoint_bytes = reader.info().bytes;
    }
    let restored = (settings.stopwatch)();
    measured.checkpoint_us = restored.saturating_sub(began);
    let tail_records = replay(&journal, from, &mut machines, &mut pins, progress)?;
    measured.tail_us = (settings.stopwatch)().saturating_sub(restored);
    measured.tail_bytes = journal.end().since(from);

    let mut segments = Segments::new(settings.stretch_bytes);
    machines.all_mut().for_each(|(_, slot)| slot.take_payload_changes(segments.changes()));
    segments.changes().clear();
    segments.refresh(&journal);
    pins.known.iter().for_each(|&at| segments.pin(&journal, Position(at)));
    let mut book = |at: PayloadAt| segments.book(&journal, Position(at.record), i64::from(at.length));
    machines.all().for_each(|(_, slot)| slot.live_payloads(&mut book));
    let checkpointing = Checkpointing::new(store.checkpoints(Some(journal.id()))?, info)?;
    let running = Running::new(journal, machines, checkpointing, segments, settings, tail_records);
    Ok((running, measured))
}

/// Builds the state of a checkpoint and the records after it, and throws it away. `reached` is
/// called for each record before it is applied. Returns the number of records.
pub(crate) fn replay_all(
    settings: &CoreSettings,
    checkpoint: Option<Box<dyn CheckpointReader>>,
    from: Position,
    reader: &mut dyn Reader,
    reached: &mut dyn FnMut(Position),
) -> Result<u64, Error> {
    let mut machines = Machines::new(settings.kinds(), settings.place);
    if let Some(mut checkpoint) = checkpoint {
        restore(&mut *checkpoint, &mut machines, &mut |_| ())?;
    }
    reader.seek(from)?;
    let mut apply = |machines: &mut Machines, position, body: &[u8]| {
        reached(position);
        machines.apply(position, body).map(drop)
    };
    apply_all(reader, &mut machines, &mut apply, &mut |_, _| ())
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

fn replay(
    journal: &impl Journal,
    from: Position,
    machines: &mut Machines,
    pins: &mut Pins,
    progress: &mut dyn FnMut(Progress),
) -> Result<u64, Error> {
    let mut reader = journal.reader();
    reader.seek(from)?;
    let mut apply = |machines: &mut Machines, position, body: &[u8]| {
        if machines.apply(position, body)? {
            pins.pin(position);
        }
        Ok(())
    };
    let mut step = |records, end: Position| progress(Progress::Records { records, bytes: end.since(from) });
    apply_all(&mut *reader, machines, &mut apply, &mut step)
}

/// Takes in the body of the record that stands at a position.
type Apply<'a> = dyn FnMut(&mut Machines, Position, &[u8]) -> Result<(), String> + 'a;

/// Applies all records that the reader gives; `step` is called every few thousand with their
/// number, and the end of the last one.
fn apply_all(
    reader: &mut dyn Reader,
    machines: &mut Machines,
    apply: &mut Apply<'_>,
    step: &mut dyn FnMut(u64, Position),
) -> Result<u64, Error> {
    let mut changes = Vec::new();
    let mut records = 0;
    while let Some(record) = reader.next()? {
        let corrupt = |what| Error::Corrupt { position: record.position, what };
        apply(machines, record.position, record.body).map_err(corrupt)?;
        records += 1;
        if records % RECORDS_A_STEP == 0 {
            machines.all_mut().for_each(|(_, slot)| slot.take_payload_changes(&mut changes));
            changes.clear();
            step(records, record.end);
        }
    }
    Ok(records)
}

/// The segments that hold records which stay, while records are read in their order; where there are
/// no segments, the first such record.
struct Pins {
    /// A position in each.
    known: Vec<u64>,
    /// Where segments end, the last one first.
    ends: Vec<Position>,
    /// Up to here the segment is known.
    below: Position,
}

impl Pins {
    fn new(journal: &impl Journal) -> Self {
        let ends = match journal.segmented() {
            Some(segmented) => segmented.segments().into_iter().rev().map(|segment| segment.end).collect(),
            // Only the first record counts: the log can be trimmed up to it.
            None => Vec::new(),
        };
        Self { known: Vec::new(), ends, below: Position::START }
    }

    fn pin(&mut self, position: Position) {
        if position < self.below {
            return;
        }
        while self.ends.last().is_some_and(|&end| end <= position) {
            self.ends.pop();
        }
        self.below = self.ends.last().copied().unwrap_or(Position(u64::MAX));
        self.known.push(position.0);
    }
}
