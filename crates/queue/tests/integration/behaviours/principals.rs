//! The principal of each job: whose request put it, in views, histories and records.
//!
//! It stands once in a record, goes with a job to other queues and shards, and is no part of a
//! job's content.

use stadium_queue::{
    Answer, Attempt, Bounds, Command, Cron, DeadLetter, Dedup, Delivery, JobId, Missed, NewJob, Place,
    PrincipalId, QueueSettings, Queues, Retry, ShardMessage,
};
use stadium_state_machine::Section;

use crate::harness::{Harness, checkpoint, job, key, keyed, queue, restored};

const ANNA: &str = "k_00000000000000aa";
const BEN: &str = "oidc:ben@example.com";

fn id(principal: &str) -> Option<PrincipalId> {
    Some(principal.parse().unwrap())
}

/// The principal that put a job, as a look at it shows.
fn shown(harness: &mut Harness, job: JobId) -> Option<PrincipalId> {
    harness.find(job).principal
}

/// The principal that put a job, as its history shows.
fn told(harness: &Harness, job: JobId) -> Option<PrincipalId> {
    let put = harness.history(job).into_iter().find_map(|entry| match entry.what {
        Attempt::Put { principal, .. } => Some(principal),
        _ => None,
    });
    put.expect("it was put")
}

/// The events of the last record in words.
fn last_record(harness: &Harness) -> Vec<String> {
    let (at, time, bytes) = harness.records.last().unwrap();
    let section = Section { shard: 0, at: *at, time: *time, offset: 16, events: &bytes[16..] };
    let mut described = Vec::new();
    Queues::describe(section, &mut described).unwrap();
    described.into_iter().map(|one| one.text).collect()
}

fn restart(harness: &mut Harness) {
    let chunks = checkpoint(&mut harness.queues, 64);
    harness.queues = restored(harness.place, &harness.bounds, &chunks);
}

#[test]
fn a_job_names_its_principal_after_a_crash_and_after_a_restart() {
    let mut harness = Harness::new();
    let of_nobody = harness.put("mail", job("0"));
    harness.principal = id(ANNA);
    let of_anna = harness.put("mail", keyed("1", "a key"));
    harness.principal = id(BEN);
    let of_ben = harness.put("mail", job("2"));
    for round in 0..3 {
        match round {
            0 => {}
            1 => harness.crash(),
            _ => restart(&mut harness),
        }
        for (job, principal) in [(of_nobody, None), (of_anna, id(ANNA)), (of_ben, id(BEN))] {
            assert_eq!(shown(&mut harness, job), principal);
            assert_eq!(told(&harness, job), principal);
        }
    }
    // It stays what it is whatever becomes of the job, and its history has it when it is done.
    let leases = harness.reserve("mail", 3);
    harness.release(leases[1], Retry::After(0)).unwrap();
    assert_eq!(harness.find(leases[1].job).attempts, 1);
    assert_eq!(shown(&mut harness, leases[1].job), told(&harness, leases[1].job));
    harness.settle(leases[0]).unwrap();
    assert_eq!(told(&harness, leases[0].job), if leases[0].job == of_anna { id(ANNA) } else { None });
}

#[test]
fn a_repeated_put_keeps_its_first_principal_and_is_no_other_job() {
    let mut harness = Harness::new();
    let once = || NewJob { dedup: Some(Dedup { id: key("id 1"), window: None }), ..job("once") };
    harness.principal = id(ANNA);
    let first = harness.put("mail", once());
    let records = harness.records.len();
    harness.principal = id(BEN);
    let again = harness.try_put("mail", vec![once()]).unwrap()[0];
    assert_eq!((again.job, again.duplicate), (first, true));
    assert_eq!(harness.records.len(), records, "nothing was written");
    assert_eq!(shown(&mut harness, first), id(ANNA));
}

#[test]
fn a_principal_stands_once_in_a_record_and_none_not_at_all() {
    let mut harness = Harness::new();
    harness.principal = id(ANNA);
    harness.try_put("mail", (0..50).map(|n| job(&n.to_string())).collect()).unwrap();
    let words = last_record(&harness);
    assert_eq!(words.iter().filter(|text| text.contains(ANNA)).count(), 1);
    assert!(words.contains(&format!("by the principal {ANNA}")), "{words:?}");
    harness.principal = None;
    harness.put("mail", job("of nobody"));
    assert!(last_record(&harness).iter().all(|text| !text.contains("principal")));
}

#[test]
fn a_forwarded_job_is_of_its_worker_and_a_dead_one_stays_of_its_client() {
    let mut harness = Harness::new();
    let dead_letter = DeadLetter::Queue(queue("graveyard"));
    harness.declare("mail", QueueSettings { attempts_max: 1, dead_letter, ..QueueSettings::default() });
    harness.principal = id(ANNA);
    harness.put("mail", job("forwarded"));
    let dies = harness.put("mail", job("dies"));
    let leases = harness.reserve("mail", 2);
    let forward = Command::Forward {
        lease: leases[0],
        queue: queue("sms"),
        job: NewJob::default(),
        principal: id(BEN),
    };
    let Answer::Placed(placed) = harness.ask(forward).unwrap() else { panic!() };
    harness.release(leases[1], Retry::Backoff).unwrap();
    harness.crash();
    assert_eq!(shown(&mut harness, placed[0].job), id(BEN));
    assert_eq!(harness.find(dies).queue, queue("graveyard"));
    assert_eq!(shown(&mut harness, dies), id(ANNA));
}

#[test]
fn jobs_of_a_schedule_are_of_who_made_it() {
    let mut harness = Harness::new();
    let cron = Cron { expression: "* * * * *".into(), time_zone: "UTC".into(), missed: Missed::Once };
    let schedule = |principal| Command::Schedule {
        queue: queue("mail"),
        name: key("it"),
        cron: Box::new(cron.clone()),
        job: job("go"),
        principal,
    };
    let last = |harness: &mut Harness| {
        let Answer::Schedules(schedules) = harness.ask(Command::Schedules { queue: queue("mail") }).unwrap()
        else {
            panic!("schedules are listed")
        };
        let (_, job) = schedules[0].last.unwrap();
        (schedules[0].principal.clone(), shown(harness, job))
    };
    for principal in [id(ANNA), None, id(BEN)] {
        harness.done(schedule(principal.clone()));
        harness.crash();
        harness.pass(60_000);
        assert_eq!(last(&mut harness), (principal.clone(), principal.clone()));
        restart(&mut harness);
        harness.pass(60_000);
        assert_eq!(last(&mut harness), (principal.clone(), principal));
    }
}

#[test]
fn a_job_takes_its_principal_to_another_shard() {
    let place = |shard| Place { shard, shards: 2, hash_seed: 3 };
    let mut harnesses = [0, 1].map(|shard| Harness::with(Bounds::default(), place(shard)));
    let named = |shard| {
        let mut names = (0..).map(|n| queue(&format!("queue-{n}")));
        names.find(|name| Place::home(name, 2) == shard).unwrap()
    };
    let (from, to) = (named(0), named(1));
    let [here, there] = &mut harnesses;
    let dead_letter = DeadLetter::Queue(to.clone());
    here.declare(from.as_str(), QueueSettings { attempts_max: 1, dead_letter, ..QueueSettings::default() });
    // Forwarded by Ben, dead of Anna, put beside transfers by nobody and by Ben.
    here.principal = id(ANNA);
    here.put(from.as_str(), job("forwarded"));
    here.put(from.as_str(), job("dies"));
    let leases = here.reserve(from.as_str(), 2);
    let forward =
        Command::Forward { lease: leases[0], queue: to.clone(), job: NewJob::default(), principal: id(BEN) };
    here.ask(forward).unwrap();
    here.release(leases[1], Retry::Backoff).unwrap();
    for principal in [None, id(BEN)] {
        let jobs = [(to.clone(), job("beside"))];
        let put = |queues: &mut Queues, at, now, random, record: &mut _| {
            queues.put_each(at, now, random, &jobs, principal.as_ref(), record)
        };
        here.record(put).unwrap();
    }
    let expected = [id(BEN), id(ANNA), None, id(BEN)];
    for round in 0..2 {
        match round {
            0 => here.crash(),
            _ => restart(here),
        }
        let mut sent = Vec::new();
        here.queues.outgoing(0, &mut |outgoing| sent.push(outgoing));
        assert_eq!(sent.iter().map(|one| one.principal.clone()).collect::<Vec<_>>(), expected);
        for outgoing in sent {
            let job = NewJob { payload: here.bytes(outgoing.payload).into(), ..outgoing.job };
            let message = ShardMessage { queue: outgoing.queue, job, principal: outgoing.principal };
            let confirmed_below = here.queues.outgoing_first();
            let delivery = Delivery { shard: 0, number: outgoing.number, confirmed_below, message };
            there.record(|queues, at, now, _, record| queues.deliver(at, now, &delivery, record)).unwrap();
        }
    }
    there.crash();
    let all = Command::Peek { queue: to, state: None, key: None, after: None, jobs_max: 10 };
    let mut jobs = there.jobs(all);
    jobs.sort_by_key(|job| job.job);
    assert_eq!(jobs.iter().map(|job| job.principal.clone()).collect::<Vec<_>>(), expected);
    assert!(jobs.iter().all(|job| told(there, job.job) == job.principal));
}
