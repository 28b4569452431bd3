//! Jobs for several queues in one record: all or none, here or on their way.

use stadium_queue::{Bounds, Dedup, NewJob, Place, Placed, QueueName, QueueSettings, Refusal, Spread};

use crate::harness::{Harness, job, key, keyed, queue};

fn put(harness: &mut Harness, jobs: &[(QueueName, NewJob)]) -> Result<Vec<Placed>, Refusal> {
    harness.record(|queues, at, now, random, record| queues.put_each(at, now, random, jobs, None, record))
}

#[test]
fn jobs_of_several_queues_are_put_in_their_order() {
    let mut harness = Harness::new();
    let jobs = [(queue("mail"), job("first")), (queue("sms"), job("second")), (queue("mail"), job("third"))];
    let placed = put(&mut harness, &jobs).unwrap();
    harness.crash();
    assert_eq!(placed.len(), 3);
    assert!(placed[0].job < placed[2].job, "jobs of a queue keep their order");
    let leases = harness.reserve("mail", 10);
    assert_eq!(leases.iter().map(|lease| lease.job).collect::<Vec<_>>(), [placed[0].job, placed[2].job]);
    assert_eq!(harness.reserve("sms", 10)[0].job, placed[1].job);
}

#[test]
fn where_one_queue_refuses_nothing_is_put_anywhere() {
    let mut harness = Harness::new();
    harness.declare("full", QueueSettings { jobs_max: 1, ..QueueSettings::default() });
    harness.put("full", job("there"));
    let jobs = [(queue("new"), job("first")), (queue("full"), job("second"))];
    let refused = put(&mut harness, &jobs).unwrap_err();
    assert_eq!(refused.code(), "QUE-040", "{refused}");
    assert_eq!(harness.queues.jobs(), 1);
    // Each queue would fit by itself; both do not.
    let bounds = Bounds { queues_max: 1, ..Bounds::default() };
    let mut harness = Harness::with(bounds, Place { shard: 0, shards: 1, hash_seed: 3 });
    let refused = put(&mut harness, &[(queue("one"), job("")), (queue("two"), job(""))]).unwrap_err();
    assert!(matches!(refused, Refusal::Busy { .. }), "{refused}");
    assert_eq!(harness.queues.jobs(), 0);
}

#[test]
fn a_dedup_id_counts_as_in_a_put() {
    let mut harness = Harness::new();
    let known = || NewJob { dedup: Some(Dedup { id: key("id 1"), window: None }), ..job("once") };
    let first = put(&mut harness, &[(queue("mail"), known())]).unwrap()[0];
    let again = put(&mut harness, &[(queue("mail"), known()), (queue("mail"), job("other"))]).unwrap();
    assert_eq!((again[0].job, again[0].duplicate, again[1].duplicate), (first.job, true, false));
    assert_eq!(harness.queues.jobs(), 2);
}

#[test]
fn jobs_of_other_shards_are_on_their_way_and_spread_queues_are_here() {
    let place = Place { shard: 0, shards: 2, hash_seed: 3 };
    let mut harness = Harness::with(Bounds::default(), place);
    let at = |shard| {
        (0..).map(|n| queue(&format!("queue-{n}"))).find(|name| Place::home(name, 2) == shard).unwrap()
    };
    let far = at(1);
    let key_of = |shard| (0..).map(|n| format!("k{n}")).find(|name| Place::home(name, 2) == shard).unwrap();
    let spread = QueueSettings { spread: Spread::AllShards, ..QueueSettings::default() };
    harness.declare("everywhere", spread);
    let jobs = [
        (far.clone(), job("far")),
        (queue("everywhere"), job("without a key")),
        (queue("everywhere"), keyed("here", &key_of(0))),
        (queue("everywhere"), keyed("there", &key_of(1))),
    ];
    let placed = put(&mut harness, &jobs).unwrap();
    harness.crash();
    let is_away: Vec<bool> = placed.iter().map(|placed| placed.job.sequence() == 0).collect();
    assert_eq!(is_away, [true, false, false, true]);
    assert_eq!(harness.queues.jobs(), 2);
    let mut away = Vec::new();
    harness.queues.outgoing(0, &mut |outgoing| away.push(outgoing));
    let texts: Vec<_> = away.iter().map(|outgoing| harness.bytes(outgoing.payload)).collect();
    assert_eq!(texts, [b"far".to_vec(), b"there".to_vec()]);
    assert_eq!((away[0].queue.clone(), away[1].queue.clone()), (far, queue("everywhere")));
    assert_eq!(away[0].job.attempts_max, None, "its own queue decides how often it is tried");
}
