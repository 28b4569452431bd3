//! Items that wait for a node to have room.
//!
//! Those for all nodes are not repeated by anybody.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use stadium_links::NodeName;

/// Items that are kept for a node at most. Each is the end of a device's connection, or has a shard's
/// devices announced.
pub const KEPT_MAX: usize = 4_096;

/// The items that wait for a node to have room.
#[derive(Default)]
pub struct Kept(Mutex<HashMap<NodeName, VecDeque<Vec<u8>>>>);

impl Kept {
    /// Whether something waits for a node. What comes next is to wait, too.
    #[must_use]
    pub fn is_behind(&self, node: &NodeName) -> bool {
        self.0.lock().contains_key(node)
    }

    /// Keeps an item for a node. Where there are too many the oldest is dropped.
    pub fn keep(&self, node: &NodeName, body: &[u8]) {
        let mut kept = self.0.lock();
        let items = kept.entry(node.clone()).or_default();
        if items.len() == KEPT_MAX {
            items.pop_front();
            tracing::warn!(%node, "A node is too far behind to be told of all that its devices are to do");
        }
        items.push_back(body.to_vec());
    }

    /// Hands out what is kept, in its order, until `send` takes no more of a node's. Nodes that are no
    /// members any more are forgotten.
    pub fn send(&self, members: &[NodeName], send: impl Fn(&NodeName, &[u8]) -> bool) {
        self.0.lock().retain(|node, items| {
            while items.front().is_some_and(|body| send(node, body)) {
                items.pop_front();
            }
            !items.is_empty() && members.contains(node)
        });
    }
}
