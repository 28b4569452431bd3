//! The fleet's answers to commands.

use std::time::Duration;

/// Why the fleet did not accept a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing happened: a bound is reached, the caller still owns the work and may try again.
    Busy {
        /// How long to wait first.
        retry_after: Duration,
        /// Which bound, in words.
        reason: String,
    },
    /// Nothing happened: it will never work.
    Rejected {
        /// A stable code with a page in docs/reference/errors/, for example `EDGE-007`.
        code: &'static str,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// It may have happened.
    Unknown {
        /// Why nobody knows.
        reason: String,
    },
}

/// What a kick found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KickOutcome {
    /// The device was connected, and its connection is being closed.
    Kicked,
    /// The device has a session, but no connection to close.
    NotConnected,
    /// Nobody knows the device.
    Unknown,
}
