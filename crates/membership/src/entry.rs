//! The map's entry of one shard: its replicas in order.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::name::{Incarnation, NodeName};

/// Replicas of one shard. A move adds one for a while; more than a few cost memory on each node.
pub const REPLICAS_MAX: usize = 8;

/// Which nodes have a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Grows by one with each change of this entry.
    pub generation: u64,
    /// The replicas. The first that is alive and in step is the owner.
    pub replicas: Vec<NodeName>,
    /// The incarnation of the first replica that recorded itself as owner.
    ///
    /// A node serves after its fence counts *and* its record is here. While that incarnation lives,
    /// nobody else can be recorded, unless it handed over: so its reads under the lease are never old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Incarnation>,
    /// The replica that the owner is asked to hand the shard over to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<NodeName>,
}

impl Entry {
    /// The first entry of a shard.
    #[must_use]
    pub fn new(replicas: Vec<NodeName>) -> Self {
        Self { generation: 1, replicas, recorded: None, successor: None }
    }

    /// The next entry with these replicas.
    ///
    /// A record stays while the first replica stays, a successor while it is a replica behind it.
    #[must_use]
    pub fn with_replicas(&self, replicas: Vec<NodeName>) -> Self {
        let recorded = self.recorded.filter(|_| replicas.first() == self.replicas.first());
        let successor = self.successor.clone().filter(|one| replicas.iter().skip(1).any(|name| name == one));
        Self { generation: self.generation + 1, replicas, recorded, successor }
    }

    /// The next entry with `first` in front of the other replicas.
    #[must_use]
    pub fn with_first(&self, first: &NodeName, recorded: Option<Incarnation>) -> Self {
        let others = self.replicas.iter().filter(|name| *name != first);
        let replicas: Vec<NodeName> = std::iter::once(first).chain(others).cloned().collect();
        let successor = self.successor.clone().filter(|one| one != first);
        Self { generation: self.generation + 1, replicas, recorded, successor }
    }

    /// The next entry, in which the owner is asked to hand over to `successor`, or no longer asked.
    #[must_use]
    pub fn with_successor(&self, successor: Option<NodeName>) -> Self {
        Self { generation: self.generation + 1, successor, ..self.clone() }
    }

    /// Whether this incarnation of the node is the recorded owner.
    #[must_use]
    pub fn is_recorded(&self, name: &NodeName, incarnation: Incarnation) -> bool {
        self.replicas.first() == Some(name) && self.recorded == Some(incarnation)
    }

    /// Whether the node is a replica.
    #[must_use]
    pub fn has(&self, name: &NodeName) -> bool {
        self.replicas.contains(name)
    }

    /// Whether an entry can be like this.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when a node is named twice or there are too many or no replicas.
    pub fn check(&self) -> Result<(), Error> {
        let twice = self.replicas.iter().enumerate().any(|(at, name)| self.replicas[..at].contains(name));
        if twice || self.replicas.is_empty() || self.replicas.len() > REPLICAS_MAX {
            let what = format!("{:?} are no 1 to {REPLICAS_MAX} different replicas", self.replicas);
            return Err(Error::Unreadable(what));
        }
        Ok(())
    }
}
