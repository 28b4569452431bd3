//! `move`: another owner for a shard.

use std::ops::ControlFlow;

use serde::Serialize;
use stadium_membership::report::ShardReport;
use stadium_membership::{Cluster, NodeName, Request, Shard, View};

use crate::admin::{Admin, listed};
use crate::error::Error;
use crate::shards::no_node;
use crate::waiting::{Progress, Waiting};

/// The result of `move`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MoveReport {
    /// The shard.
    pub shard: Shard,
    /// Its owner before; none where it had none.
    pub from: Option<NodeName>,
    /// The node that is to own it, or that a request which was taken back asked for.
    pub to: Option<NodeName>,
    /// Whether it owns the shard. The request stays otherwise, unless it was taken back.
    pub is_done: bool,
    /// How long that took. None where nobody waited.
    pub took_ms: Option<u64>,
}

impl Admin {
    /// Asks that `to` owns the shard, and waits for it where `waiting` is given. A node that is no
    /// replica of the shard becomes one first.
    ///
    /// # Errors
    /// The cluster has no such shard or no such node that is alive, or the node drains: nothing was
    /// written. etcd does not answer. The wait ended before the move: the request stays.
    pub fn move_shard(
        &mut self,
        shard: Shard,
        to: &NodeName,
        waiting: Option<Waiting<'_>>,
    ) -> Result<MoveReport, Error> {
        let (view, cluster) = self.look()?;
        check_shard(&cluster, shard)?;
        if view.node(to).is_none() {
            return Err(match view.map.values().any(|stored| stored.value.has(to)) {
                true => Error::request(format!(
                    "node {to} is not alive; these nodes are: {}",
                    listed(view.nodes.keys())
                )),
                false => Error::request(no_node(&view, to)),
            });
        }
        if view.is_draining(to) {
            return Err(Error::request(format!("node {to} drains, and is to own no shard")));
        }
        let from = ShardReport::new(&view, shard, self.settings.standbys).owner;
        let report = |is_done, took_ms| MoveReport {
            shard,
            from: from.clone(),
            to: Some(to.clone()),
            is_done,
            took_ms,
        };
        let request = Request::Move { shard, to: to.clone() };
        if from.as_ref() == Some(to) {
            // A request for another owner would take it away again.
            self.operator.withdraw(&request.key())?;
            return Ok(report(true, None));
        }
        self.operator.request(&request)?;
        let Some(mut waiting) = waiting else { return Ok(report(false, None)) };
        let ((), took) = self.wait(&mut waiting, |view, _| step(view, shard, to))?;
        Ok(report(true, Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX))))
    }

    /// Takes the request to move the shard back. A copy that has begun is removed by the planner,
    /// and a hand-over that the owner was asked for happens.
    ///
    /// # Errors
    /// The cluster has no such shard, or nobody asked that it moves; etcd does not answer.
    pub fn undo_move(&mut self, shard: Shard) -> Result<MoveReport, Error> {
        let (view, cluster) = self.look()?;
        check_shard(&cluster, shard)?;
        let ShardReport { owner, asked_to, .. } = ShardReport::new(&view, shard, self.settings.standbys);
        let Some(to) = asked_to else {
            return Err(Error::request(format!("nobody asked that shard {shard} moves")));
        };
        self.operator.withdraw(&Request::Move { shard, to: to.clone() }.key())?;
        Ok(MoveReport { shard, from: owner, to: Some(to), is_done: false, took_ms: None })
    }
}

fn check_shard(cluster: &Cluster, shard: Shard) -> Result<(), Error> {
    match shard.0 < cluster.shards {
        true => Ok(()),
        false => Err(Error::request(format!(
            "the cluster has no shard {shard}: its shards are 0 to {}",
            cluster.shards - 1
        ))),
    }
}

/// How far the move is.
fn step(view: &View, shard: Shard, to: &NodeName) -> Result<ControlFlow<(), Progress>, Error> {
    let at = |done: usize, step: String| Ok(ControlFlow::Continue(Progress { step, done, all: 3 }));
    let report = ShardReport::new(view, shard, 0);
    if report.owner.as_ref() == Some(to) {
        return Ok(ControlFlow::Break(()));
    }
    let is_first = view.entry(shard).is_some_and(|entry| entry.replicas.first() == Some(to));
    if is_first {
        return at(2, format!("{to} takes the shard over"));
    }
    if report.successor.as_ref() == Some(to) {
        return at(2, format!("the owner hands over to {to}"));
    }
    match &report.asked_to {
        // The planner removes a request when it is done, so somebody else did.
        None => return Err(Error::request(format!("the request to move shard {shard} was taken back"))),
        Some(other) if other != to => {
            return Err(Error::request(format!("somebody else asked that shard {shard} moves to {other}")));
        }
        Some(_) => {}
    }
    if view.node(to).is_none() {
        return at(0, format!("node {to} is not alive: waiting for it"));
    }
    if view.planner.is_none() {
        return at(0, "no node plans: waiting for one".to_owned());
    }
    match report.standbys.iter().find(|standby| standby.node == *to) {
        Some(standby) if standby.is_in_step => at(1, format!("{to} is in step")),
        Some(_) => at(1, format!("{to} copies the shard")),
        None => at(0, "waiting for the planner".to_owned()),
    }
}
