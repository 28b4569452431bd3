//! The threads of all shards, and what they publish.
//!
//! [`crate::driver`] starts them.

use std::collections::HashMap;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use stadium_queue::{QueueName, QueueSettings};

use crate::ShardMetrics;

/// The threads of all shards, and what they publish.
pub(crate) struct Threads {
    pub(crate) metrics: Vec<Mutex<ShardMetrics>>,
    /// Queues that some shard declared spread when it was opened, and how.
    pub(crate) declared: Mutex<HashMap<QueueName, QueueSettings>>,
    pub(crate) running: Mutex<usize>,
    pub(crate) ended: Condvar,
    pub(crate) joins: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    pub(crate) fn new(count: u16) -> Self {
        let metrics = |shard| Mutex::new(ShardMetrics { shard, ..ShardMetrics::default() });
        Self {
            metrics: (0..count).map(metrics).collect(),
            declared: Mutex::default(),
            running: Mutex::new(0),
            ended: Condvar::new(),
            joins: Mutex::default(),
        }
    }

    /// Figures of each shard.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = ShardMetrics> {
        self.metrics.iter().map(|metrics| metrics.lock().clone())
    }

    /// How a queue was declared that some shard held as spread when it was opened.
    pub(crate) fn declared(&self, queue: &QueueName) -> Option<QueueSettings> {
        self.declared.lock().get(queue).cloned()
    }

    /// Waits until all threads have ended; false where they took longer.
    pub(crate) fn join(&self, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        let mut running = self.running.lock();
        while *running > 0 {
            if self.ended.wait_until(&mut running, until).timed_out() && *running > 0 {
                return false;
            }
        }
        drop(running);
        for thread in self.joins.lock().drain(..) {
            // It has caught its panics.
            let _ = thread.join();
        }
        true
    }
}
