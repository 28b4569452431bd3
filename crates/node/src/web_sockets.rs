//! Sockets that ask the HTTP port for MQTT over WebSocket, on their way to the event loops.
//!
//! The HTTP port gives them away unread; a loop then answers the upgrade itself, under the WebSocket listener's rules.

use stadium_edge::EdgeHandle;
use stadium_http::{SocketTaker, TakenSocket};

/// Gives sockets to the edge.
pub(crate) struct Adopter {
    edge: EdgeHandle,
}

impl Adopter {
    /// To this edge.
    pub(crate) fn new(edge: EdgeHandle) -> Self {
        Self { edge }
    }
}

impl SocketTaker for Adopter {
    fn take(&self, socket: TakenSocket) {
        let peer = socket.peer;
        if self.edge.adopt(socket.stream).is_err() {
            // Dropping the socket closes it: the device comes back later.
            tracing::debug!(%peer, "No loop has room for a WebSocket");
        }
    }
}
