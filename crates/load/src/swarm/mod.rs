//! Swarms: what is asked of simulated MQTT devices, and what is reported of them, as plain values.
//!
//! Devices connect, subscribe, listen, talk, are cut and come back, and measure.
//! [`crate::run::Swarm`] runs them; they live on the loops of [`crate::engine::devices`], in this
//! process or in workers. Times of devices are fixed before the run (an open model), so that a slow
//! broker cannot hide behind a swarm that waits for it.

mod args;
pub(crate) mod broadcast;
pub(crate) mod caveats;
pub(crate) mod config;
pub(crate) mod memory;
pub mod profile;
pub(crate) mod report;
pub(crate) mod storm;
pub(crate) mod tally;
mod template;
pub(crate) mod time;

pub use args::Args;
pub use broadcast::{BroadcastReport, BroadcastRow, Spread};
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
