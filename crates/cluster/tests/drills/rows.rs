//! The drills: one for each row of the table in docs/cluster.md, "What each failure does", and their
//! order there. What a drill says that holds is the specification of its row.

use std::time::Duration;

use crate::drill::Drill;
use stadium_membership::Shard;

use crate::load::{Records, check};
use crate::stage::{Archived, Away, NODES, SHARDS, Stage};

/// A failover takes less: the lease of 2 s, half a second for etcd to notice, and the claim.
const FAILOVER: Duration = Duration::from_secs(5);

/// A failover of brokers takes less, and so does a node that gives its shards up. The brokers' session
/// is 2.5 s here, and a new controller gives each broker that time again. A busy machine needs more.
const LOG_FAILOVER: Duration = Duration::from_secs(30);

/// Where a pause is not what a drill is about.
const ANY: Duration = Duration::MAX;

/// Puts to each shard that a fenced node is sent.
const STALE: usize = 20;

/// What a drill is called with.
#[derive(Clone, Copy)]
pub struct How {
    /// How long the failure lasts.
    pub lasts: Duration,
    /// `STADIUM_KILLS`, where it is set.
    pub kills: Option<u32>,
}

/// A drill.
pub struct Row {
    pub name: &'static str,
    /// What is done.
    pub what: &'static str,
    /// Seconds that the failure lasts: in a test, and where the drill is asked for by its name.
    pub lasts_s: (u64, u64),
    pub drill: fn(&mut Stage, How),
}

const fn row(name: &'static str, what: &'static str, lasts_s: (u64, u64), drill: fn(&mut Stage, How)) -> Row {
    Row { name, what, lasts_s, drill }
}

/// All drills, in the order of the table.
pub const ROWS: [Row; 10] = [
    row("kill", "a node is killed with SIGKILL, and comes back", (1, 5), kill),
    row("stop", "a node is stopped with SIGSTOP, and goes on", (4, 60), stop),
    row("drain", "a node drains, and comes back", (1, 5), drain),
    row("etcd-away", "all members of etcd are stopped, and after that killed", (3, 30), etcd_away),
    row("etcd-cut", "one node is kept away from etcd", (3, 30), etcd_cut),
    row("kafka-away", "all brokers are stopped", (5, 30), kafka_away),
    row("kafka-cut", "one node is kept away from Kafka", (1, 30), kafka_cut),
    row("broker-kill", "a broker is killed, and comes back", (1, 10), broker_kill),
    row("cut", "one node is cut from etcd, Kafka and the other nodes", (3, 60), cut),
    row("store-away", "the object store is away, and after that the disk of a node", (2, 30), store_away),
];

/// The drill that there is only where many kills are asked for.
pub const KILLS: Row =
    row("kills", "owners and brokers are killed in turn, 6 times or STADIUM_KILLS * 2", (0, 0), kills);

fn kill(stage: &mut Stage, how: How) {
    // `STADIUM_KILLS` = 100 makes 50 rounds.
    for round in 0..how.kills.map_or(1, |kills| kills.div_ceil(2)) as usize {
        let victim = NODES[round % NODES.len()];
        let mut drill = Drill::start(stage, &format!("kill-{round}"), Duration::ZERO);
        drill.owned_by(victim);
        kill_node(&mut drill, victim, how.lasts);
        drill.end(FAILOVER);
    }
}

/// Kills a node, and starts it again under the same load when it was away for so long.
fn kill_node(drill: &mut Drill<'_>, victim: &'static str, away: Duration) {
    let name = victim.parse().expect("a good name");
    let before = drill.stage.view().node(&name).map(|node| node.incarnation);
    drill.stage.nodes.node(victim).kill();
    drill.phase(&format!("{victim} is killed"));
    drill.until_others_own(victim);
    drill.until_phase_is(away);
    drill.stage.add(victim);
    drill.phase(&format!("{victim} starts again, with the data that it has"));
    drill
        .stage
        .until("it has joined", |view| view.node(&name).is_some_and(|node| Some(node.incarnation) != before));
    drill.until_well(victim);
}

fn stop(stage: &mut Stage, how: How) {
    let mut drill = Drill::start(stage, "stop", Duration::ZERO);
    let owned = drill.owned_by("b");
    let node = drill.stage.nodes.node("b");
    node.pause();
    drill.phase("b is stopped");
    drill.until_others_own("b");
    // These are the first that it sees when it goes on, before it can know of any fence. Only the
    // others have the job that its reads must show.
    drill.accepts_at(&["a", "c"], "the others accept", "fresh");
    let reads = drill.ask_for_jobs("b", &owned);
    let stale = drill.send("b", &owned, "stale", STALE);
    drill.until_phase_is(how.lasts);
    node.go_on();
    drill.phase("b goes on");
    drill.take_stale("b", stale);
    drill.take_jobs("b", reads, "fresh-0");
    drill.until_well("b");
    drill.end(FAILOVER);
}

fn drain(stage: &mut Stage, how: How) {
    let mut drill = Drill::start(stage, "drain", Duration::ZERO);
    drill.owned_by("c");
    let node = drill.stage.nodes.node("c");
    node.set_well(false);
    drill.phase("c drains");
    let drained = node.ask("drain", Duration::from_secs(40));
    drill.says(&format!("drained after {:.2?}", drill.elapsed()));
    drill.holds("it owned nothing any more when it left", drained.as_deref() == Some("ok true"));
    let name = "c".parse().expect("a good name");
    drill.stage.until("it has left, and the others own all shards", |view| {
        view.node(&name).is_none() && view.map.values().all(|entry| entry.value.replicas[0].as_str() != "c")
    });
    drill.until_phase_is(how.lasts);
    drop(drill.stage.nodes.remove("c"));
    drill.stage.add("c");
    drill.phase("c starts again");
    drill.until_well("c");
    drill.end(FAILOVER);
}

fn etcd_away(stage: &mut Stage, how: How) {
    let mut drill = Drill::start(stage, "etcd-away", how.lasts * 2);
    let members = 0..drill.stage.etcd.count();
    for is_killed in [false, true] {
        let what = if is_killed { "killed" } else { "stopped" };
        let owners = serving(&drill);
        for member in members.clone() {
            match is_killed {
                true => drill.stage.etcd.kill(member),
                false => drill.stage.etcd.pause(member),
            }
        }
        drill.phase(&format!("all members of etcd are {what}"));
        drill.until_phase_is(how.lasts);
        let is_certain =
            NODES.map(|node| drill.stage.served_by(node).is_some_and(|(_, is_certain)| is_certain));
        drill.holds("no node takes its lease for certain", is_certain == [false; 3]);
        drill.accepts("owners accept writes without etcd", what);
        drill.holds("each shard has the owner that it had", owners == serving(&drill));
        for member in members.clone() {
            match is_killed {
                true => drill.stage.etcd.revive(member),
                false => drill.stage.etcd.go_on(member),
            }
        }
        drill.phase("etcd is back");
        drill.stage.etcd.until_ready();
        NODES.iter().for_each(|node| drill.until_well(node));
    }
    drill.end(FAILOVER);
}

/// What each node says that it serves.
fn serving(drill: &Drill<'_>) -> Vec<Option<String>> {
    NODES.iter().map(|node| drill.stage.served_by(node).map(|(serves, _)| serves)).collect()
}

fn etcd_cut(stage: &mut Stage, how: How) {
    keep_away(stage, "etcd-cut", "a", Away::Etcd, how);
}

fn cut(stage: &mut Stage, how: How) {
    keep_away(stage, "cut", "c", Away::Everything, how);
}

/// The node's lease ends, and the others take over as if it were killed.
fn keep_away(stage: &mut Stage, name: &str, node: &str, away: Away, how: How) {
    let mut drill = Drill::start(stage, name, Duration::ZERO);
    let owned = drill.owned_by(node);
    drill.stage.keep_away(node, away);
    drill.phase(&format!("{node} is cut off"));
    drill.until_others_own(node);
    let stale = drill.send(node, &owned, "stale", STALE);
    drill.take_stale(node, stale);
    drill.until_phase_is(how.lasts);
    let stale = drill.send(node, &owned, "later", STALE);
    drill.take_stale(node, stale);
    drill.stage.heal();
    drill.phase(&format!("{node} reaches all again"));
    drill.until_well(node);
    drill.end(FAILOVER);
}

fn kafka_cut(stage: &mut Stage, how: How) {
    let mut drill = Drill::start(stage, "kafka-cut", Duration::ZERO);
    let owned = drill.owned_by("b");
    drill.stage.keep_away("b", Away::Kafka);
    drill.phase("b is cut off from Kafka, and nothing else");
    drill.until_others_own("b");
    let stale = drill.send("b", &owned, "stale", STALE);
    drill.take_stale("b", stale);
    let is_there = drill.stage.view().node(&"b".parse().expect("a good name")).is_some();
    drill.holds("b kept its lease: it gave its shards up by itself", is_there);
    drill.until_phase_is(how.lasts);
    drill.stage.heal();
    drill.phase("b reaches Kafka again");
    drill.until_well("b");
    drill.end(LOG_FAILOVER);
}

fn kafka_away(stage: &mut Stage, how: How) {
    let mut drill = Drill::start(stage, "kafka-away", how.lasts);
    let owners: Vec<_> = NODES.iter().map(|node| (*node, drill.stage.owned_by(node))).collect();
    let entries = drill.stage.view().map;
    let brokers = 0..drill.stage.kafka.brokers();
    for broker in brokers.clone() {
        drill.stage.kafka.pause(broker).expect("it runs");
    }
    drill.phase("all brokers are stopped");
    let send = |drill: &Drill<'_>, name| -> Vec<_> {
        owners.iter().flat_map(|(node, shards)| drill.send(node, shards, name, 1)).collect()
    };
    let sent = send(&drill, "under-way");
    drill.take("those under way are unknown (CLU-001)", sent, "unknown CLU-001");
    let sent = send(&drill, "later");
    drill.take("those that come later are Busy (CLU-002)", sent, "busy CLU-002");
    drill.until_phase_is(how.lasts);
    let view = drill.stage.view();
    drill.holds("no shard has another owner", view.map == entries);
    let sent = send(&drill, "last");
    drill.take("they still are", sent, "busy CLU-002");
    for broker in brokers {
        drill.stage.kafka.resume(broker).expect("it runs");
    }
    drill.phase("the brokers go on");
    drill.accepts("all shards accept writes again", "after");
    NODES.iter().for_each(|node| drill.until_well(node));
    drill.end(ANY);
}

fn broker_kill(stage: &mut Stage, how: How) {
    let mut drill = Drill::start(stage, "broker-kill", Duration::ZERO);
    kill_broker(&mut drill, 1, how.lasts);
    drill.end(LOG_FAILOVER);
}

/// Kills a broker, and starts it again under the same load when it was away for so long.
fn kill_broker(drill: &mut Drill<'_>, broker: usize, away: Duration) {
    drill.stage.kafka.kill(broker).expect("it runs");
    drill.phase(&format!("broker {broker} is killed"));
    drill.accepts("all shards accept writes without it", &format!("without-{broker}"));
    drill.until_phase_is(away);
    drill.stage.kafka.up(broker).expect("it starts");
    drill.phase("it is back");
    drill.accepts("all shards accept writes with it", &format!("with-{broker}"));
    NODES.iter().for_each(|node| drill.until_well(node));
}

fn store_away(stage: &mut Stage, how: How) {
    let mut drill = Drill::start(stage, "store-away", Duration::ZERO);
    // A log is trimmed behind the second checkpoint that is stored.
    ask_until(&drill, "all logs are trimmed", |_, archived| archived.trimmed > 0);
    drill.stage.lose_store();
    drill.phase("the store is away");
    ask_until(&drill, "the figures of all shards tell it", |_, archived| archived.fails);
    let before = drill.stage.archived();
    drill.says("the figures of all shards tell it");
    drill.until_phase_is(how.lasts);
    drill.accepts("all shards accept writes without it", "without-store");
    let is_further = |shard: Shard, archived: Archived| {
        before.get(&shard).is_none_or(|before| archived.trimmed > before.trimmed)
    };
    let trimmed = drill.stage.archived();
    let none = !trimmed.iter().any(|(shard, archived)| is_further(*shard, *archived));
    drill.holds("no log is trimmed without it", none);
    drill.stage.bring_store_back();
    drill.phase("it is back");
    ask_until(&drill, "all logs are trimmed further", |shard, archived| {
        !archived.fails && is_further(shard, archived)
    });
    drill.says("all logs are trimmed further");
    drill.stage.nodes.node("a").kill();
    let folder = drill.stage.folder_of("a");
    std::fs::remove_dir_all(&folder).expect("the node is gone");
    drill.phase("a is killed, and its disk is lost");
    drill.until_others_own("a");
    drill.stage.add("a");
    drill.phase("a starts again, with nothing");
    drill.stage.until("it has replicas", |_| !drill.stage.replicas_of("a").is_empty());
    drill.until_well("a");
    // It writes none before it owns a shard, and it owns none before it was a standby in step.
    let has_checkpoint = |shard: &Shard| {
        let checkpoints = folder.join(format!("shard-{shard}/checkpoints"));
        std::fs::read_dir(checkpoints).is_ok_and(|mut files| files.next().is_some())
    };
    let replicas = drill.stage.replicas_of("a");
    let are_restored = !replicas.is_empty() && replicas.iter().all(has_checkpoint);
    drill.holds("its replicas came from the store", are_restored);
    drill.end(FAILOVER);
}

/// Asks for checkpoints until that holds of all shards.
fn ask_until(drill: &Drill<'_>, what: &str, holds: impl Fn(Shard, Archived) -> bool) {
    drill.stage.until(what, |_| {
        for node in drill.stage.nodes.all() {
            node.ask("checkpoint", Duration::from_secs(1));
        }
        let archived = drill.stage.archived();
        archived.len() == usize::from(SHARDS) && archived.iter().all(|(shard, one)| holds(*shard, *one))
    });
}

/// Kills in one load.
const KILLS_A_LOAD: u32 = 6;

fn kills(stage: &mut Stage, how: How) {
    // `STADIUM_KILLS` = 100 makes 200 kills.
    let all = how.kills.map_or(KILLS_A_LOAD, |kills| kills * 2) as usize;
    let mut records = Records::new();
    for first in (0..all).step_by(KILLS_A_LOAD as usize) {
        let mut drill = Drill::start(stage, &format!("kills-{first}"), Duration::ZERO);
        for number in first..all.min(first + KILLS_A_LOAD as usize) {
            let victim = number / 2 % NODES.len();
            match number % 2 {
                0 => kill_node(&mut drill, NODES[victim], Duration::ZERO),
                _ => kill_broker(&mut drill, victim, Duration::ZERO),
            }
        }
        records.extend(drill.end(ANY));
    }
    let wrong = check(&stage.nodes, &records);
    assert!(wrong.is_empty(), "after {all} kills: {wrong:#?}");
}
