//! How many calls may be under way at once: a limit that follows the measured latency.
//!
//! limit' = limit * clamp(tolerance * baseline / latency, 0.5, 1) + sqrt(limit), smoothed: the gradient limit of Netflix's
//! concurrency-limits. The baseline is latency without queueing. It rises only on evidence from calls that did not queue:
//! while the callers leave half of the limit unused, or in a probe, a few latencies at half the limit, now and then.
//!
//! It begins with a slow start, as TCP does: a limit that is reached doubles as long as latency stays flat, each time after
//! calls of the new limit were measured. Where latency grows the last doubling is taken back, and the gradient goes on.

/// What a [`Limiter`] is built from.
#[derive(Clone, Copy, Debug)]
pub struct LimiterSettings {
    /// The limit before anything was measured (default 20 calls).
    pub initial: u32,
    /// The lowest limit (default 4 calls): below it a single slow call would stop the service.
    pub min: u32,
    /// The highest limit (default 10,000 calls). Each costs what a call under way costs.
    pub max: u32,
    /// How much slower than the baseline counts as usual (default 1.1). More lets calls queue longer.
    pub tolerance: f64,
    /// How much of a new limit is taken over at once (default 0.2).
    pub smoothing: f64,
    /// How long a window lasts at least (default 100 ms, in microseconds).
    pub window_us: u64,
    /// How many calls a window measures at least (default 32).
    pub window_calls_min: u32,
    /// A latency that nobody minds (default 500 µs): below it the limit only grows.
    pub latency_floor_us: u64,
    /// How long a baseline stands unconfirmed before it is probed (default 10 s, in microseconds).
    /// A probe costs up to half of the throughput for about five times the latency.
    pub probe_every_us: u64,
}

impl Default for LimiterSettings {
    fn default() -> Self {
        Self {
            initial: 20,
            min: 4,
            max: 10_000,
            tolerance: 1.1,
            smoothing: 0.2,
            window_us: 100_000,
            window_calls_min: 32,
            latency_floor_us: 500,
            probe_every_us: 10_000_000,
        }
    }
}

/// A call that was let in; give it back with [`Limiter::left`].
#[derive(Debug)]
#[must_use = "an entry that is dropped counts as a call under way for ever"]
pub struct Entry {
    started_us: u64,
}

impl Entry {
    /// When the call was let in, in microseconds.
    pub const fn started_us(&self) -> u64 {
        self.started_us
    }
}

/// The meaning of a call that leaves for the latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It was worked on until now, whether it succeeded or its deadline passed: its time counts.
    Done,
    /// It was cancelled or refused before its work was done: its time has no meaning.
    Abandoned,
}

/// The limit of calls under way.
///
/// Use it in one of two ways: [`Limiter::try_enter`] and [`Limiter::left`] around each call, or
/// [`Limiter::limit`] and [`Limiter::sample`] where the driver counts the calls itself.
#[derive(Clone, Debug)]
pub struct Limiter {
    settings: LimiterSettings,
    limit: f64,
    /// The limit in force: whole, and halved during a probe.
    in_force: u32,
    inflight: u32,
    /// Latency without queueing, in microseconds; 0 before the first window.
    baseline_us: f64,
    /// Mean latency of the last window, in microseconds.
    latency_us: f64,
    /// Calls that ended each second, smoothed over a few windows.
    rate_per_s: f64,
    window: Window,
    /// When the present probe began to measure or will, if one is under way.
    probe_from_us: Option<u64>,
    /// When the baseline was last known to be right, and how high the limit was then.
    confirmed_at_us: u64,
    confirmed_limit: f64,
    /// The slow start that goes on, if one does.
    start: Option<SlowStart>,
    /// Only calls are measured that began after this.
    begun_after_us: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    /// When it began; 0 before the first call.
    since_us: u64,
    sum_us: u64,
    calls: u32,
    inflight_max: u32,
}

/// Calls that a probe measures: the mean of so many is right to an eighth even when single times vary wildly.
const PROBE_CALLS: u32 = 64;
/// Windows after which a probe or a window is given up that has too few calls and no use for a limit.
const PATIENCE_WINDOWS: u64 = 10;

/// Windows of a slow start in the time of a usual one.
const START_WINDOWS: u64 = 4;
/// Times vary about as much as they last, so that a mean of n is uncertain by one in sqrt(n). So many times that is taken for
/// chance in a slow start: a doubling where calls queue doubles their latency, which is more.
const CHANCE: f64 = 2.0;

/// A limit that doubles.
#[derive(Clone, Copy, Debug)]
struct SlowStart {
    /// The limit before it last doubled.
    before: f64,
}

impl Limiter {
    /// A limiter that has measured nothing yet.
    pub fn new(settings: LimiterSettings) -> Self {
        let lowest = settings.min.max(1);
        let limit = settings.initial.clamp(lowest, settings.max.max(lowest));
        Self {
            settings,
            limit: f64::from(limit),
            in_force: limit,
            inflight: 0,
            baseline_us: 0.0,
            latency_us: 0.0,
            rate_per_s: 0.0,
            window: Window::default(),
            probe_from_us: None,
            confirmed_at_us: 0,
            confirmed_limit: f64::from(limit),
            start: Some(SlowStart { before: f64::from(limit) }),
            begun_after_us: 0,
        }
    }

    /// Lets a call in, or returns that the limit is reached.
    #[inline]
    pub fn try_enter(&mut self, now_us: u64) -> Option<Entry> {
        if self.inflight >= self.in_force {
            // A limit that was reached was in use, however few calls happen to leave.
            self.window.inflight_max = self.window.inflight_max.max(self.inflight);
            return None;
        }
        self.inflight += 1;
        Some(Entry { started_us: now_us })
    }

    /// A call that was let in leaves.
    #[inline]
    pub fn left(&mut self, entry: Entry, work: Work, now_us: u64) {
        let inflight = self.inflight;
        self.inflight = inflight.saturating_sub(1);
        if work == Work::Done {
            self.sample(now_us.saturating_sub(entry.started_us), inflight, now_us);
        }
    }

    /// A call took `latency_us`, and with it `inflight` calls were under way.
    #[inline]
    pub fn sample(&mut self, latency_us: u64, inflight: u32, now_us: u64) {
        if self.probe_from_us.is_some_and(|from_us| now_us < from_us) {
            // It measures the queue that the probe is to avoid.
            return;
        }
        if now_us.saturating_sub(latency_us) < self.begun_after_us {
            // It measures the limit before.
            return;
        }
        let window = &mut self.window;
        if window.since_us == 0 {
            window.since_us = now_us;
        }
        window.sum_us = window.sum_us.saturating_add(latency_us);
        window.calls += 1;
        window.inflight_max = window.inflight_max.max(inflight);
        if let Some(from_us) = self.probe_from_us {
            let lasted_us = now_us - from_us;
            if window.calls >= PROBE_CALLS && lasted_us as f64 >= self.latency_us {
                self.end_probe(now_us);
            } else if lasted_us >= self.settings.window_us * PATIENCE_WINDOWS && !self.window_is_in_use() {
                // The callers have gone, and there is nothing to confirm.
                self.resume(now_us);
            }
        } else if now_us.saturating_sub(window.since_us) >= self.window_us() {
            self.end_window(now_us);
        }
    }

    /// Calls that may be under way now.
    #[inline]
    pub fn limit(&self) -> u32 {
        self.in_force
    }

    /// Calls that are under way, of those let in by [`Limiter::try_enter`].
    #[inline]
    pub fn inflight(&self) -> u32 {
        self.inflight
    }

    /// Mean latency of the last window in microseconds; 0 before the first.
    pub fn latency_us(&self) -> f64 {
        self.latency_us
    }

    /// What a call takes when it need not queue, in microseconds; 0 before it was measured.
    pub fn baseline_us(&self) -> f64 {
        self.baseline_us
    }

    /// Calls that ended each second, lately.
    pub fn rate_per_s(&self) -> f64 {
        self.rate_per_s
    }

    /// Calls each second that the limit allows at the baseline latency; nothing before it was measured.
    pub fn capacity_per_s(&self) -> Option<f64> {
        (self.baseline_us > 0.0).then(|| self.limit * 1e6 / self.baseline_us)
    }

    #[cold]
    fn end_window(&mut self, now_us: u64) {
        let window = self.window;
        let lasted_us = now_us.saturating_sub(window.since_us).max(1);
        if window.calls < self.settings.window_calls_min {
            if lasted_us < self.settings.window_us * PATIENCE_WINDOWS || self.window_is_in_use() {
                return;
            }
            // So few calls show nothing, except that there is nothing to limit.
            self.window = Window { since_us: now_us, ..Window::default() };
            self.rate_per_s = f64::from(window.calls) * 1e6 / lasted_us as f64;
            return;
        }
        let in_use = self.window_is_in_use();
        self.window = Window { since_us: now_us, ..Window::default() };
        let latency_us = (window.sum_us as f64 / f64::from(window.calls)).max(0.1);
        self.latency_us = latency_us;
        let rate_per_s = f64::from(window.calls) * 1e6 / lasted_us as f64;
        self.rate_per_s += (rate_per_s - self.rate_per_s) * if self.rate_per_s == 0.0 { 1.0 } else { 0.3 };
        if self.baseline_us == 0.0 {
            self.baseline_us = latency_us;
            self.confirm(now_us);
        }
        if !in_use {
            // Half of the limit lies idle: nothing queued here, and nothing asks for a higher limit.
            self.baseline_us += (latency_us - self.baseline_us) * 0.2;
            self.confirm(now_us);
            return;
        }
        // Times vary about as much as they last, so that a mean of n is uncertain by one in sqrt(n). Following
        // every chance downwards would end far too low.
        if latency_us < self.baseline_us * (1.0 - 2.5 / f64::from(window.calls).sqrt()) {
            self.baseline_us += (latency_us - self.baseline_us) * 0.2;
        }
        let floor_us = self.settings.latency_floor_us as f64;
        let usual_us = self.settings.tolerance * self.baseline_us.max(floor_us);
        if let Some(start) = self.start {
            let is_flat =
                latency_us.max(floor_us) <= usual_us * (1.0 + CHANCE / f64::from(window.calls).sqrt());
            match is_flat {
                true if window.inflight_max < self.in_force => {}
                true => self.double(now_us),
                false => {
                    self.start = None;
                    self.set_limit(start.before, now_us);
                }
            }
            return;
        }
        let gradient = (usual_us / latency_us.max(floor_us)).clamp(0.5, 1.0);
        let wanted = self.limit * gradient + self.limit.sqrt();
        let limit = self.limit + (wanted - self.limit) * self.settings.smoothing;
        self.limit = self.bounded(limit);
        self.in_force = self.limit as u32;

        let unconfirmed_us = now_us.saturating_sub(self.confirmed_at_us);
        // A limit that fell by half and is still too slow: perhaps the work itself has become slower.
        let doubtful = gradient <= 0.75
            && self.limit < self.confirmed_limit * 0.5
            && unconfirmed_us >= self.settings.probe_every_us / 10;
        if doubtful || unconfirmed_us >= self.settings.probe_every_us {
            // Three times the latency, and next to nothing that queued before is left.
            self.probe_from_us = Some(now_us + (latency_us * 3.0) as u64);
            self.in_force = (self.in_force / 2).max(self.settings.min.max(1));
        }
    }

    /// How long the window lasts at least. A slow start measures calls of one limit only, and needs no longer than for the
    /// slow ones among them to end too.
    #[inline]
    fn window_us(&self) -> u64 {
        match self.start {
            Some(_) => {
                let mean_us = self.window.sum_us / u64::from(self.window.calls.max(1));
                mean_us
                    .max(self.settings.window_us / START_WINDOWS)
                    .min(self.settings.window_us * PATIENCE_WINDOWS)
            }
            None => self.settings.window_us,
        }
    }

    /// Latency is flat at a limit that was reached.
    fn double(&mut self, now_us: u64) {
        self.start = Some(SlowStart { before: self.limit });
        self.set_limit(self.limit * 2.0, now_us);
    }

    /// Sets another limit, and measures calls from now on that it let in.
    fn set_limit(&mut self, limit: f64, now_us: u64) {
        self.limit = self.bounded(limit);
        self.in_force = self.limit as u32;
        self.window = Window::default();
        self.begun_after_us = now_us;
        self.confirm(now_us);
    }

    /// The limit within its bounds; a highest one below the lowest counts as the lowest.
    fn bounded(&self, limit: f64) -> f64 {
        let lowest = f64::from(self.settings.min.max(1));
        limit.clamp(lowest, f64::from(self.settings.max).max(lowest))
    }

    fn end_probe(&mut self, now_us: u64) {
        let measured_us = (self.window.sum_us as f64 / f64::from(self.window.calls)).max(0.1);
        let ratio = measured_us / self.baseline_us;
        // A small difference may be chance; a large one is news.
        let weight = if (0.67..1.5).contains(&ratio) { 0.5 } else { 1.0 };
        self.baseline_us += (measured_us - self.baseline_us) * weight;
        self.resume(now_us);
    }

    /// Whether the callers have used half of the limit or more.
    fn window_is_in_use(&self) -> bool {
        self.window.inflight_max.saturating_mul(2) >= self.in_force
    }

    #[cold]
    fn resume(&mut self, now_us: u64) {
        self.probe_from_us = None;
        self.in_force = self.limit as u32;
        self.window = Window { since_us: now_us, ..Window::default() };
        self.confirm(now_us);
    }

    fn confirm(&mut self, now_us: u64) {
        self.confirmed_at_us = now_us;
        self.confirmed_limit = self.limit;
    }
}
