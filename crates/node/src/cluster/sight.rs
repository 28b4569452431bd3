//! The cluster as this node knows it, in the API's words.
//!
//! It is made of the node's view of etcd, its links, and its own replicas. Nobody is asked, and a
//! look waits for nothing: it is taken on a thread of the HTTP port.

use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use stadium_cluster::ClusterNode;
use stadium_http::fleet::{
    AliveNode, ClusterDrain, ClusterLink, ClusterMove, ClusterNode as NodeShown, ClusterReport, ClusterShard,
    ClusterShardPage, ClusterShardQuery, ClusterStandby, ClusterStats, EtcdContact, MoveStep, NodeState,
    ShardProblem, ShardProblems, StandbyLag, StandbyState,
};
use stadium_links::LinkFigures;
use stadium_membership::report::{NodeReport, Problem, Relocation, Replica, ShardReport, Step};
use stadium_membership::{NodeName, Shard, View};
use stadium_membership_etcd::{Config, Connection, Snapshot};
use stadium_shard::Shards;

use super::figures;
use super::member::Joined;
use crate::fleet::ClusterSight;

/// The facts of the node and of its cluster that never change.
pub(super) struct About {
    me: NodeName,
    name: String,
    id: String,
    standbys: usize,
}

impl About {
    /// Those of a node's settings.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            me: config.node.clone(),
            name: config.cluster.clone(),
            id: config.expected.as_ref().map(|cluster| String::from(cluster.id)).unwrap_or_default(),
            standbys: config.planner.standbys,
        }
    }

    /// The node's name.
    pub(super) fn me(&self) -> &NodeName {
        &self.me
    }

    /// The id of its cluster.
    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

/// Looks at the node for as long as it is in its cluster.
pub(super) struct Sight {
    about: Arc<About>,
    joined: Joined,
    shards: Shards,
}

impl Sight {
    pub(super) fn new(about: Arc<About>, joined: Joined, shards: Shards) -> Self {
        Self { about, joined, shards }
    }

    /// Looks at the node, unless it leaves.
    fn look<T>(&self, look: impl FnOnce(&ClusterNode) -> T) -> Option<T> {
        self.joined.try_read()?.as_ref().map(look)
    }

    /// How far a replica of this node is behind.
    fn lag(&self, shard: Shard) -> Option<StandbyLag> {
        let lag = self.shards.lag(u16::try_from(shard.0).ok()?)?;
        let behind =
            lag.since.map_or(Duration::ZERO, |since| Instant::now().saturating_duration_since(since));
        Some(StandbyLag { messages: lag.messages, ms: behind.as_millis().try_into().unwrap_or(u64::MAX) })
    }

    fn shard(&self, view: &View, shard: u32) -> ClusterShard {
        let report = ShardReport::new(view, Shard(shard), self.about.standbys);
        let standby = |replica: &Replica| ClusterStandby {
            node: replica.node.to_string(),
            state: match (replica.is_alive, replica.is_in_step) {
                (false, _) => StandbyState::Away,
                (true, true) => StandbyState::InStep,
                (true, false) => StandbyState::Behind,
            },
            lag: if replica.node == self.about.me { self.lag(report.shard) } else { None },
        };
        ClusterShard {
            shard,
            owner: report.owner.as_ref().map(NodeName::to_string),
            generation: report.generation,
            standbys: report.standbys.iter().map(standby).collect(),
            moving: report.is_moving,
            problems: report.problems.iter().map(|problem| of_problem(*problem)).collect(),
        }
    }

    fn relocation(&self, shard: &ShardReport) -> Option<ClusterMove> {
        let Relocation { shard, from, to, step, is_asked } = Relocation::of(shard)?;
        let warms_up_here = step == Step::WarmingUp && to == self.about.me;
        Some(ClusterMove {
            shard: shard.0,
            from: from.as_ref().map(NodeName::to_string),
            to: to.to_string(),
            step: match step {
                Step::Waiting => MoveStep::Waiting,
                Step::WarmingUp => MoveStep::WarmingUp,
                Step::HandingOver => MoveStep::HandingOver,
            },
            asked: is_asked,
            lag: if warms_up_here { self.lag(shard) } else { None },
        })
    }

    fn whole(&self, node: &ClusterNode, snapshot: &Snapshot) -> ClusterReport {
        let About { me, name, id, standbys } = &*self.about;
        let view = &snapshot.view;
        let shards = ShardReport::all(view, self.shards.count().into(), *standbys);
        let nodes = NodeReport::all(view, &shards);
        let mut problems = ShardProblems::default();
        shards
            .iter()
            .flat_map(|shard| &shard.problems)
            .for_each(|problem| problems.add(of_problem(*problem)));
        let (etcd, etcd_trouble) = match &snapshot.connection {
            Connection::Connected => (EtcdContact::Connected, None),
            Connection::Away(why) => (EtcdContact::Away, Some(why.clone())),
            Connection::Refused(error) => (EtcdContact::Refused, Some(error.to_string())),
        };
        let drains = nodes.iter().filter(|node| node.is_leaving).map(|node| ClusterDrain {
            node: node.node.to_string(),
            owned: count(node.owned),
            standby: count(node.standby),
        });
        ClusterReport {
            name: name.clone(),
            id: id.clone(),
            node: me.to_string(),
            registered: snapshot.incarnation.is_some(),
            lease_certain: node.is_certain(),
            etcd,
            etcd_trouble,
            revision: u64::try_from(view.revision).unwrap_or_default(),
            planner: view.planner.as_ref().map(|seat| seat.node.to_string()),
            balancing: view.is_balancing(),
            shards: self.shards.count().into(),
            standbys: count(*standbys),
            healthy: shards.iter().all(ShardReport::is_served),
            problems,
            drains: drains.collect(),
            nodes: nodes.into_iter().map(of_node).collect(),
            moves: shards.iter().filter_map(|shard| self.relocation(shard)).collect(),
            links: node.link_figures().into_iter().map(of_link).collect(),
            commands_waiting: node.forward_figures().pending,
        }
    }
}

impl ClusterSight for Sight {
    fn stats(&self) -> Option<ClusterStats> {
        self.look(|node| figures::of(node, self.shards.count()))
    }

    fn report(&self) -> Option<ClusterReport> {
        self.look(|node| self.whole(node, &node.snapshot()))
    }

    fn shards(&self, query: &ClusterShardQuery) -> Option<ClusterShardPage> {
        let snapshot = self.look(ClusterNode::snapshot)?;
        let shards = query.begin()..self.shards.count().into();
        Some(query.page(shards.map(|shard| self.shard(&snapshot.view, shard))))
    }
}

fn of_node(node: NodeReport) -> NodeShown {
    let state = match (node.is_alive, node.is_draining()) {
        (false, _) => NodeState::Away,
        (true, true) => NodeState::Draining,
        (true, false) => NodeState::Alive,
    };
    NodeShown {
        node: node.node.to_string(),
        state,
        owned: count(node.owned),
        standby: count(node.standby),
        in_step: count(node.in_step),
        alive: node.alive.map(|alive| AliveNode {
            incarnation: alive.incarnation,
            registered_at: alive
                .registered_at_ms
                .and_then(|since_1970| UNIX_EPOCH.checked_add(Duration::from_millis(since_1970))),
            zone: alive.zone,
            version: alive.versions.program,
            levels: [alive.versions.level_min, alive.versions.level_max],
            addresses: alive.addresses,
            load: alive.load,
        }),
    }
}

fn of_problem(problem: Problem) -> ShardProblem {
    match problem {
        Problem::Unreadable => ShardProblem::Unreadable,
        Problem::NotAssigned => ShardProblem::NotAssigned,
        Problem::NoOwner => ShardProblem::NoOwner,
        Problem::FewStandbys => ShardProblem::FewStandbys,
        Problem::OneZone => ShardProblem::OneZone,
    }
}

fn of_link(link: LinkFigures) -> ClusterLink {
    ClusterLink {
        link: figures::link_name(&link),
        node: link.node.to_string(),
        up: link.is_up,
        round_trip_us: link.round_trip.map(|took| took.as_micros().try_into().unwrap_or(u64::MAX)),
        pending: link.in_flight.messages,
        pending_max: link.credit.messages.into(),
        pending_bytes: link.in_flight.bytes,
        pending_bytes_max: link.credit.bytes,
        sent_bytes: link.bytes_sent,
        received_bytes: link.bytes_received,
        failures: link.failures,
    }
}

fn count(number: usize) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}
