//! The simulation's clock, and spans of time.
//!
//! The shard gets the time; it may jump both ways, as the clock of a machine does. So the checker
//! compares the shard's times with a span: at the earliest, at the latest.

use std::cell::Cell;

use stadium_queue::Time;

/// The clock that the shards get.
#[derive(Debug, Clone)]
pub struct Clock {
    now: u64,
    high: u64,
    passed: u64,
    jumps_back: u32,
}

/// 2026-01-01T00:00:00Z: schedules need a calendar.
const START: u64 = 1_767_225_600_000;

impl Default for Clock {
    fn default() -> Self {
        PASSED.set(0);
        Clock { now: START, high: START, passed: 0, jumps_back: 0 }
    }
}

impl Clock {
    /// What it shows.
    pub fn now(&self) -> Time {
        Time(self.now)
    }

    /// What it showed at first.
    pub fn start(&self) -> Time {
        Time(START)
    }

    /// The latest that it ever showed.
    pub fn high(&self) -> Time {
        Time(self.high)
    }

    /// How often it was set back.
    pub fn jumps_back(&self) -> u32 {
        self.jumps_back
    }

    /// Milliseconds that have passed, whatever it shows.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Somebody sets it forward by so many milliseconds.
    pub fn set_forward(&mut self, by: u64) {
        self.now += by;
        self.high = self.high.max(self.now);
    }

    /// Time passes, in milliseconds.
    pub fn advance(&mut self, by: u64) {
        self.passed += by;
        PASSED.set(self.passed);
        self.now += by;
        self.high = self.high.max(self.now);
    }

    /// Somebody sets it back by so many milliseconds, at most to where it began.
    pub fn set_back(&mut self, by: u64) {
        self.now = self.now.saturating_sub(by).max(START);
        self.jumps_back += 1;
    }
}

thread_local! {
    static PASSED: Cell<u64> = const { Cell::new(0) };
}

/// Microseconds that have passed in this thread's simulation, whatever its clock shows.
pub fn stopwatch() -> u64 {
    PASSED.get() * 1_000
}

/// A time that is known up to a span, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// At the earliest.
    pub min: Time,
    /// At the latest.
    pub max: Time,
}

impl Span {
    /// Exactly then.
    pub fn at(time: Time) -> Span {
        Span { min: time, max: time }
    }

    /// That much later.
    #[must_use]
    pub fn after(self, by: u64) -> Span {
        Span { min: self.min.after(by), max: self.max.after(by) }
    }

    /// Whether it may be this time.
    pub fn holds(self, time: Time) -> bool {
        self.min <= time && time <= self.max
    }

    /// From what the clock shows to the latest that it ever showed: a shard's own time is in between.
    pub fn of(clock: &Clock) -> Span {
        Span { min: clock.now(), max: clock.high() }
    }

    /// The smallest span around both.
    #[must_use]
    pub fn around(self, other: Span) -> Span {
        Span { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}
