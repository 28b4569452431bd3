//! How many devices, connections and pushes: the parameters of the rows.

use clap::Args;
use clap::builder::RangedU64ValueParser;

use super::devices::NAMED_MAX;

/// The parameters.
#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct Sizes {
    /// Devices of the row `registry`
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u32).range(1_000..=NAMED_MAX))]
    pub(super) registered: u32,
    /// Devices of the rows `audience`, `broadcast` and `ingress`
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1_000..=NAMED_MAX))]
    pub(super) devices: u32,
    /// Devices that are connected, or come back, in the rows `lights`, `broadcast` and `return`
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=19_000))]
    pub(super) connected: u32,
    /// Pushes of the row `lights` in each round, which takes their median
    #[arg(long, default_value_t = 5, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100))]
    pub(super) pushes: usize,
    /// Messages in the inbox of each device that comes back
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub(super) owed: u32,
    /// Previews of the row `audience` in each round
    #[arg(long, default_value_t = 100, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(super) previews: usize,
    /// Connections of the row `ingress`, one request under way on each
    #[arg(long, default_value_t = 200, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    pub(super) connections: usize,
    /// Seconds of the row `ingress`
    #[arg(long, default_value_t = 5.0)]
    pub(super) seconds: f64,
    /// Shards of the servers
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(super) shards: u16,
}

impl Sizes {
    /// Whether these are the parameters of the published rows.
    pub(super) fn is_published(&self) -> bool {
        let Self { registered, devices, connected, pushes, owed, previews, connections, seconds, shards } =
            *self;
        (registered, devices, connected, shards) == (2_000_000, 1_000_000, 10_000, 1)
            && (pushes, owed, previews, connections) == (5, 5, 100, 200)
            && seconds >= 5.0
    }
}
