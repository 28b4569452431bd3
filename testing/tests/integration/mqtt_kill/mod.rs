//! The server is killed with SIGKILL again and again while MQTT messages go through it, and comes
//! back with 1 to 4 event loops.
//!
//! Publishers and subscribers keep their sessions, on all shards. No message that was accepted is
//! lost, none at QoS 2 arrives twice, messages of a publisher keep their order, and a retained
//! topic has its last message.
//!
//! `STADIUM_KILLS` is another number of kills. `STADIUM_KILL_SEED` repeats the draws of a run,
//! which prints its seed; the times still depend on the machine.

mod books;
mod publisher;
use crate::random;
mod retained;
mod subscriber;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, bail, ensure};
use stadium_testing::deadline::{PATIENCE, until_true};
use stadium_testing::device::Device;
use stadium_testing::killable::{KILLS, Killable, kills};
use stadium_testing::wire::{self, Connect, Kind, Publish, VERSIONS, Version};

use books::{Books, FENCE, Message, State, Subscription, TOPICS};
use publisher::Publisher;
use random::Random;
use subscriber::Subscriber;

/// Small segments and checkpoints, so that a start is quick and checkpoints are taken within the
/// run. The bounds of a session are those at which messages go: the load stays below them.
const SETTINGS: &str = "[journal]\nsegment_bytes = 9437184\nreserve_bytes = 262144\n\
    [shards]\ncount = 3\ncheckpoint_journal_bytes = 1048576\n\
    [limits]\nsession_messages_max = 1000000\nsession_bytes_max = 1073741824\nqueued_max = 1000000\n";

/// Event loops at most.
const LOOPS_MAX: usize = 4;

const PUBLISHERS: usize = 6;

/// Time for a killed server to be back and to take a connection.
const STARTED_WITHIN: Duration = PATIENCE.saturating_mul(3);

/// Time for an answer where the connection stands.
const ANSWERED_WITHIN: Duration = PATIENCE.saturating_mul(3);

/// Time for subscribers to get what is left when the load has ended.
const DRAINED_WITHIN: Duration = PATIENCE.saturating_mul(9);

/// Answers that a life of the server gives before it ends, at most; one life of eight is ten times
/// as long, so that checkpoints end in it.
const LIFE_ANSWERS: usize = 200;

/// How long a start goes on before it is killed, at most: less than a start takes, and more.
const START_MS: usize = 800;

fn setting(name: &str) -> Result<Option<u64>> {
    let Ok(text) = std::env::var(name) else { return Ok(None) };
    Ok(Some(text.parse().with_context(|| format!("{name} is a number, not {text}"))?))
}

/// Each with its filters: alone and overlapping, at both levels, with and without wildcards.
const SUBSCRIBERS: [&[(&str, u8)]; 9] = [
    &[("kill/#", 2)],
    &[("kill/+", 2)],
    &[("kill/+", 1)],
    &[("kill/#", 2), ("kill/a", 1)],
    &[("kill/a", 2)],
    &[("kill/b", 2)],
    &[("kill/c", 2), ("kill/d", 2)],
    &[("kill/d", 1)],
    &[("+/a", 2), ("+/c", 2)],
];

/// Members of the one group, which gets everything at QoS 1.
const MEMBERS: usize = 3;

fn subscribers(address: SocketAddr, books: &Arc<Books>, random: &mut Random) -> Result<Vec<Subscriber>> {
    let mut made = Vec::new();
    for (place, filters) in SUBSCRIBERS.iter().enumerate() {
        let id = format!("subscriber-{place}");
        let gets = |topic: &str| {
            let level = topic.trim_start_matches("kill/");
            filters.iter().any(|(filter, _)| filter.ends_with(['#', '+']) || filter.ends_with(level))
        };
        let topics = TOPICS.into_iter().filter(|topic| gets(topic)).collect();
        let qos = filters.iter().map(|(_, qos)| *qos).max().context("it has a filter")?;
        let receiver = books.receiver(&id, Subscription { topics, qos, shared: false });
        let connect = Connect::new(VERSIONS[place % 2], id).persistent();
        made.push(Subscriber::begin(address, connect, filters, (books, receiver), random.next())?);
    }
    let workers = books.receiver("workers", Subscription { topics: TOPICS.into(), qos: 1, shared: true });
    for member in 0..MEMBERS {
        let connect = Connect::new(VERSIONS[member % 2], format!("member-{member}")).persistent();
        let filters = [("$share/workers/kill/#", 1)];
        made.push(Subscriber::begin(address, connect, &filters, (books, workers), random.next())?);
    }
    Ok(made)
}

fn joined<T>(threads: Vec<JoinHandle<T>>) -> Result<Vec<T>> {
    let joined = threads.into_iter().map(JoinHandle::join);
    joined.map(|outcome| outcome.map_err(|_| anyhow::anyhow!("a client panicked"))).collect()
}

/// Kills the server at times that `random` draws: after some answers, or while it starts.
fn kill(server: &mut Killable, kills: u32, books: &Books, random: &mut Random) -> Result<()> {
    let mut killed = 0;
    while killed < kills && !books.is_broken() {
        let factor = if random.below(8) == 0 { 10 } else { 1 };
        let answers = books.accepted() + (factor * random.below(LIFE_ANSWERS)) as u64;
        until_true(STARTED_WITHIN, "answers", || Ok(books.accepted() >= answers || books.is_broken()))?;
        server.kill()?;
        killed += 1;
        while killed < kills && random.below(4) == 0 {
            server.loops = 1 + random.below(LOOPS_MAX) as u16;
            server.spawn()?;
            // Some time of the start, whatever it does then: this is no wait for something.
            std::thread::sleep(Duration::from_millis(random.below(START_MS) as u64));
            server.kill()?;
            killed += 1;
        }
        server.loops = 1 + random.below(LOOPS_MAX) as u16;
        server.start().with_context(|| format!("after {killed} kills, with {} loops", server.loops))?;
    }
    Ok(())
}

/// One more message on each topic, and the last retained one: earlier messages come before them.
fn close(address: SocketAddr, books: &Books) -> Result<()> {
    let place = books.publisher();
    let mut device = Device::clean(address, Version::V5, "closing")?;
    for topic in TOPICS.into_iter().chain([FENCE]) {
        let message = Message { topic: topic.to_owned(), qos: 2, clears: false, state: State::Sent };
        let number = books.sends(place, message);
        let payload = books::payload((place, number));
        let mut publish = Publish::new(topic, &payload).qos(2, 1);
        publish.retain = topic == FENCE;
        device.publish(&publish)?;
        let answer = device.expect(Kind::Pubrec)?;
        books.answered((place, number), answer.reason(Version::V5));
        device.send(&wire::acknowledge(Kind::Pubrel, 1))?;
        device.expect(Kind::Pubcomp)?;
    }
    device.leave()
}

fn run(kills: u32, seed: u64) -> Result<()> {
    let began = Instant::now();
    let mut random = Random(seed);
    let place = tempfile::tempdir()?;
    let mut server = Killable::new(place.path(), &place.path().join("data"), SETTINGS)?;
    server.loops = 1 + random.below(LOOPS_MAX) as u16;
    server.start()?;
    let (address, books) = (server.mqtt, Arc::new(Books::default()));
    let subscribers = subscribers(address, &books, &mut random)?;
    let subscribers: Vec<_> = subscribers.into_iter().map(|each| std::thread::spawn(|| each.run())).collect();
    let mut publishers = Vec::new();
    for number in 0..PUBLISHERS {
        let publisher = Publisher::new(address, VERSIONS[number % 2], &books, random.next());
        publishers.push(std::thread::spawn(|| publisher.run()));
    }
    let watched = Arc::clone(&books);
    let watcher = std::thread::spawn(move || retained::watch(address, &watched));

    let outcome = kill(&mut server, kills, &books, &mut random).with_context(|| server.log());
    books.stop.store(true, Ordering::Relaxed);
    let published: Result<Vec<()>> = joined(publishers)?.into_iter().collect();
    joined(vec![watcher])?;
    outcome?;
    published?;
    // A last time, so that nothing is there beyond the data on the disk.
    server.kill()?;
    server.start()?;
    close(address, &books)?;
    books.finish.store(true, Ordering::Relaxed);
    let drained = until_true(DRAINED_WITHIN, "subscribers to get all", || {
        Ok(subscribers.iter().all(JoinHandle::is_finished))
    });
    books.prove().with_context(|| server.log())?;
    drained?;
    joined(subscribers)?.into_iter().collect::<Result<Vec<()>>>()?;
    let found = retained::read_all(address)?;
    for (topic, wanted) in books.retained_at_last() {
        ensure!(found.get(&topic) == wanted.as_ref(), "{topic} has {:?}, not {wanted:?}", found.get(&topic));
    }

    let figures = &books.figures;
    let (ended, resent) = (figures.ended.load(Ordering::Relaxed), figures.resent.load(Ordering::Relaxed));
    eprintln!(
        "{kills} kills, seed {seed}: {} messages accepted at QoS 1 and {} at QoS 2, {} refused, {} deliveries, {} of them repeated \
         at QoS 1, {resent} packets sent again by publishers, {ended} connections lost, retained messages read {} times, {:?}",
        books.accepted_at(1),
        books.accepted_at(2),
        figures.refused.load(Ordering::Relaxed),
        figures.received.load(Ordering::Relaxed),
        books.repeated(),
        figures.replays.load(Ordering::Relaxed),
        began.elapsed(),
    );
    ensure!(
        books.accepted() > u64::from(kills) * 20,
        "only {} messages were accepted: the load was none",
        books.accepted()
    );
    ensure!(kills < KILLS || resent > 0, "no kill met a message in flight");
    Ok(())
}

#[test]
fn kills_under_load_lose_no_accepted_message_and_double_none_at_qos_2() -> Result<()> {
    let kills = kills()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let seed = setting("STADIUM_KILL_SEED")?.unwrap_or(now.as_nanos() as u64 % 1_000_000);
    eprintln!("STADIUM_KILL_SEED={seed}");
    match run(kills, seed) {
        Ok(()) => Ok(()),
        Err(error) => bail!("STADIUM_KILL_SEED={seed} STADIUM_KILLS={kills}: {error:#}"),
    }
}
