//! What a loop takes on, from what it measures: the gate before every function.
//!
//! Inline functions are bounded by how long a request waits for its turn ([`Pace`]). Asynchronous and blocking ones
//! are bounded in number by a limit that follows the measured latency; beyond it calls wait in a bounded
//! queue, and get Busy when that is full or has stood for too long. Streams are bounded for each
//! connection.

use std::time::Duration;

use super::config::AdmissionSettings;
use super::pace::{Look, Pace};
use crate::admission::{
    Capacity, Entry, Limiter, LimiterSettings, LoadSignal, Popped, Pushed, Queue, QueueSettings, Reading,
    Waiting, Work,
};
use crate::answer::Refusal;

/// A call that waits: its place in the loop's table, and its number.
pub(crate) type Held = (u32, u64);

/// Requests a second that a loop is thought to do before it has measured any.
const CAPACITY_UNMEASURED: f64 = 10_000.0;

/// What a write to a socket costs with what follows from it, in nanoseconds: measured on loopback.
const WRITE_NS: u64 = 5_000;
/// Even the quickest answers are not kept back for longer than this many.
const ANSWERS_WORTH_A_WRITE_MAX: u32 = 32;

/// The gate of one loop.
pub(crate) struct Gate {
    inline_wait_us_max: u64,
    limiter: Limiter,
    queue: Queue<Held>,
    signal: LoadSignal,
    /// Time that an inline call takes, smoothed, in nanoseconds.
    inline_each_ns: u64,
    /// The loop's busy and idle times at the last reading of its load, in nanoseconds.
    times_ns: (u64, u64),
}

impl Gate {
    pub(crate) fn new(settings: &AdmissionSettings) -> Self {
        let limits = LimiterSettings {
            initial: settings.concurrency_initial,
            min: settings.concurrency_min,
            max: settings.concurrency_max,
            ..LimiterSettings::default()
        };
        let queue = QueueSettings { waiting_max: settings.queue_max, ..QueueSettings::default() };
        Self {
            inline_wait_us_max: settings.inline_wait_max.as_micros() as u64,
            limiter: Limiter::new(limits),
            queue: Queue::new(queue),
            signal: LoadSignal::new(),
            inline_each_ns: 0,
            times_ns: (0, 0),
        }
    }

    /// May an inline call begin?
    #[inline]
    pub(crate) fn admit_inline(&self, pace: &Pace) -> Result<(), Refusal> {
        if pace.waited_us() < self.inline_wait_us_max {
            return Ok(());
        }
        Err(Refusal::busy(self.retry_after(), "the loop has more requests than it answers in time"))
    }

    /// May a call begin that outlives its turn? Give the entry back by [`Gate::left`].
    pub(crate) fn try_enter(&mut self, now_us: u64) -> Option<Entry> {
        self.limiter.try_enter(now_us)
    }

    /// Such a call has ended.
    pub(crate) fn left(&mut self, entry: Entry, work: Work, now_us: u64) {
        self.limiter.left(entry, work, now_us);
    }

    /// Has a call wait.
    pub(crate) fn push(&mut self, held: Held, since_us: u64, deadline_us: u64) -> Pushed<Held> {
        self.queue.push(Waiting { item: held, since_us, deadline_us })
    }

    /// The next call that waited.
    pub(crate) fn pop(&mut self, now_us: u64) -> Option<Popped<Held>> {
        self.queue.pop(now_us)
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn limit(&self) -> u32 {
        self.limiter.limit()
    }

    /// Inline work was measured.
    pub(crate) fn looked(&mut self, look: Look) {
        self.inline_each_ns = (self.inline_each_ns * 7 + look.each_ns) / 8;
    }

    /// Takes the loop's times since its start; the load is that since the last reading.
    pub(crate) fn read_load(&mut self, busy_ns: u64, idle_ns: u64, now_us: u64) {
        let (busy_before, idle_before) = std::mem::replace(&mut self.times_ns, (busy_ns, idle_ns));
        let reading = Reading {
            inflight: self.limiter.inflight(),
            limit: self.limiter.limit(),
            queue_fill: self.queue.fill(),
            wait_ms: if self.queue.is_empty() { 0 } else { self.queue.retry_after_ms() },
            busy_ns: busy_ns.saturating_sub(busy_before),
            idle_ns: idle_ns.saturating_sub(idle_before),
        };
        self.signal.read(reading, now_us);
    }

    /// The load factor: 0 idle, 1 full.
    pub(crate) fn load(&self) -> f32 {
        self.signal.factor()
    }

    /// The load factor, where peers should hear of it.
    pub(crate) fn load_to_report(&mut self, now_us: u64) -> Option<f32> {
        self.signal.report(now_us)
    }

    /// The peers get the load at the next look, in any case.
    pub(crate) fn report_again(&mut self) {
        self.signal.report_again();
    }

    /// Answers that take about as long to make as one write takes: so many are worth a write of their own while
    /// more are to be made, because the peer then begins with them.
    #[inline]
    pub(crate) fn answers_worth_a_write(&self) -> u32 {
        match WRITE_NS.checked_div(self.inline_each_ns) {
            Some(answers) => (answers as u32).clamp(1, ANSWERS_WORTH_A_WRITE_MAX),
            None => ANSWERS_WORTH_A_WRITE_MAX,
        }
    }

    /// What leases divide: the least of what the kinds of functions can do that were called at all.
    pub(crate) fn capacity(&self) -> Capacity {
        let inline = (self.inline_each_ns > 0).then(|| 1e9 / self.inline_each_ns as f64);
        let others = self.limiter.capacity_per_s();
        let least = [inline, others].into_iter().flatten().reduce(f64::min);
        Capacity::PerSecond(least.unwrap_or(CAPACITY_UNMEASURED))
    }

    /// When it is worth asking again.
    pub(crate) fn retry_after(&self) -> Duration {
        Duration::from_millis(u64::from(self.signal.retry_after_ms()))
    }
}

#[cfg(test)]
mod tests {
    use super::{AdmissionSettings, Gate};

    #[test]
    fn a_loop_that_was_idle_for_long_is_seen_to_be_busy() {
        let mut gate = Gate::new(&AdmissionSettings::default());
        let hour_ns = 3_600_000_000_000;
        gate.read_load(0, hour_ns, 1_000_000);
        assert!(gate.load() < 0.01);
        for second in 2..8u32 {
            let busy_ns = u64::from(second - 1) * 1_000_000_000;
            gate.read_load(busy_ns, hour_ns, u64::from(second) * 1_000_000);
        }
        assert!(gate.load() > 0.95, "{}", gate.load());
    }
}
