//! The owner of each shard, as commands are sent.
//!
//! It follows the view of the cluster. A command that meets a node which does not serve the shard is
//! refused there, so that an old entry costs time and nothing else.

use std::collections::BTreeSet;

use parking_lot::RwLock;
use stadium_links::NodeName;
use stadium_membership::{FirstInStep, Rule as _, Shard, View};

/// The owner of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This node. It may not serve yet.
    Here,
    /// Another node.
    There {
        /// Its name.
        node: NodeName,
        /// Of the shard's entry in the map.
        generation: u64,
    },
}

/// The owners of all shards.
pub struct Owners {
    me: NodeName,
    owners: RwLock<Vec<Option<Owner>>>,
}

impl Owners {
    /// Of so many shards, as this node sees them: none is known yet.
    #[must_use]
    pub fn new(me: NodeName, shards: u16) -> Self {
        Self { me, owners: RwLock::new(vec![None; usize::from(shards)]) }
    }

    /// Takes the owners out of a view. True where a shard has another one, or the same by another entry.
    pub fn follow(&self, view: &View) -> bool {
        let mut owners = self.owners.write();
        let mut has_changed = false;
        for (number, owner) in owners.iter_mut().enumerate() {
            let shard = Shard(number as u32);
            let generation = view.entry(shard).map_or(0, |entry| entry.generation);
            let named = FirstInStep::owner(view, shard).map(|name| name.as_str());
            let is_same = match (&*owner, named) {
                (Some(Owner::Here), Some(name)) => name == self.me.as_str(),
                (Some(Owner::There { node, generation: known }), Some(name)) => {
                    name == node.as_str() && *known == generation
                }
                (None, None) => true,
                _ => false,
            };
            has_changed |= !is_same;
            if !is_same {
                *owner = named.and_then(|name| NodeName::new(name).ok()).map(|node| {
                    if node == self.me { Owner::Here } else { Owner::There { node, generation } }
                });
            }
        }
        has_changed
    }

    /// The owner of a shard, where one is known.
    #[must_use]
    pub fn of(&self, shard: u16) -> Option<Owner> {
        self.owners.read().get(usize::from(shard)).cloned().flatten()
    }

    /// One shard of each other node that owns any.
    #[must_use]
    pub fn one_of_each(&self) -> Vec<u16> {
        let owners = self.owners.read();
        let mut seen = BTreeSet::new();
        (0u16..)
            .zip(owners.iter())
            .filter_map(|(shard, owner)| match owner {
                Some(Owner::There { node, .. }) => seen.insert(node).then_some(shard),
                _ => None,
            })
            .collect()
    }
}
