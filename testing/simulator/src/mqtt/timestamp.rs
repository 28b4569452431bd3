//! Timestamps on two clocks: the one that only time moves, and the wall's, which somebody may set.
//!
//! A span may be over once either clock shows it, and is over once both do.

use crate::clock::Clock;

/// A timestamp.
#[derive(Debug, Clone, Copy)]
pub struct Timestamp {
    /// Milliseconds that have passed.
    passed: u64,
    wall: u64,
    /// The latest that the wall's clock has shown.
    high: u64,
}

impl Timestamp {
    pub fn of(clock: &Clock) -> Timestamp {
        Timestamp { passed: clock.passed(), wall: clock.now().0, high: clock.high().0 }
    }

    /// Whether so many milliseconds may have passed since.
    pub fn may_have_passed(self, span: u64, now: Timestamp) -> bool {
        now.passed >= self.passed.saturating_add(span) || now.high >= self.wall.saturating_add(span)
    }

    /// Whether so many milliseconds have surely passed since.
    pub fn have_passed(self, span: u64, now: Timestamp) -> bool {
        now.passed >= self.passed.saturating_add(span) && now.wall >= self.high.saturating_add(span)
    }
}

/// When something is over that began between two timestamps.
#[derive(Debug, Clone, Copy)]
pub struct Over {
    from: Timestamp,
    /// It has begun by then, where that is known.
    until: Option<Timestamp>,
    span: u64,
}

impl Over {
    pub fn new(from: Timestamp, span: u64) -> Over {
        Over { from, until: None, span }
    }

    pub fn answered(&mut self, now: Timestamp) {
        self.until = Some(now);
    }

    /// It may begin once more.
    pub fn begins_anew(&mut self) {
        self.until = None;
    }

    /// It has begun by now, if that was not known.
    pub fn begins_by(&mut self, now: Timestamp) {
        self.until.get_or_insert(now);
    }

    pub fn may_be(self, now: Timestamp) -> bool {
        self.from.may_have_passed(self.span, now)
    }

    pub fn is(self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until.have_passed(self.span, now))
    }
}
