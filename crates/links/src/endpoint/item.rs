//! What other threads send to a loop of an endpoint.
//!
//! Items are few: those about members are rare, and of the others there is at most one for each
//! lane and each connection. They are sent beyond the mailbox's bound.

use stadium_reactor::ConnectionId;

use crate::link::{Incarnation, NodeName};

/// What other threads send to a loop.
pub(super) enum Item {
    /// A node was added or changed.
    Member(NodeName),
    /// A later incarnation of a node is known: links with earlier ones end.
    Later(NodeName, Incarnation),
    /// A node was removed.
    Gone(NodeName),
    /// Messages wait for the lane of this number.
    Flush(u64),
    /// Answers wait for this connection.
    Answers(ConnectionId),
}
