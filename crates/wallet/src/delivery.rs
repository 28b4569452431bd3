//! Messages of two-phase commit between shards.
//!
//! Messages are sent until they are confirmed, and taken in once however often they come.

use bytes::Bytes;

use crate::{AssetCode, PrincipalId, Time, TransferId, WalletName};

/// A message on its way.
pub type Delivery = stadium_state_machine::Delivery<ShardMessage>;

/// The content of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum ShardMessage {
    /// Asks a shard for its part. A shard that votes yes keeps it ready until it is decided.
    Prepare {
        /// The sender's number of the transaction.
        transaction: u64,
        /// The principal that asked for it.
        principal: Option<PrincipalId>,
        /// The transfers in which a wallet of the receiver takes part, and those that it would decide if they came alone.
        legs: Vec<Leg>,
    },
    /// It is decided.
    Decide {
        /// The sender's number of the transaction.
        transaction: u64,
        /// The number of the message that asked.
        prepare: u64,
        /// Whether it is booked.
        booked: bool,
        /// When it was decided.
        at: Time,
    },
}

/// A transfer of which at least one side is on the shard that is asked, or that is decided there when it comes alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Leg {
    /// Its id.
    pub transfer: TransferId,
    /// What it is.
    pub kind: LegKind,
    /// The hash of the client's content, where the shard that is asked decides the transfer when it
    /// comes alone: that shard must not have booked it, and remembers it from then on.
    pub content: Option<u64>,
    /// From whom, and on which shard.
    pub debit: (WalletName, u16),
    /// To whom, and on which shard.
    pub credit: (WalletName, u16),
    /// Of what.
    pub asset: AssetCode,
    /// How much.
    pub amount: u64,
    /// The hold that it captures, or the transfer that it reverses.
    pub of: Option<TransferId>,
    /// When it counts for the books.
    pub effective: Option<Time>,
    /// What an outside system calls it.
    pub reference: String,
    /// What its maker wrote.
    pub metadata: Bytes,
}

/// What moves an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LegKind {
    /// A transfer.
    Post,
    /// The capture of a hold.
    Capture,
    /// The reversal of a transfer.
    Reverse,
}
