//! Behaviours of a core without a thread, on a disk in memory: crashes, failed syncs, a full disk.
//!
//! The journal's work is done step by step, so that each test decides what is durable when.

use crate::fixture;

use bytes::Bytes;
use fixture::machine::{Machine, Shard};
use stadium_journal::memory::{Kept, MemoryDisk};
use stadium_queue::{Answer, Command, JobId, Lease, NewJob, QueueName, Refusal, Time};
use stadium_shard::Answer::Queue;
use stadium_shard::core::{Claim, Request, Search, Trial};

type Answered = Result<Answer<Bytes>, Refusal>;

/// An answer of the queues, which alone are asked here.
trait Asked {
    fn answer_to(&mut self, caller: u64) -> Option<Answered>;
    fn ask(&mut self, command: Command) -> Option<Answered>;
    fn done(&mut self, command: Command) -> Answer<Bytes>;
    fn reserve(&mut self) -> Vec<(Lease, String)>;
    fn all_due(&mut self) -> Vec<String>;
}

impl Asked for Shard {
    fn answer_to(&mut self, caller: u64) -> Option<Answered> {
        self.answered(caller).map(|answer| answer.map(of_queue))
    }

    fn ask(&mut self, command: Command) -> Option<Answered> {
        let caller = self.submit(command);
        self.answer_to(caller)
    }

    fn done(&mut self, command: Command) -> Answer<Bytes> {
        self.ask(command).expect("power is on").expect("it is accepted")
    }

    fn reserve(&mut self) -> Vec<(Lease, String)> {
        match self.done(reserve(0)) {
            Answer::Reserved(jobs) => jobs.iter().map(|job| (job.lease, text(&job.payload))).collect(),
            other => panic!("{other:?}"),
        }
    }

    /// Payloads of everything that is there, sorted: when leases are over, all is due.
    fn all_due(&mut self) -> Vec<String> {
        self.now += 2 * 3_600_000;
        let mut due = Vec::new();
        for _ in 0..20 {
            self.now += 10_000;
            due.extend(self.reserve().into_iter().map(|(_, payload)| payload));
        }
        due.sort();
        due
    }
}

fn of_queue(answer: stadium_shard::Answer) -> Answer<Bytes> {
    match answer {
        Queue(answer) => answer,
        other => panic!("not the queues': {other:?}"),
    }
}

fn queue() -> QueueName {
    QueueName::new("mail").expect("a test's queue")
}

fn put(payload: &str) -> Command {
    let job = NewJob { payload: Bytes::copy_from_slice(payload.as_bytes()), ..NewJob::default() };
    Command::Put { queue: queue(), jobs: vec![job], principal: None }
}

fn reserve(wait: u64) -> Command {
    Command::Reserve { queue: queue(), jobs_max: 100, lease: Some(3_600_000), wait, worker: None }
}

fn text(payload: &Bytes) -> String {
    String::from_utf8(payload.to_vec()).expect("a test's payload is text")
}

/// The answers that the test got, and its commands without an answer.
#[derive(Default)]
struct Acknowledged {
    placed: Vec<String>,
    settled: Vec<String>,
    open: Option<String>,
}

/// A small test: puts, a reserve, settles, a checkpoint, more puts. Ends where the power fails.
fn test(shard: &mut Shard, acknowledged: &mut Acknowledged) -> Option<()> {
    for number in 0..4 {
        let payload = format!("job {number}");
        acknowledged.open = Some(payload.clone());
        shard.ask(put(&payload))?.expect("accepted");
        acknowledged.placed.push(payload);
    }
    acknowledged.open = None;
    let Ok(Answer::Reserved(jobs)) = shard.ask(reserve(0))? else { panic!("jobs") };
    for job in &jobs[..2] {
        acknowledged.open = Some(text(&job.payload));
        shard.ask(Command::Settle { leases: vec![job.lease] })?.expect("settled");
        acknowledged.settled.push(text(&job.payload));
    }
    acknowledged.open = None;
    shard.core.checkpoint_soon();
    acknowledged.open = Some("after the checkpoint".into());
    shard.ask(put("after the checkpoint"))?.expect("accepted");
    acknowledged.placed.push("after the checkpoint".into());
    let release = jobs[2..].iter().map(|job| job.lease).collect();
    acknowledged.open = None;
    let retry = stadium_queue::Retry::NotTried(0);
    shard.ask(Command::Release { leases: release, retry, error: None })?.expect("released");
    Some(())
}

#[test]
fn a_crash_at_any_operation_loses_nothing_that_was_acknowledged() {
    let whole = Machine::new();
    let mut shard = whole.boot();
    test(&mut shard, &mut Acknowledged::default()).expect("nothing fails");
    let operations = whole.disk.operations() + whole.checkpoints.operations();
    let mut crashes = 0;
    for stop in 1..operations {
        for survives in [false, true] {
            let machine = Machine::new();
            let Ok(mut shard) = machine.try_boot() else { panic!("power is on") };
            let used = machine.disk.operations();
            if stop <= used {
                continue;
            }
            machine.disk.stop_after(stop - used);
            let mut acknowledged = Acknowledged::default();
            if test(&mut shard, &mut acknowledged).is_some() {
                continue;
            }
            crashes += 1;
            drop(shard);
            machine.crash(survives);
            let mut shard = machine.boot();
            let due = shard.all_due();
            let mut expected: Vec<String> = acknowledged
                .placed
                .iter()
                .filter(|payload| !acknowledged.settled.contains(payload))
                .cloned()
                .collect();
            expected.sort();
            let mut other = expected.clone();
            // A command without an answer happened, or not.
            if let Some(open) = &acknowledged.open {
                match other.iter().position(|payload| payload == open) {
                    Some(at) => drop(other.remove(at)),
                    None => other.push(open.clone()),
                }
                other.sort();
            }
            assert!(
                due == expected || due == other,
                "stop {stop}, {survives}: {due:?} is neither {expected:?} nor {other:?}"
            );
        }
    }
    assert!(crashes > 20, "the test was cut {crashes} times");
}

#[test]
fn no_answer_leaves_before_it_is_durable() {
    let machine = Machine::new();
    let mut shard = machine.boot();
    shard.settle_down();
    let put = shard.submit(put("slow"));
    let look = shard.submit(Command::Stats { queue: queue() });
    for _ in 0..50 {
        assert!(shard.turn().is_empty(), "the journal has not done a step");
    }
    assert!(matches!(shard.answer_to(put), Some(Ok(Answer::Placed(_)))));
    let Some(Ok(Answer::Queues(stats))) = shard.ask(Command::Stats { queue: queue() }) else {
        panic!("stats")
    };
    assert_eq!(stats[0].due, 1);
    let _ = look;
}

#[test]
fn a_read_waits_for_what_it_has_seen() {
    let machine = Machine::new();
    let mut shard = machine.boot();
    shard.settle_down();
    shard.submit(put("unsynced"));
    let look = shard.submit(Command::Stats { queue: queue() });
    assert!(shard.turn().is_empty());
    machine.disk.fail_sync(0, Kept::Nothing);
    // The put is not acknowledged, and nobody has seen it.
    let answer = shard.answer_to(look).expect("power is on");
    assert!(matches!(answer, Err(Refusal::Busy { code: "SHARD-003", .. })), "{answer:?}");
}

#[test]
fn a_failed_sync_takes_the_batch_back_and_the_shard_goes_on() {
    for kept in [Kept::Nothing, Kept::Half, Kept::Everything] {
        let machine = Machine::new();
        let mut shard = machine.boot();
        shard.done(put("before"));
        shard.settle_down();
        machine.disk.fail_sync(0, kept);
        let refused = shard.ask(put("lost")).expect("power is on");
        assert!(matches!(refused, Err(Refusal::Busy { code: "SHARD-003", .. })), "{refused:?}");
        shard.done(put("after"));
        let payloads: Vec<String> = shard.reserve().into_iter().map(|(_, payload)| payload).collect();
        assert_eq!(payloads, ["before", "after"], "{kept:?}");
        assert_eq!(shard.core.reopened(), 1);
        drop(shard);
        machine.crash(false);
        let mut shard = machine.boot();
        assert!(shard.reserve().is_empty(), "they are reserved still");
        shard.now += 2 * 3_600_000;
        shard.settle_down();
        shard.now += 3_600_000;
        assert_eq!(shard.reserve().len(), 2);
    }
}

#[test]
fn a_waiting_consumer_is_served_after_the_journal_was_opened_again() {
    let machine = Machine::new();
    let mut shard = machine.boot();
    let waiting = shard.submit(reserve(1_000_000));
    shard.settle_down();
    machine.disk.fail_sync(0, Kept::Nothing);
    // Into another queue: else the job would be handed out, and that would not be acknowledged either.
    let other = QueueName::new("sms").expect("a test's queue");
    let lost = Command::Put { queue: other, jobs: vec![NewJob::default()], principal: None };
    shard.ask(lost).expect("power is on").expect_err("it is not acknowledged");
    let placed = shard.submit(put("found"));
    let (mut found, mut is_placed) = (None, false);
    for _ in 0..2_000 {
        if found.is_some() && is_placed {
            break;
        }
        for reply in shard.turn() {
            is_placed |= reply.caller == placed && reply.answer.is_ok();
            if reply.caller == waiting {
                found = Some(reply.answer);
            }
        }
        machine.step();
    }
    let Some(Ok(Queue(Answer::Reserved(jobs)))) = found else { panic!("{found:?}") };
    assert_eq!(text(&jobs[0].payload), "found");
}

#[test]
fn a_full_disk_refuses_puts_and_takes_settles_until_there_is_room() {
    let machine = Machine::new();
    let mut shard = machine.boot();
    shard.settle_down();
    machine.disk.set_capacity(Some(machine.disk.used() + (300 << 10)));
    let large = "x".repeat(10 << 10);
    let mut placed = 0;
    let refusal = loop {
        match shard.ask(put(&large)).expect("power is on") {
            Ok(_) => placed += 1,
            Err(refusal) => break refusal,
        }
        assert!(placed < 1_000, "the disk is not full");
    };
    assert_eq!(refusal.code(), "SHARD-002", "{refusal}");
    let Answer::Queues(stats) = shard.done(Command::Stats { queue: queue() }) else { panic!("stats") };
    assert_eq!(stats[0].due, placed, "reads go on");
    machine.disk.set_capacity(None);
    shard.now += 2_000;
    shard.settle_down();
    shard.done(put("there is room again"));
    let Answer::Queues(stats) = shard.done(Command::Stats { queue: queue() }) else { panic!("stats") };
    assert_eq!(stats[0].due, placed + 1);
}

#[test]
fn a_full_disk_is_emptied_by_deletes() {
    let machine = Machine::new();
    let mut shard = machine.boot();
    shard.settle_down();
    machine.disk.set_capacity(Some(machine.disk.used() + (300 << 10)));
    let large = "x".repeat(10 << 10);
    let mut jobs: Vec<JobId> = Vec::new();
    while let Ok(Answer::Placed(placed)) = shard.ask(put(&large)).expect("power is on") {
        jobs.extend(placed.iter().map(|placed| placed.job));
    }
    for job in &jobs {
        let Answer::Given(given) = shard.done(Command::Delete { jobs: vec![*job] }) else {
            panic!("outcomes")
        };
        assert!(given[0].is_ok(), "{given:?}");
    }
    let Answer::Queues(stats) = shard.done(Command::Stats { queue: queue() }) else { panic!("stats") };
    assert_eq!(stats[0].due, 0);
}

#[test]
fn segments_without_living_payloads_are_removed_and_nearly_dead_ones_rewritten() {
    let machine = Machine::new();
    let mut shard = machine.boot();
    let mut kept = Vec::new();
    for round in 0..40 {
        for number in 0..10 {
            shard.done(put(&format!("{round} {number} {}", "x".repeat(8 << 10))));
        }
        let mut jobs = shard.reserve();
        kept.extend(jobs.pop());
        let leases = jobs.iter().map(|&(lease, _)| lease).collect();
        shard.done(Command::Settle { leases });
        shard.core.checkpoint_soon();
        shard.now += 2_000;
        shard.settle_down();
    }
    let metrics = shard.core.metrics();
    assert!(metrics.segments_removed >= 5, "{} were removed", metrics.segments_removed);
    assert!(metrics.rewritten_bytes > 0, "living payloads were moved");
    assert!(metrics.segment_bytes < 3 << 20, "3.2 MB were written; {} are kept", metrics.segment_bytes);
    drop(shard);
    machine.crash(false);
    let mut shard = machine.boot();
    let due = shard.all_due();
    let mut expected: Vec<String> = kept.into_iter().map(|(_, payload)| payload).collect();
    expected.sort();
    assert!(due == expected, "every payload is whole: {} of {}", due.len(), expected.len());
}

#[test]
fn a_damaged_payload_harms_its_own_job_only() {
    let machine = Machine::new();
    let mut shard = machine.boot();
    shard.done(put("whole one"));
    shard.done(put("damaged one"));
    shard.done(put("whole two"));
    shard.core.checkpoint_soon();
    shard.settle_down();
    drop(shard);
    machine.crash(true);
    let (name, at) = find(&machine.disk, b"damaged one");
    assert!(machine.disk.flip_bit(&name, at, 3));
    // The checkpoint covers the record: recovery does not read it, the reserve does.
    let mut shard = match machine.try_boot() {
        Ok(shard) => shard,
        Err(error) => {
            assert!(error.to_string().contains("damaged"), "{error}");
            return;
        }
    };
    let payloads: Vec<String> = shard.reserve().into_iter().map(|(_, payload)| payload).collect();
    assert_eq!(payloads, ["whole one", "whole two"]);
    shard.settle_down();
    let Answer::Queues(stats) = shard.done(Command::Stats { queue: queue() }) else { panic!("stats") };
    assert_eq!(stats[0].buried, 1, "it is set aside, with the reason");
}

fn find(disk: &MemoryDisk, bytes: &[u8]) -> (String, u64) {
    for (name, _) in disk.files() {
        let content = disk.content(&name).expect("it was listed");
        if let Some(at) = content.windows(bytes.len()).position(|window| window == bytes) {
            return (name, at as u64);
        }
    }
    panic!("no file holds it");
}

#[test]
fn extra_turns_and_ticks_change_nothing() {
    let machine = Machine::new();
    let mut shard = machine.boot();
    shard.done(put("once"));
    let records = shard.core.metrics().records;
    for _ in 0..100 {
        shard.settle_down();
    }
    assert_eq!(shard.core.metrics().records, records);
    shard.now -= 500;
    shard.settle_down();
    assert_eq!(shard.reserve().len(), 1);
}

#[test]
fn a_stop_finishes_what_was_begun_and_leaves_a_checkpoint() {
    let machine = Machine::new();
    let mut shard = machine.boot();
    let placed = shard.submit(put("the last one"));
    let waiting = {
        shard.core.stop();
        shard.submit(reserve(1_000))
    };
    let mut answers = Vec::new();
    for _ in 0..2_000 {
        shard.now += 1;
        let next = shard.core.turn(Time(shard.now), &mut shard.output);
        answers.append(&mut shard.output.replies);
        machine.step();
        if next.stopped {
            break;
        }
    }
    let of = |caller: u64| answers.iter().find(|reply| reply.caller == caller).map(|reply| &reply.answer);
    assert!(
        matches!(of(placed), Some(Err(Refusal::Busy { code: "SHARD-004", .. }))),
        "it came after the stop began"
    );
    assert!(matches!(of(waiting), Some(Err(Refusal::Busy { .. }))));
    assert_eq!(shard.core.metrics().checkpoints, 1);
}

#[test]
fn the_warm_path_allocates_no_more_than_its_answers() {
    let machine = Machine::new();
    let mut shard = machine.boot();
    let round = |shard: &mut Shard| {
        shard.done(put("the same each time"));
        let jobs = shard.reserve();
        let leases = jobs.iter().map(|&(lease, _)| lease).collect();
        shard.done(Command::Settle { leases });
    };
    (0..300).for_each(|_| round(&mut shard));
    let rounds = 100;
    // Commands and answers are the test's own: three vectors for commands, three for answers, one
    // text, one reply list for each answer. Payload buffers are shared.
    let counted = allocation_counter::measure(|| (0..rounds).for_each(|_| round(&mut shard)));
    let each = counted.count_total / rounds;
    assert!(each <= 24, "{each} allocations for a put, a reserve and a settle, the test's own included");
}

/// A consumer of a spread queue, offered to this shard while another one checks whether it has a
/// job.
fn contended(shard: &mut Shard, claim: &Claim) -> u64 {
    assert_eq!(claim.try_out(), Trial::Mine, "the other shard looks");
    let caller = shard.caller();
    let search = Search::Everywhere(claim.clone());
    shard.core.submit(Request { caller, command: reserve(60_000), search });
    let next = shard.next_turn();
    assert!(shard.output.replies.is_empty(), "it is not known yet who answers");
    assert_eq!(shard.core.metrics().waiting_consumers, 1);
    assert!(next.deadline.is_some_and(|at| at <= Time(shard.now + 1)), "it looks again soon: {next:?}");
    caller
}

#[test]
fn a_shard_that_comes_by_while_another_one_looks_answers_when_that_one_has_nothing() {
    let mut shard = Machine::new().boot();
    shard.done(put("here"));
    let claim = Claim::new();
    let caller = contended(&mut shard, &claim);
    claim.give_back();
    match shard.answer_to(caller) {
        Some(Ok(Answer::Reserved(jobs))) => assert_eq!(jobs.len(), 1, "the job of this shard"),
        other => panic!("{other:?}"),
    }
    assert_eq!(claim.try_out(), Trial::Over);
}

#[test]
fn a_shard_that_comes_by_while_another_one_looks_forgets_it_when_that_one_answers() {
    let mut shard = Machine::new().boot();
    shard.done(put("here"));
    let claim = Claim::new();
    contended(&mut shard, &claim);
    claim.keep();
    shard.settle_down();
    assert_eq!(shard.core.metrics().waiting_consumers, 0);
    assert!(shard.output.replies.is_empty());
    assert_eq!(shard.reserve().len(), 1, "its job is there for the next one");
}
