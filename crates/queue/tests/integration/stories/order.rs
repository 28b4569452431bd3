//! Who is handed out when: priorities, keys, fair shares, limits.
//!
//! And what becomes of that when the clock leaps or is set back.

use std::collections::HashMap;

use stadium_queue::{Command, Given, JobState, Limit, NewJob, QueueSettings, Retry};

use crate::desk::{Desk, after, job, key, keyed, queue};

#[test]
fn higher_priorities_go_first_and_equal_ones_in_order() {
    let mut desk = Desk::new();
    for (payload, priority) in [("a", 1), ("b", 9), ("c", 4), ("d", 9), ("e", 0)] {
        desk.put("mail", NewJob { priority: Some(priority), ..job(payload) });
    }
    desk.put("mail", job("f"));
    assert_eq!(desk.work("mail", 10), ["b", "d", "c", "f", "a", "e"]);
}

#[test]
fn delayed_jobs_stand_in_line_from_when_they_are_due() {
    let mut desk = Desk::new();
    desk.put("mail", after("third", 300));
    desk.put("mail", after("first", 100));
    desk.put("mail", after("second", 200));
    desk.put("mail", after("second too", 200));
    desk.pass(250);
    desk.put("mail", job("between"));
    desk.pass(100);
    assert_eq!(desk.work("mail", 10), ["first", "second", "second too", "between", "third"]);
}

#[test]
fn jobs_of_a_key_run_one_after_another() {
    let mut desk = Desk::new();
    for payload in ["one", "two", "three"] {
        desk.put("mail", keyed(payload, "alice"));
    }
    let first = desk.reserve("mail", 10);
    assert_eq!(first.len(), 1, "the others wait for the first");
    desk.settle_all(first);
    assert_eq!(desk.work("mail", 10), ["two"]);
}

#[test]
fn a_key_waits_for_a_retry_and_passes_over_a_buried_job() {
    let mut desk = Desk::new();
    for payload in ["one", "two", "three"] {
        desk.put("mail", keyed(payload, "alice"));
    }
    let first = desk.reserve("mail", 1)[0];
    assert_eq!(desk.release(first, Retry::After(5_000)), Ok(Given::Done));
    assert_eq!(desk.reserve("mail", 10), [], "two waits for one's retry");
    desk.crash();
    assert_eq!(desk.reserve("mail", 10), [], "after a crash too");
    desk.pass(5_000);
    desk.crash();
    let reserved = desk.try_reserve("mail", 10).unwrap();
    assert_eq!(desk.read(reserved[0].payload), "one", "it is before the others again");
    desk.given(Command::Bury { leases: vec![reserved[0].lease], reason: None });
    assert_eq!(desk.work("mail", 10), ["two"]);
}

#[test]
fn within_a_key_order_is_before_priority_and_the_first_job_speaks_for_its_key() {
    let mut desk = Desk::new();
    desk.put("mail", NewJob { priority: Some(1), ..keyed("low", "alice") });
    desk.put("mail", NewJob { priority: Some(9), ..keyed("high", "alice") });
    desk.put("mail", NewJob { priority: Some(5), ..keyed("middle", "bob") });
    assert_eq!(desk.work("mail", 10), ["middle", "low"]);
}

#[test]
fn keys_get_fair_shares_however_much_one_of_them_puts() {
    let mut desk = Desk::new();
    for n in 0..100 {
        desk.put("mail", keyed(&format!("flood {n}"), "flood"));
        desk.put("mail", job("without a key"));
    }
    for name in ["alice", "bob"] {
        for _ in 0..5 {
            desk.put("mail", keyed(name, name));
        }
    }
    let mut served: HashMap<String, usize> = HashMap::new();
    for _ in 0..20 {
        let reserved = desk.try_reserve("mail", 1).unwrap().remove(0);
        let name = reserved.key.map_or("none".to_owned(), |key| key.to_string());
        *served.entry(name).or_default() += 1;
        desk.settle_all(vec![reserved.lease]);
    }
    assert_eq!(served, ["flood", "none", "alice", "bob"].map(|name| (name.to_owned(), 5)).into());
}

#[test]
fn a_queue_hands_out_as_many_as_its_limit_says() {
    let mut desk = Desk::new();
    let limit = Some(Limit { rate: 10.0, burst: 5 });
    desk.declare("mail", QueueSettings { limit, ..QueueSettings::default() });
    desk.try_put("mail", vec![job("sms"); 100]).unwrap();
    assert_eq!(desk.reserve("mail", 100).len(), 5, "the burst");
    let mut ready = Vec::new();
    desk.queues.take_ready(&mut ready);
    let mut handed_out = 0;
    for _ in 0..20 {
        desk.pass(50);
        handed_out += desk.reserve("mail", 100).len();
    }
    assert_eq!(handed_out, 10, "ten in a second");
}

#[test]
fn consumers_are_told_when_a_token_is_there() {
    let mut desk = Desk::new();
    let limit = Some(Limit { rate: 1.0, burst: 1 });
    desk.declare("mail", QueueSettings { key_limit: limit, ..QueueSettings::default() });
    for name in ["alice", "alice", "bob"] {
        desk.put("mail", keyed(name, name));
    }
    let leases = desk.reserve("mail", 10);
    assert_eq!(leases.len(), 2, "one for each key");
    desk.settle_all(leases);
    assert_eq!(desk.reserve("mail", 10), []);
    desk.queues.take_ready(&mut Vec::new());
    let mut ready = Vec::new();
    for _ in 0..1_000 {
        desk.pass(1);
        desk.queues.take_ready(&mut ready);
    }
    assert_eq!(ready, [queue("mail")]);
    assert_eq!(desk.work("mail", 10), ["alice"]);
}

#[test]
fn a_key_limit_holds_for_a_key_whose_jobs_come_one_by_one() {
    let mut desk = Desk::new();
    let limit = Some(Limit { rate: 1.0, burst: 1 });
    desk.declare("mail", QueueSettings { key_limit: limit, ..QueueSettings::default() });
    let mut handed_out = 0;
    for _ in 0..100 {
        desk.put("mail", keyed("sms", "alice"));
        let leases = desk.reserve("mail", 10);
        handed_out += leases.len();
        if !leases.is_empty() {
            desk.settle_all(leases);
        }
        desk.pass(100);
    }
    assert_eq!(handed_out, 10, "one a second");
}

#[test]
fn a_clock_that_is_set_back_keeps_the_order_of_a_key_and_loses_nothing() {
    let mut desk = Desk::new();
    desk.put("mail", keyed("one", "alice"));
    desk.put("mail", after("later", 10_000));
    desk.now.0 -= 3_600_000;
    desk.put("mail", keyed("two", "alice"));
    desk.put("mail", after("soon", 1_000));
    desk.pass(1_000);
    desk.crash();
    let reserved = desk.try_reserve("mail", 10).unwrap();
    let mut seen: Vec<_> = reserved.iter().map(|reserved| desk.read(reserved.payload)).collect();
    seen.sort();
    assert_eq!(seen, ["one", "soon"], "an hour back, delays count from the new time");
    desk.settle_all(reserved.into_iter().map(|reserved| reserved.lease).collect());
    assert_eq!(desk.work("mail", 10), ["two"]);
    desk.pass(3_609_000);
    assert_eq!(desk.stats("mail").due, 1);
}

#[test]
fn a_clock_that_leaps_a_year_brings_everything() {
    let mut desk = Desk::new();
    desk.put("mail", after("later", 10_000));
    desk.put("mail", job("held"));
    let lease = desk.reserve("mail", 1)[0];
    desk.pass(365 * 24 * 3_600_000);
    assert_eq!(desk.work("mail", 10), ["later"]);
    desk.pass(1_000);
    assert_eq!(desk.work("mail", 10), ["held"]);
    assert_eq!(desk.settle(lease).unwrap_err().code(), "QUE-022");
}

#[test]
fn what_was_due_long_before_a_leap_of_the_clock_is_due() {
    let mut desk = Desk::new();
    desk.put("mail", after("later", 1));
    // More than half of the wheel's 2^32 ticks: what is so far behind looks as if it were ahead.
    desk.pass(3_000_000_000);
    assert_eq!(desk.work("mail", 1), ["later"]);
}

#[test]
fn a_consumer_of_a_limited_queue_is_not_called_before_there_is_a_token() {
    let mut desk = Desk::new();
    let limit = Some(Limit { rate: 1.0, burst: 1 });
    desk.declare("mail", QueueSettings { limit, ..QueueSettings::default() });
    desk.try_put("mail", vec![job("sms"); 3]).unwrap();
    desk.reserve("mail", 10);
    let mut ready = Vec::new();
    desk.queues.take_ready(&mut ready);
    ready.clear();
    assert_eq!(desk.reserve("mail", 10), []);
    desk.queues.take_ready(&mut ready);
    assert!(ready.is_empty(), "asking again at once finds nothing");
    desk.pass(1_000);
    desk.queues.take_ready(&mut ready);
    assert_eq!(ready, [queue("mail")]);
}

#[test]
fn a_clock_that_stands_still_for_a_moment_delays_no_end() {
    let mut desk = Desk::new();
    let start = desk.now;
    // Given a lease and a time to live of 30 s each.
    desk.put("mail", job("sms"));
    desk.reserve("mail", 1);
    desk.put("other", NewJob { time_to_live: Some(30_000), ..after("short-lived", 90_000) });
    // When a put beside transfers has the time of the wallets, which is half a second ahead of the clock.
    desk.now = start.after(30_400);
    desk.put("third", job("beside transfers"));
    desk.now = start.after(29_900);
    desk.put("third", job("by the clock"));
    assert!(!desk.queues.is_ahead_of(desk.now), "a step back of 500 ms is none");
    // Then both end when the clock shows their time.
    assert_eq!(desk.queues.next_deadline(), Some(start.after(30_000)));
    desk.now = start.after(30_000);
    desk.tick();
    assert_eq!(desk.stats("mail").retried, 1);
    assert_eq!(desk.stats("other").delayed, 0);
    assert!(desk.queues.next_deadline().is_none_or(|deadline| deadline > desk.now), "nothing is left over");
}

#[test]
fn a_lease_ends_by_a_clock_that_was_set_back_weeks() {
    let mut desk = Desk::new();
    desk.put("mail", job("sms"));
    desk.reserve("mail", 1);
    desk.now.0 -= 20 * 24 * 3_600_000;
    desk.tick();
    for _ in 0..20 {
        desk.pass(24 * 3_600_000);
    }
    desk.pass(31_000);
    assert_eq!(desk.stats("mail").retried, 1);
}

#[test]
fn a_peek_pages_through_every_state_without_touching_a_job() {
    let mut desk = Desk::new();
    for n in 0..10 {
        desk.put("mail", keyed(&format!("due {n}"), &format!("key {}", n % 3)));
        desk.put("mail", after(&format!("delayed {n}"), 1_000 + n));
        desk.put("mail", NewJob { priority: Some(n as u8), ..job("open") });
    }
    let leases = desk.reserve("mail", 4);
    desk.given(Command::Bury { leases: vec![leases[0]], reason: None });
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let command = Command::Peek { queue: queue("mail"), state: None, key: None, after, jobs_max: 4 };
        let page = desk.jobs(command);
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
    let delayed: Vec<_> = desk.jobs(command).into_iter().map(|view| desk.read(view.payload)).collect();
    assert_eq!(delayed, ["delayed 0", "delayed 1", "delayed 2"]);
    let of_key = Command::Peek {
        queue: queue("mail"),
        state: None,
        key: Some(key("key 1")),
        after: None,
        jobs_max: 100,
    };
    assert_eq!(desk.jobs(of_key).len(), 3);
}
