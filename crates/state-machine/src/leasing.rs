//! Items that are handed out under leases, with their payloads: an optional capability of a
//! machine.
//!
//! An answer holds the places of payloads. The shard reads them when the answer leaves, and has the
//! machine take back items whose payload cannot be read, or whose caller has gone.

use std::fmt;

use bytes::Bytes;

use crate::{Milliseconds, PayloadAt, StateMachine};

/// A machine that hands out items under leases.
pub trait Leasing: StateMachine {
    /// The right to an item.
    type Lease: fmt::Debug + fmt::Display + Send + 'static;

    /// An answer with the bytes of its payloads.
    type Resolved: Send + 'static;

    /// Puts payloads where their places were. An item that is handed out and cannot be read is left
    /// out, and its lease goes to `unreadable` with the reason.
    ///
    /// # Errors
    ///
    /// The answer is about one item only, which cannot be read.
    fn resolve(
        answer: Self::Answer,
        read: &mut impl FnMut(PayloadAt) -> Result<Bytes, Unreadable>,
        unreadable: &mut Vec<(Self::Lease, Unreadable)>,
    ) -> Result<Self::Resolved, Unreadable>;

    /// The leases that an answer hands out.
    fn leases(answer: &Self::Resolved) -> Vec<Self::Lease>;

    /// The command that takes items back which nobody worked on: they may be handed out again after
    /// so long, and the attempt does not count.
    fn take_back(leases: Vec<Self::Lease>, after: Milliseconds) -> Self::Command;

    /// The command that sets an item aside for good, with the reason.
    fn set_aside(lease: Self::Lease, reason: String) -> Self::Command;
}

/// Why a payload is not there, in words for an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// It may be read later.
    Temporary(String),
    /// It is damaged, or gone.
    Permanent(String),
}

impl Unreadable {
    /// The reason.
    pub fn into_reason(self) -> String {
        let (Unreadable::Temporary(reason) | Unreadable::Permanent(reason)) = self;
        reason
    }

    /// The same, with a reason that names the item.
    #[must_use]
    pub fn of_item(self, item: impl fmt::Display) -> Self {
        match self {
            Unreadable::Temporary(reason) => Unreadable::Temporary(format!("{item}: {reason}")),
            Unreadable::Permanent(reason) => Unreadable::Permanent(format!("{item}: {reason}")),
        }
    }
}
