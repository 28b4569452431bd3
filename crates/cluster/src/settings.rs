//! The settings of a node of a cluster, checked once when it starts.

use std::path::PathBuf;

use stadium_journal::Options;
use stadium_membership::{Cluster, Error};
use stadium_membership_etcd::Config;

use crate::archive::ArchiveSettings;
use crate::forward::LinkSettings;

/// Settings of a node of a cluster.
#[derive(Clone, Debug)]
pub struct NodeSettings {
    /// Its membership. `expected` must be set: the logs of shards are read as those of this cluster.
    pub membership: Config,
    /// The folder of its mirrors and checkpoints; each shard has a folder `shard-NUMBER` in it.
    pub folder: PathBuf,
    /// Sizes and bounds of the mirrors.
    pub mirror: Options,
    /// Links to the other nodes. Without them commands reach only shards that this node serves.
    pub links: Option<LinkSettings>,
    /// The object store of checkpoints and segments. `None`: no log is trimmed, and a replica
    /// without data reads its log from the beginning.
    pub archive: Option<ArchiveSettings>,
}

impl NodeSettings {
    /// The cluster, where it can have `shards` shards in this process.
    pub(crate) fn cluster(&self, shards: u16) -> Result<&Cluster, Error> {
        let wrong = |what: String| Err(Error::Setting(what));
        let Some(cluster) = &self.membership.expected else {
            return wrong("a node must know its cluster before it opens logs".to_owned());
        };
        if cluster.shards != u32::from(shards) {
            let count = cluster.shards;
            return wrong(format!("the cluster has {count} shards, and this process was made for {shards}"));
        }
        Ok(cluster)
    }
}
