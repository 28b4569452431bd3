//! Recovery: the newest checkpoint, and the records after it.
//!
//! The same at the start of a process and after a failure of the journal within it: a [`Follower`]
//! that reads to the end of the journal, and becomes its owner.

use stadium_journal::{CheckpointInfo, CheckpointReader, Holder, Journal, Opening, Position, Reader};

use super::checkpointing::Checkpointing;
use super::direct::Direct;
use super::follower::{Begun, Follower};
use super::ports::{Caller, Store};
use super::progress::Progress;
use super::running::Running;
use super::settings::CoreSettings;
use crate::{Contents, Error};

/// Records between two words about progress.
const RECORDS_A_STEP: u64 = 4_096;

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
    let newest = newest.map(Begun::read).transpose()?;
    store.resume(newest.as_ref().map_or(&[], Begun::mark));
    let journal = store.open(Opening { checkpoint: from, after_failure, holder: Holder::Respect })?;

    let began = (settings.stopwatch)();
    let mut follower = Follower::of(settings, newest, progress)?;
    let restored = (settings.stopwatch)();
    let mut reader = journal.reader();
    reader.seek(from)?;
    let mut records: u64 = 0;
    while let Some(record) = reader.next()? {
        follower.apply(record)?;
        records += 1;
        if records.is_multiple_of(RECORDS_A_STEP) {
            follower.settle(&journal);
            progress(Progress::Records { records, bytes: record.end.since(from) });
        }
    }
    let measured = Measured {
        checkpoint_bytes: info.map_or(0, |info| info.bytes),
        checkpoint_us: restored.saturating_sub(began),
        tail_bytes: journal.end().since(from),
        tail_us: (settings.stopwatch)().saturating_sub(restored),
    };
    Ok((promote(store, settings, follower, journal, info)?, measured))
}

/// The owner that a follower becomes, on the journal that it has read to the end. `newest` is the
/// newest checkpoint that it keeps.
pub(super) fn promote<S: Store, C: Caller, M: Direct>(
    store: &mut S,
    settings: &CoreSettings,
    follower: Follower,
    journal: S::Journal,
    newest: Option<CheckpointInfo>,
) -> Result<Running<S::Journal, C, M>, Error> {
    let records = follower.records();
    let (machines, segments) = follower.into_parts(&journal);
    let checkpointing = Checkpointing::new(store.checkpoints(Some(journal.id()))?, newest)?;
    Ok(Running::new(journal, machines, checkpointing, segments, settings, records))
}

/// Builds the state of a checkpoint and the records after it, and throws it away. `reached` is
/// called for each record before it is applied. Returns the number of records, and what the state
/// holds.
pub(crate) fn replay_all(
    settings: &CoreSettings,
    checkpoint: Option<Box<dyn CheckpointReader>>,
    from: Position,
    reader: &mut dyn Reader,
    reached: &mut dyn FnMut(Position),
) -> Result<(u64, Contents), Error> {
    let mut follower = Follower::new(settings, checkpoint, &mut |_| ())?;
    reader.seek(from)?;
    while let Some(record) = reader.next()? {
        reached(record.position);
        follower.apply(record)?;
        if follower.records().is_multiple_of(RECORDS_A_STEP) {
            follower.forget_changes();
        }
    }
    Ok((follower.records(), follower.contents()))
}
