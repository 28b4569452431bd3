//! A swarm: simulated MQTT devices that connect, subscribe, listen, talk, are cut and come back, and measure.
//!
//! [`run`] does all of it; [`Swarm::start`] is the same in two steps, with a [`Control`] in between that cuts or
//! stops it from elsewhere. Devices live on reactor loops, in this process or in workers that the same binary
//! makes of itself (`stadium load swarm-worker`, see [`worker::run`]). Times of devices are fixed before the run
//! (an open model), so that a slow broker cannot hide behind a swarm that waits for it.

mod args;
mod backoff;
mod broadcast;
mod caveats;
mod collect;
mod config;
mod device;
mod driver;
mod habit;
mod machine;
mod members;
mod memory;
mod plan;
pub mod profile;
mod report;
mod sequence;
mod storm;
mod tally;
mod template;
mod time;
pub mod worker;

use std::fmt;

pub use args::Args;
pub use broadcast::{BroadcastReport, BroadcastRow, Spread};
pub use collect::{Control, Swarm};
pub use config::{
    Acknowledge, Answer, Certificate, ConnectPace, Credentials, Level, Processes, Protocol, Reconnect,
    Resumption, Session, SwarmConfig, Target, Tls, Traffic, Transport, Trust, devices_per_process,
};
pub use memory::Memory;
pub use profile::Mixture;
pub use report::{Ended, GeneratorReport, LatencyReport, Progress, StormReport, SwarmReport};
pub use storm::{Back, StormShape};
pub use tally::{Latencies, LatencyCounts, Now, Storm, Sums, Tally};
pub use template::{InvalidTemplate, Template};
pub use time::Span;

/// Why a swarm could not run. What goes wrong with devices is no error: it is counted.
#[derive(Debug)]
pub enum Error {
    /// It was asked for what cannot be; the text says what to change.
    Config(String),
    /// The system refused something that the swarm itself needs.
    System {
        /// What was being done.
        doing: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// A worker process could not do its part.
    Worker(String),
}

impl Error {
    fn system(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
        // Only then: loops say at every turn what they were about.
        move |error| Error::System { doing: doing.into(), error }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Config(text) => write!(f, "swarm: {text}"),
            Error::System { doing, error } => write!(f, "swarm: {doing}: {error}"),
            Error::Worker(text) => write!(f, "swarm worker: {text}"),
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

/// Runs a swarm from its first connection to its report, telling `watch` four times a second how far it is.
///
/// # Errors
/// [`Error`] where the swarm itself cannot run; refused, lost and silent devices are figures of the report.
pub fn run(config: SwarmConfig, watch: &mut dyn FnMut(&Progress)) -> Result<SwarmReport, Error> {
    Swarm::start(config)?.wait(watch)
}
