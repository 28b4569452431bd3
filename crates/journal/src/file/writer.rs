//! The journal's own work: write what was committed, sync it, publish it.
//!
//! A state machine of single disk operations, so that the thread that drives it and a simulator that stops between any two do
//! the same. An error ends it: nothing is tried again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::disk::DiskFile;
use crate::file::pace::Pace;
use crate::file::pool::Pool;
use crate::file::segments::SegmentFile;
use crate::file::shared::{Batch, Shared};
use crate::frame::{self, BatchNote, NOTE_BYTES};
use crate::header::{CONTROL_BYTES, Slot};
use crate::{Error, Position};

/// Writes and syncs batches.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    control: Arc<dyn DiskFile>,
    /// The batches that are becoming durable together, all in one segment.
    group: Vec<Batch>,
    state: State,
    /// All before it was synced.
    synced: Position,
    pace: Pace,
    /// Where a mark may go: the segment that is written, and the end of its frames.
    place: (Arc<SegmentFile>, Arc<dyn DiskFile>, Position),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Write(usize),
    Sync,
    Fence,
    Mark,
    Failed,
}

/// Whether a step did something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    Worked,
    Nothing,
}

impl Writer {
    pub(crate) fn new(
        shared: Arc<Shared>,
        control: Arc<dyn DiskFile>,
        segment: Arc<SegmentFile>,
        file: Arc<dyn DiskFile>,
    ) -> Self {
        let first = segment.header.first();
        Self {
            synced: shared.durable(),
            shared,
            control,
            group: Vec::with_capacity(8),
            state: State::Idle,
            pace: Pace::new(),
            place: (segment, file, first),
        }
    }

    /// For a thread: makes one group durable. Each begins at its own pace, and at once where other
    /// journals wait for the thread.
    pub(crate) fn write_group(&mut self, pool: &Pool) {
        if let Some((records, until)) = self.pace.batch_target()
            && !pool.is_pressed()
        {
            self.shared.wait_for_batch(records, until);
        }
        while self.step() == Progress::Worked && self.state != State::Idle {}
    }

    /// How long a thread looks for the next batch before it turns to something else.
    pub(crate) fn spin_time(&self) -> Duration {
        self.pace.spin_time()
    }

    /// Does one thing: at most one operation that changes the disk.
    pub(crate) fn step(&mut self) -> Progress {
        if self.shared.has_failed() && self.state != State::Failed {
            self.group.clear();
            self.state = State::Failed;
        }
        let next = match self.state {
            State::Failed => return Progress::Nothing,
            State::Idle => {
                self.shared.take(&mut self.group);
                if self.group.is_empty() {
                    return Progress::Nothing;
                }
                Ok(State::Write(0))
            }
            State::Write(index) => self.write(index),
            State::Sync => self.sync(),
            State::Fence => self.fence(),
            State::Mark => Ok(self.mark()),
        };
        match next {
            Ok(state) => self.state = state,
            Err(error) => {
                self.group.clear();
                self.state = State::Failed;
                self.shared.fail(error);
            }
        }
        Progress::Worked
    }

    fn write(&mut self, index: usize) -> Result<State, Error> {
        let batch = &mut self.group[index];
        let note = BatchNote {
            durable: self.synced,
            bytes: u32::try_from(batch.bytes.len() - NOTE_BYTES).expect("a batch is in one segment"),
            records: batch.records,
        };
        batch.bytes[..NOTE_BYTES].copy_from_slice(&frame::batch(batch.segment.seed, batch.start, note));
        let offset = batch.segment.offset(batch.start);
        batch
            .file
            .write_at(&batch.bytes, offset)
            .map_err(|error| failed(&self.shared, "writing", &batch.segment, &error))?;
        Ok(if index + 1 < self.group.len() { State::Write(index + 1) } else { State::Sync })
    }

    fn sync(&self) -> Result<State, Error> {
        let Some(batch) = self.group.last() else { return Ok(State::Idle) };
        let begun = Instant::now();
        batch.file.sync().map_err(|error| failed(&self.shared, "syncing", &batch.segment, &error))?;
        self.shared.counters.sync_us.add(begun.elapsed().as_micros().try_into().unwrap_or(u64::MAX));
        Ok(State::Fence)
    }

    /// Looks, after the sync and before anything is acknowledged, whether somebody else has become the writer.
    fn fence(&mut self) -> Result<State, Error> {
        check_epoch(&self.shared, &*self.control)?;
        let Some(last) = self.group.last() else { return Ok(State::Idle) };
        self.synced = last.end();
        self.place = match &last.next {
            Some((segment, file)) => (Arc::clone(segment), Arc::clone(file), segment.header.first()),
            None => (Arc::clone(&last.segment), Arc::clone(&last.file), last.end()),
        };
        let (mut bytes, mut records) = (0, 0);
        for batch in self.group.drain(..) {
            bytes += batch.bytes.len() as u64;
            records += u64::from(batch.records);
            self.shared.give_back(batch.bytes);
        }
        self.shared.waiting.fetch_sub(bytes, Ordering::Relaxed);
        self.shared.counters.commits.fetch_add(1, Ordering::Relaxed);
        self.shared.counters.batch_records.add(records);
        self.pace.ended(records);
        self.shared.set_durable(self.synced);
        Ok(if self.shared.is_idle() { State::Mark } else { State::Idle })
    }

    /// States, where the next batch will stand, which position is durable. Not synced: it is true
    /// whether or not it survives.
    fn mark(&self) -> State {
        // An error here costs the mark; the next batch will meet it again and report it.
        let _ = self.write_mark();
        State::Idle
    }

    fn write_mark(&self) -> io::Result<()> {
        let (segment, file, at) = &self.place;
        let note = BatchNote { durable: self.synced, bytes: 0, records: 0 };
        file.write_at(&frame::batch(segment.seed, *at, note), segment.offset(*at))
    }

    /// Leaves a mark that is durable, so that damage to the last batch will be known for what it is.
    pub(crate) fn close(&self) {
        if self.state == State::Failed || check_epoch(&self.shared, &*self.control).is_err() {
            return;
        }
        if let Err(error) = self.write_mark().and_then(|()| self.place.1.sync()) {
            tracing::warn!(shard = self.shared.shard, %error, "The journal was closed without its mark");
        }
    }
}

fn failed(shared: &Shared, doing: &str, segment: &SegmentFile, error: &io::Error) -> Error {
    let what = format!("{doing} {}/{} failed: {error}", shared.disk.place(), segment.name());
    Error::Failed { durable: shared.durable(), what }
}

/// Compares the epoch in `control` with ours.
pub(crate) fn check_epoch(shared: &Shared, control: &dyn DiskFile) -> Result<(), Error> {
    let mut bytes = [0; CONTROL_BYTES];
    let broken =
        |what: String| Error::Failed { durable: shared.durable(), what: format!("reading control: {what}") };
    let read = control.read_at(&mut bytes, 0).map_err(|error| broken(error.to_string()))?;
    let slot = Slot::newest(&bytes[..read]).map_err(|error| broken(error.to_string()))?;
    if slot.epoch > shared.epoch {
        return Err(Error::Fenced { epoch: shared.epoch, newer: slot.epoch });
    }
    Ok(())
}
