//! A cluster as a node would tell it: three nodes and 48 shards, whole or with one node lost.
//!
//! A real cluster tells the same in the suite `cluster` of `testing`.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use stadium_http::fleet::{
    AliveNode, ClusterDrain, ClusterLink, ClusterMove, ClusterNode, ClusterReport, ClusterShard,
    ClusterStandby, EtcdContact, MoveStep, NodeState, ShardProblem, ShardProblems, StandbyLag, StandbyState,
};

/// The nodes; the first one answers.
pub const NODES: [&str; 3] = ["stadium-1", "stadium-2", "stadium-3"];

/// The shards.
pub const SHARDS: u32 = 48;

/// A node's report of its cluster.
pub type Told = (ClusterReport, Vec<ClusterShard>);

fn name(node: u32) -> String {
    NODES[node as usize % NODES.len()].to_owned()
}

fn node(number: u32, state: NodeState) -> ClusterNode {
    let is_away = state == NodeState::Away;
    let alive = AliveNode {
        incarnation: format!("4d65822107fcfd{number:02x}"),
        registered_at: Some(UNIX_EPOCH + Duration::from_secs(1_795_342_800 + u64::from(number))),
        zone: Some(format!("east-{}", number + 1)),
        version: "0.1.0".to_owned(),
        levels: [1, 1],
        addresses: BTreeMap::from([
            ("http".to_owned(), format!("10.0.{number}.11:8080")),
            ("links".to_owned(), format!("10.0.{number}.11:7900")),
            ("mqtt".to_owned(), format!("10.0.{number}.11:1883")),
        ]),
        load: 0.25,
    };
    ClusterNode {
        node: name(number),
        state,
        owned: if is_away { 0 } else { SHARDS / 3 },
        standby: SHARDS / 3,
        in_step: if is_away { 0 } else { SHARDS / 3 },
        alive: (!is_away).then_some(alive),
    }
}

fn link(to: u32, link: &str) -> ClusterLink {
    ClusterLink {
        node: name(to),
        link: link.to_owned(),
        up: true,
        round_trip_us: Some(412),
        pending: 3,
        pending_max: 65_536,
        pending_bytes: 4_096,
        pending_bytes_max: 64 << 20,
        sent_bytes: 7_340_032,
        received_bytes: 5_242_880,
        failures: 0,
    }
}

/// All is well. Shard N is owned by node N modulo 3, and the next node is its standby.
pub fn whole() -> Told {
    let shard = |number: u32| ClusterShard {
        shard: number,
        owner: Some(name(number)),
        generation: 2,
        standbys: vec![ClusterStandby {
            node: name(number + 1),
            state: StandbyState::InStep,
            lag: (name(number + 1) == NODES[0]).then_some(StandbyLag { messages: Some(0), ms: 0 }),
        }],
        moving: false,
        problems: Vec::new(),
    };
    let report = ClusterReport {
        name: "shop".to_owned(),
        id: "00c0ffee00c0ffee".to_owned(),
        node: NODES[0].to_owned(),
        registered: true,
        lease_certain: true,
        etcd: EtcdContact::Connected,
        etcd_trouble: None,
        revision: 527,
        planner: Some(NODES[1].to_owned()),
        balancing: true,
        shards: SHARDS,
        standbys: 1,
        healthy: true,
        problems: ShardProblems::default(),
        nodes: (0..3).map(|number| node(number, NodeState::Alive)).collect(),
        moves: Vec::new(),
        drains: Vec::new(),
        links: (1..3)
            .flat_map(|to| [link(to, "control-0"), link(to, "data-0"), link(to, "data-1")])
            .collect(),
        commands_waiting: 0,
    };
    (report, (0..SHARDS).map(shard).collect())
}

/// The third node was killed: its shards have the next owner, but for shards 2 and 5, which wait for one. New
/// standbys warm up, shard 8 on the first node, and an operator drains the second node.
pub fn hurt() -> Told {
    let (mut report, mut shards) = whole();
    for shard in &mut shards {
        let was_owner = shard.owner.as_deref() == Some(NODES[2]);
        if was_owner && [2, 5].contains(&shard.shard) {
            shard.owner = None;
            shard.problems = vec![ShardProblem::NoOwner];
            shard.standbys.insert(0, away());
        } else if was_owner {
            shard.owner = Some(NODES[0].to_owned());
            shard.standbys = vec![away()];
            shard.problems = vec![ShardProblem::FewStandbys];
        } else if shard.standbys[0].node == NODES[2] {
            shard.standbys[0] = away();
            shard.problems = vec![ShardProblem::FewStandbys];
        }
        shard.problems.iter().for_each(|problem| report.problems.add(*problem));
    }
    let lag = StandbyLag { messages: Some(12_345), ms: 4_200 };
    let warming = ClusterStandby { node: NODES[0].to_owned(), state: StandbyState::Behind, lag: Some(lag) };
    shards[7].owner = Some(NODES[1].to_owned());
    shards[7].moving = true;
    shards[7].standbys.push(warming);
    shards[4].moving = true;
    report.healthy = false;
    report.nodes[0].owned = 30;
    report.nodes[2] = node(2, NodeState::Away);
    report.nodes[1].state = NodeState::Draining;
    report.commands_waiting = 17;
    let way = |shard, step, asked, lag| ClusterMove {
        shard,
        from: Some(NODES[1].to_owned()),
        to: NODES[0].to_owned(),
        step,
        asked,
        lag,
    };
    report.moves =
        vec![way(4, MoveStep::HandingOver, true, None), way(7, MoveStep::WarmingUp, false, Some(lag))];
    report.drains = vec![ClusterDrain { node: NODES[1].to_owned(), owned: 16, standby: 16 }];
    for link in report.links.iter_mut().filter(|link| link.node == NODES[2]) {
        (link.up, link.round_trip_us, link.failures) = (false, None, 9);
    }
    (report, shards)
}

fn away() -> ClusterStandby {
    ClusterStandby { node: NODES[2].to_owned(), state: StandbyState::Away, lag: None }
}
