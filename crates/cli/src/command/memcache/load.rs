//! The load of `stadium memcache bench`: callers that read and write as fast as they can.
//!
//! A caller that reads waits for its answer, so that its latency is that of a program. Writes need not be waited for:
//! each caller then has a bounded number under way, and finds out later what became of them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use stadium_memcache::{Client, Error, Pending};

/// Writes that one caller has under way: enough that it does not wait, and their results come soon.
const UNDER_WAY_MAX: usize = 64;

/// Between two looks at the progress.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The keys are gone by themselves after this time.
const EXPIRY: Duration = Duration::from_secs(600);

/// Longest latency that a histogram has: an hour, as the longest time-out.
const LATENCY_US_MAX: u64 = 3_600_000_000;

/// The work of the callers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mix {
    pub(super) callers: u16,
    pub(super) keys: u32,
    pub(super) value_bytes: usize,
    /// Percent of the operations that write.
    pub(super) sets_percent: u8,
    /// Each write is waited for.
    pub(super) wait: bool,
}

/// The figures of a measurement.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) took: Duration,
    pub(super) gets: Kind,
    pub(super) sets: Kind,
    /// Reads that found no value.
    pub(super) misses: u64,
    pub(super) first_error: Option<Error>,
}

/// One kind of operation.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) done: u64,
    pub(super) failed: u64,
    /// In microseconds, of those that were waited for.
    pub(super) latency: Histogram<u64>,
}

/// Callers and their servers.
pub(super) struct Load {
    client: Client,
    mix: Mix,
}

impl Load {
    pub(super) fn new(client: Client, mix: Mix) -> Self {
        Self { client, mix }
    }

    /// Writes all keys, until `go_on` of the number so far says no.
    pub(super) fn fill(&self, go_on: impl Fn(u64) -> bool) -> Result<(), Error> {
        let value = vec![b'x'; self.mix.value_bytes];
        let mut under_way = VecDeque::new();
        for number in 0..self.mix.keys {
            if number % 1_000 == 0 && !go_on(u64::from(number)) {
                break;
            }
            under_way.push_back(self.client.set(key(number), &value, EXPIRY)?);
            if under_way.len() > UNDER_WAY_MAX {
                under_way.pop_front().map_or(Ok(()), Pending::wait)?;
            }
        }
        under_way.into_iter().try_for_each(Pending::wait)
    }

    /// Does so many operations, until `go_on` of the number so far says no.
    pub(super) fn measure(&self, operations: u64, go_on: impl Fn(u64) -> bool) -> Measured {
        let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let (sender, receiver) = channel();
        let start = Instant::now();
        let mut measured = Measured::empty();
        thread::scope(|scope| {
            for seed in 0..self.mix.callers {
                let (sender, next, stop) = (sender.clone(), &next, &stop);
                scope.spawn(move || {
                    let of_caller = self.call(u64::from(seed), operations, next, stop);
                    // The receiver waits for all.
                    let _ = sender.send(of_caller);
                });
            }
            drop(sender);
            loop {
                match receiver.recv_timeout(LOOK_EVERY) {
                    Ok(of_caller) => measured.add(of_caller),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if !go_on(next.load(Ordering::Relaxed).min(operations)) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        measured.took = start.elapsed();
        measured
    }

    fn call(&self, seed: u64, operations: u64, next: &AtomicU64, stop: &AtomicBool) -> Measured {
        let mut random = fastrand::Rng::with_seed(seed);
        let value = vec![b'x'; self.mix.value_bytes];
        let mut measured = Measured::empty();
        let mut buffer = Vec::with_capacity(self.mix.value_bytes);
        let mut under_way: VecDeque<Pending<()>> = VecDeque::new();
        while !stop.load(Ordering::Relaxed) && next.fetch_add(1, Ordering::Relaxed) < operations {
            let key = key(random.u32(0..self.mix.keys));
            let is_set = random.u8(0..100) < self.mix.sets_percent;
            let begun = Instant::now();
            if !is_set {
                let found = self.client.get_into(&key, &mut buffer);
                if matches!(found, Ok(None)) {
                    measured.misses += 1;
                }
                let result = measured.gets.note(found.map(drop), Some(begun));
                measured.failed(result);
                continue;
            }
            match self.client.set(&key, &value, EXPIRY) {
                Ok(pending) if self.mix.wait => {
                    let result = measured.sets.note(pending.wait(), Some(begun));
                    measured.failed(result);
                }
                Ok(pending) => under_way.push_back(pending),
                Err(error) => {
                    let result = measured.sets.note(Err(error), None);
                    measured.failed(result);
                }
            }
            if under_way.len() > UNDER_WAY_MAX
                && let Some(pending) = under_way.pop_front()
            {
                let result = measured.sets.note(pending.wait(), None);
                measured.failed(result);
            }
        }
        for pending in under_way {
            let result = measured.sets.note(pending.wait(), None);
            measured.failed(result);
        }
        measured
    }
}

fn key(number: u32) -> String {
    format!("bench:{number}")
}

impl Measured {
    fn empty() -> Self {
        let kind = || Kind { done: 0, failed: 0, latency: histogram() };
        Self { took: Duration::ZERO, gets: kind(), sets: kind(), misses: 0, first_error: None }
    }

    fn failed(&mut self, result: Result<(), Error>) {
        if let Err(error) = result {
            self.first_error.get_or_insert(error);
        }
    }

    fn add(&mut self, other: Self) {
        for (all, one) in [(&mut self.gets, other.gets), (&mut self.sets, other.sets)] {
            all.done += one.done;
            all.failed += one.failed;
            all.latency.add(one.latency).expect("all have the same bounds");
        }
        self.misses += other.misses;
        if let Some(error) = other.first_error {
            self.first_error.get_or_insert(error);
        }
    }
}

impl Kind {
    /// Counts how an operation ended, and how long it took where it was waited for.
    fn note(&mut self, result: Result<(), Error>, begun: Option<Instant>) -> Result<(), Error> {
        match &result {
            Ok(()) => self.done += 1,
            Err(_) => self.failed += 1,
        }
        if let (Some(begun), Ok(())) = (begun, &result) {
            let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(LATENCY_US_MAX);
            self.latency.saturating_record(micros);
        }
        result
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).expect("the bounds are those of the documentation")
}
