//! How much the load bench measures; what the published rows were taken with.

use clap::Args;

/// Parameters.
#[derive(Args, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Connections of each load generator
    #[arg(long, default_value_t = 64)]
    pub(crate) connections: u32,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 10)]
    pub(crate) seconds: u32,
    /// Requests a second of the accuracy row
    #[arg(long, default_value_t = 20_000)]
    pub(crate) rate: u32,
    /// Simulated MQTT devices
    #[arg(long, default_value_t = 100_000)]
    pub(crate) devices: u32,
    /// Broker processes that hold them: each has its own limit of open files
    #[arg(long, default_value_t = 6)]
    pub(crate) brokers: u32,
}

impl Sizes {
    /// Whether these are the published ones.
    pub(crate) fn is_published(&self) -> bool {
        *self == Sizes { connections: 64, seconds: 10, rate: 20_000, devices: 100_000, brokers: 6 }
    }
}
