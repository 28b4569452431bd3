//! How much inline work one turn of the loop takes on.
//!
//! What a turn has read waits for the functions before it, so a request's wait is the time since the turn
//! began. The clock is read once in a stride of calls, chosen so that cheap functions hardly pay for it
//! and expensive ones are measured each.

use std::time::{Duration, Instant};

/// Between two looks at the clock, in nanoseconds.
const LOOK_EVERY_NS: u64 = 20_000;
/// The most calls between two looks.
const STRIDE_MAX: u32 = 64;

/// The turn's inline work so far.
#[derive(Debug)]
pub(crate) struct Pace {
    began: Option<Instant>,
    /// Since the turn began, as of the last look.
    elapsed_ns: u64,
    /// Time in writes since the last look.
    written_ns: u64,
    calls: u32,
    stride: u32,
}

/// A look at the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Calls since the look before.
    pub(crate) calls: u32,
    /// Time that each of them took, in nanoseconds, on average.
    pub(crate) each_ns: u64,
    /// The wait that the last of them had behind it when it was done, in microseconds.
    pub(crate) waited_us: u64,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self { began: None, elapsed_ns: 0, written_ns: 0, calls: 0, stride: 1 }
    }

    /// A turn has something to do. Repeated calls within a turn change nothing.
    pub(crate) fn turn_begins(&mut self) {
        if self.began.is_none() {
            self.began = Some(Instant::now());
            self.elapsed_ns = 0;
            self.written_ns = 0;
        }
    }

    /// The turn has ended: the look at what came after the last one.
    pub(crate) fn turn_ends(&mut self) -> Option<Look> {
        let look = (self.calls > 0).then(|| self.look());
        self.began = None;
        look
    }

    /// How long the next request has waited, in microseconds.
    pub(crate) fn waited_us(&self) -> u64 {
        self.elapsed_ns / 1_000
    }

    /// That much of the turn went into writes, which are no function's time.
    pub(crate) fn wrote(&mut self, took: Duration) {
        self.written_ns += took.as_nanos() as u64;
    }

    /// When the turn began.
    pub(crate) fn began(&self) -> Option<Instant> {
        self.began
    }

    /// A function has run.
    pub(crate) fn called(&mut self) -> Option<Look> {
        self.calls += 1;
        (self.calls >= self.stride).then(|| self.look())
    }

    fn look(&mut self) -> Look {
        let elapsed = self.began.map_or(0, |began| began.elapsed().as_nanos() as u64);
        let span_ns = elapsed.saturating_sub(self.elapsed_ns).saturating_sub(self.written_ns);
        let each_ns = span_ns / u64::from(self.calls.max(1));
        self.written_ns = 0;
        let look = Look { calls: self.calls, each_ns, waited_us: elapsed / 1_000 };
        self.stride = match LOOK_EVERY_NS.checked_div(each_ns) {
            None => STRIDE_MAX,
            Some(calls) => (calls as u32).clamp(1, STRIDE_MAX),
        };
        self.elapsed_ns = elapsed;
        self.calls = 0;
        look
    }
}
