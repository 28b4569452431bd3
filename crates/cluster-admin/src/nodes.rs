//! `nodes`: each node as it describes itself, and what it has.

use serde::Serialize;
use stadium_membership::NodeName;
use stadium_membership::report::{NodeReport, ShardReport};

use crate::admin::Admin;
use crate::error::Error;

/// The result of `nodes`.
#[derive(Clone, Debug, Serialize)]
pub struct NodesReport {
    /// The nodes, by name.
    pub nodes: Vec<NodeReport>,
    /// The node that plans.
    pub planner: Option<NodeName>,
}

impl Admin {
    /// All nodes that are alive, that the map names, or that are asked to drain.
    ///
    /// # Errors
    /// etcd does not answer, or has no such cluster.
    pub fn nodes(&mut self) -> Result<NodesReport, Error> {
        let (view, cluster) = self.look()?;
        let shards = ShardReport::all(&view, cluster.shards, self.settings.standbys);
        let planner = view.planner.as_ref().map(|seat| seat.node.clone());
        Ok(NodesReport { nodes: NodeReport::all(&view, &shards), planner })
    }
}
