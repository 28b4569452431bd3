//! The life of a job: put, reserved, and then settled, released, buried, dead, kicked, redriven,
//! forwarded.
//!
//! Many a test crashes on the way: no answer may depend on state that only memory had.

use stadium_queue::{
    Answer, Attempt, Backoff, Command, DeadLetter, Edit, Given, JobSet, JobState, Limit, NewJob,
    QueueSettings, Retry, Spread, When,
};
use stadium_state_machine::Checkpointed as _;

use crate::harness::{Harness, after, checkpoint, job, keyed, queue, restored};

#[test]
fn a_job_is_put_reserved_and_settled() {
    let mut harness = Harness::new();
    let id = harness.put("mail", job("hello"));
    let reserved = harness.try_reserve("mail", 10).unwrap().remove(0);
    assert_eq!((reserved.lease.job, reserved.attempt), (id, 1));
    assert_eq!(harness.read(reserved.payload), "hello");
    assert_eq!(harness.reserve("mail", 10), [], "nobody else gets it");
    assert_eq!(harness.settle(reserved.lease), Ok(Given::Done));
    assert_eq!(harness.queues.jobs(), 0);
    let stats = harness.stats("mail");
    assert_eq!((stats.put, stats.handed_out, stats.settled), (1, 1, 1));
}

#[test]
fn settling_twice_is_answered_so_even_after_a_crash() {
    let mut harness = Harness::new();
    harness.put("mail", job("hello"));
    let lease = harness.reserve("mail", 1)[0];
    assert_eq!(harness.settle(lease), Ok(Given::Done));
    assert_eq!(harness.settle(lease), Ok(Given::Already));
    harness.crash();
    assert_eq!(harness.settle(lease), Ok(Given::Already));
}

#[test]
fn a_delayed_job_is_due_in_its_millisecond() {
    let mut harness = Harness::new();
    harness.put("mail", after("later", 5_000));
    harness.pass(4_999);
    assert_eq!(harness.reserve("mail", 1), []);
    assert_eq!(harness.queues.next_deadline(), Some(harness.now.after(1)));
    harness.pass(1);
    assert_eq!(harness.work("mail", 1), ["later"]);
}

#[test]
fn a_job_that_is_due_in_a_year_waits_for_it() {
    let mut harness = Harness::new();
    let year = 365 * 24 * 3_600_000;
    harness.put("mail", after("next year", year));
    for _ in 0..364 {
        harness.pass(24 * 3_600_000);
        assert_eq!(harness.reserve("mail", 1), []);
    }
    harness.pass(24 * 3_600_000);
    assert_eq!(harness.work("mail", 1), ["next year"]);
}

#[test]
fn a_lease_that_ends_gives_the_job_to_another_worker() {
    let mut harness = Harness::new();
    harness.put("mail", job("hello"));
    let lost = harness.reserve("mail", 1)[0];
    harness.pass(30_000);
    assert_eq!(harness.stats("mail").retried, 1);
    harness.pass(1_000);
    let reserved = harness.try_reserve("mail", 1).unwrap().remove(0);
    assert_eq!(reserved.attempt, 2);
    assert_eq!(harness.settle(lost).unwrap_err().code(), "QUE-022");
    assert_eq!(harness.settle(reserved.lease), Ok(Given::Done));
}

#[test]
fn an_extended_lease_ends_later() {
    let mut harness = Harness::new();
    harness.put("mail", job("hello"));
    let lease = harness.reserve("mail", 1)[0];
    harness.pass(29_000);
    let given = harness.given(Command::Extend { leases: vec![lease], lease: 60_000 });
    assert_eq!(given, [Ok(Given::Done)]);
    harness.pass(59_000);
    assert_eq!(harness.settle(lease), Ok(Given::Done));
}

#[test]
fn a_released_job_comes_back_after_the_back_off_and_dies_after_its_last_attempt() {
    let mut harness = Harness::new();
    let backoff = Backoff { first: 1_000, factor: 2.0, max: 10_000, jitter: 0.0 };
    harness.declare("mail", QueueSettings { attempts_max: 3, backoff, ..QueueSettings::default() });
    let id = harness.put("mail", job("hello"));
    for (attempt, delay) in [(1, 1_000), (2, 2_000)] {
        let reserved = harness.try_reserve("mail", 1).unwrap().remove(0);
        assert_eq!(reserved.attempt, attempt);
        assert_eq!(harness.release(reserved.lease, Retry::Backoff), Ok(Given::Done));
        harness.pass(delay - 1);
        assert_eq!(harness.reserve("mail", 1), []);
        harness.pass(1);
    }
    let lease = harness.reserve("mail", 1)[0];
    assert_eq!(harness.release(lease, Retry::Backoff), Ok(Given::Dead));
    let view = harness.find(id);
    assert_eq!((view.state, view.reason.as_deref()), (JobState::Dead, Some("it did not work")));
    // Redriven it begins anew.
    let count = harness.count(Command::Redrive { queue: queue("mail"), jobs: JobSet::Oldest(10), to: None });
    assert_eq!(count, 1);
    assert_eq!(harness.try_reserve("mail", 1).unwrap()[0].attempt, 1);
}

#[test]
fn an_attempt_that_never_began_does_not_count() {
    let mut harness = Harness::new();
    harness.put("mail", NewJob { attempts_max: Some(1), ..job("hello") });
    for _ in 0..5 {
        let reserved = harness.try_reserve("mail", 1).unwrap().remove(0);
        assert_eq!(reserved.attempt, 1);
        assert_eq!(harness.release(reserved.lease, Retry::NotTried(0)), Ok(Given::Done));
    }
    let lease = harness.reserve("mail", 1)[0];
    assert_eq!(harness.release(lease, Retry::After(0)), Ok(Given::Dead));
}

#[test]
fn dead_jobs_go_where_their_queue_sends_them() {
    let mut harness = Harness::new();
    for (name, dead_letter) in [
        ("keep", DeadLetter::Keep),
        ("move", DeadLetter::Queue(queue("dead"))),
        ("drop", DeadLetter::Discard),
    ] {
        harness.declare(name, QueueSettings { attempts_max: 1, dead_letter, ..QueueSettings::default() });
        harness.put(name, job(name));
        let lease = harness.reserve(name, 1)[0];
        assert_eq!(harness.release(lease, Retry::Backoff), Ok(Given::Dead));
    }
    assert_eq!(
        (harness.stats("keep").dead, harness.stats("move").dead, harness.stats("drop").dead),
        (1, 0, 0)
    );
    assert_eq!(harness.work("dead", 10), ["move"]);
    assert_eq!(harness.queues.jobs(), 2);
}

#[test]
fn a_dead_job_is_gone_after_its_time() {
    let mut harness = Harness::new();
    let settings = QueueSettings { attempts_max: 1, dead_time_to_live: 5_000, ..QueueSettings::default() };
    harness.declare("mail", settings);
    harness.put("mail", job("hello"));
    let lease = harness.reserve("mail", 1)[0];
    assert_eq!(harness.release(lease, Retry::Backoff), Ok(Given::Dead));
    harness.crash();
    harness.pass(4_999);
    assert_eq!(harness.stats("mail").dead, 1);
    harness.pass(1);
    assert_eq!(harness.queues.jobs(), 0);
}

#[test]
fn a_buried_job_stays_until_it_is_kicked() {
    let mut harness = Harness::new();
    let id = harness.put("mail", job("hello"));
    let lease = harness.reserve("mail", 1)[0];
    let reason = Some("look at me".to_owned());
    assert_eq!(harness.given(Command::Bury { leases: vec![lease], reason }), [Ok(Given::Done)]);
    harness.pass(1_000_000);
    assert_eq!(harness.find(id).reason.as_deref(), Some("look at me"));
    assert_eq!(harness.count(Command::Kick { queue: queue("mail"), jobs: JobSet::Ids(vec![id, id]) }), 1);
    assert_eq!(harness.work("mail", 10), ["hello"]);
}

#[test]
fn a_time_to_live_ends_a_job_that_nobody_settled() {
    let mut harness = Harness::new();
    let mortal = |payload| NewJob { time_to_live: Some(10_000), ..job(payload) };
    harness.put("mail", mortal("waits"));
    harness.put("mail", NewJob { when: When::After(20_000), ..mortal("is never due") });
    harness.put("held", mortal("is worked on"));
    let lease = harness.reserve("held", 1)[0];
    harness.pass(10_000);
    assert_eq!(harness.stats("mail").due + harness.stats("mail").delayed, 0);
    assert_eq!(harness.settle(lease), Ok(Given::Done), "its worker may finish it");
}

#[test]
fn a_job_whose_time_is_over_goes_when_it_is_released() {
    let mut harness = Harness::new();
    harness.put("mail", NewJob { time_to_live: Some(10_000), ..job("mortal") });
    let lease = harness.reserve("mail", 1)[0];
    harness.pass(11_000);
    assert_eq!(harness.release(lease, Retry::After(0)), Ok(Given::Done));
    harness.pass(1);
    assert_eq!(harness.queues.jobs(), 0);
}

#[test]
fn a_job_whose_time_ended_while_it_was_reserved_is_not_seen_until_its_retry() {
    let mut harness = Harness::new();
    for how in ["released", "lapsed", "restarted"] {
        harness.put("mail", NewJob { time_to_live: Some(10_000), ..job("mortal") });
        let lease = harness.reserve("mail", 1)[0];
        harness.pass(11_000);
        match how {
            "lapsed" => harness.pass(60_000),
            _ => assert_eq!(harness.release(lease, Retry::After(500_000)), Ok(Given::Done)),
        }
        if how == "restarted" {
            harness.crash();
        }
        harness.pass(1);
        assert_eq!(harness.queues.jobs(), 0, "{how}");
    }
}

#[test]
fn a_job_is_never_edited_to_fewer_attempts_than_it_had() {
    let mut harness = Harness::new();
    let id = harness.put("mail", job("hello"));
    let fewer = |most| Command::Edit { job: id, edit: Edit { attempts_max: Some(most), ..Edit::default() } };
    let lease = harness.reserve("mail", 1)[0];
    assert_eq!(harness.release(lease, Retry::After(0)), Ok(Given::Done));
    harness.pass(1);
    let refused = harness.ask(fewer(1));
    assert_eq!(refused.unwrap_err().code(), "QUE-023", "it would have attempt 2 of 1");
    harness.done(fewer(2));
    let lease = harness.reserve("mail", 1)[0];
    assert_eq!(harness.release(lease, Retry::After(0)), Ok(Given::Dead), "that was its last attempt");
    harness.done(fewer(1));
    let ids = JobSet::Ids(vec![id]);
    assert_eq!(harness.count(Command::Redrive { queue: queue("mail"), jobs: ids, to: None }), 1);
    assert_eq!(harness.work("mail", 10), ["hello"], "attempts begin anew");
}

#[test]
fn an_edited_job_is_what_it_was_edited_to() {
    let mut harness = Harness::new();
    let id = harness.put("mail", after("old", 1_000));
    let edit = Edit {
        payload: Some("new".into()),
        when: Some(When::After(9_000)),
        priority: Some(9),
        time_to_live: Some(50_000),
        attempts_max: Some(2),
    };
    harness.done(Command::Edit { job: id, edit });
    harness.crash();
    let view = harness.find(id);
    assert_eq!((view.priority, view.attempts_max, view.due), (9, 2, harness.now.after(9_000)));
    assert_eq!(view.expires, Some(harness.now.after(50_000)));
    assert_eq!(harness.read(view.payload), "new");
    harness.pass(8_999);
    assert_eq!(harness.reserve("mail", 1), []);
    harness.pass(1);
    let lease = harness.reserve("mail", 1)[0];
    let refused = harness.ask(Command::Edit { job: id, edit: Edit { priority: Some(1), ..Edit::default() } });
    assert_eq!(refused.unwrap_err().code(), "QUE-023", "not while somebody works on it");
    assert_eq!(harness.settle(lease), Ok(Given::Done));
}

#[test]
fn a_deleted_job_is_gone_and_its_lease_lost() {
    let mut harness = Harness::new();
    let id = harness.put("mail", job("hello"));
    let lease = harness.reserve("mail", 1)[0];
    assert_eq!(harness.given(Command::Delete { jobs: vec![id] }), [Ok(Given::Done)]);
    assert_eq!(harness.given(Command::Delete { jobs: vec![id] }), [Ok(Given::Already)]);
    assert_eq!(harness.settle(lease).unwrap_err().code(), "QUE-022");
}

#[test]
fn a_forwarded_job_is_in_exactly_one_queue_and_forwarding_twice_names_it() {
    let mut harness = Harness::new();
    harness.put("incoming", keyed("sms", "alice"));
    let lease = harness.reserve("incoming", 1)[0];
    let forward = Command::Forward { lease, queue: queue("router"), job: NewJob::default(), principal: None };
    let Answer::Placed(first) = harness.ask(forward.clone()).unwrap() else { panic!() };
    assert_eq!((harness.stats("incoming").settled, harness.stats("router").due), (1, 1));
    harness.crash();
    let Answer::Placed(second) = harness.ask(forward).unwrap() else { panic!() };
    assert_eq!((first[0].job, first[0].duplicate), (second[0].job, false));
    assert!(second[0].duplicate);
    assert_eq!(harness.work("router", 10), ["sms"], "an empty payload is the one it had");
    assert_eq!(harness.queues.jobs(), 1);
}

#[test]
fn a_paused_queue_takes_jobs_and_gives_none() {
    let mut harness = Harness::new();
    harness.put("mail", job("one"));
    harness.done(Command::Pause { queue: queue("mail") });
    harness.put("mail", job("two"));
    harness.crash();
    assert_eq!(harness.reserve("mail", 10), []);
    let mut ready = Vec::new();
    harness.queues.take_ready(&mut ready);
    assert!(ready.is_empty());
    harness.done(Command::Resume { queue: queue("mail") });
    harness.queues.take_ready(&mut ready);
    assert_eq!(ready, [queue("mail")]);
    assert_eq!(harness.work("mail", 10), ["one", "two"]);
}

#[test]
fn a_purge_takes_out_what_there_was_and_nothing_that_comes_after() {
    let mut harness = Harness::new();
    for batch in 0..30 {
        let jobs = (0..1_000).map(|n| if n % 2 == 0 { job("due") } else { after("delayed", 60_000) });
        harness.try_put(if batch % 3 == 0 { "other" } else { "mail" }, jobs.collect()).unwrap();
    }
    let held = harness.reserve("mail", 5);
    assert_eq!(harness.count(Command::Purge { queue: queue("mail"), state: None }), 19_995);
    harness.put("mail", job("new"));
    assert!(harness.queues.jobs() > 10_000, "not all of it is gone at once");
    assert_eq!(harness.reserve("mail", 10), [], "but none of it is handed out");
    harness.tick();
    assert_eq!(harness.work("mail", 10), ["new"]);
    harness.crash();
    let stats = harness.stats("mail");
    assert_eq!((stats.due, stats.delayed, stats.reserved), (0, 0, 6));
    assert_eq!(harness.stats("other").due + harness.stats("other").delayed, 10_000);
    harness.settle_all(held);
    assert_eq!(harness.count(Command::Purge { queue: queue("mail"), state: Some(JobState::Reserved) }), 1);
}

#[test]
fn a_dropped_queue_is_gone_and_may_be_made_again() {
    let mut harness = Harness::new();
    harness.put("mail", job("hello"));
    assert_eq!(harness.ask(Command::Drop { queue: queue("mail") }).unwrap_err().code(), "QUE-025");
    let lease = harness.reserve("mail", 1)[0];
    harness.settle_all(vec![lease]);
    harness.done(Command::Drop { queue: queue("mail") });
    assert_eq!(harness.ask(Command::Stats { queue: queue("mail") }).unwrap_err().code(), "QUE-020");
    harness.put("mail", job("again"));
    harness.crash();
    assert_eq!(harness.work("mail", 1), ["again"]);
}

#[test]
fn a_history_lists_everything_newest_first() {
    let mut harness = Harness::new();
    harness.declare("mail", QueueSettings { attempts_max: 2, ..QueueSettings::default() });
    let id = harness.put("mail", job("hello"));
    let lease = harness.reserve("mail", 1)[0];
    assert_eq!(harness.release(lease, Retry::After(10)), Ok(Given::Done));
    harness.pass(10);
    let worker = Some(stadium_queue::WorkerName::new("bob").unwrap());
    let command = Command::Reserve { queue: queue("mail"), jobs_max: 1, lease: Some(5_000), wait: 0, worker };
    let Answer::Reserved(reserved) = harness.ask(command).unwrap() else { panic!() };
    harness.pass(5_000);
    harness.count(Command::Redrive {
        queue: queue("mail"),
        jobs: JobSet::Ids(vec![id]),
        to: Some(queue("second")),
    });
    let lease = harness.reserve("second", 1)[0];
    harness.settle_all(vec![lease]);
    let attempts: Vec<_> = harness.history(id).into_iter().map(|entry| entry.what).collect();
    assert!(matches!(&attempts[0], Attempt::Settled));
    assert!(matches!(&attempts[1], Attempt::Reserved { attempt: 1, worker: None, .. }));
    assert!(matches!(&attempts[2], Attempt::Revived { queue: to } if *to == queue("second")));
    assert!(matches!(&attempts[3], Attempt::Dead { reason } if reason.contains("lease")));
    assert!(matches!(&attempts[4], Attempt::Reserved { attempt: 2, worker: Some(bob), until }
        if bob.as_str() == "bob" && *until == reserved[0].until));
    assert!(
        matches!(&attempts[5], Attempt::Released { error: Some(error), .. } if error == "it did not work")
    );
    assert!(matches!(&attempts[6], Attempt::Reserved { attempt: 1, .. }));
    assert!(matches!(&attempts[7], Attempt::Put { .. }));
    assert_eq!(attempts.len(), 8);
}

#[test]
fn a_checkpoint_is_the_state_at_its_beginning() {
    let mut harness = Harness::new();
    for n in 0..2_000 {
        harness.put("mail", keyed(&format!("job {n}"), &format!("key {}", n % 7)));
        harness.put("mail", after(&format!("later {n}"), 1_000 + n));
    }
    let held = harness.reserve("mail", 5);
    harness.queues.checkpoint_begin();
    let records = harness.records.len();
    let mut chunks = Vec::new();
    loop {
        let mut chunk = Vec::new();
        let more = harness.queues.checkpoint_next(&mut chunk, 1_000);
        chunks.push(chunk);
        // It goes on meanwhile.
        harness.pass(1);
        for lease in harness.reserve("mail", 3) {
            harness.settle_all(vec![lease]);
        }
        if !more {
            break;
        }
    }
    let mut back = restored(harness.place, &harness.bounds, &chunks);
    assert_eq!(back.jobs(), 4_000);
    harness.replay_into(&mut back, records);
    assert_eq!(back.jobs(), harness.queues.jobs());
    harness.queues = back;
    harness.settle_all(held);
    harness.pass(10_000);
    let mut worked = 0;
    loop {
        let leases = harness.reserve("mail", 1_000);
        if leases.is_empty() {
            break;
        }
        worked += leases.len();
        harness.settle_all(leases);
    }
    assert_eq!(harness.queues.jobs(), 0, "{worked} were left");
    assert!(checkpoint(&mut harness.queues, 1 << 20).len() >= 8);
}

#[test]
fn settings_of_every_kind_are_the_same_after_a_replay_and_from_a_checkpoint() {
    let mut harness = Harness::new();
    let limit = |rate| Some(Limit { rate, burst: 3 });
    let settings = QueueSettings::default;
    let all = [
        ("plain", settings()),
        ("limited", QueueSettings { limit: limit(1.5), ..settings() }),
        ("key-limited", QueueSettings { key_limit: limit(2.5), ..settings() }),
        ("both-limited", QueueSettings { limit: limit(1.5), key_limit: limit(2.5), ..settings() }),
        ("discards", QueueSettings { dead_letter: DeadLetter::Discard, ..settings() }),
        ("buries", QueueSettings { dead_letter: DeadLetter::Queue(queue("plain")), ..settings() }),
        ("spread", QueueSettings { spread: Spread::AllShards, jobs_max: 9, lease: 5_000, ..settings() }),
    ];
    for (name, settings) in &all {
        harness.declare(name, settings.clone());
    }
    harness.done(Command::Pause { queue: queue("limited") });
    let chunks = checkpoint(&mut harness.queues, 1 << 20);
    let (place, bounds) = (harness.place, harness.bounds.clone());
    for queues in [harness.replayed(), restored(place, &bounds, &chunks)] {
        harness.queues = queues;
        for (name, settings) in &all {
            let stats = harness.stats(name);
            assert_eq!((&stats.settings, stats.paused), (settings, *name == "limited"), "{name}");
        }
    }
}
