//! Whether a node of a cluster is ready, as a function of what it knows of the cluster.

use stadium_membership::{FirstInStep, Rule as _, Shard, View};
use stadium_membership_etcd::{Connection, Snapshot};

/// The standing of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is registered, and each shard has an owner.
    Ready,
    /// It is registered, and so many shards have no owner.
    Unowned(u32),
    /// It is not registered, for this reason.
    Outside(String),
}

/// The standing in a cluster of so many shards.
pub(super) fn of(snapshot: &Snapshot, shards: u32) -> Standing {
    if snapshot.incarnation.is_none() {
        return Standing::Outside(match &snapshot.connection {
            Connection::Connected => "the node is being registered in etcd".to_owned(),
            Connection::Away(why) => format!("etcd does not answer: {why}"),
            Connection::Refused(error) => format!("the cluster refuses this node: {error}"),
        });
    }
    let unowned = (0..shards).filter(|shard| !has_owner(&snapshot.view, Shard(*shard))).count();
    match u32::try_from(unowned).unwrap_or(u32::MAX) {
        0 => Standing::Ready,
        count => Standing::Unowned(count),
    }
}

/// Whether the owner by the rule of succession has recorded that it claimed the shard.
fn has_owner(view: &View, shard: Shard) -> bool {
    let (Some(owner), Some(entry)) = (FirstInStep::owner(view, shard), view.entry(shard)) else {
        return false;
    };
    view.node(owner).is_some_and(|node| entry.is_recorded(owner, node.incarnation))
}
