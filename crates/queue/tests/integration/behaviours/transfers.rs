//! Between shards, and between segments: jobs and payloads that move.
//!
//! Nothing is lost on the way, and nothing is there twice.

use std::collections::HashMap;

use stadium_queue::{
    Answer, Bounds, Command, DeadLetter, Delivery, Given, NewJob, Outgoing, PayloadChange, Place, QueueName,
    QueueSettings, Queues, Retry, ShardMessage,
};
use stadium_state_machine::{MachineState as _, MoveCursor, MovePayloads, Section};

use crate::harness::{Harness, after, job, keyed, queue};

/// Two shards, and a queue of each.
fn shards() -> (Harness, QueueName, Harness, QueueName) {
    let place = |shard| Place { shard, shards: 2, hash_seed: 3 };
    let named = |shard| {
        let names = (0..).map(|n| queue(&format!("queue-{n}")));
        names.into_iter().find(|name| Place::home(name, 2) == shard).unwrap()
    };
    let harness = |shard| Harness::with(Bounds::default(), place(shard));
    (harness(0), named(0), harness(1), named(1))
}

fn sent(harness: &Harness) -> Vec<Outgoing> {
    let mut sent = Vec::new();
    harness.queues.outgoing(0, &mut |outgoing| sent.push(outgoing));
    sent
}

fn deliver(from: &Harness, to: &mut Harness, outgoing: &Outgoing) {
    let delivery = Delivery {
        shard: from.place.shard,
        number: outgoing.number,
        confirmed_below: from.queues.outgoing_first(),
        message: ShardMessage {
            queue: outgoing.queue.clone(),
            job: NewJob { payload: from.bytes(outgoing.payload).into(), ..outgoing.job.clone() },
            principal: outgoing.principal.clone(),
        },
    };
    to.record(|queues, at, now, _, record| queues.deliver(at, now, &delivery, record)).unwrap();
}

fn confirm(harness: &mut Harness, number: u64) {
    harness.record(|queues, at, now, _, record| queues.confirm(at, now, number, record));
}

#[test]
fn a_job_forwarded_to_another_shard_is_there_once_however_often_it_is_delivered() {
    let (mut here, from, mut there, to) = shards();
    here.put(from.as_str(), keyed("sms", "alice"));
    let lease = here.reserve(from.as_str(), 1)[0];
    let forward = Command::Forward {
        lease,
        queue: to.clone(),
        job: NewJob { priority: Some(8), ..job("") },
        principal: None,
    };
    let Answer::Placed(placed) = here.ask(forward.clone()).unwrap() else { panic!() };
    assert_eq!(placed[0].job, lease.job);
    assert_eq!((here.queues.jobs(), sent(&here).len()), (0, 1));
    let Answer::Placed(again) = here.ask(forward).unwrap() else { panic!() };
    assert!(again[0].duplicate);
    here.crash();
    let outgoing = sent(&here).remove(0);
    deliver(&here, &mut there, &outgoing);
    there.crash();
    deliver(&here, &mut there, &outgoing);
    assert_eq!(there.queues.jobs(), 1);
    confirm(&mut here, outgoing.number);
    here.crash();
    assert_eq!(sent(&here), []);
    let reserved = there.try_reserve(to.as_str(), 10).unwrap();
    assert_eq!((reserved.len(), reserved[0].priority), (1, 8));
    assert_eq!(there.read(reserved[0].payload), "sms");
}

#[test]
fn messages_that_cannot_be_repeated_are_forgotten_by_the_receiver() {
    let (mut here, from, mut there, to) = shards();
    for n in 0..50 {
        here.put(from.as_str(), job(&n.to_string()));
        let lease = here.reserve(from.as_str(), 1)[0];
        here.ask(Command::Forward { lease, queue: to.clone(), job: NewJob::default(), principal: None })
            .unwrap();
        let outgoing = sent(&here).remove(0);
        deliver(&here, &mut there, &outgoing);
        confirm(&mut here, outgoing.number);
    }
    let chunks = crate::harness::checkpoint(&mut there.queues, 1 << 20);
    assert!(chunks[0].len() < 100, "the first chunk holds what came from elsewhere: {}", chunks[0].len());
    assert_eq!(there.queues.jobs(), 50);
}

#[test]
fn dead_jobs_go_to_a_queue_of_another_shard() {
    let (mut here, from, mut there, to) = shards();
    let dead_letter = DeadLetter::Queue(to.clone());
    here.declare(from.as_str(), QueueSettings { attempts_max: 1, dead_letter, ..QueueSettings::default() });
    here.put(from.as_str(), keyed("poison", "alice"));
    let lease = here.reserve(from.as_str(), 1)[0];
    assert_eq!(here.release(lease, Retry::Backoff), Ok(Given::Dead));
    let stats = here.stats(from.as_str());
    assert_eq!((stats.died, stats.settled, stats.dead), (1, 0, 0));
    here.crash();
    let outgoing = sent(&here).remove(0);
    deliver(&here, &mut there, &outgoing);
    assert_eq!(there.work(to.as_str(), 10), ["poison"]);
}

#[test]
fn moved_payloads_are_read_where_they_are_and_their_old_place_is_free() {
    let mut harness = Harness::new();
    let mut live: HashMap<u64, i64> = HashMap::new();
    for n in 0..100 {
        harness.put("mail", job(&format!("due {n}")));
        harness.put("mail", after(&format!("later {n}"), 1_000));
    }
    let lease = harness.reserve("mail", 50);
    harness.settle_all(lease);
    let segment = 0..harness.records.last().unwrap().0 + 1;
    let mut cursor = MoveCursor::default();
    loop {
        let records = harness.records.clone();
        let (now, segment) = (harness.now, segment.clone());
        let more = harness.record(|queues, at, _, _, record| {
            let mut read = |payload: stadium_queue::PayloadAt, into: &mut Vec<u8>| {
                let (_, _, bytes) = records.iter().find(|(of, ..)| *of == payload.record).unwrap();
                into.extend(&bytes[payload.offset as usize..][..payload.length as usize]);
                true
            };
            let (cursor, read) = (&mut cursor, &mut read);
            let mut moving = MovePayloads { range: segment, cursor, read, bytes_max: 100 };
            queues.move_payloads(at, now, &mut moving, record)
        });
        if !more {
            break;
        }
    }
    let mut changes: Vec<PayloadChange> = Vec::new();
    harness.queues.take_payload_changes(&mut changes);
    for change in changes {
        *live.entry(change.record).or_default() += change.bytes;
    }
    assert!(live.iter().all(|(record, bytes)| *bytes == 0 || *record >= segment.end), "{live:?}");
    let mut counted: HashMap<u64, i64> = HashMap::new();
    let mut count = |payload: stadium_queue::PayloadAt| {
        *counted.entry(payload.record).or_default() += i64::from(payload.length);
    };
    harness.queues.live_payloads(&mut count);
    live.retain(|_, bytes| *bytes != 0);
    assert_eq!(counted, live, "the log of changes adds up to what lives");
    harness.records.retain(|(at, ..)| *at >= segment.end);
    harness.pass(1_000);
    let mut payloads = harness.work("mail", 1_000);
    payloads.sort();
    assert_eq!(payloads.len(), 150);
    assert_eq!(payloads[0], "due 50");
}

#[test]
fn a_record_is_described_in_words() {
    let mut harness = Harness::new();
    let id = harness.put("mail", keyed("hello", "alice"));
    let lease = harness.reserve("mail", 1);
    harness.settle_all(lease);
    let mut words = Vec::new();
    for (at, time, bytes) in &harness.records {
        let section =
            Section { shard: harness.place.shard, at: *at, time: *time, offset: 16, events: &bytes[16..] };
        let mut all = Vec::new();
        Queues::describe(section, &mut all).expect("the queues wrote it");
        for described in all {
            let is_of_the_job = described.text.starts_with("put,") || described.text == "settled";
            assert!(!is_of_the_job || described.job == Some(id.0), "{described:?}");
            assert!(!described.text.starts_with("queue made") || described.job.is_none(), "{described:?}");
            words.push(described.text);
        }
    }
    let sentence = words.join("; ");
    for part in ["in the queue mail", "queue made", "put, due at", "key \"alice\"", "5 bytes", "settled"] {
        assert!(sentence.contains(part), "{part:?} in {sentence:?}");
    }
}
