//! The engine: runs a scenario's users on reactor loops and measures what they see.
//!
//! [`Run::start`] begins a run on this process's loops, and maybe on others'; [`Run::wait`] follows it to its
//! [`RunResult`]. An *open* phase begins users at times that were fixed before, whatever became of those before, so that
//! a target that stalls cannot slow the load and hide it: response times count from when a request was due.

mod arrivals;
mod cookies;
mod describe;
mod driver;
mod fleets;
mod head;
mod machine;
mod member;
mod plan;
mod protocol;
mod reply;
mod tally;
#[cfg(test)]
pub(crate) mod testing;
mod threads;

use std::fmt;

pub use crate::share::Share;
pub(crate) use driver::Order;
pub(crate) use head::Event;
pub use head::{Control, Progress, Run, RunOptions};
pub(crate) use head::{LATENESS_MS_MAX, SATURATED, STEAL_MAX};
pub(crate) use machine::{Load, describe as describe_machine};
pub(crate) use plan::Plan;
pub use stadium_report::RunResult;
pub use tally::{MessageTally, SessionTally, StepTally, Tally};
pub(crate) use threads::{Member as ThreadMember, start as start_members};

/// Why a run could not be. What goes wrong with requests is no error: it is counted.
#[derive(Debug)]
pub enum Error {
    /// It was asked for what cannot be; the text says what to change.
    Config(String),
    /// The system refused something that the generator itself needs.
    System {
        /// What was being done.
        doing: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// A worker could not do its part.
    Worker(String),
}

impl Error {
    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
        // Only then: loops say at every turn what they were about.
        move |error| Error::System { doing: doing.into(), error }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Config(text) => f.write_str(text),
            Error::System { doing, error } => write!(f, "{doing}: {error}"),
            Error::Worker(text) => write!(f, "worker {text}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::System { error, .. } => Some(error),
            Error::Config(_) | Error::Worker(_) => None,
        }
    }
}
