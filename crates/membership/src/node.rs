//! A node, as it describes itself in etcd. Its key lives with its lease: the key is the sign of life.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::name::Incarnation;
use crate::shard_set::ShardSet;

/// Bytes of a zone's name.
pub const ZONE_BYTES_MAX: usize = 64;
/// Addresses of a node: links, HTTP, RPC, MQTT, and a few that later versions may have.
pub const ADDRESSES_MAX: usize = 16;
/// Bytes of an address.
pub const ADDRESS_BYTES_MAX: usize = 280;

/// A node that is alive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// This life of the node.
    pub incarnation: Incarnation,
    /// When this incarnation registered, in milliseconds since 1970 by the node's own clock. For people:
    /// nothing is decided by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered_at_ms: Option<u64>,
    /// Where it is reached: `HOST:PORT` by purpose, such as `links` and `http`.
    pub addresses: BTreeMap<String, String>,
    /// The zone or rack that it runs in. Standbys go to other zones where there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The program and the feature levels that it can read and write.
    pub versions: Versions,
    /// How busy it is: the share of its cores that its process took lately, 0 to 1.
    pub load: f32,
    /// The shards that it has in step: it may own them without reading anything but the log's end.
    #[serde(default)]
    pub in_step: ShardSet,
    /// The shards of which it has state on disk.
    #[serde(default)]
    pub has_data: ShardSet,
    /// It hands its shards over: it stops, or it is isolated from the others. It stays a standby.
    #[serde(default)]
    pub draining: bool,
}

/// What a node can read and write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// The version of the program, for people.
    pub program: String,
    /// The lowest feature level that it understands.
    pub level_min: u32,
    /// The highest.
    pub level_max: u32,
}

impl Node {
    /// A node that starts: without an incarnation, load or shards.
    #[must_use]
    pub fn new(addresses: BTreeMap<String, String>, zone: Option<String>, versions: Versions) -> Self {
        Self {
            incarnation: Incarnation(0),
            registered_at_ms: None,
            addresses,
            zone,
            versions,
            load: 0.0,
            in_step: ShardSet::default(),
            has_data: ShardSet::default(),
            draining: false,
        }
    }

    /// Whether a node can be like this.
    ///
    /// # Errors
    /// [`Error::Setting`] with the bound that is not kept.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |what: String| Err(Error::Setting(what));
        if self.zone.as_ref().is_some_and(|zone| zone.is_empty() || zone.len() > ZONE_BYTES_MAX) {
            return refuse(format!("the name of a zone has 1 to {ZONE_BYTES_MAX} bytes"));
        }
        if self.addresses.len() > ADDRESSES_MAX {
            return refuse(format!("a node has at most {ADDRESSES_MAX} addresses"));
        }
        let long = |text: &String| text.is_empty() || text.len() > ADDRESS_BYTES_MAX;
        if self.addresses.iter().any(|(purpose, address)| long(purpose) || long(address)) {
            return refuse(format!("an address of a node has 1 to {ADDRESS_BYTES_MAX} bytes"));
        }
        if !self.load.is_finite() || self.load < 0.0 {
            return refuse(format!("the load of a node is 0 or more, not {}", self.load));
        }
        if self.versions.program.len() > ZONE_BYTES_MAX || self.versions.level_min > self.versions.level_max {
            return refuse(format!("the versions of a node make no sense: {:?}", self.versions));
        }
        Ok(())
    }
}
