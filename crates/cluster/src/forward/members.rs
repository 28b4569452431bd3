//! The members of the cluster, as links dial them.

use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs as _};

use parking_lot::Mutex;
use stadium_links::{Endpoint, Incarnation, Member, NodeName};
use stadium_membership_etcd::Snapshot;

/// The purpose under which a node names its address for links.
pub(crate) const PURPOSE: &str = "links";

/// The members.
pub(crate) struct Members {
    me: NodeName,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Names, addresses and numbers as the cluster has them.
    wanted: Vec<(NodeName, String, u32)>,
    /// Those that the endpoint has.
    applied: Vec<(NodeName, String, u32)>,
    /// Nodes that were reached since they joined.
    reached: BTreeSet<NodeName>,
    news: News,
}

/// The news of links since they were asked for last.
#[derive(Default)]
pub(crate) struct News {
    /// Nodes that were just reached.
    pub(crate) reached: BTreeSet<NodeName>,
    /// A node ended, or a link that was up before: what was on its way is lost.
    pub(crate) has_lost: bool,
}

impl Members {
    pub(crate) fn new(me: NodeName) -> Self {
        Self { me, state: Mutex::default() }
    }

    /// Takes the members out of a view. True where they have changed.
    pub(crate) fn follow(&self, snapshot: &Snapshot) -> bool {
        let named = snapshot.view.nodes.iter().filter_map(|(name, node)| {
            let address = node.value.addresses.get(PURPOSE)?;
            // The low half of an incarnation distinguishes the starts of nodes: it is a revision of etcd.
            let number = number_of(node.value.incarnation.0);
            Some((NodeName::new(name.as_str()).ok()?, address.clone(), number))
        });
        let wanted: Vec<_> = named.filter(|(name, ..)| *name != self.me).collect();
        let mut state = self.state.lock();
        let has_changed = state.wanted != wanted;
        state.news.has_lost |= state.wanted.iter().any(|member| !wanted.contains(member));
        state.reached.retain(|node| wanted.iter().any(|(name, ..)| name == node));
        state.wanted = wanted;
        has_changed
    }

    /// Has the endpoint dial the members of now. Names are looked up here, which may take a while; one
    /// that is not found is looked up again when the members change.
    pub(crate) fn apply(&self, endpoint: &Endpoint) {
        let (wanted, applied) = {
            let state = self.state.lock();
            if state.wanted == state.applied {
                return;
            }
            (state.wanted.clone(), state.applied.clone())
        };
        for (node, address, _) in wanted.iter().filter(|member| !applied.contains(member)) {
            let addresses: Vec<SocketAddr> = match address.to_socket_addrs() {
                Ok(addresses) => addresses.collect(),
                Err(error) => {
                    tracing::warn!(%node, address, %error, "Address of a node is not found");
                    Vec::new()
                }
            };
            // A name is one process's at a time, which membership sees to.
            let incarnation = Incarnation(0);
            endpoint.set_member(Member { node: node.clone(), addresses, incarnation });
        }
        for (node, ..) in applied.iter().filter(|(node, ..)| wanted.iter().all(|(other, ..)| other != node)) {
            endpoint.remove_member(node);
        }
        self.state.lock().applied = wanted;
    }

    /// A node was reached.
    pub(crate) fn reached(&self, node: &NodeName) {
        let mut state = self.state.lock();
        state.news.has_lost |= !state.reached.insert(node.clone());
        state.news.reached.insert(node.clone());
    }

    /// The news since the last call.
    pub(crate) fn news(&self) -> News {
        std::mem::take(&mut self.state.lock().news)
    }

    /// The other members.
    pub(crate) fn others(&self) -> Vec<NodeName> {
        self.state.lock().applied.iter().map(|(node, ..)| node.clone()).collect()
    }

    /// The member with this number in the names of connections.
    pub(crate) fn numbered(&self, number: u32) -> Option<NodeName> {
        let state = self.state.lock();
        state.wanted.iter().find(|(_, _, known)| *known == number).map(|(node, ..)| node.clone())
    }
}

/// The number of a node in the names of its connections ([`stadium_push::ConnectionName::node`]).
pub(crate) fn number_of(incarnation: u64) -> u32 {
    incarnation as u32
}
