//! Recovery: the newest checkpoint, and the records after it.
//!
//! The same at the start of a process and after a failure of the journal within it. Nothing is decided
//! here: events are applied as they were written.

use stadium_journal::{CheckpointReader, Holder, Journal, Opening, Position};
use stadium_queue::Queues;

use super::checkpointing::Checkpointing;
use super::running::Running;
use super::seam::{Caller, Store};
use super::segments::Segments;
use super::settings::CoreSettings;
use crate::Error;
use crate::frame::{self, Frame, Machine};

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

/// Opens the journal and builds the state that it tells. `after_failure` is what was durable when a handle failed
/// before, in this process.
pub(super) fn open<S: Store, C: Caller>(
    store: &mut S,
    settings: &CoreSettings,
    after_failure: Option<Position>,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Running<S::Journal, C>, Measured), Error> {
    let newest = store.checkpoints(None)?.newest()?;
    let info = newest.as_ref().map(|reader| reader.info());
    let from = info.map_or(Position::START, |info| info.position);
    let journal = store.open(Opening { checkpoint: from, after_failure, holder: Holder::Respect })?;

    let mut measured = Measured::default();
    let began = (settings.stopwatch)();
    let mut queues = Queues::new(settings.place, settings.bounds.clone());
    if let Some(mut reader) = newest {
        restore(&mut *reader, &mut queues, progress)?;
        measured.checkpoint_bytes = reader.info().bytes;
    }
    let restored = (settings.stopwatch)();
    measured.checkpoint_us = restored.saturating_sub(began);
    let tail_records = replay(&journal, from, &mut queues, progress)?;
    measured.tail_us = (settings.stopwatch)().saturating_sub(restored);
    measured.tail_bytes = journal.end().since(from);

    let mut segments = Segments::default();
    queues.take_payload_changes(segments.changes());
    segments.changes().clear();
    segments.refresh(&journal);
    queues.live_payloads(&mut |at| segments.book(&journal, Position(at.record), i64::from(at.length)));
    let checkpointing = Checkpointing::new(store.checkpoints(Some(journal.id()))?, info)?;
    let running = Running::new(journal, queues, checkpointing, segments, settings.seed, tail_records);
    Ok((running, measured))
}

fn restore(
    reader: &mut dyn CheckpointReader,
    queues: &mut Queues,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), Error> {
    let info = reader.info();
    let corrupt =
        |what: String| Error::Corrupt { position: info.position, what: format!("its checkpoint: {what}") };
    let opening = reader.next()?.ok_or_else(|| corrupt("it is empty".into()))?;
    let opening = frame::Opening::decode(opening).map_err(corrupt)?;
    if opening.position != info.position.0 {
        return Err(corrupt(format!("it says inside that it is of position {:#x}", opening.position)));
    }
    let mut bytes = 0;
    while let Some(chunk) = reader.next()? {
        bytes += chunk.len() as u64;
        let (Machine::Queue, part) = frame::parse_chunk(chunk).map_err(corrupt)?;
        queues.restore(part).map_err(|error| corrupt(error.reason))?;
        progress(Progress::Checkpoint { bytes, bytes_all: info.bytes });
    }
    queues.restore_finish().map_err(|error| corrupt(error.reason))
}

fn replay(
    journal: &impl Journal,
    from: Position,
    queues: &mut Queues,
    progress: &mut dyn FnMut(Progress),
) -> Result<u64, Error> {
    let mut reader = journal.reader();
    reader.seek(from)?;
    let mut changes = Vec::new();
    let mut records = 0;
    while let Some(record) = reader.next()? {
        let corrupt = |what| Error::Corrupt { position: record.position, what };
        apply(queues, record.position, record.body).map_err(corrupt)?;
        records += 1;
        if records % RECORDS_A_STEP == 0 {
            queues.take_payload_changes(&mut changes);
            changes.clear();
            progress(Progress::Records { records, bytes: record.end.since(from) });
        }
    }
    Ok(records)
}

fn apply(queues: &mut Queues, position: Position, body: &[u8]) -> Result<(), String> {
    let frame = Frame::parse(body)?;
    for section in frame.sections() {
        match section.machine {
            Machine::Queue => queues
                .apply(position.0, frame.time, section.offset, section.events)
                .map_err(|error| error.reason)?,
        }
    }
    Ok(())
}
