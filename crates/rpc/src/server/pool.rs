//! Threads for blocking functions: a bounded queue, deadlines observed before a function starts.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use stadium_reactor::LoopHandle;

use super::config::Runtime;
use super::dispatch::failed;
use super::item::Item;
use crate::service::Job;

/// A blocking function's call, ready to run.
pub(crate) struct Work {
    pub(crate) job: Job,
    pub(crate) place: u32,
    pub(crate) serial: u64,
    pub(crate) deadline: Instant,
    pub(crate) cancelled: Arc<AtomicBool>,
    pub(crate) handle: LoopHandle<Item>,
}

#[derive(Default)]
struct Queue {
    work: VecDeque<Work>,
    closed: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    filled: Condvar,
    queue_max: usize,
}

/// The pool. Dropping it waits for the functions that run; what waits is dropped.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// A way into the pool.
#[derive(Clone)]
pub(crate) struct PoolHandle(Arc<Shared>);

impl Pool {
    pub(crate) fn start(threads: usize, queue_max: usize, runtime: &Runtime) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue::default()),
            filled: Condvar::new(),
            queue_max: queue_max.max(1),
        });
        let mut pool = Self { shared: Arc::clone(&shared), threads: Vec::new() };
        for number in 0..threads.max(1) {
            let shared = Arc::clone(&shared);
            let runtime = runtime.clone();
            let thread = std::thread::Builder::new().name(format!("rpc-pool-{number}")).spawn(move || {
                let _entered = runtime.enter();
                run(&shared);
            })?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    pub(crate) fn handle(&self) -> PoolHandle {
        PoolHandle(Arc::clone(&self.shared))
    }
}

impl PoolHandle {
    /// Queues a call; gives it back where the queue is full.
    pub(crate) fn push(&self, work: Work) -> Result<(), Work> {
        let mut queue = self.0.queue.lock();
        if queue.closed || queue.work.len() >= self.0.queue_max {
            return Err(work);
        }
        queue.work.push_back(work);
        drop(queue);
        self.0.filled.notify_one();
        Ok(())
    }
}

fn run(shared: &Shared) {
    loop {
        let mut queue = shared.queue.lock();
        let work = loop {
            if let Some(work) = queue.work.pop_front() {
                break work;
            }
            if queue.closed {
                return;
            }
            shared.filled.wait(&mut queue);
        };
        drop(queue);
        if work.cancelled.load(Ordering::Relaxed) || Instant::now() >= work.deadline {
            // The loop has answered, or will answer, the caller; nobody waits for this.
            continue;
        }
        let job = std::panic::AssertUnwindSafe(work.job);
        let answer = std::panic::catch_unwind(job).unwrap_or_else(|_| {
            tracing::error!("A blocking function panicked");
            Err(failed())
        });
        // At most one for each call under way; a stopped loop's is gone with it.
        work.handle.send_beyond_bound(Item::Done { place: work.place, serial: work.serial, answer });
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        {
            let mut queue = self.shared.queue.lock();
            queue.closed = true;
            queue.work.clear();
        }
        self.shared.filled.notify_all();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("A thread of the pool ended by a panic");
            }
        }
    }
}
