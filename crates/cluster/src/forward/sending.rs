//! Items for the transports of other nodes.
//!
//! Nobody repeats what is for all nodes. So a node that has no room for it now gets it later, in order
//! and within a bound.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use parking_lot::Mutex;
use stadium_links::{Carrier as _, Lane, NodeName, Outgoing, Refused, Target};
use stadium_shard_wire::Item;

use super::{Forwarder, with_bytes};
use crate::transport::{NodeSender, NotSent};

/// Items that are kept for a node at most. Each is the end of a device's connection, or has a shard's
/// devices announced.
const KEPT_MAX: usize = 4_096;

/// The items that wait for a node to have room.
#[derive(Default)]
pub(crate) struct Kept(Mutex<HashMap<NodeName, VecDeque<Vec<u8>>>>);

impl Kept {
    fn is_behind(&self, node: &NodeName) -> bool {
        self.0.lock().contains_key(node)
    }

    fn keep(&self, node: &NodeName, body: &[u8]) {
        let mut kept = self.0.lock();
        let items = kept.entry(node.clone()).or_default();
        if items.len() == KEPT_MAX {
            items.pop_front();
            tracing::warn!(%node, "A node is too far behind to be told of all that its devices are to do");
        }
        items.push_back(body.to_vec());
    }
}

impl Forwarder {
    /// Sends what was kept for nodes that have room now, and forgets nodes that have ended.
    pub(super) fn send_kept(&self) {
        let members = self.members.others();
        let mut kept = self.kept.0.lock();
        kept.retain(|node, items| {
            while let Some(body) = items.front() {
                match self.letter_bytes(node, 0, body) {
                    Ok(()) | Err(Refused::TooLong) => _ = items.pop_front(),
                    Err(_) => break,
                }
            }
            !items.is_empty() && members.contains(node)
        });
    }

    fn letter_bytes(&self, node: &NodeName, shard: u16, body: &[u8]) -> Result<(), Refused> {
        let endpoint = self.endpoint.read();
        let endpoint = endpoint.as_ref().ok_or(Refused::Down)?;
        let target = Target { shard: shard.into(), generation: 0 };
        endpoint.letter(node, Lane::Data, Outgoing { target, body })
    }
}

impl NodeSender for Forwarder {
    fn send(&self, node: u32, item: &Item) -> Result<(), NotSent> {
        let node = self.members.numbered(node).ok_or(NotSent::Gone)?;
        if self.kept.is_behind(&node) {
            return Err(NotSent::Busy);
        }
        // Items for transports travel on one connection, so that they keep their order.
        match with_bytes(item, |body| self.letter_bytes(&node, 0, body)) {
            Ok(Ok(())) => Ok(()),
            _ => Err(NotSent::Busy),
        }
    }

    fn broadcast(&self, item: &Item) {
        let sent = with_bytes(item, |body| {
            for node in self.members.others() {
                if self.kept.is_behind(&node) || self.letter_bytes(&node, 0, body).is_err() {
                    self.kept.keep(&node, body);
                }
            }
        });
        if let Err(refusal) = sent {
            tracing::error!(%refusal, "An item for the transports of all nodes has no bytes");
        }
    }
}

impl fmt::Debug for Forwarder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forwarder").finish_non_exhaustive()
    }
}
