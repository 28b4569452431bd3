//! A commit that takes too long, and a shard that another owner has fenced: each caller hears the
//! truth, and Busy means that nothing happened.

use stadium_queue::Refusal;
use stadium_shard::{LOG_AWAY, MOVED, OUTCOME_UNKNOWN};

use crate::fixture::fragile::{Asked, Wrong};
use crate::fixture::slow::{Slow, WAIT, codes, now};
use crate::fixture::{put, wait_for};

#[test]
fn a_commit_that_takes_too_long_has_an_unknown_outcome_and_what_comes_next_is_busy() {
    let mut shard = Slow::new(None);
    shard.submit(1, put("mail", "first"));
    let (next, replies) = shard.turn(1);
    assert!(replies.is_empty());
    assert!(next.deadline.is_some_and(|at| at.0 <= now() + WAIT + 1), "it wakes by itself: {next:?}");
    let (_, replies) = shard.turn(WAIT - 1);
    assert_eq!(codes(&replies), []);
    let (_, replies) = shard.turn(1);
    assert_eq!(codes(&replies), [(1, OUTCOME_UNKNOWN)]);
    assert!(replies[0].answer.as_ref().is_err_and(Refusal::is_unknown));
    // A put, and a consumer that waits: nothing of it happens.
    shard.submit(2, put("mail", "second"));
    shard.submit(3, wait_for("mail", 1, 60_000));
    let (_, replies) = shard.turn(1);
    assert_eq!(codes(&replies), [(2, LOG_AWAY), (3, LOG_AWAY)]);
    // The log answers: the first put did happen, and the shard serves.
    shard.commit();
    assert_eq!(shard.there(), ["first"]);
    shard.submit(4, put("mail", "third"));
    shard.turn(1);
    shard.commit();
    assert_eq!(codes(&shard.turn(1).1), [(4, "ok")]);
}

#[test]
fn a_consumer_that_waits_goes_on_waiting_while_the_log_is_away() {
    let mut shard = Slow::new(None);
    shard.submit(1, wait_for("mail", 1, 60_000));
    assert_eq!(codes(&shard.turn(1).1), []);
    shard.submit(2, put("other", "first"));
    shard.turn(1);
    let (_, replies) = shard.turn(WAIT);
    assert_eq!(codes(&replies), [(2, OUTCOME_UNKNOWN)]);
    shard.commit();
    shard.submit(3, put("mail", "second"));
    shard.turn(1);
    shard.commit();
    assert_eq!(codes(&shard.turn(1).1), [(3, "ok"), (1, "ok")]);
}

#[test]
fn a_commit_in_time_is_answered_as_it_is() {
    let mut shard = Slow::new(None);
    shard.submit(1, put("mail", "first"));
    shard.turn(1);
    shard.turn(WAIT - 2);
    shard.commit();
    // The commit is through, though the turn that learns of it comes late.
    assert_eq!(codes(&shard.turn(WAIT).1), [(1, "ok")]);
}

#[test]
fn a_fenced_shard_says_that_it_moved_and_stops() {
    let mut shard = Slow::new(None);
    shard.submit(1, put("mail", "first"));
    shard.turn(1);
    shard.commit();
    shard.submit(2, put("mail", "second"));
    *shard.plan.lock().expect("free") = Some((Asked::Append, 0, Wrong::Fenced));
    // The first was durable before the fence.
    let (next, replies) = shard.turn(1);
    assert_eq!(codes(&replies), [(1, "ok"), (2, MOVED)]);
    assert!(next.stopped && shard.core.is_moved());
    shard.submit(3, put("mail", "third"));
    let (next, replies) = shard.turn(60_000);
    assert_eq!(codes(&replies), [(3, MOVED)]);
    assert!(next.stopped, "it is not opened again");
}
