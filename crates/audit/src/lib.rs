//! A second reading of the wallets in a data directory: verify, receipts, published roots, reconciliation.
//!
//! Written from docs/formats/{journal,record,wallet-events}.md alone, without `stadium-wallet`, much simpler and much slower in its ways:
//! maps in order, everything counted again. It shares the journal's reading of files with the server, and nothing else. Nothing is
//! changed; a directory that a server has open may be read.
//!
//! ```text
//! walk: journal, frame, chain ─▶ event ─▶ books: balances, holds, rules ─▶ verify: sums, seals, shards together
//!                              └▶ proof: paths to a root ─▶ receipt
//! ```

mod amount;
mod books;
mod bytes;
mod chain;
mod error;
mod event;
mod groups;
mod hex;
mod id;
mod place;
mod problem;
mod receipt;
mod reconcile;
mod roots;
mod section;
mod source;
mod transfers;
mod tree;
mod verify;
mod walk;

pub use amount::{parse as parse_amount, show as show_amount};
pub use error::Error;
pub use hex::{Hex, HexHash};
pub use problem::{Kind, Problem};
pub use receipt::{Proof, Proved, Receipt, check, receipt};
pub use reconcile::{Booking, Columns, Different, Reconciliation, Row, reconcile};
pub use roots::{Root, roots};
pub use source::{Journal, NotedSeal, Source};
pub use transfers::{Selection, bookings, scales};
pub use tree::Hash;
pub use verify::{AccountFigures, AssetFigures, Options, Report, ShardFigures, verify};

/// How far a walk through the journals has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Which shard is being read.
    pub shard: u16,
    /// Bytes of journal behind us, of all shards.
    pub bytes_done: u64,
    /// Bytes of journal, of all shards.
    pub bytes_all: u64,
}
