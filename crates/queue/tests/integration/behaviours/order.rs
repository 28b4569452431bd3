//! The order in which jobs are handed out: priorities, keys, fair shares, limits.
//!
//! And what becomes of that when the clock leaps or is set back.

use std::collections::HashMap;

use stadium_queue::{Command, Given, JobState, Limit, NewJob, QueueSettings, Retry};

use crate::harness::{Harness, after, job, key, keyed, queue};

#[test]
fn higher_priorities_go_first_and_equal_ones_in_order() {
    let mut harness = Harness::new();
    for (payload, priority) in [("a", 1), ("b", 9), ("c", 4), ("d", 9), ("e", 0)] {
        harness.put("mail", NewJob { priority: Some(priority), ..job(payload) });
    }
    harness.put("mail", job("f"));
    assert_eq!(harness.work("mail", 10), ["b", "d", "c", "f", "a", "e"]);
}

#[test]
fn delayed_jobs_stand_in_line_from_when_they_are_due() {
    let mut harness = Harness::new();
    harness.put("mail", after("third", 300));
    harness.put("mail", after("first", 100));
    harness.put("mail", after("second", 200));
    harness.put("mail", after("second too", 200));
    harness.pass(250);
    harness.put("mail", job("between"));
    harness.pass(100);
    assert_eq!(harness.work("mail", 10), ["first", "second", "second too", "between", "third"]);
}

#[test]
fn jobs_of_a_key_run_one_after_another() {
    let mut harness = Harness::new();
    for payload in ["one", "two", "three"] {
        harness.put("mail", keyed(payload, "alice"));
    }
    let first = harness.reserve("mail", 10);
    assert_eq!(first.len(), 1, "the others wait for the first");
    harness.settle_all(first);
    assert_eq!(harness.work("mail", 10), ["two"]);
}

#[test]
fn a_key_waits_for_a_retry_and_skips_a_buried_job() {
    let mut harness = Harness::new();
    for payload in ["one", "two", "three"] {
        harness.put("mail", keyed(payload, "alice"));
    }
    let first = harness.reserve("mail", 1)[0];
    assert_eq!(harness.release(first, Retry::After(5_000)), Ok(Given::Done));
    assert_eq!(harness.reserve("mail", 10), [], "two waits for one's retry");
    harness.crash();
    assert_eq!(harness.reserve("mail", 10), [], "after a crash too");
    harness.pass(5_000);
    harness.crash();
    let reserved = harness.try_reserve("mail", 10).unwrap();
    assert_eq!(harness.read(reserved[0].payload), "one", "it is before the others again");
    harness.given(Command::Bury { leases: vec![reserved[0].lease], reason: None });
    assert_eq!(harness.work("mail", 10), ["two"]);
}

#[test]
fn within_a_key_order_is_before_priority_and_the_first_job_speaks_for_its_key() {
    let mut harness = Harness::new();
    harness.put("mail", NewJob { priority: Some(1), ..keyed("low", "alice") });
    harness.put("mail", NewJob { priority: Some(9), ..keyed("high", "alice") });
    harness.put("mail", NewJob { priority: Some(5), ..keyed("middle", "bob") });
    assert_eq!(harness.work("mail", 10), ["middle", "low"]);
}

#[test]
fn keys_get_fair_shares_however_much_one_of_them_puts() {
    let mut harness = Harness::new();
    for n in 0..100 {
        harness.put("mail", keyed(&format!("flood {n}"), "flood"));
        harness.put("mail", job("without a key"));
    }
    for name in ["alice", "bob"] {
        for _ in 0..5 {
            harness.put("mail", keyed(name, name));
        }
    }
    let mut served: HashMap<String, usize> = HashMap::new();
    for _ in 0..20 {
        let reserved = harness.try_reserve("mail", 1).unwrap().remove(0);
        let name = reserved.key.map_or("none".to_owned(), |key| key.to_string());
        *served.entry(name).or_default() += 1;
        harness.settle_all(vec![reserved.lease]);
    }
    assert_eq!(served, ["flood", "none", "alice", "bob"].map(|name| (name.to_owned(), 5)).into());
}

#[test]
fn a_queue_hands_out_as_many_as_its_limit_allows() {
    let mut harness = Harness::new();
    let limit = Some(Limit { rate: 10.0, burst: 5 });
    harness.declare("mail", QueueSettings { limit, ..QueueSettings::default() });
    harness.try_put("mail", vec![job("sms"); 100]).unwrap();
    assert_eq!(harness.reserve("mail", 100).len(), 5, "the burst");
    let mut ready = Vec::new();
    harness.queues.take_ready(&mut ready);
    let mut handed_out = 0;
    for _ in 0..20 {
        harness.pass(50);
        handed_out += harness.reserve("mail", 100).len();
    }
    assert_eq!(handed_out, 10, "ten in a second");
}

#[test]
fn consumers_are_notified_when_a_token_is_there() {
    let mut harness = Harness::new();
    let limit = Some(Limit { rate: 1.0, burst: 1 });
    harness.declare("mail", QueueSettings { key_limit: limit, ..QueueSettings::default() });
    for name in ["alice", "alice", "bob"] {
        harness.put("mail", keyed(name, name));
    }
    let leases = harness.reserve("mail", 10);
    assert_eq!(leases.len(), 2, "one for each key");
    harness.settle_all(leases);
    assert_eq!(harness.reserve("mail", 10), []);
    harness.queues.take_ready(&mut Vec::new());
    let mut ready = Vec::new();
    for _ in 0..1_000 {
        harness.pass(1);
        harness.queues.take_ready(&mut ready);
    }
    assert_eq!(ready, [queue("mail")]);
    assert_eq!(harness.work("mail", 10), ["alice"]);
}

#[test]
fn a_key_limit_holds_for_a_key_whose_jobs_come_one_by_one() {
    let mut harness = Harness::new();
    let limit = Some(Limit { rate: 1.0, burst: 1 });
    harness.declare("mail", QueueSettings { key_limit: limit, ..QueueSettings::default() });
    let mut handed_out = 0;
    for _ in 0..100 {
        harness.put("mail", keyed("sms", "alice"));
        let leases = harness.reserve("mail", 10);
        handed_out += leases.len();
        if !leases.is_empty() {
            harness.settle_all(leases);
        }
        harness.pass(100);
    }
    assert_eq!(handed_out, 10, "one a second");
}

#[test]
fn a_clock_that_is_set_back_keeps_the_order_of_a_key_and_loses_nothing() {
    let mut harness = Harness::new();
    harness.put("mail", keyed("one", "alice"));
    harness.put("mail", after("later", 10_000));
    harness.now.0 -= 3_600_000;
    harness.put("mail", keyed("two", "alice"));
    harness.put("mail", after("soon", 1_000));
    harness.pass(1_000);
    harness.crash();
    let reserved = harness.try_reserve("mail", 10).unwrap();
    let mut seen: Vec<_> = reserved.iter().map(|reserved| harness.read(reserved.payload)).collect();
    seen.sort();
    assert_eq!(seen, ["one", "soon"], "an hour back, delays count from the new time");
    harness.settle_all(reserved.into_iter().map(|reserved| reserved.lease).collect());
    assert_eq!(harness.work("mail", 10), ["two"]);
    harness.pass(3_609_000);
    assert_eq!(harness.stats("mail").due, 1);
}

#[test]
fn a_clock_that_leaps_a_year_brings_everything() {
    let mut harness = Harness::new();
    harness.put("mail", after("later", 10_000));
    harness.put("mail", job("held"));
    let lease = harness.reserve("mail", 1)[0];
    harness.pass(365 * 24 * 3_600_000);
    assert_eq!(harness.work("mail", 10), ["later"]);
    harness.pass(1_000);
    assert_eq!(harness.work("mail", 10), ["held"]);
    assert_eq!(harness.settle(lease).unwrap_err().code(), "QUE-022");
}

#[test]
fn a_job_that_was_due_long_before_a_leap_of_the_clock_is_due() {
    let mut harness = Harness::new();
    harness.put("mail", after("later", 1));
    // More than half of the wheel's 2^32 ticks: a timer so far behind looks as if it were ahead.
    harness.pass(3_000_000_000);
    assert_eq!(harness.work("mail", 1), ["later"]);
}

#[test]
fn a_consumer_of_a_limited_queue_is_not_called_before_there_is_a_token() {
    let mut harness = Harness::new();
    let limit = Some(Limit { rate: 1.0, burst: 1 });
    harness.declare("mail", QueueSettings { limit, ..QueueSettings::default() });
    harness.try_put("mail", vec![job("sms"); 3]).unwrap();
    harness.reserve("mail", 10);
    let mut ready = Vec::new();
    harness.queues.take_ready(&mut ready);
    ready.clear();
    assert_eq!(harness.reserve("mail", 10), []);
    harness.queues.take_ready(&mut ready);
    assert!(ready.is_empty(), "asking again at once finds nothing");
    harness.pass(1_000);
    harness.queues.take_ready(&mut ready);
    assert_eq!(ready, [queue("mail")]);
}

#[test]
fn a_clock_that_stands_still_briefly_delays_no_end() {
    let mut harness = Harness::new();
    let start = harness.now;
    // Given a lease and a time to live of 30 s each.
    harness.put("mail", job("sms"));
    harness.reserve("mail", 1);
    harness.put("other", NewJob { time_to_live: Some(30_000), ..after("short-lived", 90_000) });
    // When a put beside transfers has the time of the wallets, which is half a second ahead of the
    // clock.
    harness.now = start.after(30_400);
    harness.put("third", job("beside transfers"));
    harness.now = start.after(29_900);
    harness.put("third", job("by the clock"));
    assert!(!harness.queues.is_ahead_of(harness.now), "a step back of 500 ms is none");
    // Then both end when the clock shows their time.
    assert_eq!(harness.queues.next_deadline(), Some(start.after(30_000)));
    harness.now = start.after(30_000);
    harness.tick();
    assert_eq!(harness.stats("mail").retried, 1);
    assert_eq!(harness.stats("other").delayed, 0);
    assert!(
        harness.queues.next_deadline().is_none_or(|deadline| deadline > harness.now),
        "nothing is left over"
    );
}

#[test]
fn a_lease_ends_by_a_clock_that_was_set_back_weeks() {
    let mut harness = Harness::new();
    harness.put("mail", job("sms"));
    harness.reserve("mail", 1);
    harness.now.0 -= 20 * 24 * 3_600_000;
    harness.tick();
    for _ in 0..20 {
        harness.pass(24 * 3_600_000);
    }
    harness.pass(31_000);
    assert_eq!(harness.stats("mail").retried, 1);
}

#[test]
fn a_peek_pages_through_every_state_without_touching_a_job() {
    let mut harness = Harness::new();
    for n in 0..10 {
        harness.put("mail", keyed(&format!("due {n}"), &format!("key {}", n % 3)));
        harness.put("mail", after(&format!("delayed {n}"), 1_000 + n));
        harness.put("mail", NewJob { priority: Some(n as u8), ..job("open") });
    }
    let leases = harness.reserve("mail", 4);
    harness.given(Command::Bury { leases: vec![leases[0]], reason: None });
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let command = Command::Peek { queue: queue("mail"), state: None, key: None, after, jobs_max: 4 };
        let page = harness.jobs(command);
        let Some(last) = page.last() else { break };
        after = Some(last.job);
        seen.extend(page);
    }
    let count = |state| seen.iter().filter(|view| view.state == state).count();
    assert_eq!(count(JobState::Due), 16);
    assert_eq!(count(JobState::Reserved), 3);
    assert_eq!(count(JobState::Delayed), 10);
    assert_eq!(count(JobState::Buried), 1);
    let command = Command::Peek {
        queue: queue("mail"),
        state: Some(JobState::Delayed),
        key: None,
        after: None,
        jobs_max: 3,
    };
    let delayed: Vec<_> = harness.jobs(command).into_iter().map(|view| harness.read(view.payload)).collect();
    assert_eq!(delayed, ["delayed 0", "delayed 1", "delayed 2"]);
    let of_key = Command::Peek {
        queue: queue("mail"),
        state: None,
        key: Some(key("key 1")),
        after: None,
        jobs_max: 100,
    };
    assert_eq!(harness.jobs(of_key).len(), 3);
}
