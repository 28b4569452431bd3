//! Connections whose principal is not their client id, by principal.
//!
//! A registered device that is revoked is cut by its name. Most connections have it as their client
//! id and are found by that. Those that were assigned a client id, or may choose one, are here.

use std::collections::HashMap;
use std::sync::Arc;

use stadium_reactor::ConnectionId;

/// Those of one loop.
#[derive(Debug, Default)]
pub(crate) struct Principals {
    connections: HashMap<Arc<str>, Vec<ConnectionId>>,
    /// By the connection's place in the reactor's slab.
    names: HashMap<u32, Arc<str>>,
}

impl Principals {
    /// A connection of this principal has begun.
    pub(crate) fn begin(&mut self, id: ConnectionId, principal: Arc<str>) {
        self.end(id);
        self.connections.entry(Arc::clone(&principal)).or_default().push(id);
        self.names.insert(id.index, principal);
    }

    /// A connection has ended; most were never here.
    pub(crate) fn end(&mut self, id: ConnectionId) {
        let Some(principal) = self.names.remove(&id.index) else { return };
        let Some(connections) = self.connections.get_mut(&principal) else { return };
        connections.retain(|connection| connection.index != id.index);
        if connections.is_empty() {
            self.connections.remove(&principal);
        }
    }

    /// The connections of a principal.
    pub(crate) fn connections(&self, principal: &str) -> Vec<ConnectionId> {
        self.connections.get(principal).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_found_by_their_principal_until_they_end() {
        let mut principals = Principals::default();
        let id = |index| ConnectionId { index, generation: 1 };
        principals.begin(id(1), "anna".into());
        principals.begin(id(2), "anna".into());
        principals.begin(id(3), "bert".into());
        assert_eq!(principals.connections("anna"), [id(1), id(2)]);
        principals.end(id(1));
        principals.end(id(7));
        assert_eq!(principals.connections("anna"), [id(2)]);
        principals.end(id(2));
        principals.end(id(3));
        assert!(principals.connections.is_empty() && principals.names.is_empty());
    }
}
