//! Brokers that are killed, stopped and all away, under appends of both clients at once.
//!
//! Every message that was acknowledged must stand at its offset, once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use stadium_journal_kafka::{Client, Replication, Settings, make_or_check, open};
use stadium_journal_log::partition::{Event, Topic};
use stadium_testing::deadline::{until, until_true};
use stadium_testing::killable;

use crate::stage::{self, PATIENCE, Player, brokers_alone};

/// Shards of each client: one led by each broker, in Kafka's order of assignment.
const SHARDS: u32 = 3;

/// Appends of a shard that are on their way at a time.
const IN_FLIGHT: usize = 4;

/// Rounds of each fault: one, or a twentieth of the kills of `cargo xtask test --long`.
fn rounds() -> u32 {
    match std::env::var_os("STADIUM_KILLS") {
        Some(_) => (killable::kills().expect("a number") / 20).max(1),
        None => 1,
    }
}

/// The facts that a writer of a shard has.
#[derive(Default)]
struct Written {
    /// Number of each acknowledged message, by offset.
    acknowledged: HashMap<u64, u64>,
    sent: u64,
    not_appended: u64,
    longest_pause: Duration,
}

/// Appends to a shard until the flag is set, then waits for the outcomes that are left.
fn write(topic: &Arc<dyn Topic>, shard: u32, is_over: &AtomicBool) -> Written {
    let mut player = Player::new(topic, shard);
    let mut written = Written::default();
    let (mut under_way, mut last) = (0, Instant::now());
    loop {
        let goes_on = !is_over.load(Ordering::Relaxed);
        while goes_on && under_way < IN_FLIGHT {
            player.append(written.sent, &written.sent.to_le_bytes());
            written.sent += 1;
            under_way += 1;
        }
        if under_way == 0 {
            return written;
        }
        match player.outcome() {
            Event::Appended { tag, offset } => {
                written.longest_pause = written.longest_pause.max(last.elapsed());
                last = Instant::now();
                let before = written.acknowledged.insert(offset.0, tag);
                assert_eq!(before, None, "offset {offset} was acknowledged twice");
            }
            Event::NotAppended { .. } => {
                written.not_appended += 1;
                // An owner claims its log first. This one lets the brokers breathe.
                std::thread::sleep(Duration::from_millis(20));
            }
            other => panic!("{other:?}"),
        }
        under_way -= 1;
    }
}

/// Reads the whole shard and compares it with what its writer knows.
fn compare(topic: &Arc<dyn Topic>, shard: u32, written: &Written) {
    let mut player = Player::new(topic, shard);
    let (start, end) = player.ends();
    assert_eq!(start, 0);
    assert!(!written.acknowledged.is_empty());
    let mut seen = HashMap::new();
    for (offset, message) in player.messages(0, usize::try_from(end).expect("few")) {
        let number = u64::from_le_bytes(message[..].try_into().expect("eight bytes"));
        let before = seen.insert(number, offset);
        assert_eq!(before, None, "message {number} stands twice: no client sends one again");
        if let Some(acknowledged) = written.acknowledged.get(&offset) {
            assert_eq!(number, *acknowledged, "another message stands at {offset}");
        }
    }
    for (offset, number) in &written.acknowledged {
        assert_eq!(seen.get(number), Some(offset), "message {number} was acknowledged at {offset}");
    }
}

/// Has both clients append while `fault` runs, and compares.
fn under_appends(test: &str, settings: impl Fn(&mut Settings), fault: impl FnOnce(&mut Progress<'_>)) {
    let mut kafka = brokers_alone();
    let open_both = |client| {
        let mut own = stage::settings(&kafka, client, test);
        settings(&mut own);
        make_or_check(&own, SHARDS, Replication::Three).expect("a topic");
        (client, open(client, &own, SHARDS).expect("opened"))
    };
    let topics: Vec<_> = Client::ALL.iter().map(|client| open_both(*client)).collect();
    let is_over = AtomicBool::new(false);
    let written: Vec<_> = std::thread::scope(|scope| {
        let writers: Vec<_> = (topics.iter())
            .flat_map(|(client, topic)| (0..SHARDS).map(move |shard| (*client, topic, shard)))
            .map(|(client, topic, shard)| {
                let is_over = &is_over;
                (client, topic, shard, scope.spawn(move || write(topic, shard, is_over)))
            })
            .collect();
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            fault(&mut Progress { kafka: &mut kafka, topics: &topics });
        }));
        is_over.store(true, Ordering::Relaxed);
        if let Err(panic) = ran {
            std::panic::resume_unwind(panic);
        }
        let join = |(client, topic, shard, writer): (_, _, _, std::thread::ScopedJoinHandle<'_, Written>)| {
            (client, topic, shard, writer.join().expect("the writer goes on"))
        };
        writers.into_iter().map(join).collect()
    });
    for (client, topic, shard, written) in written {
        compare(topic, shard, &written);
        println!(
            "{test}, {client:?}, shard {shard}: {} of {} acknowledged, {} not appended, longest pause {:?}",
            written.acknowledged.len(),
            written.sent,
            written.not_appended,
            written.longest_pause
        );
    }
}

/// The brokers and topics that a fault works with.
struct Progress<'k> {
    kafka: &'k mut stadium_testing::kafka::Kafka,
    topics: &'k [(Client, Arc<dyn Topic>)],
}

impl Progress<'_> {
    /// Waits until every shard of both clients takes appends again.
    fn wait(&self) {
        for (client, topic) in self.topics {
            for shard in 0..SHARDS {
                let mut player = Player::new(topic, shard);
                let mut end = None;
                until_true(PATIENCE, &format!("shard {shard} of {client:?} to grow"), || {
                    player.find_ends();
                    let answer = |event: &Event| matches!(event, Event::Ends { .. } | Event::Failed { .. });
                    if let Event::Ends { end: now, .. } = player.event("an answer", answer) {
                        let before = *end.get_or_insert(now);
                        return Ok(now.0 > before.0 + 20);
                    }
                    Ok(false)
                })
                .expect("it goes on");
            }
        }
    }
}

#[test]
fn a_broker_that_is_killed_loses_no_acknowledged_message() {
    under_appends(
        "killed",
        |_| {},
        |progress| {
            for round in 0..rounds() {
                let broker = round as usize % progress.kafka.brokers();
                progress.wait();
                progress.kafka.kill(broker).expect("killed");
                // Two brokers are enough.
                progress.wait();
                progress.kafka.up(broker).expect("up again");
                progress.wait();
            }
        },
    );
}

#[test]
fn a_broker_that_is_stopped_loses_no_acknowledged_message() {
    under_appends(
        "stopped",
        |_| {},
        |progress| {
            for round in 0..rounds() {
                let broker = (round as usize + 1) % progress.kafka.brokers();
                progress.wait();
                progress.kafka.pause(broker).expect("stopped");
                progress.wait();
                progress.kafka.resume(broker).expect("goes on");
                progress.wait();
            }
        },
    );
}

#[test]
fn with_all_brokers_away_appends_fail_in_time_and_work_again_after() {
    let mut kafka = brokers_alone();
    let mut players: Vec<_> = (Client::ALL.iter())
        .map(|&client| {
            let mut settings = stage::settings(&kafka, client, "away");
            (settings.append_timeout, settings.request_timeout) =
                (Duration::from_secs(2), Duration::from_secs(2));
            make_or_check(&settings, 1, Replication::Three).expect("a topic");
            let topic = open(client, &settings, 1).expect("opened");
            let mut player = Player::new(&topic, 0);
            player.read(0, usize::MAX);
            player.appended(b"before");
            assert_eq!(player.message().1, "before");
            (client, player)
        })
        .collect();
    for broker in 0..kafka.brokers() {
        kafka.kill(broker).expect("killed");
    }
    for (client, player) in &mut players {
        player.append(1, b"meanwhile");
        player.find_ends();
        let asked = Instant::now();
        let Event::NotAppended { tag: 1, failure } = player.outcome() else { panic!("nobody is there") };
        assert!(failure.is_temporary, "{client:?}: {failure}");
        match player.event("an answer", |event| !matches!(event, Event::Appended { .. })) {
            Event::Failed { failure, .. } => assert!(failure.is_temporary, "{client:?}: {failure}"),
            other => panic!("{client:?}: {other:?}"),
        }
        let took = asked.elapsed();
        assert!(took < Duration::from_secs(5), "{client:?} took {took:?} to report 2 s");
    }
    for broker in 0..kafka.brokers() {
        kafka.begin(broker).expect("started");
    }
    for broker in 0..kafka.brokers() {
        kafka.wait(broker).expect("up again");
    }
    for (client, player) in &mut players {
        until(PATIENCE, "an append", || {
            player.append(2, b"after");
            match player.outcome() {
                Event::Appended { .. } => Ok(Some(())),
                other => bail!("{client:?}: {other:?}"),
            }
        })
        .expect("appended");
        // The read goes on where it was. The message of before may have arrived late.
        while player.message().1 != "after" {}
    }
}

#[test]
fn too_few_replicas_in_sync_are_reported_as_nothing_appended() {
    let mut kafka = brokers_alone();
    let open_one = |client| {
        let settings = stage::settings(&kafka, client, "few");
        stage::make(&kafka, &[(settings.topic(), 1, 3, vec![("min.insync.replicas", "3")])]);
        (client, Player::new(&open(client, &settings, 1).expect("opened"), 0))
    };
    let mut players: Vec<_> = Client::ALL.iter().map(|client| open_one(*client)).collect();
    for (_, player) in &mut players {
        assert_eq!(player.ends(), (0, 0));
        assert_eq!(player.appended(b"all three"), 0);
    }
    kafka.kill(2).expect("killed");
    let mut may_be_there = Vec::new();
    for (client, player) in &mut players {
        // Until the controller has noticed, appends wait for the broker, or it leads the partition.
        let deadline = Instant::now() + PATIENCE;
        let mut uncertain = 0;
        let failure = loop {
            player.append(1, b"two");
            match player.outcome() {
                Event::NotAppended { failure, .. } if failure.what.contains("(KFK-011)") => {
                    if failure.is_certain {
                        break failure;
                    }
                    uncertain += 1;
                }
                Event::NotAppended { failure, .. } => uncertain += u64::from(!failure.is_certain),
                other => panic!("{client:?}: three were to be in sync: {other:?}"),
            }
            assert!(Instant::now() < deadline, "{client:?} was never refused");
        };
        assert!(failure.is_temporary, "{failure}");
        may_be_there.push(uncertain);
    }
    // Until then a new leader cannot know its end, and refuses to state one (KIP-207, KIP-966).
    kafka.up(2).expect("up again");
    for ((client, player), uncertain) in players.iter_mut().zip(may_be_there) {
        // Those that were certain are not there.
        let (_, end) = player.ends();
        assert!(end <= 1 + uncertain, "{client:?}: {end} messages, {uncertain} may be there");
    }
}
