//! Threads that do the work of many journals: each takes what is ready, the longest waiting first.
//!
//! Work is in the pool's queue at most once, or with the thread that does it; its owner sees to that.
//! A thread that has nothing to do parks. One that waits for more of the same work gives that up
//! while the pool is pressed: while more is ready than parked threads can take.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::Error;

/// The work of one journal.
pub(crate) trait Work: Send + Sync {
    /// Does what is ready, on one of the pool's threads.
    fn work(self: Arc<Self>, pool: &Pool);

    /// It panicked, which is a bug.
    fn panicked(&self);
}

/// What is ready, and who waits for it.
#[derive(Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
    work: Condvar,
    /// More is ready than parked threads can take.
    is_pressed: AtomicBool,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Arc<dyn Work>>,
    /// Work that is ready at a time, the soonest first: all of it waits equally long.
    later: VecDeque<(Instant, Arc<dyn Work>)>,
    parked: usize,
    is_closing: bool,
}

impl Pool {
    /// Work that waits for a thread. A thread that does a part of it and pushes the rest lets
    /// everything else have its turn.
    pub(crate) fn push(&self, work: Arc<dyn Work>) {
        let mut state = self.state();
        state.ready.push_back(work);
        let is_somebody_parked = state.parked > 0;
        self.look(&state);
        drop(state);
        if is_somebody_parked {
            self.work.notify_one();
        }
    }

    /// Work that is ready after [`Self::push_later`]'s one delay, which is the same for all work.
    pub(crate) fn push_later(&self, work: Arc<dyn Work>, delay: Duration) {
        self.state().later.push_back((Instant::now() + delay, work));
        // A parked thread may not know that it has something to wake for.
        self.work.notify_one();
    }

    /// Whether other work waits for the calling thread.
    pub(crate) fn is_pressed(&self) -> bool {
        self.is_pressed.load(Ordering::Acquire)
    }

    fn look(&self, state: &State) {
        self.is_pressed.store(state.ready.len() > state.parked, Ordering::Release);
    }

    fn run(&self) {
        let mut state = self.state();
        loop {
            if let Some(work) = state.ready.pop_front() {
                self.look(&state);
                drop(state);
                let done = catch_unwind(AssertUnwindSafe(|| Arc::clone(&work).work(self)));
                if done.is_err() {
                    work.panicked();
                }
                drop(work);
                state = self.state();
                continue;
            }
            if state.is_closing {
                return;
            }
            let next = state.later.front().map(|(at, _)| at.saturating_duration_since(Instant::now()));
            if next == Some(Duration::ZERO) {
                let due = state.later.pop_front();
                state.ready.extend(due.map(|(_, work)| work));
                continue;
            }
            state.parked += 1;
            self.look(&state);
            state = match next {
                Some(next) => self.work.wait_timeout(state, next).unwrap_or_else(PoisonError::into_inner).0,
                None => self.work.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            state.parked -= 1;
            self.look(&state);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pool with its threads, which end when it is dropped.
pub(crate) struct Crew {
    pub(crate) pool: Arc<Pool>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    /// Starts so many threads, at least one. `name` is theirs, with a number.
    pub(crate) fn start(name: &str, threads: usize) -> Result<Self, Error> {
        let mut crew = Self { pool: Arc::default(), threads: Vec::new() };
        for number in 0..threads.max(1) {
            let pool = Arc::clone(&crew.pool);
            let spawned =
                std::thread::Builder::new().name(format!("{name}-{number}")).spawn(move || pool.run());
            match spawned {
                Ok(thread) => crew.threads.push(thread),
                // Dropped, it ends those that were started.
                Err(error) => return Err(Error::io("cannot start the journal's threads", &error)),
            }
        }
        Ok(crew)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.pool.state().is_closing = true;
        self.pool.work.notify_all();
        for thread in self.threads.drain(..) {
            // A panic in it was a bug and has been printed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    struct Blocked {
        begun: Mutex<Sender<()>>,
        until: Mutex<Receiver<()>>,
    }

    impl Work for Blocked {
        fn work(self: Arc<Self>, _: &Pool) {
            let _ = lock(&self.begun).send(());
            let _ = lock(&self.until).recv();
        }

        fn panicked(&self) {}
    }

    struct Counted {
        done: Mutex<Sender<usize>>,
        number: usize,
        panics: AtomicUsize,
    }

    impl Work for Counted {
        fn work(self: Arc<Self>, _: &Pool) {
            assert!(self.number != 7, "planned");
            let _ = lock(&self.done).send(self.number);
        }

        fn panicked(&self) {
            self.panics.fetch_add(1, Ordering::SeqCst);
            let _ = lock(&self.done).send(100 + self.number);
        }
    }

    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().expect("nothing panics while it is held")
    }

    #[test]
    fn work_is_done_in_its_order_while_a_thread_is_blocked_and_after_a_panic() {
        let crew = Crew::start("test", 2).expect("it starts");
        let (begun, has_begun) = channel();
        let (go_on, until) = channel();
        crew.pool.push(Arc::new(Blocked { begun: Mutex::new(begun), until: Mutex::new(until) }));
        has_begun.recv_timeout(LONG).expect("it is begun");
        let (done, finished) = channel();
        for number in 6..9 {
            let done = Mutex::new(done.clone());
            crew.pool.push(Arc::new(Counted { done, number, panics: AtomicUsize::new(0) }));
        }
        let order: Vec<_> = (0..3).map(|_| finished.recv_timeout(LONG).expect("it is done")).collect();
        assert_eq!(order, [6, 107, 8], "the one that panics says so, and the next one is done");
        go_on.send(()).expect("it waits");
    }

    #[test]
    fn the_pool_is_pressed_while_work_waits_and_nobody_is_parked() {
        let crew = Crew::start("test", 1).expect("it starts");
        let (begun, has_begun) = channel();
        let (go_on, until) = channel();
        crew.pool.push(Arc::new(Blocked { begun: Mutex::new(begun), until: Mutex::new(until) }));
        has_begun.recv_timeout(LONG).expect("it is begun");
        assert!(!crew.pool.is_pressed());
        let (done, finished) = channel();
        crew.pool.push(Arc::new(Counted { done: Mutex::new(done), number: 1, panics: AtomicUsize::new(0) }));
        assert!(crew.pool.is_pressed());
        go_on.send(()).expect("it waits");
        assert_eq!(finished.recv_timeout(LONG), Ok(1));
    }

    #[test]
    fn later_work_is_done_after_its_delay() {
        let crew = Crew::start("test", 1).expect("it starts");
        let (done, finished) = channel();
        let begun = Instant::now();
        let work = Counted { done: Mutex::new(done), number: 1, panics: AtomicUsize::new(0) };
        crew.pool.push_later(Arc::new(work), Duration::from_millis(30));
        assert_eq!(finished.recv_timeout(LONG), Ok(1));
        assert!(begun.elapsed() >= Duration::from_millis(30));
    }
}
