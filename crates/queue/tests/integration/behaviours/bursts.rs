//! Much work at one time: its cost in a turn, and that it changes nothing but when.
//!
//! A turn of a shard is one tick and some commands at one time. Its work is counted here by the
//! jobs that became due and that were taken out, never by a clock.

use stadium_queue::{Command, JobState, NewJob};

use crate::harness::{Harness, after, checkpoint, keyed, queue, restored};

/// As much as a tick lets become due, and takes out for a purge: see `STEPS_AT_ONCE` and
/// `PURGED_FOR_EACH`.
const AT_ONCE: u64 = 4_096;

/// One tick with as many events as a turn of a shard has. Returns whether more is due.
fn tick(harness: &mut Harness) -> bool {
    harness.record(|queues, at, now, random, record| queues.tick(at, now, random, record, 1_024)).more
}

fn due(harness: &mut Harness) -> u64 {
    harness.stats("mail").due
}

/// So many jobs of as many keys that are due at one time, two for each key in their order.
fn burst(harness: &mut Harness, keys: u32, delay: u64) {
    for half in ["first", "second"] {
        for from in (0..keys).step_by(1_000) {
            let job = |number: u32| {
                let job = keyed(&format!("{half} of {number}"), &number.to_string());
                NewJob { when: after("", delay).when, ..job }
            };
            harness.try_put("mail", (from..(from + 1_000).min(keys)).map(job).collect()).unwrap();
        }
    }
}

#[test]
fn jobs_that_are_due_at_one_time_come_due_over_turns() {
    // Near enough for the first level of the wheel, and so far that they are moved twice before.
    for delay in [100, 200_000] {
        let mut harness = Harness::new();
        burst(&mut harness, 10_000, delay);
        let mut turns = 0;
        while harness.now.0 < 1_800_000_000_000 + delay - 1 {
            let left = 1_800_000_000_000 + delay - 1 - harness.now.0;
            harness.pass(left.min(64));
        }
        assert_eq!(due(&mut harness), 0);
        harness.now = harness.now.after(1);
        let mut before = 0;
        loop {
            let more = tick(&mut harness);
            let now_due = due(&mut harness);
            assert!(now_due - before <= AT_ONCE, "{before} to {now_due}");
            // Commands at the same time do not add to it.
            for _ in 0..10 {
                harness.put("other", keyed("x", "k"));
            }
            assert_eq!(due(&mut harness), now_due);
            before = now_due;
            turns += 1;
            if !more {
                break;
            }
        }
        assert_eq!(before, 20_000);
        assert!((2 * 20_000 / AT_ONCE..=2 * 20_000 / AT_ONCE + 3).contains(&turns), "{turns}");
        // In the order in which they were put, those of a key one after the other.
        let first = harness.work("mail", 1_000);
        assert_eq!(first[..3], ["first of 0", "first of 1", "first of 2"]);
    }
}

#[test]
fn a_job_put_while_others_come_due_waits_for_its_turn() {
    let mut harness = Harness::new();
    burst(&mut harness, 5_000, 100);
    harness.now = harness.now.after(100);
    assert!(tick(&mut harness));
    harness.put("mail", keyed("third of 0", "0"));
    harness.put("mail", keyed("first of new", "new"));
    harness.tick();
    assert_eq!(due(&mut harness), 10_002);
    let mut all = Vec::new();
    loop {
        let reserved = harness.try_reserve("mail", 1_000).unwrap();
        if reserved.is_empty() {
            break;
        }
        all.extend(reserved.iter().map(|reserved| harness.read(reserved.payload)));
        harness.settle_all(reserved.into_iter().map(|reserved| reserved.lease).collect());
    }
    let of = |end: &str| -> Vec<&String> { all.iter().filter(|text| text.ends_with(end)).collect() };
    assert_eq!(all.len(), 10_002);
    assert_eq!(of(" of 0"), ["first of 0", "second of 0", "third of 0"]);
    assert_eq!(of(" of 4999"), ["first of 4999", "second of 4999"]);
    assert_eq!(of(" of new"), ["first of new"]);
}

#[test]
fn a_change_of_a_job_while_others_come_due_counts() {
    let mut harness = Harness::new();
    burst(&mut harness, 5_000, 100);
    let deleted = harness.put("mail", after("deleted", 100));
    let later = harness.put("mail", after("later", 100));
    harness.now = harness.now.after(100);
    // All of them are collected and some are due; those two were put last.
    while due(&mut harness) == 0 {
        assert!(tick(&mut harness));
    }
    harness.given(Command::Delete { jobs: vec![deleted] });
    let edit = stadium_queue::Edit { when: Some(after("", 1_000).when), ..Default::default() };
    harness.done(Command::Edit { job: later, edit });
    harness.put("mail", after("in the place of the deleted one", 500));
    harness.tick();
    assert_eq!((due(&mut harness), harness.stats("mail").delayed), (10_000, 2));
    harness.pass(1_000);
    assert_eq!((due(&mut harness), harness.stats("mail").delayed), (10_002, 0));
}

#[test]
fn a_server_that_stops_while_jobs_come_due_goes_on_with_them() {
    let mut harness = Harness::new();
    burst(&mut harness, 5_000, 100);
    harness.now = harness.now.after(100);
    while due(&mut harness) == 0 {
        assert!(tick(&mut harness));
    }
    let reserved = harness.reserve("mail", 10);
    let chunks = checkpoint(&mut harness.queues, 65_536);
    harness.settle_all(reserved);
    let records = harness.records.len();
    let mut from_checkpoint = restored(harness.place, &harness.bounds, &chunks);
    harness.replay_into(&mut from_checkpoint, records - 1);
    for mut queues in [harness.replayed(), from_checkpoint] {
        std::mem::swap(&mut harness.queues, &mut queues);
        harness.tick();
        let stats = harness.stats("mail");
        assert_eq!((stats.due, stats.delayed, stats.reserved), (9_990, 0, 0));
        std::mem::swap(&mut harness.queues, &mut queues);
    }
}

#[test]
fn a_purge_takes_out_a_bounded_number_of_jobs_in_a_turn() {
    let mut harness = Harness::new();
    burst(&mut harness, 10_000, 100);
    let purge = Command::Purge { queue: queue("mail"), state: Some(JobState::Delayed) };
    assert_eq!(harness.count(purge), 20_000);
    let mut before = harness.stats("mail").delayed;
    assert!((20_000 - AT_ONCE..20_000).contains(&before), "some are gone at once: {before}");
    let mut turns = 0;
    while tick(&mut harness) {
        let left = harness.stats("mail").delayed;
        assert!(before - left <= AT_ONCE, "{before} to {left}");
        before = left;
        turns += 1;
    }
    assert_eq!(harness.stats("mail").delayed, 0);
    assert!(turns <= 20_000 / AT_ONCE + 1, "{turns}");
    assert_eq!(harness.replayed().jobs(), 0);
}
