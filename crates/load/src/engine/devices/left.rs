//! A connection that its device has left without a word; [`super::severed`] resets it in time.

use stadium_reactor::ConnectionId;

/// A severed connection without a device.
pub(super) struct Left {
    pub(super) id: ConnectionId,
    pub(super) slot: u32,
    pub(super) until_ms: u32,
}
