//! The settings of membership, checked once when it starts.

use stadium_etcd::Access;
use stadium_membership::{Cluster, Error, Node, NodeName, Settings, check_name};

/// How a node takes part in its cluster.
#[derive(Clone, Debug)]
pub struct Config {
    /// How etcd is reached.
    pub etcd: Access,
    /// The cluster's name: its keys are below `/stadium/CLUSTER/`.
    pub cluster: String,
    /// The cluster that the node's data belongs to; without it, whichever is found the first time.
    pub expected: Option<Cluster>,
    /// The node's name.
    pub node: NodeName,
    /// Addresses, zone and versions of the node. Incarnation, load and shards are filled in.
    pub about: Node,
    /// How the planner works while it is elected here.
    pub planner: Settings,
}

impl Config {
    /// Whether everything is within its bounds.
    pub(crate) fn check(&self) -> Result<(), Error> {
        check_name("cluster", &self.cluster)?;
        self.about.check()?;
        self.etcd.check().map_err(Error::Setting)
    }
}
