//! Connections as a loop keeps them: each with its owner, those that users share in pools.

use std::collections::VecDeque;

use stadium_reactor::ConnectionId;

use crate::engine::protocol::talk::{Lane, Talk};

/// A connection.
pub(super) struct Line {
    pub(super) id: ConnectionId,
    pub(super) target: u32,
    pub(super) lane: Lane,
    pub(super) owner: Owner,
    pub(super) ready: bool,
    /// Whether its pool lists it as free.
    pub(super) listed: bool,
    pub(super) talk: Box<dyn Talk>,
}

/// Whose a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    User(u32),
    Pool,
}

/// The connections that users share, to one target.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// Those that take a step.
    pub(super) free: VecDeque<ConnectionId>,
    /// All, those included that are opening.
    pub(super) open: u32,
    /// Users that wait for one.
    pub(super) queue: VecDeque<u32>,
}
