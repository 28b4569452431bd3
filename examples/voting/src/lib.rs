//! A voting service on Stadium's public interfaces: log in, list the candidates, ask for the balance, vote if there is credit.
//!
//! A vote moves one unit of [`ASSET`] from the voter's wallet to the candidate's, puts a ballot into a queue, and
//! pushes a confirmation to the voter's device, in one record of Stadium's journal: all of it or nothing. [`Voting`] is the
//! whole service, for the binary `voting` and for the second act of `stadium demo`.
//!
//! [`poll`] defines the vote, [`bank`] talks to Stadium's wallets, [`http`] and [`devices`] are the
//! two ways in, [`secured`] is the first behind TLS, [`closing`] returns votes that came too late,
//! [`results`] is what everybody sees, which instances may share through memcached.

pub mod access;
mod ballots;
pub mod bank;
mod batcher;
mod cached;
mod closing;
mod devices;
mod http;
pub mod poll;
mod problem;
pub mod results;
mod secured;
mod stadium;
mod voting;

/// Why the service could not start.
pub use anyhow::Error;
pub use poll::ASSET;
pub use secured::Secured;
pub use stadium::{Login, Stadium};
pub use voting::{Config, Voting};

/// Messages and methods of `stadium.v1`.
#[allow(missing_docs, reason = "generated code")]
pub mod proto {
    include!(concat!(env!("OUT_DIR"), "/stadium.v1.rs"));
}
