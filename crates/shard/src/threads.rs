//! The threads of all shards, and what they publish.
//!
//! Each drives its part of the shards ([`crate::worker`]); helpers open and close them
//! ([`crate::blocking`]).

use std::collections::HashSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::bell::Bell;
use crate::blocking::Helpers;
use crate::core::CheckpointPermits;
use crate::drive::Drive;
use crate::lag::Published;
use crate::worker::{Desk, Worker};
use crate::{Error, ShardMetrics, ThreadMetrics};

/// Helpers at least: opening a shard mostly waits for the disk.
const HELPERS_MIN: usize = 8;

/// Checkpoints that are written at once: each has a thread, and slices in memory.
pub(crate) const CHECKPOINTS_MAX: usize = 32;

/// The threads of all shards, and what they publish.
pub(crate) struct Threads {
    pub(crate) metrics: Vec<Mutex<ShardMetrics>>,
    /// How far each follower is behind.
    pub(crate) lags: Vec<Published>,
    pub(crate) helpers: Arc<Helpers>,
    pub(crate) checkpoint_permits: CheckpointPermits,
    desks: Vec<Arc<Desk>>,
    open: Mutex<Open>,
    ended: Condvar,
    joins: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Open {
    /// Shards that are open, or being opened or closed.
    shards: HashSet<u16>,
    /// No more is opened.
    is_stopping: bool,
}

impl Threads {
    /// So many threads for so many shards; [`Self::start`] starts them.
    pub(crate) fn new(count: u16, threads: usize) -> Self {
        let metrics = |shard| Mutex::new(ShardMetrics { shard, ..ShardMetrics::default() });
        let threads = threads.clamp(1, usize::from(count).max(1));
        Self {
            metrics: (0..count).map(metrics).collect(),
            lags: (0..count).map(|_| Published::default()).collect(),
            helpers: Arc::new(Helpers::new(threads.max(HELPERS_MIN))),
            checkpoint_permits: CheckpointPermits::new(CHECKPOINTS_MAX),
            desks: std::iter::repeat_with(Arc::default).take(threads).collect(),
            open: Mutex::default(),
            ended: Condvar::new(),
            joins: Mutex::default(),
        }
    }

    /// Starts the threads that drive shards.
    pub(crate) fn start(&self) -> Result<(), Error> {
        for (number, desk) in self.desks.iter().enumerate() {
            let count = u16::try_from(self.metrics.len()).expect("shards are counted in 16 bits");
            let worker = Worker::new(Arc::clone(desk), Arc::clone(&self.helpers), self.desks.len(), count);
            let spawned =
                std::thread::Builder::new().name(format!("shards-{number}")).spawn(move || worker.run());
            match spawned {
                Ok(thread) => self.joins.lock().push(thread),
                Err(error) => {
                    self.join(Duration::MAX / 4);
                    return Err(Error::Thread(error.to_string()));
                }
            }
        }
        Ok(())
    }

    fn desk(&self, shard: u16) -> &Desk {
        &self.desks[usize::from(shard) % self.desks.len()]
    }

    /// The bell of the thread that drives a shard.
    pub(crate) fn bell(&self, shard: u16) -> Arc<Bell> {
        Arc::clone(&self.desk(shard).bell)
    }

    /// Shards that a thread drives at most.
    pub(crate) fn shards_each(&self) -> usize {
        self.metrics.len().div_ceil(self.desks.len())
    }

    /// A shard is about to be opened: has `prepare` called, unless it is open, being opened or closed, or
    /// the server stops.
    ///
    /// # Errors
    ///
    /// One of these.
    pub(crate) fn begin(&self, shard: u16, prepare: impl FnOnce()) -> Result<(), Error> {
        let mut open = self.open.lock();
        if open.is_stopping {
            return Err(Error::NotNow(format!("shard {shard} is not opened: the server is stopping")));
        }
        if !open.shards.insert(shard) {
            return Err(Error::NotNow(format!("shard {shard} is open, or is being opened or closed")));
        }
        prepare();
        Ok(())
    }

    /// No shard is opened from now on. False where that was so before.
    pub(crate) fn stop(&self) -> bool {
        !std::mem::replace(&mut self.open.lock().is_stopping, true)
    }

    /// Whether [`Self::stop`] was called.
    pub(crate) fn is_stopping(&self) -> bool {
        self.open.lock().is_stopping
    }

    /// A shard was opened: its thread drives it from now on.
    pub(crate) fn seat(&self, drive: Box<dyn Drive>) {
        self.desk(drive.shard()).seat(drive);
    }

    /// A shard has ended, or could not be opened.
    pub(crate) fn has_ended(&self, shard: u16) {
        self.metrics[usize::from(shard)].lock().serving = false;
        self.open.lock().shards.remove(&shard);
        self.ended.notify_all();
    }

    /// Figures of each shard.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = ShardMetrics> {
        self.metrics.iter().map(|metrics| metrics.lock().clone())
    }

    /// Figures of each thread.
    pub(crate) fn thread_metrics(&self) -> Vec<ThreadMetrics> {
        let of = |(thread, desk): (usize, &Arc<Desk>)| ThreadMetrics { thread, busy_us: desk.busy_us() };
        self.desks.iter().enumerate().map(of).collect()
    }

    /// Waits until all shards have ended, then until their threads have; false where that took longer.
    pub(crate) fn join(&self, at_most: Duration) -> bool {
        if !self.wait_until(at_most, |open| open.shards.is_empty()) {
            return false;
        }
        for desk in &self.desks {
            desk.close();
        }
        for thread in self.joins.lock().drain(..) {
            // It has caught its panics.
            let _ = thread.join();
        }
        true
    }

    /// Waits until a shard has ended; false where that took longer.
    pub(crate) fn wait_for(&self, shard: u16, at_most: Duration) -> bool {
        self.wait_until(at_most, |open| !open.shards.contains(&shard))
    }

    fn wait_until(&self, at_most: Duration, holds: impl Fn(&Open) -> bool) -> bool {
        let until = Instant::now() + at_most;
        let mut open = self.open.lock();
        while !holds(&open) {
            if self.ended.wait_until(&mut open, until).timed_out() && !holds(&open) {
                return false;
            }
        }
        true
    }
}
