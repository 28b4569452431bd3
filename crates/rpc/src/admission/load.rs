//! One figure for how loaded an instance is, and how long a refused caller should stay away.
//!
//! 0 is idle, 1 is all that the instance can do, more means that calls wait. It goes to clients
//! (`message/x.stadium.load.v1`) and to discovery, so it is smoothed, and reported only when it has
//! changed.

/// What a loop measured since the last reading.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// Calls under way.
    pub inflight: u32,
    /// Calls that may be under way; see [`super::Limiter::limit`].
    pub limit: u32,
    /// The share of the queue that is taken, from 0 to 1; see [`super::Queue::fill`].
    pub queue_fill: f32,
    /// How long a call that is refused now would have waited, in milliseconds; 0 where nothing queues.
    pub wait_ms: u32,
    /// Time that the loop has worked since the last reading, in nanoseconds.
    pub busy_ns: u64,
    /// Time that it has slept since then, in nanoseconds.
    pub idle_ns: u64,
}

/// The load factor of one loop or one instance.
#[derive(Clone, Debug, Default)]
pub struct LoadSignal {
    factor: f32,
    wait_ms: u32,
    read_at_us: Option<u64>,
    reported: Option<(f32, u64)>,
}

/// Time in which two thirds of a change are taken over, in microseconds.
const SMOOTHING_US: f32 = 500_000.0;
/// The smallest change that is reported at once.
const REPORT_STEP: f32 = 0.05;
/// After that long, in microseconds, any change is reported.
const REPORT_EVERY_US: u64 = 10_000_000;
/// What a refused caller waits at least, in milliseconds.
const RETRY_MIN_MS: f32 = 10.0;
/// What a refused caller waits at most, in milliseconds.
const RETRY_MAX_MS: f32 = 5_000.0;

impl LoadSignal {
    /// A signal that starts at 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a reading; any interval will do, some tens of milliseconds are usual.
    pub fn read(&mut self, reading: Reading, now_us: u64) {
        let used = reading.inflight as f32 / reading.limit.max(1) as f32;
        let busy = reading.busy_ns as f32 / (reading.busy_ns.saturating_add(reading.idle_ns)).max(1) as f32;
        // What waits comes on top: a full queue is a second load of the same size.
        let fill = if reading.queue_fill.is_finite() { reading.queue_fill.clamp(0.0, 1.0) } else { 0.0 };
        let seen = used.max(busy) + fill;
        let weight = match self.read_at_us {
            None => 1.0,
            Some(before_us) => 1.0 - (-(now_us.saturating_sub(before_us) as f32) / SMOOTHING_US).exp(),
        };
        self.factor += (seen - self.factor) * weight;
        self.wait_ms = reading.wait_ms;
        self.read_at_us = Some(now_us);
    }

    /// The load factor: 0 idle, 1 full, more when calls wait.
    pub fn factor(&self) -> f32 {
        self.factor
    }

    /// When a caller that is refused now should ask again, in milliseconds: 10 to 5,000, longer the more waits.
    pub fn retry_after_ms(&self) -> u32 {
        let by_load = RETRY_MIN_MS * (1.0 + 10.0 * (self.factor - 1.0).max(0.0));
        (self.wait_ms as f32).max(by_load).clamp(RETRY_MIN_MS, RETRY_MAX_MS) as u32
    }

    /// The factor, where peers should hear of it now: it has changed by 0.05, or a little for ten seconds.
    pub fn report(&mut self, now_us: u64) -> Option<f32> {
        let worth_reporting = self.reported.is_none_or(|(reported, at_us)| {
            (reported - self.factor).abs() >= REPORT_STEP
                || (reported != self.factor && now_us.saturating_sub(at_us) >= REPORT_EVERY_US)
        });
        worth_reporting.then(|| {
            self.reported = Some((self.factor, now_us));
            self.factor
        })
    }

    /// The next [`LoadSignal::report`] reports the factor in any case: a peer has come that knows
    /// nothing yet.
    pub fn report_again(&mut self) {
        self.reported = None;
    }
}
