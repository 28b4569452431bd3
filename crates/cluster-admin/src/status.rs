//! `status`: a cluster on one screen, and whether all of its shards are served.
//!
//! It is a function of a view of etcd, and of the states of etcd's members.

use std::time::Duration;

use serde::Serialize;
use stadium_membership::report::{NodeReport, Problem, ShardReport};
use stadium_membership::{NodeName, Request, Shard};
use stadium_membership_etcd::{Member, MemberState};

use crate::admin::Admin;
use crate::error::Error;
use crate::init::ClusterFacts;

/// The result of `status`.
#[derive(Clone, Debug, Serialize)]
pub struct StatusReport {
    /// The facts of the cluster.
    pub cluster: ClusterFacts,
    /// The revision of etcd of which all but `etcd` is the truth.
    pub revision: i64,
    /// Whether each shard has a recorded owner, and as many standbys in step as it is to have.
    pub is_healthy: bool,
    /// Standbys that each shard is to have.
    pub standbys: usize,
    /// The node that plans.
    pub planner: Option<NodeName>,
    /// Whether the planner may move shards to balance the nodes.
    pub is_balancing: bool,
    /// The nodes, by name.
    pub nodes: Vec<NodeCounts>,
    /// The owner of each shard, by its number.
    pub owners: Vec<Option<NodeName>>,
    /// Shards without an owner.
    pub without_owner: Vec<Shard>,
    /// Shards with fewer standbys in step than they are to have.
    pub few_standbys: Vec<Shard>,
    /// Shards that are on their way.
    pub moving: Vec<Shard>,
    /// Shards whose entry cannot be read.
    pub unreadable: Vec<Shard>,
    /// Requests of operators that the planner has not done, or that hold until they are taken back.
    pub requests: Vec<Request>,
    /// Members of etcd, as the settings name them.
    pub etcd: Vec<MemberReport>,
}

/// A node, with how many shards it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeCounts {
    /// Its name.
    pub node: NodeName,
    /// Whether it is alive.
    pub is_alive: bool,
    /// Whether it is to own no shards.
    pub is_draining: bool,
    /// Its zone, where it names one.
    pub zone: Option<String>,
    /// Shards that it owns.
    pub owned: usize,
    /// Shards of which it is a standby.
    pub standby: usize,
}

/// A member of etcd.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemberReport {
    /// Its endpoint, as the settings name it.
    pub endpoint: String,
    /// Whether it answers a read through the quorum.
    pub is_healthy: bool,
    /// Why it does not.
    pub error: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Whether it leads.
    pub is_leader: bool,
    /// The newest revision that it knows.
    pub revision: Option<i64>,
    /// Bytes of its database.
    pub bytes: Option<u64>,
    /// How long a read through the quorum took.
    pub read_ms: Option<f64>,
}

impl From<Member> for MemberReport {
    fn from(member: Member) -> Self {
        let Member { endpoint, state } = member;
        match state {
            Err(why) => Self {
                endpoint,
                is_healthy: false,
                error: Some(why),
                version: None,
                is_leader: false,
                revision: None,
                bytes: None,
                read_ms: None,
            },
            Ok(MemberState { version, is_leader, revision, bytes, errors, read, .. }) => Self {
                endpoint,
                is_healthy: read.is_ok() && errors.is_empty(),
                read_ms: read.as_ref().ok().map(Duration::as_secs_f64).map(|seconds| seconds * 1e3),
                error: read.err().or_else(|| (!errors.is_empty()).then(|| errors.join(", "))),
                version: Some(version),
                is_leader,
                revision: Some(revision),
                bytes: Some(bytes),
            },
        }
    }
}

impl From<NodeReport> for NodeCounts {
    fn from(report: NodeReport) -> Self {
        Self {
            is_draining: report.is_draining(),
            zone: report.alive.and_then(|alive| alive.zone),
            node: report.node,
            is_alive: report.is_alive,
            owned: report.owned,
            standby: report.standby,
        }
    }
}

impl Admin {
    /// The cluster on one screen.
    ///
    /// # Errors
    /// etcd does not answer, or has no such cluster.
    pub fn status(&mut self) -> Result<StatusReport, Error> {
        let (view, cluster) = self.look()?;
        let standbys = self.settings.standbys;
        let shards = ShardReport::all(&view, cluster.shards, standbys);
        let those = |holds: &dyn Fn(&ShardReport) -> bool| {
            shards.iter().filter(|shard| holds(shard)).map(|shard| shard.shard).collect::<Vec<Shard>>()
        };
        Ok(StatusReport {
            cluster: ClusterFacts::new(&self.settings.cluster, &cluster),
            revision: view.revision,
            is_healthy: shards.iter().all(ShardReport::is_served),
            standbys,
            planner: view.planner.as_ref().map(|seat| seat.node.clone()),
            is_balancing: view.is_balancing(),
            nodes: NodeReport::all(&view, &shards).into_iter().map(NodeCounts::from).collect(),
            without_owner: those(&|shard| shard.owner.is_none()),
            few_standbys: those(&|shard| shard.problems.contains(&Problem::FewStandbys)),
            moving: those(&|shard| shard.is_moving),
            unreadable: those(&|shard| shard.problems.contains(&Problem::Unreadable)),
            requests: view.requests.values().map(|stored| Request::clone(&stored.value)).collect(),
            etcd: self.operator.members().into_iter().map(MemberReport::from).collect(),
            owners: shards.into_iter().map(|shard| shard.owner).collect(),
        })
    }
}
