//! `shards`: each shard with its owner, its standbys, and what is wrong with it.
//!
//! It is a function of a view of etcd: no node is asked.

use serde::Serialize;
use stadium_membership::report::ShardReport;
use stadium_membership::{NodeName, View};

use crate::admin::{Admin, listed};
use crate::error::Error;

/// The result of `shards`.
#[derive(Clone, Debug, Serialize)]
pub struct ShardsReport {
    /// The shards that were asked for.
    pub shards: Vec<ShardReport>,
    /// How many the cluster has.
    pub all: u32,
}

impl Admin {
    /// The shards: those of which `node` has a replica, where one is given, and with
    /// `problems_only` those with a problem.
    ///
    /// # Errors
    /// etcd does not answer, or has no such cluster; the node is unknown.
    pub fn shards(&mut self, node: Option<&NodeName>, problems_only: bool) -> Result<ShardsReport, Error> {
        let (view, cluster) = self.look()?;
        if let Some(node) = node
            && !view.known().contains(node)
        {
            return Err(Error::request(no_node(&view, node)));
        }
        let mut shards = ShardReport::all(&view, cluster.shards, self.settings.standbys);
        let has = |shard: &ShardReport, node| view.entry(shard.shard).is_some_and(|entry| entry.has(node));
        shards.retain(|shard| node.is_none_or(|node| has(shard, node)));
        shards.retain(|shard| !problems_only || !shard.problems.is_empty());
        Ok(ShardsReport { shards, all: cluster.shards })
    }
}

/// The refusal of a node that nobody knows.
pub(crate) fn no_node(view: &View, node: &NodeName) -> String {
    format!("the cluster has no node {node}; it knows: {}", listed(view.known()))
}
