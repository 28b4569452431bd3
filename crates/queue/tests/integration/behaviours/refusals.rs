//! What is refused, and with which code.
//!
//! Nothing happens then: the harness checks that no event was written.

use stadium_queue::{
    Backoff, Bounds, CODES, Command, Cron, Dedup, Edit, JobId, JobSet, Lease, Limit, Missed, NewJob, Place,
    QueueSettings, Refusal, Retry, Time, When,
};

use crate::harness::{Harness, job, key, keyed, queue};

fn put(new: NewJob) -> Command {
    Command::Put { queue: queue("mail"), jobs: vec![new], principal: None }
}

fn reserve(jobs_max: u32, lease: Option<u64>, wait: u64) -> Command {
    Command::Reserve { queue: queue("mail"), jobs_max, lease, wait, worker: None }
}

fn declare(settings: QueueSettings) -> Command {
    Command::Declare { queue: queue("mail"), settings }
}

fn schedule(expression: &str, time_zone: &str) -> Command {
    let cron = Cron { expression: expression.into(), time_zone: time_zone.into(), missed: Missed::Once };
    Command::Schedule {
        queue: queue("mail"),
        name: key("nightly"),
        cron: Box::new(cron),
        job: job("go"),
        principal: None,
    }
}

#[test]
fn commands_out_of_bounds_are_rejected_with_their_code() {
    let mut harness = Harness::new();
    let far = Bounds::SPAN_MAX + 1;
    let default = QueueSettings::default();
    let lease = Lease { job: JobId::new(0, 99), reservation: 1 };
    let release = |retry, error: Option<String>| Command::Release { leases: vec![lease], retry, error };
    let long = "x".repeat(1_025);
    let cases = [
        ("QUE-001", Command::Put { queue: queue("mail"), jobs: vec![], principal: None }),
        ("QUE-001", Command::Put { queue: queue("mail"), jobs: vec![job(""); 1_001], principal: None }),
        ("QUE-001", reserve(0, None, 0)),
        ("QUE-001", reserve(1_001, None, 0)),
        ("QUE-001", Command::Settle { leases: vec![] }),
        ("QUE-001", Command::Delete { jobs: vec![] }),
        ("QUE-002", put(NewJob { priority: Some(10), ..job("") })),
        ("QUE-003", put(NewJob { when: When::After(far), ..job("") })),
        ("QUE-003", put(NewJob { when: When::At(Time(u64::MAX)), ..job("") })),
        ("QUE-003", release(Retry::After(far), None)),
        ("QUE-004", put(NewJob { payload: vec![0; (1 << 20) + 1].into(), ..NewJob::default() })),
        ("QUE-005", put(NewJob { time_to_live: Some(0), ..job("") })),
        ("QUE-005", put(NewJob { time_to_live: Some(far), ..job("") })),
        ("QUE-006", put(NewJob { dedup: Some(Dedup { id: key("id"), window: Some(0) }), ..job("") })),
        ("QUE-007", put(NewJob { attempts_max: Some(0), ..job("") })),
        ("QUE-007", put(NewJob { attempts_max: Some(1_001), ..job("") })),
        ("QUE-008", reserve(1, Some(999), 0)),
        ("QUE-008", reserve(1, Some(12 * 3_600_000 + 1), 0)),
        ("QUE-008", Command::Extend { leases: vec![lease], lease: 0 }),
        ("QUE-009", release(Retry::Backoff, Some(long.clone()))),
        ("QUE-009", Command::Bury { leases: vec![lease], reason: Some(long) }),
        ("QUE-010", declare(QueueSettings { lease: 1, ..default.clone() })),
        ("QUE-010", declare(QueueSettings { attempts_max: 0, ..default.clone() })),
        ("QUE-010", declare(QueueSettings { jobs_max: 0, ..default.clone() })),
        (
            "QUE-010",
            declare(QueueSettings {
                backoff: Backoff { factor: f32::NAN, ..Backoff::default() },
                ..default.clone()
            }),
        ),
        ("QUE-010", declare(QueueSettings { limit: Some(Limit { rate: 0.0, burst: 1 }), ..default.clone() })),
        ("QUE-010", declare(QueueSettings { key_limit: Some(Limit { rate: 1.0, burst: 0 }), ..default })),
        ("QUE-011", schedule("every day", "UTC")),
        ("QUE-011", schedule("0 0 30 2 *", "UTC")),
        ("QUE-011", schedule(&"*".repeat(257), "UTC")),
        ("QUE-012", schedule("0 0 * * *", "Mars/Olympus")),
        ("QUE-013", Command::Put { queue: queue("mail"), jobs: vec![big(); 17], principal: None }),
        ("QUE-014", reserve(1, None, 3_600_001)),
        ("QUE-020", Command::Stats { queue: queue("mail") }),
        ("QUE-020", Command::Pause { queue: queue("mail") }),
        ("QUE-020", Command::Kick { queue: queue("mail"), jobs: JobSet::Oldest(1) }),
        ("QUE-021", Command::Find { job: JobId::new(0, 7) }),
        ("QUE-021", Command::Find { job: JobId::new(5, 1) }),
        ("QUE-021", Command::Edit { job: JobId::new(0, 7), edit: Edit::default() }),
        ("QUE-028", Command::History { job: JobId::new(0, 7) }),
    ];
    for (code, command) in cases {
        let what = format!("{command:?}");
        let what: String = what.chars().take(200).collect();
        match harness.ask(command) {
            Err(refusal @ Refusal::Rejected { .. }) => {
                assert_eq!(refusal.code(), code, "{what}");
                assert!(CODES.iter().any(|(of, _)| *of == code), "{code} is in the list");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    assert_eq!(harness.records.len(), 0);
}

fn big() -> NewJob {
    NewJob { payload: vec![7; 1 << 20].into(), ..NewJob::default() }
}

#[test]
fn an_unknown_or_foreign_lease_is_refused_job_by_job() {
    let mut harness = Harness::new();
    harness.put("mail", job("one"));
    let lease = harness.reserve("mail", 1)[0];
    let other = Lease { reservation: lease.reservation + 1, ..lease };
    let unknown = Lease { job: JobId::new(0, 99), reservation: 1 };
    let elsewhere = Lease { job: JobId::new(3, 1), reservation: 1 };
    let given = harness.given(Command::Settle { leases: vec![other, unknown, elsewhere, lease] });
    let codes: Vec<_> = given.iter().map(|outcome| outcome.as_ref().map_err(Refusal::code)).collect();
    assert_eq!(codes[..3], [Err("QUE-022"), Err("QUE-021"), Err("QUE-021")]);
    assert!(codes[3].is_ok());
}

#[test]
fn a_missing_schedule_and_a_queue_that_holds_jobs_are_refused() {
    let mut harness = Harness::new();
    harness.put("mail", job("one"));
    let unschedule = Command::Unschedule { queue: queue("mail"), name: key("nightly") };
    assert_eq!(harness.ask(unschedule).unwrap_err().code(), "QUE-026");
    let settings = QueueSettings { spread: stadium_queue::Spread::AllShards, ..QueueSettings::default() };
    assert_eq!(harness.ask(declare(settings)).unwrap_err().code(), "QUE-027");
}

#[test]
fn a_full_queue_is_busy_and_has_room_again_later() {
    let bounds = Bounds {
        jobs_max: 12,
        queues_max: 2,
        dedups_max: 2,
        schedules_max: 1,
        finished_max: 3,
        ..Bounds::default()
    };
    let mut harness = Harness::with(bounds, Place { shard: 0, shards: 1, hash_seed: 1 });
    harness.declare("mail", QueueSettings { jobs_max: 10, ..QueueSettings::default() });
    harness.try_put("mail", vec![job("x"); 10]).unwrap();
    let busy = |refusal: Result<_, Refusal>| match refusal {
        Err(Refusal::Busy { code, retry_after, .. }) => {
            assert!(retry_after > 0);
            code
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(busy(harness.try_put("mail", vec![job("x")])), "QUE-040");
    assert_eq!(busy(harness.try_put("other", vec![job("x"); 3])), "QUE-041");
    harness.put("other", job("x"));
    assert_eq!(busy(harness.try_put("third", vec![job("x")])), "QUE-042");
    let lease = harness.reserve("mail", 5);
    harness.settle_all(lease);
    let once = |id| NewJob { dedup: Some(Dedup { id: key(id), window: None }), ..job("x") };
    harness.try_put("mail", vec![once("a"), once("b")]).unwrap();
    assert_eq!(busy(harness.try_put("mail", vec![once("c")])), "QUE-043");
    assert!(harness.try_put("mail", vec![once("a")]).unwrap()[0].duplicate, "a known job needs no room");
    harness.done(schedule("* * * * *", "UTC"));
    let cron = Cron { expression: "* * * * *".into(), time_zone: "UTC".into(), missed: Missed::Once };
    let second = Command::Schedule {
        queue: queue("mail"),
        name: key("second"),
        cron: Box::new(cron),
        job: job("go"),
        principal: None,
    };
    assert_eq!(busy(harness.ask(second).map(|_| vec![])), "QUE-044");
    harness.done(schedule("@hourly", "UTC"));
}

#[test]
fn a_million_keys_and_queues_that_come_and_go_leave_no_memory_behind() {
    let mut harness = Harness::with(
        Bounds { queues_max: 10, ..Bounds::default() },
        Place { shard: 0, shards: 1, hash_seed: 1 },
    );
    let mut bytes = 0;
    for round in 0..50 {
        let jobs: Vec<_> = (0..1_000).map(|n| keyed("x", &format!("{round} {n}"))).collect();
        let name = format!("queue-{}", round % 20);
        let placed = harness.try_put(&name, jobs).unwrap();
        harness.given(Command::Delete { jobs: placed.into_iter().map(|placed| placed.job).collect() });
        harness.done(Command::Drop { queue: queue(&name) });
        harness.records.clear();
        if round == 10 {
            bytes = harness.queues.bytes();
        }
    }
    // The finished ones are remembered, up to their bound; nothing else grows.
    let grown = harness.queues.bytes() - bytes;
    assert!(grown < 40 * 1_000 * 80, "{grown} bytes more after 40,000 more jobs");
}
