//! Checkpoints beside the running shard: begun at a position, encoded slice by slice between turns.
//!
//! A checkpoint gets its name when the journal is durable up to its position, and not before. One that
//! fails is given up and tried again later; until one succeeds the journal keeps what it would have covered.

use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;

use stadium_journal::{CheckpointInfo, CheckpointWriter, Checkpoints, Error, Journal, Position};
use stadium_state_machine::{Milliseconds, Time};

use super::machines::Machines;
use super::segments::Segments;
use super::settings::{CheckpointPermit, CheckpointWriting, CoreSettings};
use crate::frame::Opening;
use crate::metrics::Counts;

/// Slices that may wait for the writing thread; then encoding waits for it. A megabyte.
const CHUNKS_WAITING_MAX: usize = 4;

/// How long after a failed checkpoint the next one is tried.
const AFTER_FAILURE: Milliseconds = 10_000;

/// How soon to look again while the disk or the writing thread is behind.
const LOOK_AGAIN: Milliseconds = 2;

/// How soon to look again while as many other shards as may write checkpoints.
const PERMIT_WAIT: Milliseconds = 100;

/// The checkpoints of a shard.
pub(super) struct Checkpointing {
    checkpoints: Box<dyn Checkpoints>,
    run: Option<Run>,
    newest: Option<CheckpointInfo>,
    /// Records from here on must stay: a kept checkpoint may need them.
    floor: Position,
    asked: bool,
    not_before: Time,
    pub(super) counts: CheckpointCounts,
}

#[derive(Default)]
pub(super) struct CheckpointCounts {
    pub(super) written: u64,
    pub(super) failed: u64,
    pub(super) began_at: Option<Time>,
    pub(super) took_us: u64,
    pub(super) pause_us: Counts,
}

impl CheckpointCounts {
    /// Takes over the counts of a journal that failed.
    pub(super) fn add(&mut self, other: CheckpointCounts) {
        self.written += other.written;
        self.failed += other.failed;
    }
}

struct Run {
    position: Position,
    began_at: Time,
    began_us: u64,
    writer: Writer,
    /// A slice that the writer had no room for.
    held: Option<Vec<u8>>,
    state: RunState,
    /// Given back when the writer's thread has ended: fields are dropped in their order.
    _permit: CheckpointPermit,
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum RunState {
    Encoding,
    /// All slices are handed over; the journal is not yet durable up to the position.
    Encoded,
    Finishing,
}

/// When the next step makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing to do.
    Idle,
    /// More to encode.
    AtOnce,
    /// Somebody else is behind.
    After(Milliseconds),
    /// A checkpoint was finished: records before the floor may go.
    Finished,
}

impl Checkpointing {
    pub(super) fn new(
        checkpoints: Box<dyn Checkpoints>,
        newest: Option<CheckpointInfo>,
    ) -> Result<Self, Error> {
        let floor = floor(&*checkpoints)?;
        Ok(Self {
            checkpoints,
            run: None,
            newest,
            floor,
            asked: false,
            not_before: Time(0),
            counts: CheckpointCounts::default(),
        })
    }

    /// Counts go on over a reopening.
    pub(super) fn take_counts(&mut self) -> CheckpointCounts {
        std::mem::take(&mut self.counts)
    }

    pub(super) fn soon(&mut self) {
        self.asked = true;
        self.not_before = Time(0);
    }

    pub(super) fn runs(&self) -> bool {
        self.run.is_some() || self.asked
    }

    /// Whether the tables are being encoded right now.
    pub(super) fn encodes(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.state == RunState::Encoding)
    }

    pub(super) fn newest(&self) -> Option<CheckpointInfo> {
        self.newest
    }

    pub(super) fn floor(&self) -> Position {
        self.floor
    }

    /// One step of at most one slice.
    pub(super) fn step<J: Journal>(
        &mut self,
        machines: &mut Machines,
        journal: &mut J,
        segments: &Segments,
        settings: &CoreSettings,
        now: Time,
    ) -> Step {
        if self.run.is_none() && !self.is_due(journal.end(), settings, now) {
            return Step::Idle;
        }
        let began = (settings.stopwatch)();
        let step = self.try_step(machines, journal, segments, settings, now).unwrap_or_else(|error| {
            tracing::warn!(%error, "Checkpoint failed; it will be tried again");
            self.counts.failed += 1;
            self.run = None;
            self.asked = false;
            machines.checkpoint_abort();
            self.not_before = now.after(AFTER_FAILURE);
            Step::Idle
        });
        self.counts.pause_us.add((settings.stopwatch)().saturating_sub(began));
        step
    }

    fn is_due(&self, end: Position, settings: &CoreSettings, now: Time) -> bool {
        // A clock that was set back must not put it off for long.
        if now < self.not_before && now.after(AFTER_FAILURE) >= self.not_before {
            return false;
        }
        let (position, bytes) = self.newest.map_or((Position::START, 0), |info| (info.position, info.bytes));
        self.asked || end.since(position) >= settings.checkpoint_bytes.max(bytes)
    }

    fn try_step<J: Journal>(
        &mut self,
        machines: &mut Machines,
        journal: &mut J,
        segments: &Segments,
        settings: &CoreSettings,
        now: Time,
    ) -> Result<Step, Error> {
        let run = match &mut self.run {
            Some(run) => run,
            none => {
                let Some(permit) = settings.checkpoint_permits.take() else {
                    return Ok(Step::After(PERMIT_WAIT));
                };
                let position = journal.end();
                let mut writer = Writer::new(self.checkpoints.begin(position)?, settings.checkpoint_writer)?;
                let (position_in, machines_in) = (position.0, machines.kinds.len() as u32);
                let pinned = segments.pinned();
                let mark = journal.mark();
                let opening =
                    Opening { time: now, position: position_in, machines: machines_in, pinned, mark };
                writer.offer(opening.encode())?;
                machines.checkpoint_begin();
                self.asked = false;
                none.insert(Run {
                    position,
                    began_at: now,
                    began_us: (settings.stopwatch)(),
                    writer,
                    held: None,
                    state: RunState::Encoding,
                    _permit: permit,
                })
            }
        };
        if let Some(held) = run.held.take() {
            run.held = run.writer.offer(held)?;
            if run.held.is_some() {
                return Ok(Step::After(LOOK_AGAIN));
            }
        }
        if run.state == RunState::Encoding {
            let mut chunk = run.writer.buffer();
            chunk.clear();
            let more = machines.checkpoint_next(&mut chunk, settings.checkpoint_slice_bytes);
            if !more {
                run.state = RunState::Encoded;
            }
            run.held = run.writer.offer(chunk)?;
            return Ok(if run.held.is_some() { Step::After(LOOK_AGAIN) } else { Step::AtOnce });
        }
        if run.state == RunState::Encoded {
            if journal.durable()? < run.position {
                return Ok(Step::After(LOOK_AGAIN));
            }
            run.writer.finish();
            run.state = RunState::Finishing;
        }
        match run.writer.finished()? {
            None => Ok(Step::After(LOOK_AGAIN)),
            Some(info) => {
                self.counts.written += 1;
                self.counts.began_at = Some(run.began_at);
                self.counts.took_us = (settings.stopwatch)().saturating_sub(run.began_us);
                self.newest = Some(info);
                self.run = None;
                self.floor = floor(&*self.checkpoints)?;
                Ok(Step::Finished)
            }
        }
    }
}

/// Records from the older kept checkpoint on must stay; all, where there is none.
fn floor(checkpoints: &dyn Checkpoints) -> Result<Position, Error> {
    Ok(checkpoints.list()?.last().map_or(Position::START, |info| info.position))
}

/// Writes chunks, here or in a thread.
enum Writer {
    Here { writer: Option<Box<dyn CheckpointWriter>>, finished: Option<Result<CheckpointInfo, Error>> },
    Thread(WriterThread),
}

struct WriterThread {
    /// None once it was asked to finish.
    chunks: Option<SyncSender<Vec<u8>>>,
    used: Receiver<Vec<u8>>,
    finished: Receiver<Result<CheckpointInfo, Error>>,
    finish: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    fn new(writer: Box<dyn CheckpointWriter>, writing: CheckpointWriting) -> Result<Self, Error> {
        match writing {
            CheckpointWriting::InTurn => Ok(Writer::Here { writer: Some(writer), finished: None }),
            CheckpointWriting::OwnThread => WriterThread::spawn(writer).map(Writer::Thread),
        }
    }

    /// An empty buffer, one that was used before where there is one.
    fn buffer(&mut self) -> Vec<u8> {
        match self {
            Writer::Here { .. } => Vec::new(),
            Writer::Thread(thread) => thread.used.try_recv().unwrap_or_default(),
        }
    }

    /// Hands over a chunk; gives it back where there is no room now.
    fn offer(&mut self, chunk: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Writer::Here { writer, .. } => {
                if let Some(writer) = writer {
                    writer.chunk(&chunk)?;
                }
                Ok(None)
            }
            Writer::Thread(thread) => thread.offer(chunk),
        }
    }

    fn finish(&mut self) {
        match self {
            Writer::Here { writer, finished } => *finished = writer.take().map(CheckpointWriter::finish),
            Writer::Thread(thread) => {
                let _ = thread.finish.send(());
                thread.chunks = None;
            }
        }
    }

    fn finished(&mut self) -> Result<Option<CheckpointInfo>, Error> {
        match self {
            Writer::Here { finished, .. } => finished.take().transpose(),
            Writer::Thread(thread) => thread.finished(),
        }
    }
}

impl WriterThread {
    fn spawn(mut writer: Box<dyn CheckpointWriter>) -> Result<Self, Error> {
        let (chunks, incoming) = sync_channel::<Vec<u8>>(CHUNKS_WAITING_MAX);
        let (give_back, used) = channel();
        let (done, finished) = channel();
        let (finish, finish_asked) = channel();
        let work = move || {
            for chunk in incoming {
                if let Err(error) = writer.chunk(&chunk) {
                    let _ = done.send(Err(error));
                    return;
                }
                let _ = give_back.send(chunk);
            }
            // The chunks' end without a word means that the checkpoint was given up.
            if finish_asked.try_recv().is_ok() {
                let _ = done.send(writer.finish());
            }
        };
        let thread = std::thread::Builder::new()
            .name("checkpoint".into())
            .spawn(work)
            .map_err(|error| Error::io("starting the thread that writes checkpoints", &error))?;
        Ok(Self { chunks: Some(chunks), used, finished, finish, thread: Some(thread) })
    }

    fn offer(&mut self, chunk: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        let Some(chunks) = &self.chunks else {
            return Ok(None);
        };
        match chunks.try_send(chunk) {
            Ok(()) => Ok(None),
            Err(TrySendError::Full(chunk)) => Ok(Some(chunk)),
            Err(TrySendError::Disconnected(_)) => Err(self.failure()),
        }
    }

    fn finished(&mut self) -> Result<Option<CheckpointInfo>, Error> {
        match self.finished.try_recv() {
            Ok(result) => result.map(Some),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(self.failure()),
        }
    }

    fn failure(&self) -> Error {
        match self.finished.try_recv() {
            Ok(Err(error)) => error,
            _ => Error::Io {
                what: "writing a checkpoint".into(),
                kind: std::io::ErrorKind::Other,
                message: "its thread ended early".into(),
            },
        }
    }
}

impl Drop for WriterThread {
    /// Waits for the thread: the next process that opens the folder must not meet its file.
    fn drop(&mut self) {
        self.chunks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
