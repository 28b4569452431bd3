//! Commands that come back to their node where the shard does not carry them out, or does not know
//! whether they happened.

use std::time::Duration;

use stadium_queue::Command;
use stadium_shard::core::{Caller, GivenBack};
use stadium_shard::{Forwarded, LOG_AWAY, MOVED, OUTCOME_UNKNOWN};

use crate::fixture::fragile::{Asked, Wrong};
use crate::fixture::slow::{Slow, WAIT, codes};
use crate::fixture::{put, reserve, wait_for};

/// A caller whose commands come back, or do not.
struct Node {
    number: u64,
    asks_again: bool,
}

/// A caller that asks again.
const fn node(number: u64) -> Node {
    Node { number, asks_again: true }
}

/// A caller of another node, which asks again by itself.
const fn other(number: u64) -> Node {
    Node { number, asks_again: false }
}

impl Caller for Node {
    fn id(&self) -> u64 {
        self.number
    }

    fn is_gone(&self) -> bool {
        false
    }

    fn comes_back(&self) -> bool {
        self.asks_again
    }
}

/// The callers, commands and refusals of those that came back, and how long the shard held them.
fn came_back(given_back: Vec<GivenBack<Node, Command>>) -> Vec<(u64, Command, &'static str, Duration)> {
    let parts = given_back.into_iter().map(GivenBack::into_parts);
    parts
        .map(|(caller, command, given_up)| match command {
            Forwarded::Queue { command, searches: false } => {
                (caller.number, command, given_up.refusal.code(), given_up.held)
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn a_fenced_shard_gives_back_all_that_it_did_not_do() {
    let mut shard = Slow::new(None);
    shard.submit(node(1), put("mail", "first"));
    shard.submit(node(2), wait_for("other", 1, 60_000));
    shard.turn(1);
    shard.commit();
    shard.submit(node(3), put("mail", "second"));
    shard.submit(other(4), put("mail", "third"));
    shard.submit(node(5), put("mail", "fourth"));
    shard.submit(node(6), put("mail", "fifth"));
    *shard.plan.lock().expect("free") = Some((Asked::Append, 2, Wrong::Fenced));
    let (next, replies) = shard.turn(500);
    assert!(next.stopped && shard.core.is_moved());
    assert_eq!(codes(&replies), [(1, "ok"), (4, MOVED)]);
    let mut back = came_back(shard.given_back());
    back.sort_by_key(|(caller, ..)| *caller);
    // The fourth was cut short, the fifth did not begin.
    assert_eq!(
        back,
        [
            (2, wait_for("other", 1, 60_000), MOVED, millis(499)),
            (3, put("mail", "second"), MOVED, millis(0)),
            (5, put("mail", "fourth"), MOVED, millis(0)),
            (6, put("mail", "fifth"), MOVED, millis(0)),
        ]
    );
}

#[test]
fn a_shard_whose_log_is_silent_gives_back_what_may_have_happened() {
    let mut shard = Slow::new(None);
    shard.submit(node(1), put("mail", "first"));
    shard.submit(other(2), put("mail", "second"));
    let peek = Command::Peek {
        queue: crate::fixture::queue("mail"),
        state: None,
        key: None,
        after: None,
        jobs_max: 10,
    };
    shard.submit(node(3), peek);
    shard.turn(1);
    shard.submit(node(4), put("mail", "later"));
    let (_, replies) = shard.turn(WAIT);
    // Nothing of what is refused happened, so its caller hears it at once.
    assert_eq!(codes(&replies), [(2, OUTCOME_UNKNOWN), (3, LOG_AWAY), (4, LOG_AWAY)]);
    assert_eq!(came_back(shard.given_back()), [(1, put("mail", "first"), OUTCOME_UNKNOWN, millis(WAIT))]);
    // Those that are kept stay with their own answers.
    shard.commit();
    shard.submit(node(5), put("mail", "third"));
    shard.turn(1);
    shard.submit(node(6), reserve("mail", 1));
    shard.turn(1);
    let (_, replies) = shard.turn(WAIT);
    assert_eq!(codes(&replies), []);
    assert_eq!(
        came_back(shard.given_back()),
        [
            (5, put("mail", "third"), OUTCOME_UNKNOWN, millis(WAIT + 1)),
            (6, reserve("mail", 1), OUTCOME_UNKNOWN, millis(WAIT)),
        ]
    );
}

#[test]
fn a_shard_that_hands_over_gives_back_what_it_does_not_begin() {
    let mut shard = Slow::new(None);
    shard.submit(node(1), put("mail", "first"));
    shard.turn(1);
    shard.core.hand_over();
    shard.submit(node(2), put("mail", "second"));
    shard.submit(other(3), put("mail", "third"));
    let (next, _) = shard.turn(1);
    assert!(!next.stopped, "the first one's commit is waited for");
    assert_eq!(came_back(shard.given_back()), [(2, put("mail", "second"), MOVED, millis(0))]);
    shard.commit();
    let (next, replies) = shard.turn(1);
    assert_eq!(codes(&replies), [(1, "ok"), (3, MOVED)]);
    assert!(next.stopped && came_back(shard.given_back()).is_empty());
}

#[test]
fn a_shard_whose_log_cannot_be_followed_gives_back_what_may_have_happened() {
    let mut shard = Slow::new(None);
    shard.submit(node(1), put("mail", "first"));
    shard.turn(1);
    shard.submit(node(2), put("mail", "second"));
    *shard.plan.lock().expect("free") = Some((Asked::Append, 0, Wrong::Unknown));
    let (_, replies) = shard.turn(1);
    assert_eq!(codes(&replies), []);
    let mut back = came_back(shard.given_back());
    back.sort_by_key(|(caller, ..)| *caller);
    assert_eq!(
        back,
        [
            (1, put("mail", "first"), OUTCOME_UNKNOWN, millis(1)),
            (2, put("mail", "second"), OUTCOME_UNKNOWN, millis(0)),
        ]
    );
}

#[test]
fn a_shard_that_opens_its_journal_again_gives_nothing_back() {
    let mut shard = Slow::new(None);
    shard.submit(node(1), put("mail", "first"));
    *shard.plan.lock().expect("free") = Some((Asked::Append, 0, Wrong::NoRoom));
    let mut replies = Vec::new();
    for _ in 0..10 {
        replies.append(&mut shard.turn(1_000).1);
    }
    assert_eq!(codes(&replies), [(1, "SHARD-003")]);
    assert_eq!(came_back(shard.given_back()), []);
}
