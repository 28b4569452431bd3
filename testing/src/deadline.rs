//! Waiting for a condition, never for a time.
//!
//! A wait ends as soon as its condition holds, or fails when the deadline has passed, naming what
//! it waited for and what it saw last.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long a wait lasts that should be over at once; generous, because the machine may be busy with a build.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Time between two looks at a condition.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Asks `look` again and again until it gives a value. `what` completes the sentence "waited for".
pub fn until<T>(within: Duration, what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + within;
    loop {
        let last = match look() {
            Ok(Some(value)) => return Ok(value),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        if Instant::now() >= deadline {
            match last {
                Some(error) => bail!("waited {within:?} for {what}; last: {error:#}"),
                None => bail!("waited {within:?} for {what}"),
            }
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Waits until `holds` is true.
pub fn until_true(within: Duration, what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    until(within, what, || Ok(holds()?.then_some(())))
}

/// How long suites wait for programs of others; generous, because the machine may be busy with a build.
pub const LONG: Duration = Duration::from_secs(30);

/// Waits until `look` finds something.
///
/// # Panics
/// It finds nothing within [`LONG`].
#[track_caller]
pub fn must_find<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    until(LONG, what, || Ok(look())).unwrap_or_else(|why| panic!("{why}"))
}

/// Waits until `holds`.
///
/// # Panics
/// It does not hold within [`LONG`].
#[track_caller]
pub fn must_hold(what: &str, mut holds: impl FnMut() -> bool) {
    must_find(what, || holds().then_some(()));
}
