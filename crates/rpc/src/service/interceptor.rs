//! What stands before and behind every function of a service: authentication, limits, metrics.

use std::time::Duration;

use super::Call;
use crate::answer::Refusal;

/// How a call ended for its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Answered, or for a stream: completed.
    Ok,
    /// Refused as Busy.
    Busy,
    /// Rejected, or not understood.
    Rejected,
    /// It failed on its way, so that it may have happened; or it ended with an error of the service's own.
    Failed,
    /// Its deadline passed first.
    Expired,
    /// The caller cancelled or went.
    Cancelled,
}

/// A call that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// `SERVICE/METHOD`.
    pub route: &'a str,
    /// How.
    pub outcome: Outcome,
    /// From reading the request to its end.
    pub latency: Duration,
}

/// Called on the loop around each call; must not block.
pub trait Interceptor: Send + Sync {
    /// May this call go on? The first interceptor that refuses decides.
    ///
    /// # Errors
    /// The refusal that the caller gets.
    fn before(&self, _call: &Call<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    /// The call has ended.
    fn after(&self, _finished: &Finished<'_>) {}
}
