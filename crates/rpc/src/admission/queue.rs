//! Where admitted calls wait for a worker: bounded, and never long in vain.
//!
//! In good times it is first in, first out, and nearly empty. When its oldest call has stood there longer than
//! the target for a whole interval, the queue only delays: then the newest call goes first, because its caller
//! is the one most sure to wait still, and calls older than the interval get BUSY. The idea is
//! CoDel with adaptive LIFO (Maurer, "Fail at Scale", 2015). A call whose deadline has passed is
//! handed out as expired, never as work.

use std::collections::VecDeque;

/// What a [`Queue`] is built from.
#[derive(Clone, Copy, Debug)]
pub struct QueueSettings {
    /// Calls that may wait (default 1,000). Each costs its request's bytes; the next one gets BUSY.
    pub waiting_max: usize,
    /// The wait that is no reason to worry (default 5 ms, in microseconds).
    pub target_us: u64,
    /// How long the oldest call may stand above the target before the queue counts as overloaded, and how old a
    /// call may become then (default 100 ms, in microseconds).
    pub interval_us: u64,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self { waiting_max: 1_000, target_us: 5_000, interval_us: 100_000 }
    }
}

/// A call that waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiting<T> {
    /// What the driver put in.
    pub item: T,
    /// Since when it waits, in microseconds.
    pub since_us: u64,
    /// When its caller stops waiting, in microseconds.
    pub deadline_us: u64,
}

/// What became of a call that was to wait.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a displaced or refused call must be answered"]
pub enum Pushed<T> {
    /// It waits.
    Waiting,
    /// It waits in the place of one that is too late; answer that one: its deadline has passed.
    DisplacedExpired(T),
    /// It waits in the place of one that stood for too long; answer that one BUSY.
    DisplacedStale(T),
    /// There is no place. Answer BUSY.
    Full {
        /// The call itself.
        item: T,
        /// When a place is to be expected, in milliseconds.
        retry_after_ms: u32,
    },
}

/// A call that left the queue.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an expired or stale call must be answered"]
pub enum Popped<T> {
    /// Do it.
    Work(T),
    /// Its deadline has passed: answer that, count it, and ask for the next.
    Expired(T),
    /// It stood for too long: answer BUSY, count it, and ask for the next.
    Stale(T),
}

/// The calls that wait.
#[derive(Debug)]
pub struct Queue<T> {
    settings: QueueSettings,
    waiting: VecDeque<Waiting<T>>,
    /// Since when the oldest call has always stood above the target.
    above_since_us: Option<u64>,
    /// When work was last handed out while more was waiting.
    worked_at_us: Option<u64>,
    /// Time between two pieces of work while there was a queue, smoothed, in microseconds.
    gap_us: f64,
}

impl<T> Queue<T> {
    /// An empty queue. Its space is allocated as it fills, and kept.
    pub fn new(settings: QueueSettings) -> Self {
        Self { settings, waiting: VecDeque::new(), above_since_us: None, worked_at_us: None, gap_us: 0.0 }
    }

    /// Lets a call wait; or returns the call that must be answered instead.
    pub fn push(&mut self, call: Waiting<T>) -> Pushed<T> {
        let now_us = call.since_us;
        self.observe(now_us);
        if self.waiting.len() < self.settings.waiting_max {
            self.waiting.push_back(call);
            return Pushed::Waiting;
        }
        let stale = self.overloaded(now_us);
        match self.waiting.front() {
            Some(oldest) if oldest.deadline_us <= now_us => {
                self.replace_oldest(call).map_or(Pushed::Waiting, Pushed::DisplacedExpired)
            }
            Some(oldest) if stale && self.is_stale(oldest, now_us) => {
                self.replace_oldest(call).map_or(Pushed::Waiting, Pushed::DisplacedStale)
            }
            _ => Pushed::Full { item: call.item, retry_after_ms: self.retry_after_ms() },
        }
    }

    /// The next call, and what is to be done with it. Ask again until there is work or nothing is
    /// left.
    pub fn pop(&mut self, now_us: u64) -> Option<Popped<T>> {
        self.observe(now_us);
        let overloaded = self.overloaded(now_us);
        let oldest = self.waiting.front()?;
        if oldest.deadline_us <= now_us {
            return self.waiting.pop_front().map(|call| Popped::Expired(call.item));
        }
        if overloaded && self.is_stale(oldest, now_us) {
            return self.waiting.pop_front().map(|call| Popped::Stale(call.item));
        }
        let call = if overloaded { self.waiting.pop_back() } else { self.waiting.pop_front() }?;
        if call.deadline_us <= now_us {
            return Some(Popped::Expired(call.item));
        }
        if let Some(before_us) = self.worked_at_us {
            let gap_us = now_us.saturating_sub(before_us) as f64;
            self.gap_us += (gap_us - self.gap_us) * if self.gap_us == 0.0 { 1.0 } else { 0.1 };
        }
        // Without a queue the time to the next piece of work is the callers', not the workers'.
        self.worked_at_us = (!self.waiting.is_empty()).then_some(now_us);
        Some(Popped::Work(call.item))
    }

    /// Takes out the first call that `is_it`, for one that was cancelled. Linear in the calls that wait.
    pub fn cancel(&mut self, is_it: impl FnMut(&Waiting<T>) -> bool) -> Option<T> {
        let index = self.waiting.iter().position(is_it)?;
        self.waiting.remove(index).map(|call| call.item)
    }

    /// Calls that wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no call waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The share of the places that is taken, from 0 to 1.
    pub fn fill(&self) -> f32 {
        self.waiting.len() as f32 / self.settings.waiting_max.max(1) as f32
    }

    /// Whether the queue has stood above its target for a whole interval.
    pub fn overloaded(&self, now_us: u64) -> bool {
        self.above_since_us
            .is_some_and(|since_us| now_us.saturating_sub(since_us) >= self.settings.interval_us)
    }

    /// How long a call would wait that came now, by the pace of the workers; 5 ms to 5 s.
    pub fn retry_after_ms(&self) -> u32 {
        let wait_ms = (self.waiting.len() as f64 + 1.0) * self.gap_us / 1_000.0;
        wait_ms.clamp(5.0, 5_000.0) as u32
    }

    /// Notes since when the oldest call stands above the target.
    fn observe(&mut self, now_us: u64) {
        let crossed_us = self
            .waiting
            .front()
            .map(|oldest| oldest.since_us.saturating_add(self.settings.target_us))
            .filter(|&crossed_us| crossed_us < now_us);
        self.above_since_us = crossed_us.map(|crossed_us| self.above_since_us.unwrap_or(crossed_us));
    }

    fn is_stale(&self, call: &Waiting<T>, now_us: u64) -> bool {
        now_us.saturating_sub(call.since_us) > self.settings.interval_us
    }

    fn replace_oldest(&mut self, call: Waiting<T>) -> Option<T> {
        let oldest = self.waiting.pop_front();
        self.waiting.push_back(call);
        oldest.map(|call| call.item)
    }
}
