//! A node in a view: as it describes itself, and what it has.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::name::NodeName;
use crate::node::Versions;
use crate::report::shard::ShardReport;
use crate::view::View;

/// A node that is alive, or of which the cluster knows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeReport {
    /// Its name.
    pub node: NodeName,
    /// The description that its key has; none while it is not alive.
    #[serde(flatten)]
    pub alive: Option<AliveNode>,
    /// Whether it is alive.
    pub is_alive: bool,
    /// Whether an operator asked that it has no shards.
    pub is_leaving: bool,
    /// Shards that it owns.
    pub owned: usize,
    /// Shards of which it is a standby.
    pub standby: usize,
    /// Those of them that it has in step.
    pub in_step: usize,
}

/// The description of a node that is alive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AliveNode {
    /// This life of it, 16 hexadecimal digits.
    pub incarnation: String,
    /// When this life began, in milliseconds since 1970 by the node's own clock.
    pub registered_at_ms: Option<u64>,
    /// The zone or rack that it runs in.
    pub zone: Option<String>,
    /// `HOST:PORT` by purpose.
    pub addresses: BTreeMap<String, String>,
    /// Its program and feature levels.
    pub versions: Versions,
    /// How busy it is: 0 idle, 1 at capacity.
    pub load: f32,
    /// It hands its shards over by itself: it stops, or is isolated.
    pub is_draining: bool,
}

impl NodeReport {
    /// All nodes that the cluster knows of, by name. `shards` are the reports of all shards in the same
    /// view.
    #[must_use]
    pub fn all(view: &View, shards: &[ShardReport]) -> Vec<Self> {
        view.known().into_iter().map(|node| Self::new(view, node, shards)).collect()
    }

    /// A node in a view. `shards` are the reports of all shards in the same view.
    #[must_use]
    pub fn new(view: &View, node: &NodeName, shards: &[ShardReport]) -> Self {
        let alive = view.node(node).map(|alive| AliveNode {
            incarnation: alive.incarnation.to_string(),
            registered_at_ms: alive.registered_at_ms,
            zone: alive.zone.clone(),
            addresses: alive.addresses.clone(),
            versions: alive.versions.clone(),
            load: alive.load,
            is_draining: alive.draining,
        });
        let standbys = || shards.iter().flat_map(|shard| &shard.standbys).filter(|one| one.node == *node);
        Self {
            is_alive: alive.is_some(),
            alive,
            is_leaving: view.is_leaving(node),
            owned: shards.iter().filter(|shard| shard.owner.as_ref() == Some(node)).count(),
            standby: standbys().count(),
            in_step: standbys().filter(|standby| standby.is_in_step).count(),
            node: node.clone(),
        }
    }

    /// Whether it is to own no shards, by its own will or because an operator asked for it.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.is_leaving || self.alive.as_ref().is_some_and(|alive| alive.is_draining)
    }
}
