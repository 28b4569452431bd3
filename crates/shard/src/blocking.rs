//! Threads for work of shards that waits for the disk: opening, recovering, closing.
//!
//! They exist while there is such work and for a moment after it, so many at most. They spare the
//! threads that drive shards: a shard that reads gigabytes of journal delays no other one.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// A piece of work.
pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// How long a thread without work stays: a shard whose journal cannot be opened asks again soon.
const STAY: Duration = Duration::from_secs(1);

/// The threads.
pub(crate) struct Helpers {
    state: Mutex<State>,
    work: Condvar,
    threads_max: usize,
}

#[derive(Default)]
struct State {
    /// Bounded by the shards: each has one piece of work here at most.
    waiting: VecDeque<Work>,
    threads: usize,
    /// Of them, those without work.
    idle: usize,
}

impl Helpers {
    /// So many threads at most, and at least one.
    pub(crate) fn new(threads_max: usize) -> Self {
        Self { state: Mutex::default(), work: Condvar::new(), threads_max: threads_max.max(1) }
    }

    /// Has work done. Where no thread can be started the caller does it, however long that takes.
    pub(crate) fn run(self: &Arc<Self>, work: Work) {
        let mut state = self.state.lock();
        state.waiting.push_back(work);
        if state.idle >= state.waiting.len() || state.threads >= self.threads_max {
            drop(state);
            self.work.notify_one();
            return;
        }
        state.threads += 1;
        drop(state);
        let helpers = Arc::clone(self);
        let spawned =
            std::thread::Builder::new().name("shard-helper".into()).spawn(move || helpers.work(STAY));
        if let Err(error) = spawned {
            tracing::warn!(%error, "No thread for a shard's journal; the work is done by another one");
            self.work(Duration::ZERO);
        }
    }

    /// Works until there has been nothing for so long.
    fn work(&self, stay: Duration) {
        let mut state = self.state.lock();
        loop {
            if let Some(work) = state.waiting.pop_front() {
                drop(state);
                // It has been printed; whoever waits for the work sees that it was dropped.
                let _ = catch_unwind(AssertUnwindSafe(work));
                state = self.state.lock();
                continue;
            }
            state.idle += 1;
            let waited = self.work.wait_for(&mut state, stay);
            state.idle -= 1;
            if waited.timed_out() && state.waiting.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Instant;

    use super::*;

    #[test]
    fn all_work_is_done_by_few_threads_that_end() {
        let helpers = Arc::new(Helpers::new(2));
        let (done, finished) = channel();
        for number in 0..50 {
            let done = done.clone();
            helpers.run(Box::new(move || {
                assert!(number != 7, "planned");
                let _ = done.send(std::thread::current().id());
            }));
        }
        drop(done);
        let threads: Vec<_> = finished.iter().collect();
        assert_eq!(threads.len(), 49);
        let deadline = Instant::now() + Duration::from_secs(60);
        while helpers.state.lock().threads > 0 {
            assert!(Instant::now() < deadline, "they end");
            std::thread::yield_now();
        }
    }
}
