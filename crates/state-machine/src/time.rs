//! Times and spans: whole milliseconds, since nothing here is finer.
//!
//! A machine never reads a clock; it gets the time with each command.

/// A time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

/// A span of milliseconds.
pub type Milliseconds = u64;

impl Time {
    /// The time that many milliseconds later; the end of time where there is none.
    #[must_use]
    pub fn after(self, span: Milliseconds) -> Time {
        Time(self.0.saturating_add(span))
    }
}
