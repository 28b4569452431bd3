//! The state that the shard's thread, the journal's, the maintenance's and readers share.
//!
//! Batches go one way, their emptied buffers the other. The durable position and the failure are published by the writer alone.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::disk::{Disk, DiskFile};
use crate::file::pool::Pool;
use crate::file::segments::{SegmentFile, Segments};
use crate::metrics::Counters;
use crate::{Epoch, Error, JournalId, Options, Position, Wake};

/// Batches that wait while the writer is busy, before later ones are merged into the open batch.
///
/// As many as a shard commits within one sync and the time for which a commit waits.
pub(crate) const QUEUED_BATCHES_MAX: usize = 8;

/// A longer buffer isn't kept for the next batch, nor one of more than half of what may wait.
const BUFFER_BYTES_KEPT: usize = 4 << 20;

/// What became of the shard's appends between two commits, within one segment.
pub(crate) struct Batch {
    pub(crate) segment: Arc<SegmentFile>,
    pub(crate) file: Arc<dyn DiskFile>,
    /// Where the batch's own frame stands.
    pub(crate) start: Position,
    /// Its frame, to be filled in by the writer, and the frames that belong to it.
    pub(crate) bytes: Vec<u8>,
    pub(crate) records: u32,
    /// The next segment, if this batch seals its own.
    pub(crate) next: Option<(Arc<SegmentFile>, Arc<dyn DiskFile>)>,
}

impl Batch {
    pub(crate) fn end(&self) -> Position {
        self.start.plus(self.bytes.len() as u64)
    }
}

/// What is shared.
pub(crate) struct Shared {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) shard: u32,
    buffer_bytes_kept: usize,
    pub(crate) id: JournalId,
    pub(crate) epoch: Epoch,
    pub(crate) segments: Segments,
    pub(crate) counters: Counters,
    /// Bytes handed to the writer and not yet durable.
    pub(crate) waiting: AtomicU64,
    /// The space that is set aside for a full disk is there.
    pub(crate) reserve_ready: AtomicBool,
    durable: AtomicU64,
    failed: AtomicBool,
    failure: Mutex<Option<Error>>,
    queue: Mutex<Queue>,
    /// Batches wait in it: for a writer that spins.
    has_batches: AtomicBool,
    /// The thread that has the writer waits here for more batches.
    work: Condvar,
    /// The shard waits here for commits.
    done: Condvar,
    wake: Mutex<Option<Wake>>,
}

struct Queue {
    batches: VecDeque<Batch>,
    buffers: Vec<Vec<u8>>,
    /// A thread has the writer, or will have it.
    is_scheduled: bool,
    is_closing: bool,
    is_closed: bool,
}

/// What became of batches that were handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pushed {
    /// Nothing: enough of them wait.
    Refused,
    /// They wait for the thread that has the writer.
    Taken,
    /// They wait, and a thread is to be given the writer.
    Waking,
}

/// What a thread that has the writer finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// Batches.
    Batches,
    /// Nothing: it has let go of the writer.
    Idle,
    /// The journal is closed, and all was taken.
    Closing,
}

impl Shared {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        segments: Segments,
        options: &Options,
        id: JournalId,
        epoch: Epoch,
        durable: Position,
    ) -> Self {
        let queue = Queue {
            batches: VecDeque::with_capacity(2 * QUEUED_BATCHES_MAX),
            buffers: Vec::with_capacity(2 * QUEUED_BATCHES_MAX),
            is_scheduled: false,
            is_closing: false,
            is_closed: false,
        };
        Self {
            disk,
            shard: options.shard,
            buffer_bytes_kept: (options.waiting_bytes_max / 2).min(BUFFER_BYTES_KEPT),
            id,
            epoch,
            segments,
            counters: Counters::default(),
            waiting: AtomicU64::new(0),
            reserve_ready: AtomicBool::new(false),
            durable: AtomicU64::new(durable.0),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            queue: Mutex::new(queue),
            has_batches: AtomicBool::new(false),
            work: Condvar::new(),
            done: Condvar::new(),
            wake: Mutex::new(None),
        }
    }

    /// The durable position, whether or not the handle has failed since.
    pub(crate) fn durable(&self) -> Position {
        Position(self.durable.load(Ordering::Acquire))
    }

    /// The failure, if the handle has failed.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !self.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        match &*lock(&self.failure) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Ends the handle. The first failure stays.
    pub(crate) fn fail(&self, error: Error) {
        let mut failure = lock(&self.failure);
        if failure.is_none() {
            tracing::error!(shard = self.shard, error = %error, "The journal stopped");
            *failure = Some(error);
        }
        drop(failure);
        self.failed.store(true, Ordering::Release);
        lock(&self.queue).batches.clear();
        self.announce();
    }

    /// Publishes that all before `position` is on disk.
    pub(crate) fn set_durable(&self, position: Position) {
        self.durable.store(position.0, Ordering::Release);
        self.announce();
    }

    /// Notifies the shard that something has changed.
    pub(crate) fn announce(&self) {
        // The lock is taken so that a shard between its look and its wait isn't missed.
        drop(lock(&self.queue));
        self.done.notify_all();
        let wake = lock(&self.wake).clone();
        if let Some(wake) = wake {
            wake();
        }
    }

    pub(crate) fn set_wake(&self, wake: Wake) {
        *lock(&self.wake) = Some(wake);
    }

    /// Hands batches over.
    pub(crate) fn push(&self, batches: &mut VecDeque<Batch>) -> Pushed {
        let mut queue = lock(&self.queue);
        if queue.batches.len() >= QUEUED_BATCHES_MAX {
            return Pushed::Refused;
        }
        let bytes: usize = batches.iter().map(|batch| batch.bytes.len()).sum();
        self.waiting.fetch_add(bytes as u64, Ordering::Relaxed);
        queue.batches.extend(batches.drain(..));
        self.has_batches.store(true, Ordering::Release);
        let is_waking = !std::mem::replace(&mut queue.is_scheduled, true);
        drop(queue);
        if is_waking {
            return Pushed::Waking;
        }
        self.work.notify_one();
        Pushed::Taken
    }

    /// Whether [`Shared::push`] would take something now.
    pub(crate) fn takes_batches(&self) -> bool {
        lock(&self.queue).batches.len() < QUEUED_BATCHES_MAX
    }

    /// A buffer to encode into, empty.
    pub(crate) fn buffer(&self) -> Vec<u8> {
        lock(&self.queue).buffers.pop().unwrap_or_default()
    }

    /// Takes the batches that wait and go to one segment.
    pub(crate) fn take(&self, group: &mut Vec<Batch>) {
        let mut queue = lock(&self.queue);
        while let Some(batch) = queue.batches.front() {
            if group.first().is_some_and(|first| !Arc::ptr_eq(&first.segment, &batch.segment)) {
                return;
            }
            group.extend(queue.batches.pop_front());
        }
        self.has_batches.store(false, Ordering::Release);
    }

    /// Gives a buffer back.
    pub(crate) fn give_back(&self, mut buffer: Vec<u8>) {
        if buffer.capacity() > self.buffer_bytes_kept {
            return;
        }
        buffer.clear();
        let mut queue = lock(&self.queue);
        if queue.buffers.len() < queue.buffers.capacity() {
            queue.buffers.push(buffer);
        }
    }

    /// Whether nothing waits for the writer.
    pub(crate) fn is_idle(&self) -> bool {
        lock(&self.queue).batches.is_empty()
    }

    /// For the thread that has the writer: waits until so many records wait, or until a deadline.
    pub(crate) fn wait_for_batch(&self, records: u64, until: Instant) {
        let mut queue = lock(&self.queue);
        loop {
            let waiting: u64 = queue.batches.iter().map(|batch| u64::from(batch.records)).sum();
            let left = until.saturating_duration_since(Instant::now());
            if waiting >= records || left.is_zero() || queue.is_closing {
                return;
            }
            queue = self.work.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// For the thread that has the writer: looks for more batches, for so long, unless other journals wait for the thread.
    pub(crate) fn next_turn(&self, spin: Duration, pool: &Pool) -> Turn {
        if !spin.is_zero() {
            let until = Instant::now() + spin;
            while !self.has_batches.load(Ordering::Acquire) && !pool.is_pressed() && Instant::now() < until {
                std::thread::yield_now();
            }
        }
        let mut queue = lock(&self.queue);
        if self.has_failed() {
            // Some may have come after the failure.
            queue.batches.clear();
        }
        if !queue.batches.is_empty() {
            return Turn::Batches;
        }
        if queue.is_closing {
            return Turn::Closing;
        }
        queue.is_scheduled = false;
        Turn::Idle
    }

    /// Lets the writer finish what was committed and end. True where a thread is to be given the writer.
    pub(crate) fn close(&self) -> bool {
        let mut queue = lock(&self.queue);
        queue.is_closing = true;
        let is_waking = !queue.is_closed && !std::mem::replace(&mut queue.is_scheduled, true);
        drop(queue);
        self.work.notify_all();
        is_waking
    }

    /// The writer has ended.
    pub(crate) fn closed(&self) {
        lock(&self.queue).is_closed = true;
        self.done.notify_all();
    }

    /// Waits until the writer has ended.
    pub(crate) fn wait_closed(&self) {
        let queue = self.done.wait_while(lock(&self.queue), |queue| !queue.is_closed);
        drop(queue.unwrap_or_else(PoisonError::into_inner));
    }

    /// For the shard's thread: waits until `ready`, which also gets the number of waiting batches,
    /// or `timeout`.
    pub(crate) fn wait_until(&self, timeout: Duration, ready: impl Fn(&Self, usize) -> bool) {
        let queue = lock(&self.queue);
        let is_waiting = |queue: &mut Queue| !ready(self, queue.batches.len());
        let waited = self.done.wait_timeout_while(queue, timeout, is_waiting);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Whether the segment took the reserve, and none has been set aside since: it is for records that
    /// free room.
    pub(crate) fn is_reserved(&self, segment: &SegmentFile) -> bool {
        segment.from_reserve && !self.reserve_ready.load(Ordering::Acquire)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
