//! etcd as far as membership needs it: revisions, conditions, and a history that watches read.

use std::collections::BTreeMap;

use stadium_membership::{
    Action, Change, Cluster, ClusterId, Condition, Formats, Incarnation, Node, NodeName, Seat, Versions,
    View, Write,
};

/// The name of a node.
pub fn name(text: &str) -> NodeName {
    text.parse().expect("a good name")
}

/// A node without shards.
pub fn node(incarnation: u64, zone: Option<&str>) -> Node {
    Node {
        incarnation: Incarnation(incarnation),
        addresses: BTreeMap::new(),
        zone: zone.map(str::to_owned),
        versions: Versions { program: "test".to_owned(), level_min: 1, level_max: 1 },
        load: 0.0,
        in_step: Default::default(),
        has_data: Default::default(),
        registered_at_ms: None,
        draining: false,
    }
}

/// What etcd holds, and how it came to be.
#[derive(Clone, Default)]
pub struct Etcd {
    pub view: View,
    pub history: Vec<(i64, Change)>,
}

impl Etcd {
    /// A cluster of so many shards, without nodes.
    pub fn with_shards(shards: u32) -> Self {
        let mut etcd = Self::default();
        let formats = Formats { log: 1, checkpoint: 1 };
        etcd.put(Change::Cluster(Some(Cluster { id: ClusterId(7), shards, formats, feature_level: 1 })));
        etcd
    }

    /// Changes a key, whatever it was.
    pub fn put(&mut self, change: Change) {
        let revision = self.view.revision + 1;
        self.view.apply(revision, change.clone());
        self.history.push((revision, change));
    }

    /// Whether all conditions of a write hold.
    pub fn allows(&self, write: &Write) -> bool {
        write.conditions.iter().all(|condition| match condition {
            Condition::Entry(shard, revision) => {
                self.view.map.get(shard).map_or(0, |stored| stored.revision) == *revision
            }
            Condition::Node(name, revision) => {
                self.view.nodes.get(name).map_or(0, |stored| stored.revision) == *revision
            }
            Condition::Request(key, revision) => {
                self.view.requests.get(key).map_or(0, |stored| stored.revision) == *revision
            }
        })
    }

    /// Carries out a write, without a look at its conditions.
    pub fn carry_out(&mut self, action: &Action) {
        self.put(match action {
            Action::Entry(shard, entry) => Change::Entry(*shard, Some(entry.clone())),
            Action::Done(key) => Change::Request(key.clone(), None),
        });
    }

    /// Carries out a write if its conditions hold.
    pub fn write(&mut self, write: &Write) -> bool {
        let allowed = self.allows(write);
        if allowed {
            self.carry_out(&write.action);
        }
        allowed
    }

    /// Changes a node's key where there is one.
    pub fn change_node(&mut self, name: &NodeName, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.view.node(name) {
            let mut changed = node.clone();
            change(&mut changed);
            if changed != *node {
                self.put(Change::Node(name.clone(), Some(Box::new(changed))));
            }
        }
    }

    /// Ends the lease of a node: its key and its seat go.
    pub fn expire(&mut self, name: &NodeName) {
        self.put(Change::Node(name.clone(), None));
        if self.view.planner.as_ref().is_some_and(|seat: &std::sync::Arc<Seat>| seat.node == *name) {
            self.put(Change::Planner(None));
        }
    }
}
