//! How many clients take part, and how much they do: the parameters of the rows.

use std::time::Duration;

use clap::Args;

use super::load::{Amount, Choice, Pace, Plan};

/// The exponent of Zipf's law, as YCSB has it.
pub(super) const ZIPF: f64 = 0.99;
/// One of so many debits is sent again.
const REPEAT_EVERY: u64 = 100;

/// The parameters.
#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct Clients {
    /// Accounts
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(10..))]
    pub(super) accounts: u32,
    /// Connections
    #[arg(long, default_value_t = 100, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=400))]
    pub(super) connections: usize,
    /// Single debits under way on each connection
    #[arg(long, default_value_t = 16, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    pub(super) depth: usize,
    /// Debits of a batch
    #[arg(long, default_value_t = 1_000, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(2..=1_000))]
    pub(super) batch: usize,
    /// Seconds of each load
    #[arg(long, default_value_t = 3.0)]
    pub(super) seconds: f64,
    /// Debits a second of the latency row
    #[arg(long, default_value_t = 10_000.0)]
    pub(super) rate: f64,
}

impl Clients {
    /// Whether these are the parameters of the published rows.
    pub(super) fn is_published(&self) -> bool {
        (self.accounts, self.connections, self.depth, self.batch) == (1_000_000, 100, 16, 1_000)
            && self.rate == 10_000.0
            && self.seconds >= 3.0
    }

    /// All clients as fast as answers come, one debit at a time, for the time of a row.
    pub(super) fn plan<'a>(&self, choice: Choice<'a>) -> Plan<'a> {
        Plan {
            connections: self.connections,
            depth: self.depth,
            batch: 1,
            choice,
            pace: Pace::Closed,
            amount: Amount::For(Duration::from_secs_f64(self.seconds)),
            ones: false,
            repeat_every: REPEAT_EVERY,
        }
    }
}
