//! A hook for tracing: called when an operation ends, with no key and no value.

use std::fmt;
use std::time::Duration;

use crate::address::Address;
use crate::metrics::{Ending, Operation};

/// An operation that ended.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Event<'a> {
    /// Its kind.
    pub operation: Operation,
    /// The way in which it ended.
    pub ending: Ending,
    /// Its server.
    pub server: &'a Address,
    /// FNV-1a with 64 bits of the key with its namespace; that of no bytes for `stats` and `versions`.
    /// It tells keys apart. It does not hide one that can be guessed.
    pub key_hash: u64,
    /// Time from the submission to the answer, or to the deadline.
    pub duration: Duration,
}

/// The receiver of [`Event`]s, from [`Config::observer`](crate::Config::observer).
///
/// It is called once for each operation that came to a server, also when no caller waits for it. The
/// thread is any that ends operations: a caller's, for the operations of all callers, or a helper. No
/// lock is held. It must return soon, because answers are not read meanwhile. A panic in it is caught
/// and has no effect.
pub trait Observer: Send + Sync {
    /// An operation ended.
    fn ended(&self, event: &Event<'_>);
}

impl<F: Fn(&Event<'_>) + Send + Sync> Observer for F {
    fn ended(&self, event: &Event<'_>) {
        self(event);
    }
}

impl fmt::Debug for dyn Observer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an observer")
    }
}
