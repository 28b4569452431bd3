//! Threads for work that blocks a thread: hashes and HTTP calls.
//!
//! The queue before them is bounded, and so is the time that a job may wait in it: a connection has ten
//! seconds to authenticate, and computing a hash for one that has gone helps nobody. Every job that was
//! taken is called exactly once, with [`Turn::TooLate`] where it was not worth running.
//!
//! Addresses take turns: one that has many jobs waiting delays no other by more than one of them.
//! In a full queue it also gives up places, until all addresses that wait have as many.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use stadium_addresses::Prefix;

use super::Error;

/// How long a job may wait for its turn.
///
/// A connection is cut 10 s after its accept when it has not authenticated; a job that starts after 8 s would
/// hardly be in time.
const WAIT_MAX: Duration = Duration::from_secs(8);

/// The bounds of the delay that a busy device gets.
const RETRY_MIN: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(60);

/// What a job is called with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Do the work.
    Now,
    /// Do not: it waited too long, or the pool ends.
    TooLate {
        /// When to reconnect.
        retry_after: Duration,
    },
}

/// The queue is full, and the address has its share of it. Nothing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full {
    /// When there will probably be room.
    pub(super) retry_after: Duration,
}

type Job = Box<dyn FnOnce(Turn) + Send>;

/// A bounded queue and its threads. They end when it is dropped; the jobs that wait then are
/// notified.
pub(super) struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    threads: u32,
    queue_max: usize,
}

struct State {
    jobs: Jobs,
    /// A moving mean of what a job takes, for the estimate of a full queue's end.
    job_mean: Duration,
    closed: bool,
}

/// The jobs that wait, and whose turn it is.
#[derive(Default)]
struct Jobs {
    by_address: HashMap<Prefix, VecDeque<(Instant, Job)>>,
    /// Each address that has a job, in the order of their turns.
    turns: VecDeque<Prefix>,
    count: usize,
}

impl Jobs {
    fn push(&mut self, prefix: Prefix, job: (Instant, Job)) {
        let jobs = self.by_address.entry(prefix).or_default();
        if jobs.is_empty() {
            self.turns.push_back(prefix);
        }
        jobs.push_back(job);
        self.count += 1;
    }

    /// The next job of the address whose turn it is.
    fn pop(&mut self) -> Option<(Instant, Job)> {
        let prefix = self.turns.pop_front()?;
        let jobs = self.by_address.get_mut(&prefix)?;
        let job = jobs.pop_front();
        if jobs.is_empty() {
            self.by_address.remove(&prefix);
        } else {
            self.turns.push_back(prefix);
        }
        self.count -= usize::from(job.is_some());
        job
    }

    /// The newest job of the address that has most, if it has at least two more than this one: for
    /// a place in a full queue.
    fn give_up_for(&mut self, prefix: Prefix) -> Option<Job> {
        let held = self.by_address.get(&prefix).map_or(0, VecDeque::len);
        // An address with its share or more is not worth a search: that is what a flood does.
        if held * (self.turns.len() + 1) >= self.count {
            return None;
        }
        let most = self.by_address.values_mut().max_by_key(|jobs| jobs.len())?;
        if most.len() < held + 2 {
            return None;
        }
        self.count -= 1;
        most.pop_back().map(|(_, job)| job)
    }
}

impl Pool {
    /// Starts `threads` threads called `name`.
    pub(super) fn start(name: &str, threads: usize, queue_max: usize) -> Result<Self, Error> {
        let state = State { jobs: Jobs::default(), job_mean: Duration::from_millis(20), closed: false };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            wake: Condvar::new(),
            threads: u32::try_from(threads).unwrap_or(u32::MAX).max(1),
            queue_max,
        });
        let pool = Self { shared };
        for at in 0..threads {
            let shared = Arc::clone(&pool.shared);
            thread::Builder::new()
                .name(format!("{name}-{at}"))
                .spawn(move || shared.work())
                .map_err(|source| Error::System { attempt: "start a thread", source })?;
        }
        Ok(pool)
    }

    /// Takes a job of an address, or returns when there will be room.
    pub(super) fn submit(
        &self,
        address: IpAddr,
        job: impl FnOnce(Turn) + Send + 'static,
    ) -> Result<(), Full> {
        let prefix = Prefix::of(address);
        let mut state = self.shared.state.lock();
        let mut given_up = None;
        if state.jobs.count >= self.shared.queue_max {
            let retry_after = self.shared.drain_time(&state);
            given_up = Some((state.jobs.give_up_for(prefix).ok_or(Full { retry_after })?, retry_after));
        }
        state.jobs.push(prefix, (Instant::now(), Box::new(job)));
        drop(state);
        self.shared.wake.notify_one();
        if let Some((job, retry_after)) = given_up {
            job(Turn::TooLate { retry_after });
        }
        Ok(())
    }

    /// Jobs that wait.
    pub(super) fn waiting(&self) -> usize {
        self.shared.state.lock().jobs.count
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.state.lock().closed = true;
        self.shared.wake.notify_all();
    }
}

impl Shared {
    fn work(&self) {
        loop {
            let mut state = self.state.lock();
            let (since, job) = loop {
                if let Some(next) = state.jobs.pop() {
                    break next;
                }
                if state.closed {
                    return;
                }
                self.wake.wait(&mut state);
            };
            let too_late = state.closed || since.elapsed() > WAIT_MAX;
            let retry_after = self.drain_time(&state);
            drop(state);

            let turn = if too_late { Turn::TooLate { retry_after } } else { Turn::Now };
            let start = Instant::now();
            // A job that panics is a bug, but not a reason to lose the thread that others wait for.
            if catch_unwind(AssertUnwindSafe(|| job(turn))).is_err() {
                tracing::error!("An authentication job panicked; its device gets no answer");
            }
            if turn == Turn::Now {
                let mut state = self.state.lock();
                state.job_mean = (state.job_mean * 7 + start.elapsed()) / 8;
            }
        }
    }

    /// How long the jobs that wait now will take.
    fn drain_time(&self, state: &State) -> Duration {
        let jobs = u32::try_from(state.jobs.count).unwrap_or(u32::MAX);
        let time = state.job_mean.checked_mul(jobs).map_or(RETRY_MAX, |time| time / self.threads);
        time.clamp(RETRY_MIN, RETRY_MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn address(host: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, host])
    }

    /// A pool with room for so many jobs, whose one thread works until it is released.
    fn busy(queue_max: usize) -> (Pool, mpsc::Sender<()>) {
        let pool = Pool::start("test", 1, queue_max).expect("threads");
        let (release, blocked) = mpsc::channel::<()>();
        let (started, running) = mpsc::channel();
        pool.submit(address(9), move |_| {
            started.send(()).expect("the test waits");
            blocked.recv().expect("the test releases");
        })
        .expect("room");
        running.recv().expect("the first job runs");
        (pool, release)
    }

    #[test]
    fn addresses_take_turns_and_a_flood_gives_up_its_places() {
        let (pool, release) = busy(4);
        let (answer, answers) = mpsc::channel();
        let submit = |host: u8, at: u8| {
            let answer = answer.clone();
            let heard = move |turn| answer.send((host, at, turn == Turn::Now)).expect("the test waits");
            pool.submit(address(host), heard).is_ok()
        };
        assert!((0..4).all(|at| submit(1, at)));
        assert!(!submit(1, 4), "the flood has no more than the queue");
        assert!(submit(2, 0), "another address gets a place in the full queue");
        assert_eq!(answers.recv(), Ok((1, 3, false)), "of the newest of the flood");
        assert!(submit(2, 1));
        assert_eq!(answers.recv(), Ok((1, 2, false)));
        assert!(!submit(2, 2) && !submit(1, 5), "now both have as many");
        assert!(submit(3, 0), "and a third one gets a place of one of them");
        release.send(()).expect("the job waits");
        let given_up = answers.recv().expect("an answer");
        assert!(!given_up.2, "{given_up:?}");
        let served: Vec<_> = (0..4).map(|_| answers.recv().expect("an answer").0).collect();
        assert_eq!(served[..3], [1, 2, 3], "in turn, whoever came first");
    }

    #[test]
    fn a_full_queue_refuses_and_says_when_to_come_again() {
        let (pool, release) = busy(2);
        let (answer, answers) = mpsc::channel();
        for at in 0..2 {
            let answer = answer.clone();
            pool.submit(address(1), move |turn| answer.send((at, turn)).expect("the test waits"))
                .expect("room");
        }
        let full = pool.submit(address(1), |_| panic!("a refused job must never run")).expect_err("no room");
        assert!(full.retry_after >= RETRY_MIN);
        release.send(()).expect("the job waits");
        assert_eq!(answers.recv(), Ok((0, Turn::Now)));
        assert_eq!(answers.recv(), Ok((1, Turn::Now)));
    }

    #[test]
    fn jobs_that_wait_when_the_pool_ends_are_notified() {
        let (pool, release) = busy(8);
        let (answer, answers) = mpsc::channel();
        pool.submit(address(1), move |turn| answer.send(turn).expect("the test waits")).expect("room");
        drop(pool);
        release.send(()).expect("the job waits");
        assert!(matches!(answers.recv(), Ok(Turn::TooLate { .. })));
    }

    #[test]
    fn a_panicking_job_does_not_take_its_thread_along() {
        let pool = Pool::start("test", 1, 8).expect("threads");
        let (answer, answers) = mpsc::channel();
        pool.submit(address(1), |_| panic!("on purpose")).expect("room");
        pool.submit(address(1), move |turn| answer.send(turn).expect("the test waits")).expect("room");
        assert_eq!(answers.recv(), Ok(Turn::Now));
    }
}
