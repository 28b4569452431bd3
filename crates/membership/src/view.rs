//! The cluster as one node knows it: everything below the cluster's prefix in etcd, as of one revision.
//!
//! A view is only ever built from a read through the quorum and the watch that follows it, so it is
//! the truth of its revision, though it may be an old one. A node that lost its watch keeps its last
//! view: no death is ever concluded from silence.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;
use crate::entry::Entry;
use crate::error::Error;
use crate::name::{Incarnation, NodeName, SHARDS_MAX, Shard};
use crate::node::Node;
use crate::request::Request;

/// A value with the revision at which it was written: what a compare-and-swap compares.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored<T> {
    /// etcd's revision of the last write.
    pub revision: i64,
    /// The value.
    pub value: Arc<T>,
}

/// Which node plans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// The node.
    pub node: NodeName,
    /// Its incarnation when it was elected.
    pub incarnation: Incarnation,
}

/// A view of the cluster. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The revision of which this is the truth.
    pub revision: i64,
    /// The cluster's own key.
    pub cluster: Option<Arc<Cluster>>,
    /// The nodes that are alive.
    pub nodes: BTreeMap<NodeName, Stored<Node>>,
    /// The entries of the map.
    pub map: BTreeMap<Shard, Stored<Entry>>,
    /// Entries that exist and cannot be read. Nobody changes them.
    pub damaged: BTreeSet<Shard>,
    /// The elected planner.
    pub planner: Option<Arc<Seat>>,
    /// What operators ask for, by key.
    pub requests: BTreeMap<String, Stored<Request>>,
}

/// A change of one key; nothing where the key was deleted.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// `cluster`.
    Cluster(Option<Cluster>),
    /// `nodes/NODE`.
    Node(NodeName, Option<Box<Node>>),
    /// `map/SHARD`.
    Entry(Shard, Option<Entry>),
    /// An entry that cannot be read.
    Damaged(Shard),
    /// `planner`.
    Planner(Option<Seat>),
    /// `requests/KEY`.
    Request(String, Option<Request>),
}

impl Change {
    /// Reads a key below the cluster's prefix, and its value. Unknown keys are nothing: a newer version
    /// may have more.
    ///
    /// # Errors
    /// [`Error::Unreadable`] with the key, where the value is not what the key promises. An entry of the
    /// map that cannot be read is no error but [`Change::Damaged`].
    pub fn read(key: &str, value: Option<&[u8]>) -> Result<Option<Self>, Error> {
        fn parse<T: for<'a> Deserialize<'a>>(key: &str, value: Option<&[u8]>) -> Result<Option<T>, Error> {
            let unreadable = |why| Error::Unreadable(format!("the value of {key} cannot be read: {why}"));
            value.map(|value| serde_json::from_slice(value).map_err(unreadable)).transpose()
        }
        let change = match key.split_once('/') {
            None if key == "cluster" => Self::Cluster(parse(key, value)?),
            None if key == "planner" => Self::Planner(parse(key, value)?),
            Some(("nodes", name)) => Self::Node(name.parse()?, parse(key, value)?),
            Some(("map", shard)) => {
                let number = shard.parse().ok().filter(|number| *number < SHARDS_MAX);
                let shard = Shard(
                    number.ok_or_else(|| Error::Unreadable(format!("{key} is not the key of a shard")))?,
                );
                match parse::<Entry>(key, value).and_then(|entry| entry.map(checked).transpose()) {
                    Ok(entry) => Self::Entry(shard, entry),
                    Err(_) => Self::Damaged(shard),
                }
            }
            Some(("requests", request)) => {
                let read = value.map(|value| {
                    let unreadable = || Error::Unreadable(format!("{key} is no request"));
                    Request::read(request, value).ok_or_else(unreadable)
                });
                Self::Request(request.to_owned(), read.transpose()?)
            }
            _ => return Ok(None),
        };
        Ok(Some(change))
    }
}

fn checked(entry: Entry) -> Result<Entry, Error> {
    entry.check().map(|()| entry)
}

impl View {
    /// Applies a change that was made at `revision`.
    pub fn apply(&mut self, revision: i64, change: Change) {
        fn put<K: Ord, T>(map: &mut BTreeMap<K, Stored<T>>, key: K, value: Option<T>, revision: i64) {
            match value {
                Some(value) => _ = map.insert(key, Stored { revision, value: Arc::new(value) }),
                None => _ = map.remove(&key),
            }
        }
        self.revision = self.revision.max(revision);
        match change {
            Change::Cluster(cluster) => self.cluster = cluster.map(Arc::new),
            Change::Node(name, node) => put(&mut self.nodes, name, node.map(|node| *node), revision),
            Change::Entry(shard, entry) => {
                self.damaged.remove(&shard);
                put(&mut self.map, shard, entry, revision);
            }
            Change::Damaged(shard) => {
                self.map.remove(&shard);
                self.damaged.insert(shard);
            }
            Change::Planner(seat) => self.planner = seat.map(Arc::new),
            Change::Request(key, request) => put(&mut self.requests, key, request, revision),
        }
    }

    /// A node that is alive.
    #[must_use]
    pub fn node(&self, name: &NodeName) -> Option<&Node> {
        self.nodes.get(name).map(|stored| &*stored.value)
    }

    /// A shard's entry.
    #[must_use]
    pub fn entry(&self, shard: Shard) -> Option<&Entry> {
        self.map.get(&shard).map(|stored| &*stored.value)
    }

    /// Nodes that are alive, that the map names, or that are asked to drain.
    #[must_use]
    pub fn known(&self) -> BTreeSet<&NodeName> {
        let drained = self.requests.values().filter_map(|stored| match &*stored.value {
            Request::Drain { node } => Some(node),
            Request::Move { .. } | Request::BalanceOff => None,
        });
        let named = self.map.values().flat_map(|stored| &stored.value.replicas);
        self.nodes.keys().chain(named).chain(drained).collect()
    }

    /// Whether the planner may move shards to balance the nodes.
    #[must_use]
    pub fn is_balancing(&self) -> bool {
        !self.requests.contains_key(&Request::BalanceOff.key())
    }

    /// Whether the node is alive and has the shard in step: it says so, or it is the recorded owner.
    #[must_use]
    pub fn is_in_step(&self, name: &NodeName, shard: Shard) -> bool {
        let Some(node) = self.node(name) else { return false };
        let is_recorded = |entry: &Entry| entry.is_recorded(name, node.incarnation);
        node.in_step.contains(shard) || self.entry(shard).is_some_and(is_recorded)
    }

    /// Whether an operator asked that the node has no shards, not even as a standby.
    #[must_use]
    pub fn is_leaving(&self, name: &NodeName) -> bool {
        self.requests.contains_key(&format!("drain/{name}"))
    }

    /// Whether a node is to own no shards, by its own will or because an operator asked for it.
    #[must_use]
    pub fn is_draining(&self, name: &NodeName) -> bool {
        self.node(name).is_some_and(|node| node.draining) || self.is_leaving(name)
    }
}
