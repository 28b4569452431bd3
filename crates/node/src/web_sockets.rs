//! Sockets that ask the HTTP port for MQTT over WebSocket, on their way to the event loops.
//!
//! The HTTP port gives them away unread, or with their TLS; a loop then answers the upgrade itself,
//! under the WebSocket listener's rules.

use stadium_edge::EdgeHandle;
use stadium_http::{SocketTaker, TakenSocket, TakenTls};
use stadium_reactor::AdoptedTls;

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
        let (tls, unread) = match socket.tls.map(|tls| *tls) {
            Some(TakenTls { secrets, kernel, plain, cipher, certificate }) => {
                (Some(AdoptedTls { secrets, kernel, plain, certificate }), cipher)
            }
            None => (None, Vec::new()),
        };
        if self.edge.adopt(socket.stream, tls, unread).is_err() {
            // Dropping the socket closes it: the device comes back later.
            tracing::debug!(%peer, "No loop has room for a WebSocket");
        }
    }
}
