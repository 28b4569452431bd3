//! Answers from memory of a shard that another node may own: they leave under a certain lease, or
//! behind a commit that was begun after them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stadium_queue::{Command, Dedup, JobId, Refusal, Time};
use stadium_shard::core::{Core, NodeLease};
use stadium_shard::{LOG_AWAY, MOVED, OUTCOME_UNKNOWN};

use crate::fixture::fragile::{Asked, Wrong};
use crate::fixture::slow::{Slow, WAIT, codes};
use crate::fixture::{key, named, put, queue};

/// A lease that is certain when a test says so.
#[derive(Debug, Default)]
struct Switch(AtomicBool);

impl Switch {
    fn set(&self, is_certain: bool) {
        self.0.store(is_certain, Ordering::Relaxed);
    }
}

impl NodeLease for Switch {
    fn is_certain(&self, shard: u16) -> bool {
        assert_eq!(shard, 0, "it asks for itself");
        self.0.load(Ordering::Relaxed)
    }
}

/// A shard with one job, whose lease is certain or not.
fn shard(is_certain: bool) -> (Slow, Arc<Switch>) {
    let lease = Arc::new(Switch::default());
    let mut shard = Slow::new(Some(Arc::clone(&lease) as Arc<dyn NodeLease>));
    shard.submit(1, put("mail", "first"));
    shard.turn(1);
    shard.commit();
    assert_eq!(codes(&shard.turn(1).1), [(1, "ok")], "a command has its own commit");
    lease.set(is_certain);
    (shard, lease)
}

fn peek() -> Command {
    Command::Peek { queue: queue("mail"), state: None, key: None, after: None, jobs_max: 100 }
}

fn find(job: u64) -> Command {
    Command::Find { job: JobId::new(0, job) }
}

fn barriers(shard: &Slow) -> u64 {
    shard.core.metrics().barriers
}

#[test]
fn under_a_certain_lease_reads_leave_at_once() {
    let (mut shard, _) = shard(true);
    shard.submit(2, peek());
    assert_eq!(codes(&shard.turn(1).1), [(2, "ok")]);
    assert_eq!((barriers(&shard), shard.core.metrics().records), (0, 1));
}

#[test]
fn under_an_uncertain_lease_reads_of_a_turn_share_a_barrier() {
    let (mut shard, _) = shard(false);
    shard.submit(2, peek());
    // A refusal tells state, too.
    shard.submit(3, find(77));
    assert_eq!(codes(&shard.turn(1).1), []);
    assert_eq!(barriers(&shard), 1);
    // One is on its way at most, and proves nothing of what is asked later.
    for caller in 4..6 {
        shard.submit(caller, peek());
        assert_eq!(codes(&shard.turn(1).1), []);
    }
    assert_eq!(barriers(&shard), 1);
    shard.commit();
    assert_eq!(codes(&shard.turn(1).1), [(2, "ok"), (3, "QUE-021")]);
    assert_eq!(barriers(&shard), 2);
    shard.commit();
    assert_eq!(codes(&shard.turn(1).1), [(4, "ok"), (5, "ok")]);
    assert_eq!((barriers(&shard), shard.core.metrics().pending_answers), (2, 0));
}

#[test]
fn a_command_of_the_same_turn_is_barrier_enough() {
    let (mut shard, _) = shard(false);
    shard.submit(2, peek());
    shard.submit(3, put("mail", "second"));
    shard.submit(4, peek());
    assert_eq!(codes(&shard.turn(1).1), []);
    shard.commit();
    assert_eq!(codes(&shard.turn(1).1), [(2, "ok"), (3, "ok"), (4, "ok")]);
    assert_eq!(barriers(&shard), 0);
}

#[test]
fn a_commit_that_was_under_way_before_is_no_barrier() {
    let (mut shard, _) = shard(false);
    shard.submit(2, put("mail", "second"));
    shard.turn(1);
    shard.submit(3, peek());
    assert_eq!(codes(&shard.turn(1).1), []);
    assert_eq!(barriers(&shard), 1);
    shard.commit();
    assert_eq!(codes(&shard.turn(1).1), [(2, "ok"), (3, "ok")]);
}

#[test]
fn a_repeated_put_is_answered_behind_a_barrier() {
    let (mut shard, lease) = shard(true);
    let dedup = Some(Dedup { id: key("once"), window: None });
    let again = Command::Put {
        queue: queue("mail"),
        jobs: vec![stadium_queue::NewJob { dedup, ..named("once") }],
        principal: None,
    };
    shard.submit(2, again.clone());
    shard.turn(1);
    shard.commit();
    assert_eq!(codes(&shard.turn(1).1), [(2, "ok")]);
    lease.set(false);
    shard.submit(3, again);
    assert_eq!(codes(&shard.turn(1).1), []);
    shard.commit();
    assert_eq!(codes(&shard.turn(1).1), [(3, "ok")]);
    assert_eq!(barriers(&shard), 1);
}

#[test]
fn a_lease_that_becomes_certain_again_lets_held_reads_go() {
    let (mut shard, lease) = shard(false);
    shard.submit(2, peek());
    shard.turn(1);
    shard.submit(3, peek());
    shard.turn(1);
    lease.set(true);
    // The third one is proven by the lease; that of the second waits for its barrier before it.
    shard.submit(4, peek());
    assert_eq!(codes(&shard.turn(1).1), []);
    shard.commit();
    assert_eq!(codes(&shard.turn(1).1), [(2, "ok"), (3, "ok"), (4, "ok")]);
    assert_eq!(barriers(&shard), 1);
}

#[test]
fn while_the_log_is_away_a_read_is_busy_and_a_command_unknown() {
    let (mut shard, _) = shard(false);
    shard.submit(2, peek());
    let (next, _) = shard.turn(1);
    assert!(next.deadline.is_some(), "it wakes by itself: {next:?}");
    shard.submit(3, peek());
    shard.submit(4, put("mail", "second"));
    shard.turn(1);
    let (_, replies) = shard.turn(WAIT);
    assert_eq!(codes(&replies), [(2, LOG_AWAY), (3, LOG_AWAY), (4, OUTCOME_UNKNOWN)]);
    assert!(replies.iter().all(|reply| {
        reply.answer.as_ref().is_err_and(|refusal| refusal.is_unknown() == (reply.caller == 4))
    }));
    // Nothing of them is left when the log is back.
    shard.commit();
    shard.submit(5, peek());
    assert_eq!(codes(&shard.turn(1).1), []);
    shard.commit();
    assert_eq!(codes(&shard.turn(1).1), [(5, "ok")]);
}

#[test]
fn an_owner_that_was_fenced_answers_no_read() {
    // Wherever it learns of the fence before the commit.
    for asked in [Asked::Room, Asked::Append, Asked::Commit] {
        for calls in 0..3 {
            let (mut shard, _) = shard(false);
            *shard.plan.lock().expect("free") = Some((asked, calls, Wrong::Fenced));
            let mut answers = Vec::new();
            let mut caller = 1;
            while !shard.core.is_moved() {
                caller += 1;
                assert!(caller < 20, "it never learns of the fence");
                shard.submit(caller, peek());
                answers.extend(codes_of(&shard.turn(1).1));
                if !shard.core.is_moved() {
                    shard.commit();
                    answers.extend(codes_of(&shard.turn(1).1));
                }
            }
            // The reads before have a commit.
            let ok = vec!["ok"; calls];
            assert_eq!(answers, [ok, vec![MOVED]].concat(), "{asked:?} after {calls}");
        }
    }
}

/// The code of each answer; `ok` where there is a good one.
fn codes_of(replies: &[stadium_shard::core::Reply<u64>]) -> Vec<&'static str> {
    replies.iter().map(|reply| reply.answer.as_ref().err().map_or("ok", Refusal::code)).collect()
}

#[test]
fn a_fence_counts_more_than_a_lease_that_seems_certain() {
    let (mut shard, _) = shard(true);
    shard.submit(2, peek());
    shard.submit(3, put("mail", "second"));
    *shard.plan.lock().expect("free") = Some((Asked::Append, 0, Wrong::Fenced));
    assert_eq!(codes(&shard.turn(1).1), [(3, MOVED), (2, MOVED)]);
}

#[test]
fn a_turn_that_fails_lets_no_unproven_read_leave() {
    let (mut shard, lease) = shard(false);
    shard.submit(2, peek());
    shard.submit(3, put("mail", "second"));
    *shard.plan.lock().expect("free") = Some((Asked::Append, 0, Wrong::Panic));
    assert_eq!(codes(&shard.turn(1).1), []);
    lease.set(true);
    // It is told when the journal is open again.
    let (_, replies) = shard.turn(10_000);
    assert_eq!(codes(&replies)[0], (2, "SHARD-003"));
}

#[test]
fn a_full_disk_keeps_nobody_from_reading() {
    let (mut shard, _) = shard(false);
    shard.machine.disk.set_capacity(Some(shard.machine.disk.used()));
    for caller in 2..200 {
        shard.submit(caller, put("mail", &"x".repeat(8 << 10)));
    }
    for _ in 0..100 {
        shard.turn(1);
        shard.commit();
    }
    shard.turn(1);
    shard.submit(300, peek());
    shard.turn(1);
    shard.commit();
    assert_eq!(codes(&shard.turn(1).1), [(300, "ok")]);
}

#[test]
fn a_recovery_reads_over_barriers() {
    let (mut shard, _) = shard(false);
    for caller in 2..5 {
        shard.submit(caller, peek());
        shard.turn(1);
        shard.commit();
        assert_eq!(codes(&shard.turn(1).1), [(caller, "ok")]);
    }
    assert_eq!(barriers(&shard), 3);
    let state = shard.core.state().expect("no checkpoint is being written");
    let machine = shard.machine.clone();
    drop(shard);
    let settings = machine.settings();
    let core = Core::<_, u64, stadium_queue::Queues>::open(machine, settings, Time(2_000_000), &mut |_| ());
    assert_eq!(core.expect("the journal is read").state().expect("no checkpoint is being written"), state);
}
