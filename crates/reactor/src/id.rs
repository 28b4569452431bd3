//! The names by which a handler speaks of things that its loop owns.
//!
//! Ids are only valid in the loop that gave them. A connection's id is never given to another
//! connection: the slot is, with another generation, so that a late use of an old id finds nothing.

use std::fmt;

/// A connection of one loop. Using it after the connection's end is safe and does nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId {
    /// Place in the loop's slab: small and dense, so a handler may index its own table with it.
    pub index: u32,
    /// Distinguishes the users of one place.
    pub generation: u32,
}

impl ConnectionId {
    /// An id that no connection ever has; for a handler's table that wants a filler.
    pub const NONE: ConnectionId = ConnectionId { index: u32::MAX, generation: 0 };
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}.{}", self.index, self.generation)
    }
}

/// A number that the owner of a listener chose, given back with each connection that it accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ListenerTag(pub u16);

/// A UDP socket of one loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UdpId(pub(crate) u32);
