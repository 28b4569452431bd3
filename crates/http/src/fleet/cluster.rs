//! A cluster as one of its nodes knows it: the API shows these types as they are.
//!
//! The node makes them of its view of etcd, its links and its own replicas. No other node is asked,
//! so how far a standby is behind is known of this node's own standbys alone.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use crate::rfc3339;

/// Why there is no cluster to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCluster {
    /// The server is standalone.
    Standalone,
    /// The node has not joined yet, or leaves.
    NotNow,
}

/// A cluster, but for its shards.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ClusterReport {
    /// The cluster's name.
    #[schema(example = "shop")]
    pub name: String,
    /// The cluster's id, 16 hexadecimal digits.
    #[schema(example = "00c0ffee00c0ffee")]
    pub id: String,
    /// The node that answers. All of the rest is as this node knows it.
    #[schema(example = "stadium-1")]
    pub node: String,
    /// Whether the node is registered in etcd.
    pub registered: bool,
    /// Whether the node is certain that its lease is valid. While it is not, each read costs a commit.
    pub lease_certain: bool,
    /// The node's contact with etcd. Without one, this report is of the last contact.
    pub etcd: EtcdContact,
    /// Why there is no contact with etcd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd_trouble: Option<String>,
    /// etcd's revision of which nodes, shards and moves are the truth.
    pub revision: u64,
    /// The node that plans; none while none is elected.
    pub planner: Option<String>,
    /// Whether the planner may move shards to balance the nodes.
    pub balancing: bool,
    /// How many shards the cluster has.
    pub shards: u32,
    /// Standbys that each shard is to have, by the settings of this node.
    pub standbys: u32,
    /// Whether each shard has an owner, and as many standbys in step as it is to have.
    pub healthy: bool,
    /// Shards with a problem, by what it is. One shard may have several.
    pub problems: ShardProblems,
    /// The nodes that are alive, that have shards, or that are asked to drain, by name.
    pub nodes: Vec<ClusterNode>,
    /// Shards on their way to another owner or standby, by number.
    pub moves: Vec<ClusterMove>,
    /// Nodes that an operator asked to drain.
    pub drains: Vec<ClusterDrain>,
    /// Links of this node to others.
    pub links: Vec<ClusterLink>,
    /// Commands of this node that wait for the answer of another.
    pub commands_waiting: u64,
}

/// Whether etcd is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EtcdContact {
    /// A member answers, and the report follows it.
    Connected,
    /// No member answers.
    Away,
    /// The cluster in etcd is another one, or another process has this node's name.
    Refused,
}

/// How many shards have a problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ShardProblems {
    /// No node that is alive is recorded as owner: the shard takes no commands.
    pub no_owner: u32,
    /// Fewer standbys are in step than there are to be.
    pub few_standbys: u32,
    /// All replicas are in one zone, and the cluster has others.
    pub one_zone: u32,
    /// The map has no entry for the shard.
    pub not_assigned: u32,
    /// The map's entry cannot be read.
    pub unreadable: u32,
}

/// A node of the cluster.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ClusterNode {
    /// Its name.
    #[schema(example = "stadium-1")]
    pub node: String,
    /// How it stands in the cluster.
    pub state: NodeState,
    /// Shards that it owns.
    pub owned: u32,
    /// Shards of which it is a standby.
    pub standby: u32,
    /// Those of them that it has in step.
    pub in_step: u32,
    /// Its own report; none while it is away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alive: Option<AliveNode>,
}

/// How a node stands in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// It has a lease in etcd.
    Alive,
    /// It has a lease, and is to own no shards: it stops, is isolated, or is asked to drain.
    Draining,
    /// It has no lease.
    Away,
}

/// A node's report of itself.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AliveNode {
    /// This life of the node, 16 hexadecimal digits. It is the owner of the shards that name the node.
    pub incarnation: String,
    /// When this life began, by the node's own clock (RFC 3339). Missing for versions that do not say.
    #[serde(serialize_with = "moment", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "2026-11-21T21:09:03.250Z")]
    pub registered_at: Option<SystemTime>,
    /// Its zone or rack; missing where it names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The version of the program.
    pub version: String,
    /// The lowest and the highest feature level that it understands.
    pub levels: [u32; 2],
    /// `HOST:PORT` by purpose, such as `links` and `http`.
    pub addresses: BTreeMap<String, String>,
    /// How busy it is: 0 idle, 1 at capacity.
    pub load: f32,
}

fn moment<S: Serializer>(time: &Option<SystemTime>, to: S) -> Result<S::Ok, S::Error> {
    time.map(rfc3339::format).serialize(to)
}

/// A shard on its way.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ClusterMove {
    /// The shard.
    pub shard: u32,
    /// Its owner; none where it has none.
    pub from: Option<String>,
    /// The node that is to own it, or to be a standby of it.
    pub to: String,
    /// How far it is.
    pub step: MoveStep,
    /// Whether an operator asked for it; else the planner began it.
    pub asked: bool,
    /// How far the target is behind. Missing unless it is this node, and warms up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<StandbyLag>,
}

/// The step of a shard that is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MoveStep {
    /// The planner has not begun: it moves a few shards at a time.
    Waiting,
    /// The target reads what it lacks. The owner stays meanwhile.
    WarmingUp,
    /// The owner is asked to hand over.
    HandingOver,
}

/// A node that is asked to drain, and what it still has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClusterDrain {
    /// The node.
    pub node: String,
    /// Shards that it still owns.
    pub owned: u32,
    /// Shards of which it still is a standby.
    pub standby: u32,
}

/// A link of this node to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClusterLink {
    /// The other node.
    pub node: String,
    /// Its purpose and its loop.
    #[schema(example = "data-0")]
    pub link: String,
    /// Whether it is up.
    pub up: bool,
    /// Microseconds of the last round trip, with a turn of the loop at both ends. Missing before the
    /// first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip_us: Option<u64>,
    /// Requests without an answer, and messages that the other node has not taken.
    pub pending: u64,
    /// How many of them there may be.
    pub pending_max: u64,
    /// Bytes of them.
    pub pending_bytes: u64,
    /// How many bytes of them there may be.
    pub pending_bytes_max: u64,
    /// Bytes written since the node was added.
    pub sent_bytes: u64,
    /// Bytes received since then.
    pub received_bytes: u64,
    /// Attempts to connect that failed, and connections that were lost, since then.
    pub failures: u64,
}

/// Which shards are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterShardQuery {
    /// Only those behind this one.
    pub after: Option<u32>,
    /// At most so many.
    pub limit: usize,
    /// Only those of which this node has a replica.
    pub node: Option<String>,
    /// Only those like this.
    pub only: ShardChoice,
}

/// Which shards are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardChoice {
    /// All.
    All,
    /// Those with a problem.
    Troubled,
    /// Those on their way.
    Moving,
}

impl ClusterShardQuery {
    /// The first shard that may be wanted.
    #[must_use]
    pub fn begin(&self) -> u32 {
        self.after.map_or(0, |after| after.saturating_add(1))
    }

    /// The page of these shards, which begin with [`Self::begin`] and come by their numbers.
    pub fn page(&self, shards: impl Iterator<Item = ClusterShard>) -> ClusterShardPage {
        let mut wanted = shards.filter(|shard| self.wants(shard));
        let page: Vec<_> = wanted.by_ref().take(self.limit).collect();
        let next = wanted.next().and_then(|_| page.last()).map(|last| last.shard);
        ClusterShardPage { shards: page, next }
    }

    fn wants(&self, shard: &ClusterShard) -> bool {
        let is_of = |node: &String| {
            shard.owner.as_ref() == Some(node) || shard.standbys.iter().any(|standby| standby.node == *node)
        };
        let is_like = match self.only {
            ShardChoice::All => true,
            ShardChoice::Troubled => !shard.problems.is_empty(),
            ShardChoice::Moving => shard.moving,
        };
        is_like && self.node.as_ref().is_none_or(is_of)
    }
}

/// A page of the shards of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClusterShardPage {
    /// By number.
    pub shards: Vec<ClusterShard>,
    /// `after` of the next page; none on the last one.
    pub next: Option<u32>,
}

/// A shard of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClusterShard {
    /// Its number.
    pub shard: u32,
    /// The node that is alive and recorded as its owner. None: it takes no commands.
    pub owner: Option<String>,
    /// Grows with each change of owner, replicas or successor.
    pub generation: u64,
    /// The other replicas, in the order of succession.
    pub standbys: Vec<ClusterStandby>,
    /// Whether it is on its way to another owner or standby.
    pub moving: bool,
    /// Its problems.
    pub problems: Vec<ShardProblem>,
}

/// A replica that is not the owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClusterStandby {
    /// The node that has it.
    pub node: String,
    /// Whether it could own the shard.
    pub state: StandbyState,
    /// How far it is behind. Missing unless it is of the node that answers, and follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<StandbyLag>,
}

/// Whether a standby could own its shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StandbyState {
    /// At once: it says that it has all that the log had half a second ago.
    InStep,
    /// After it has read what it lacks.
    Behind,
    /// Its node is away.
    Away,
}

/// How far a standby is behind the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StandbyLag {
    /// Messages that it has not read, of those that the log had at most half a second ago. Missing
    /// until the log has told its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Milliseconds since it was in step last, or began to follow. 0 while it is in step.
    pub ms: u64,
}

/// Something that is wrong with a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShardProblem {
    /// No node that is alive is recorded as its owner.
    NoOwner,
    /// Fewer standbys are in step than there are to be.
    FewStandbys,
    /// All replicas are in one zone, and the cluster has others.
    OneZone,
    /// The map has no entry for it.
    NotAssigned,
    /// The map's entry cannot be read.
    Unreadable,
}

impl ShardProblems {
    /// Counts a problem.
    pub fn add(&mut self, problem: ShardProblem) {
        let count = match problem {
            ShardProblem::NoOwner => &mut self.no_owner,
            ShardProblem::FewStandbys => &mut self.few_standbys,
            ShardProblem::OneZone => &mut self.one_zone,
            ShardProblem::NotAssigned => &mut self.not_assigned,
            ShardProblem::Unreadable => &mut self.unreadable,
        };
        *count += 1;
    }
}
