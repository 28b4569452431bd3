//! `drain`: a node gives all of its shards away.

use std::ops::ControlFlow;

use serde::Serialize;
use stadium_membership::report::{NodeReport, ShardReport};
use stadium_membership::{Cluster, NodeName, Request, View};

use crate::admin::Admin;
use crate::error::Error;
use crate::shards::no_node;
use crate::waiting::{Progress, Waiting};

/// The result of `drain`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DrainReport {
    /// The node.
    pub node: NodeName,
    /// Whether the request stands: false where it was taken back.
    pub is_leaving: bool,
    /// Shards that it owned before.
    pub owned_before: usize,
    /// Shards that it owns now.
    pub owned: usize,
    /// Shards of which it still is a standby. They go as other nodes have copied them.
    pub standby: usize,
    /// How long it took until it owned nothing. None where nobody waited.
    pub took_ms: Option<u64>,
}

impl Admin {
    /// Asks that the node has no shards, and waits until it owns none where `waiting` is given. The
    /// request holds until [`Self::undo_drain`].
    ///
    /// # Errors
    /// The cluster has no such node, or no other node could take its shards: nothing was written.
    /// etcd does not answer. The wait ended before the node was drained: the request stays.
    pub fn drain(&mut self, node: &NodeName, waiting: Option<Waiting<'_>>) -> Result<DrainReport, Error> {
        let (view, cluster) = self.look()?;
        let before = report_of(&view, &cluster, node)?;
        let is_other = |name: &&NodeName| *name != node && !view.is_draining(name);
        if view.nodes.keys().find(is_other).is_none() {
            return Err(Error::request(format!(
                "no other node is alive that could take the shards of {node}"
            )));
        }
        self.operator.request(&Request::Drain { node: node.clone() })?;
        let report = |now: NodeReport, took_ms| DrainReport {
            node: node.clone(),
            is_leaving: true,
            owned_before: before.owned,
            owned: now.owned,
            standby: now.standby,
            took_ms,
        };
        let Some(mut waiting) = waiting else { return Ok(report(before.clone(), None)) };
        let (now, took) = self.wait(&mut waiting, |view, cluster| step(view, cluster, node, before.owned))?;
        Ok(report(now, Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX))))
    }

    /// Takes the request back: the node gets shards again, as balancing gives them.
    ///
    /// # Errors
    /// The cluster has no such node, or nobody asked that it drains; etcd does not answer.
    pub fn undo_drain(&mut self, node: &NodeName) -> Result<DrainReport, Error> {
        let (view, cluster) = self.look()?;
        let NodeReport { owned, standby, is_leaving, .. } = report_of(&view, &cluster, node)?;
        if !is_leaving {
            return Err(Error::request(format!("nobody asked that node {node} drains")));
        }
        self.operator.withdraw(&Request::Drain { node: node.clone() }.key())?;
        let node = node.clone();
        Ok(DrainReport { node, is_leaving: false, owned_before: owned, owned, standby, took_ms: None })
    }
}

fn report_of(view: &View, cluster: &Cluster, node: &NodeName) -> Result<NodeReport, Error> {
    if !view.known().contains(node) {
        return Err(Error::request(no_node(view, node)));
    }
    Ok(NodeReport::new(view, node, &ShardReport::all(view, cluster.shards, 0)))
}

/// How far the drain is.
fn step(
    view: &View,
    cluster: &Cluster,
    node: &NodeName,
    owned_before: usize,
) -> Result<ControlFlow<NodeReport, Progress>, Error> {
    if !view.is_leaving(node) {
        return Err(Error::request(format!("the request to drain {node} was taken back")));
    }
    let now = report_of(view, cluster, node)?;
    // A replica that comes back first in the list would own its shards again.
    let is_first = |entry: &stadium_membership::Entry| entry.replicas.first() == Some(node);
    let firsts = view.map.values().filter(|stored| is_first(&stored.value)).count();
    if firsts == 0 {
        return Ok(ControlFlow::Break(now));
    }
    let step = match view.planner {
        None => "no node plans: waiting for one".to_owned(),
        Some(_) => format!("{firsts} shards to hand over, a standby of {}", now.standby),
    };
    let all = owned_before.max(firsts);
    Ok(ControlFlow::Continue(Progress { step, done: all - firsts, all }))
}
