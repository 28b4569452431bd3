//! Three nodes as processes, killed, stopped, drained and started again under load.
//! Jobs that were acknowledged must be there, each once.

mod load;
mod process;
mod stage;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use stadium_membership::{Shard, ShardSet};

use self::load::{Load, check, report};
use self::stage::{SHARDS, Stage};

/// A failover takes less: the lease of 2 s, half a second for etcd to notice, and the claim.
const FAILOVER: Duration = Duration::from_secs(5);

/// How long a load runs before and after what is done to it.
const WHILE: Duration = Duration::from_secs(1);

/// One cluster at a time: the tests measure pauses.
static ALONE: Mutex<()> = Mutex::new(());

/// Times that the kill is repeated: one, or `STADIUM_KILLS` / 10.
fn rounds() -> u32 {
    let kills = std::env::var("STADIUM_KILLS").ok().and_then(|kills| kills.parse::<u32>().ok());
    kills.map_or(1, |kills| (kills / 10).max(1))
}

#[test]
fn a_killed_node_is_replaced_and_comes_back_as_a_standby() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let stage = Arc::new(Stage::of_three("kill", 3));
    let counts = ["a", "b", "c"].map(|node| stage.owned_by(node).len());
    assert_eq!(counts, [2, 2, 2], "owners are spread");
    let mut loads = Vec::new();
    for round in 0..rounds() {
        let victim = ["a", "b", "c"][round as usize % 3];
        let load = Load::start(&stage, &format!("kill-{round}"));
        std::thread::sleep(WHILE);
        let incarnation = |stage: &Stage| {
            stage.view().node(&victim.parse().expect("a good name")).map(|node| node.incarnation)
        };
        let before = incarnation(&stage).expect("it lives");
        let node = stage.node(victim);
        node.kill();
        let killed = Instant::now();
        stage.until("the others own all shards", |view| {
            view.map
                .values()
                .all(|entry| entry.value.replicas[0].as_str() != victim && entry.value.recorded.is_some())
        });
        println!("round {round}: all shards have a new owner after {:?}", killed.elapsed());
        std::thread::sleep(WHILE);
        // It comes back under the same load, from the data that it has.
        stage.add(victim);
        stage.until("it has joined", |_| incarnation(&stage).is_some_and(|now| now != before));
        stage.until_settled();
        let load = load.end();
        let longest = report(&format!("round {round}, {victim} killed"), &load);
        assert!(longest < FAILOVER, "a pause of {longest:?}");
        loads.push(load);
        check(&stage, &loads);
    }
}

#[test]
fn a_node_whose_disk_was_lost_comes_back_from_the_store_although_kafka_was_trimmed() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let stage = Arc::new(Stage::of_three("store", 1));
    let load = Load::start(&stage, "store");
    // The log is trimmed behind the second checkpoint that is stored.
    stage.until("all logs are trimmed", |_| {
        stage.nodes().iter().all(|node| {
            let asked = node.ask("checkpoint", Duration::from_secs(1));
            asked.is_some() && node.ask("trimmed", Duration::from_secs(1)).as_deref() == Some("ok true")
        })
    });
    let node = stage.node("a");
    node.kill();
    std::fs::remove_dir_all(stage.folder_of("a")).expect("the node is gone");
    stage.until("the others own all shards", |view| {
        view.map
            .values()
            .all(|entry| entry.value.replicas[0].as_str() != "a" && entry.value.recorded.is_some())
    });
    stage.add("a");
    stage.until("it is alive", |view| view.node(&"a".parse().expect("a good name")).is_some());
    stage.until_settled();
    let load = load.end();
    report("a lost its disk", &load);
    check(&stage, &[load]);
    // Only a restore brings a checkpoint to a standby.
    let has_checkpoint = |shard: &Shard| {
        let checkpoints = stage.folder_of("a").join(format!("shard-{shard}/checkpoints"));
        std::fs::read_dir(checkpoints).is_ok_and(|mut files| files.next().is_some())
    };
    let followed = stage.followed_by("a");
    assert!(!followed.is_empty() && followed.iter().all(has_checkpoint), "{followed:?}");
}

#[test]
fn a_stopped_node_accepts_nothing_after_it_was_fenced() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let stage = Arc::new(Stage::of_three("stop", 1));
    let load = Load::start(&stage, "stop");
    std::thread::sleep(WHILE);
    let node = stage.node("b");
    let owned = stage.owned_by("b");
    assert!(!owned.is_empty(), "it owns shards");
    node.pause();
    let paused = Instant::now();
    stage.until("the others own all shards", |view| {
        view.map
            .values()
            .all(|entry| entry.value.replicas[0].as_str() != "b" && entry.value.recorded.is_some())
    });
    println!("all shards have a new owner after {:?}", paused.elapsed());
    // These are the first that it sees when it goes on, before it can know of any fence.
    let stale: Vec<_> = owned
        .iter()
        .flat_map(|shard| (0..20).map(move |number| (shard.0 as usize, format!("stale-{number}"))))
        .map(|(shard, id)| {
            let queue = stage.queues[shard].clone();
            let answer = node.send(&format!("put {queue} {id}")).expect("its pipe takes it");
            (queue, id, answer)
        })
        .collect();
    std::thread::sleep(Duration::from_secs(8).saturating_sub(paused.elapsed()));
    node.go_on();
    for (queue, id, answer) in stale {
        let answer = answer.recv_timeout(Duration::from_secs(20)).expect("it answers");
        assert!(answer.starts_with("busy") || answer.starts_with("unknown"), "{queue} {id}: {answer}");
    }
    stage.until_settled();
    // It may have been given shards again, as balancing does. It serves those and no others.
    stage.until("it serves what it owns", |_| {
        let owned: ShardSet = stage.owned_by("b").into_iter().collect();
        stage.served_by("b").is_some_and(|serves| serves == owned.to_string())
    });
    std::thread::sleep(WHILE);
    let mut load = load.end();
    report("b stopped for 8 s", &load);
    // What it had accepted before it was stopped and said only now is acknowledged too.
    for (request, answer) in node.late() {
        let [_, queue, id] = request.split(' ').collect::<Vec<_>>()[..] else { panic!("{request}") };
        if answer.starts_with("ok") {
            let record = load.get_mut(queue).expect("a queue of ours");
            record.jobs.insert(id.to_owned(), load::Known::Acknowledged);
        }
    }
    // None of the stale ones is there: the model does not know them.
    check(&stage, &[load]);
}

#[test]
fn a_drained_node_hands_over_and_nothing_is_unknown() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let stage = Arc::new(Stage::of_three("drain", 1));
    let load = Load::start(&stage, "drain");
    std::thread::sleep(WHILE);
    let node = stage.node("c");
    assert!(!stage.owned_by("c").is_empty(), "it owns shards");
    let begun = Instant::now();
    assert_eq!(node.ask("drain", Duration::from_secs(40)).as_deref(), Some("ok true"));
    println!("drained after {:?}", begun.elapsed());
    stage.until("the others own all shards", |view| {
        view.node(&"c".parse().expect("a good name")).is_none()
            && view.map.values().all(|entry| entry.value.replicas[0].as_str() != "c")
    });
    assert_eq!(stage.view().map.len(), usize::from(SHARDS));
    std::thread::sleep(WHILE);
    drop(stage.remove("c"));
    let load = load.end();
    let longest = report("c drained", &load);
    assert!(longest < FAILOVER, "a pause of {longest:?}");
    check(&stage, &[load]);
}
