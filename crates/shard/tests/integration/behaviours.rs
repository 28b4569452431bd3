//! Behaviours of shards on real files: what a caller sees, also over a restart.
//!
//! Each has a data directory of its own; the tests of crashes and full disks are in `core.rs`, on a
//! disk in memory.

use crate::fixture;

use std::collections::BTreeSet;
use std::time::Duration;

use fixture::{Data, key, named, of_text, put, queue, reserve, soon};
use stadium_queue::{
    Answer, Command, Given, JobId, JobState, Lease, NewJob, QueueSettings, Refusal, Retry, Spread, When,
};

#[test]
fn a_job_is_put_reserved_and_settled() {
    let data = Data::new(1);
    let shards = data.open();
    let placed = fixture::placed(&shards, put("mail", "hello"));
    let jobs = fixture::reserved(&shards, reserve("mail", 10));
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].lease.job, placed[0]);
    assert_eq!(&jobs[0].payload[..], b"hello");
    let settle = Command::Settle { leases: vec![jobs[0].lease] };
    assert_eq!(soon(&shards, settle.clone()), Ok(Answer::Given(vec![Ok(Given::Done)])));
    assert_eq!(soon(&shards, settle), Ok(Answer::Given(vec![Ok(Given::Already)])));
    data.stop(shards);
}

#[test]
fn acknowledged_jobs_are_there_after_a_restart() {
    for with_checkpoint in [false, true] {
        let data = Data::new(1);
        let shards = data.open();
        fixture::placed(&shards, put("mail", "first"));
        fixture::placed(&shards, put("mail", "second"));
        let jobs = fixture::reserved(&shards, reserve("mail", 1));
        if with_checkpoint {
            shards.checkpoint_soon();
            fixture::until("a checkpoint", || shards.metrics()[0].checkpoints > 0);
        }
        soon(&shards, Command::Settle { leases: vec![jobs[0].lease] }).expect("it is settled");
        fixture::placed(&shards, put("mail", "third"));
        data.stop(shards);

        let shards = data.open();
        let jobs = fixture::reserved(&shards, reserve("mail", 10));
        let payloads: Vec<_> = jobs.iter().map(|job| of_text(&job.payload)).collect();
        assert_eq!(payloads, ["second", "third"], "with a checkpoint in between: {with_checkpoint}");
        data.stop(shards);
    }
}

#[test]
fn a_stop_writes_a_checkpoint_from_which_the_next_start_recovers() {
    let data = Data::new(1);
    let shards = data.open();
    let tickets: Vec<_> =
        (0..500).map(|number| shards.submit(put("mail", &format!("job {number}")))).collect();
    for ticket in tickets {
        ticket.wait(fixture::LONG).expect("an answer").expect("placed");
    }
    data.stop(shards);
    let shards = data.open();
    let metrics = &shards.metrics()[0];
    assert_eq!((metrics.jobs, metrics.tail_records), (500, 0), "nothing is left to replay");
    assert!(metrics.checkpoint_bytes > 0);
    data.stop(shards);
}

#[test]
fn a_waiting_consumer_gets_what_is_put_later() {
    let data = Data::new(1);
    let shards = data.open();
    let ticket = shards.submit(fixture::wait_for("mail", 1, 30_000));
    fixture::until("the consumer waits", || shards.metrics()[0].waiting_consumers == 1);
    fixture::placed(&shards, put("mail", "at last"));
    let answer = ticket.wait(fixture::LONG).expect("it is handed out");
    let Ok(Answer::Reserved(jobs)) = answer else { panic!("{answer:?}") };
    assert_eq!(of_text(&jobs[0].payload), "at last");
    data.stop(shards);
}

#[test]
fn a_delayed_job_wakes_the_consumer_that_waits_for_it() {
    let data = Data::new(1);
    let shards = data.open();
    let ticket = shards.submit(fixture::wait_for("mail", 1, 30_000));
    let job = NewJob { when: When::After(50), ..named("later") };
    fixture::placed(&shards, Command::Put { queue: queue("mail"), jobs: vec![job], principal: None });
    let answer = ticket.wait(fixture::LONG).expect("it is handed out");
    assert!(matches!(answer, Ok(Answer::Reserved(jobs)) if jobs.len() == 1));
    data.stop(shards);
}

#[test]
fn a_consumer_whose_time_is_over_gets_nothing() {
    let data = Data::new(2);
    let shards = data.open();
    let answer = shards.submit(fixture::wait_for("mail", 1, 20)).wait(fixture::LONG);
    assert_eq!(answer, Some(Ok(Answer::Reserved(Vec::new()))));
    data.stop(shards);
}

#[test]
fn a_dropped_ticket_takes_its_reserve_back() {
    let data = Data::new(1);
    let shards = data.open();
    let ticket = shards.submit(fixture::wait_for("mail", 1, 60_000));
    fixture::until("the consumer waits", || shards.metrics()[0].waiting_consumers == 1);
    drop(ticket);
    fixture::until("it waits no more", || shards.metrics()[0].waiting_consumers == 0);
    fixture::placed(&shards, put("mail", "for the next one"));
    assert_eq!(fixture::reserved(&shards, reserve("mail", 1)).len(), 1);
    data.stop(shards);
}

#[test]
fn a_job_whose_consumer_had_gone_is_due_again_and_the_attempt_does_not_count() {
    let data = Data::new(1);
    let shards = data.open();
    for _ in 0..20 {
        fixture::placed(&shards, put("mail", "nobody took it"));
        // The answer is there, or under way; nobody looks at it.
        drop(shards.submit(reserve("mail", 1)));
        let jobs = fixture::reserved(&shards, fixture::wait_for("mail", 1, 30_000));
        assert_eq!(jobs[0].attempt, 1);
        soon(&shards, Command::Settle { leases: vec![jobs[0].lease] }).expect("settled");
    }
    data.stop(shards);
}

#[test]
fn leases_of_several_shards_are_settled_in_one_command() {
    let data = Data::new(3);
    let shards = data.open();
    let mut leases: Vec<Lease> = Vec::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        fixture::placed(&shards, put(name, name));
        leases.extend(fixture::reserved(&shards, reserve(name, 1)).iter().map(|job| job.lease));
    }
    let homes: BTreeSet<u16> = leases.iter().map(|lease| lease.job.shard()).collect();
    assert!(homes.len() > 1, "six names live on more than one of three shards");
    leases[2].reservation += 1;
    let Ok(Answer::Given(given)) = soon(&shards, Command::Settle { leases }) else { panic!("outcomes") };
    let done: Vec<bool> = given.iter().map(Result::is_ok).collect();
    assert_eq!(done, [true, true, false, true, true, true]);
    data.stop(shards);
}

fn spread() -> Command {
    let settings = QueueSettings { spread: Spread::AllShards, ..QueueSettings::default() };
    Command::Declare { queue: queue("wide"), settings }
}

#[test]
fn a_spread_queue_uses_all_shards_and_keeps_keys_together() {
    let data = Data::new(3);
    let shards = data.open();
    assert_eq!(soon(&shards, spread()), Ok(Answer::Done));
    let homes: BTreeSet<u16> =
        (0..9).flat_map(|_| fixture::placed(&shards, put("wide", "one"))).map(JobId::shard).collect();
    assert_eq!(homes.len(), 3, "jobs without a key take turns");
    let keyed = NewJob { key: Some(key("ada")), ..named("keyed") };
    let jobs = vec![keyed.clone(), named("between"), keyed];
    let placed = fixture::placed(&shards, Command::Put { queue: queue("wide"), jobs, principal: None });
    assert_eq!(placed[0].shard(), placed[2].shard(), "one key, one shard");

    let stats = fixture::stats(&shards, "wide");
    assert_eq!(stats.due, 12);
    let mut seen = 0;
    loop {
        let jobs = fixture::reserved(&shards, reserve("wide", 2));
        if jobs.is_empty() {
            break;
        }
        seen += jobs.len();
        soon(&shards, Command::Settle { leases: jobs.iter().map(|job| job.lease).collect() })
            .expect("settled");
    }
    assert_eq!(seen, 12, "no shard is left out");
    data.stop(shards);

    let shards = data.open();
    let homes: BTreeSet<u16> =
        (0..6).flat_map(|_| fixture::placed(&shards, put("wide", "again"))).map(JobId::shard).collect();
    assert_eq!(homes.len(), 3, "it is spread after a restart");
    data.stop(shards);
}

#[test]
fn one_of_all_shards_answers_a_consumer_of_a_spread_queue() {
    let data = Data::new(3);
    let shards = data.open();
    soon(&shards, spread()).expect("declared");
    for _ in 0..20 {
        let ticket = shards.submit(fixture::wait_for("wide", 10, 30_000));
        let puts = [shards.submit(put("wide", "one")), shards.submit(put("wide", "two"))];
        let Some(Ok(Answer::Reserved(jobs))) = ticket.wait(fixture::LONG) else { panic!("jobs") };
        for put in puts {
            put.wait(fixture::LONG).expect("an answer").expect("placed");
        }
        let mut leases: Vec<Lease> = jobs.iter().map(|job| job.lease).collect();
        while leases.len() < 2 {
            let more = fixture::reserved(&shards, fixture::wait_for("wide", 10, 30_000));
            leases.extend(more.iter().map(|job| job.lease));
        }
        assert_eq!(leases.len(), 2, "each job is handed out once");
        soon(&shards, Command::Settle { leases }).expect("settled");
    }
    let waits = || shards.metrics().iter().map(|metrics| metrics.waiting_consumers).sum::<u64>();
    // Jobs that the shards that did not answer hold end when those shards check them next.
    let ticket = shards.submit(fixture::wait_for("wide", 1, 60_000));
    fixture::until("it waits at all three", || waits() >= 3);
    drop(ticket);
    fixture::until("it waits nowhere", || waits() < 3);
    data.stop(shards);
}

/// A consumer begins to wait at all shards while a job comes to one of them: whichever is first, they meet.
#[test]
fn a_consumer_of_a_spread_queue_and_a_job_never_miss_each_other() {
    let data = Data::new(3);
    let shards = data.open();
    soon(&shards, spread()).expect("declared");
    for round in 0..3_000 {
        let ticket = shards.submit(fixture::wait_for("wide", 1, 600_000));
        let put = shards.submit(put("wide", "one"));
        let Some(answer) = ticket.wait(fixture::LONG) else { panic!("no job in round {round}") };
        let Ok(Answer::Reserved(jobs)) = answer else { panic!("no job: {answer:?}") };
        put.wait(fixture::LONG).expect("an answer").expect("placed");
        soon(&shards, Command::Settle { leases: jobs.iter().map(|job| job.lease).collect() })
            .expect("settled");
    }
    data.stop(shards);
}

#[test]
fn a_queue_with_jobs_is_not_spread_otherwise() {
    let data = Data::new(2);
    let shards = data.open();
    fixture::placed(&shards, put("wide", "here"));
    let answer = soon(&shards, spread());
    assert!(matches!(answer, Err(Refusal::Rejected { code: "SHARD-007", .. })), "{answer:?}");
    fixture::placed(&shards, put("wide", "and here"));
    let first = fixture::reserved(&shards, reserve("wide", 10)).len();
    let second = fixture::reserved(&shards, reserve("wide", 10)).len();
    assert_eq!(first + second, 2);
    data.stop(shards);
}

#[test]
fn a_job_is_forwarded_to_a_queue_of_another_shard() {
    let data = Data::new(4);
    let shards = data.open();
    let (from, to) = fixture::two_homes(4);
    for number in 0..20 {
        let text = format!("message {number}");
        fixture::placed(&shards, put(&from, &text));
        let jobs = fixture::reserved(&shards, reserve(&from, 1));
        let forward = Command::Forward {
            lease: jobs[0].lease,
            queue: queue(&to),
            job: NewJob::default(),
            principal: None,
        };
        soon(&shards, forward).expect("it is accepted");
        let there = fixture::reserved(&shards, fixture::wait_for(&to, 10, 30_000));
        assert_eq!(there.len(), 1, "exactly one came");
        assert_eq!(of_text(&there[0].payload), text);
        soon(&shards, Command::Settle { leases: vec![there[0].lease] }).expect("settled");
    }
    let Ok(Answer::Queues(stats)) = soon(&shards, Command::List { after: None, queues_max: 10 }) else {
        panic!("a list")
    };
    assert_eq!(stats.len(), 2, "each queue is in one place");
    assert!(stats.iter().all(|stats| stats.due + stats.reserved + stats.delayed == 0));
    data.stop(shards);
}

#[test]
fn the_history_of_a_job_is_listed_newest_first() {
    let data = Data::new(1);
    let shards = data.open();
    let job = fixture::placed(&shards, put("mail", "often tried"))[0];
    for _ in 0..3 {
        let jobs = fixture::reserved(&shards, fixture::wait_for("mail", 1, 30_000));
        let release = Command::Release {
            leases: vec![jobs[0].lease],
            retry: Retry::After(1),
            error: Some("no answer".into()),
        };
        soon(&shards, release).expect("released");
    }
    let Ok(Answer::History(entries)) = soon(&shards, Command::History { job }) else { panic!("a history") };
    let words: Vec<String> = entries.iter().map(|entry| fixture::word(&entry.what)).collect();
    let expected = ["released", "reserved", "released", "reserved", "released", "reserved", "put"];
    assert_eq!(words, expected);
    let unknown = JobId::new(0, 4_711);
    assert!(matches!(soon(&shards, Command::History { job: unknown }), Err(Refusal::Rejected { .. })));
    data.stop(shards);
}

#[test]
fn jobs_of_shards_that_are_not_there_are_refused() {
    let data = Data::new(1);
    let shards = data.open();
    let answer = soon(&shards, Command::Find { job: JobId::new(7, 1) });
    assert!(matches!(answer, Err(Refusal::Rejected { code: "SHARD-009", .. })), "{answer:?}");
    data.stop(shards);
}

#[test]
fn a_full_mailbox_answers_busy_and_nothing_is_lost() {
    let data = Data::with(1, |settings| settings.mailbox_commands_max = 8);
    let shards = data.open();
    let tickets: Vec<_> = (0..5_000).map(|number| shards.submit(put("mail", &number.to_string()))).collect();
    let mut placed = 0;
    for ticket in tickets {
        match ticket.wait(fixture::LONG).expect("an answer") {
            Ok(Answer::Placed(jobs)) => placed += jobs.len() as u64,
            Err(Refusal::Busy { code: "SHARD-001", .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        fixture::stats(&shards, "mail").due,
        placed,
        "what was acknowledged is there, and nothing else"
    );
    assert!(placed > 0 && placed < 5_000, "{placed}");
    data.stop(shards);
}

#[test]
fn a_stopped_shard_answers_busy() {
    let data = Data::new(1);
    let shards = data.open();
    let waiting = shards.submit(fixture::wait_for("mail", 1, 60_000));
    fixture::until("it waits", || shards.metrics()[0].waiting_consumers == 1);
    assert!(shards.stop(fixture::LONG));
    assert_eq!(
        waiting.wait(Duration::ZERO),
        Some(Ok(Answer::Reserved(Vec::new()))),
        "the waiting consumer was let go"
    );
    let answer = soon(&shards, put("mail", "too late"));
    assert!(matches!(answer, Err(Refusal::Busy { code: "SHARD-004", .. })), "{answer:?}");
    assert!(shards.stop(fixture::LONG), "stopping twice is harmless");
}

#[test]
fn a_directory_belongs_to_one_process_and_one_number_of_shards() {
    let data = Data::new(2);
    let shards = data.open();
    let Err(error) = stadium_shard::Shards::open(data.settings(), |_, _| ()) else { panic!("it is in use") };
    assert_eq!(error.code(), "JRN-006", "{error}");
    data.stop(shards);
    let mut other = data.settings();
    other.count = 3;
    let Err(error) = stadium_shard::Shards::open(other, |_, _| ()) else { panic!("another number") };
    assert_eq!(error.code(), "SHARD-011", "{error}");
}

#[test]
fn a_purge_empties_a_queue_and_a_peek_sees_it() {
    let data = Data::new(1);
    let shards = data.open();
    let jobs = (0..100).map(|number| named(&format!("job {number}"))).collect();
    fixture::placed(&shards, Command::Put { queue: queue("mail"), jobs, principal: None });
    let state = Some(JobState::Due);
    let peek = Command::Peek { queue: queue("mail"), state, key: None, after: None, jobs_max: 3 };
    let Ok(Answer::Jobs(seen)) = soon(&shards, peek.clone()) else { panic!("jobs") };
    let texts: Vec<_> = seen.iter().map(|job| of_text(&job.payload)).collect();
    assert_eq!(texts, ["job 0", "job 1", "job 2"]);
    soon(&shards, Command::Purge { queue: queue("mail"), state: None }).expect("purged");
    let is_empty = || matches!(soon(&shards, peek.clone()), Ok(Answer::Jobs(jobs)) if jobs.is_empty());
    fixture::until("the queue is empty", is_empty);
    data.stop(shards);
}
