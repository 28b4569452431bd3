//! Fixtures of docs/formats/queue-events.md: records and a checkpoint that each version wrote.
//!
//! They stay for ever, and are read for ever: `v1` of before jobs named principals, `v2` of today.
//! `STADIUM_WRITE_FIXTURE=1` writes `v2` anew, which is right only before version 2 is released.

use crate::harness;

use std::path::PathBuf;

use harness::{Harness, after, checkpoint, job, key, keyed, queue, restored};
use stadium_queue::{
    Bounds, Command, Cron, DeadLetter, Dedup, Edit, JobSet, Limit, Missed, NewJob, Place, QueueSettings,
    Queues, Retry, Time,
};

const PLACE: Place = Place { shard: 1, shards: 2, hash_seed: 7 };

fn folder(version: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(version)
}

/// Every event of version 2, once at least.
fn test() -> Harness {
    let mut harness = Harness::with(Bounds::default(), PLACE);
    let limit = Some(Limit { rate: 100.0, burst: 10 });
    let dead_letter = DeadLetter::Queue(queue("graveyard"));
    let settings =
        QueueSettings { attempts_max: 2, dead_letter, limit, key_limit: limit, ..QueueSettings::default() };
    harness.declare("mail", settings);
    harness.principal = Some("k_0011223344556677".parse().unwrap());
    let dedup = Some(Dedup { id: key("id 1"), window: Some(1_000_000) });
    let all =
        NewJob { dedup, priority: Some(7), time_to_live: Some(900_000), ..keyed("everything", "alice") };
    harness
        .try_put("mail", vec![all, keyed("second", "alice"), job("plain"), after("later", 60_000)])
        .unwrap();
    let leases = harness.reserve("mail", 2);
    harness.release(leases[0], Retry::After(1_000)).unwrap();
    harness.given(Command::Extend { leases: vec![leases[1]], lease: 90_000 });
    harness.settle(leases[1]).unwrap();
    harness.pass(1_000);
    let lease = harness.reserve("mail", 1)[0];
    harness.release(lease, Retry::Backoff).unwrap();
    let lease = harness.reserve("mail", 1)[0];
    harness.given(Command::Bury { leases: vec![lease], reason: Some("look".into()) });
    harness.count(Command::Kick { queue: queue("mail"), jobs: JobSet::Oldest(1) });
    let lease = harness.reserve("mail", 1)[0];
    let worker = Some("oidc:jürgen".parse().unwrap());
    let forward =
        Command::Forward { lease, queue: queue("local"), job: NewJob::default(), principal: worker.clone() };
    harness.ask(forward).unwrap();
    let id = harness.put("mail", after("edited", 5_000));
    let edit =
        Edit { payload: Some("edit".into()), priority: Some(2), attempts_max: Some(9), ..Edit::default() };
    harness.done(Command::Edit { job: id, edit });
    let id = harness.put("mail", job("deleted"));
    harness.given(Command::Delete { jobs: vec![id] });
    let cron =
        Cron { expression: "0 3 * * *".into(), time_zone: "Europe/Berlin".into(), missed: Missed::All };
    let nightly = NewJob { time_to_live: Some(60_000), ..keyed("nightly", "cron") };
    let schedule = Command::Schedule {
        queue: queue("mail"),
        name: key("nightly"),
        cron: Box::new(cron),
        job: nightly,
        principal: worker,
    };
    harness.done(schedule);
    harness.principal = None;
    harness.put("purged", job("purged"));
    harness.count(Command::Purge { queue: queue("purged"), state: None });
    harness.done(Command::Pause { queue: queue("purged") });
    harness.put("gone", job("x"));
    let lease = harness.reserve("gone", 1);
    harness.settle_all(lease);
    harness.done(Command::Drop { queue: queue("gone") });
    harness.put("mail", job("lapses"));
    harness.reserve("mail", 1);
    harness.pass(40_000);
    harness
}

/// Records as one file: position, time and length of each (8 bytes each, little-endian), then its bytes.
fn to_file(records: &[(u64, Time, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for (at, time, bytes) in records {
        for word in [*at, time.0, bytes.len() as u64] {
            file.extend(word.to_le_bytes());
        }
        file.extend(bytes);
    }
    file
}

fn chunks_to_file(chunks: &[Vec<u8>]) -> Vec<u8> {
    let parts = chunks.iter().flat_map(|chunk| [(chunk.len() as u64).to_le_bytes().to_vec(), chunk.clone()]);
    parts.flatten().collect()
}

fn word(file: &mut &[u8]) -> Option<u64> {
    let (word, rest) = file.split_first_chunk::<8>()?;
    *file = rest;
    Some(u64::from_le_bytes(*word))
}

fn part<'f>(file: &mut &'f [u8], bytes: u64) -> &'f [u8] {
    let (part, rest) = file.split_at(bytes as usize);
    *file = rest;
    part
}

fn from_records(mut file: &[u8]) -> Queues {
    let mut queues = Queues::new(PLACE, Bounds::default());
    while let Some(at) = word(&mut file) {
        let (time, bytes) = (Time(word(&mut file).unwrap()), word(&mut file).unwrap());
        queues.apply(at, time, 16, &part(&mut file, bytes)[16..]).unwrap();
    }
    queues
}

fn from_chunks(mut file: &[u8]) -> Queues {
    let mut chunks = Vec::new();
    while let Some(bytes) = word(&mut file) {
        chunks.push(part(&mut file, bytes).to_vec());
    }
    restored(PLACE, &Bounds::default(), &chunks)
}

/// Everything that can be seen, in words.
fn seen(queues: &Queues, now: Time) -> String {
    let mut seen = String::new();
    let stats = queues.read(now, &Command::List { after: None, queues_max: 100 });
    seen += &format!("{stats:#?}\n");
    for name in ["mail", "local", "graveyard", "purged"].map(queue) {
        let all = Command::Peek { queue: name.clone(), state: None, key: None, after: None, jobs_max: 100 };
        // Within a state the order of what is not due is not promised over a restart.
        let mut jobs: Vec<_> = match queues.read(now, &all) {
            Ok(stadium_queue::Answer::Jobs(jobs)) => jobs.iter().map(|job| format!("{job:#?}")).collect(),
            other => vec![format!("{other:?}")],
        };
        jobs.sort();
        seen += &jobs.join("\n");
        seen += &format!("\n{:#?}\n", queues.read(now, &Command::Schedules { queue: name }));
    }
    queues.outgoing(0, &mut |outgoing| seen += &format!("{outgoing:#?}\n"));
    // There was none when the files of version 1 were written.
    let is_new = |line: &&str| line.trim() != "principal: None,";
    seen.lines().filter(is_new).map(|line| format!("{line}\n")).collect()
}

/// A fixture's files hold the state that was seen when they were written.
fn is_read(version: &str, now: Time) {
    let read = |name: &str| std::fs::read(folder(version).join(name)).expect("the fixture is there");
    let expected = String::from_utf8(read("seen.txt")).unwrap();
    assert_eq!(seen(&from_chunks(&read("checkpoint.bin")), now), expected, "from the checkpoint");
    let mut replayed = from_records(&read("records.bin"));
    let mut record = stadium_queue::Record::new();
    replayed.tick(1 << 40, now, 1, &mut record, 1_000);
    assert!(record.is_empty(), "nothing new happens by reading");
    assert_eq!(seen(&replayed, now), expected, "from the records");
}

#[test]
fn files_of_version_1_are_read() {
    is_read("v1", test().now);
}

#[test]
fn files_of_version_2_are_read() {
    let mut harness = test();
    let now = harness.now;
    let chunks = checkpoint(&mut harness.queues, 1 << 16);
    if std::env::var_os("STADIUM_WRITE_FIXTURE").is_some() {
        let folder = folder("v2");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("records.bin"), to_file(&harness.records)).unwrap();
        std::fs::write(folder.join("checkpoint.bin"), chunks_to_file(&chunks)).unwrap();
        std::fs::write(folder.join("seen.txt"), seen(&harness.queues, now)).unwrap();
    }
    is_read("v2", now);
}
