//! A standby takes a shard over, and the owner before it accepts nothing any more.
//!
//! Nor does it answer reads from its memory, unless its lease is certain.

use std::sync::Arc;

use stadium_journal_log::Topic;
use stadium_journal_replicated::memory::MemoryTopic;
use stadium_queue::Refusal;
use stadium_shard::{FollowerLag, LOG_AWAY, MOVED, OUTCOME_UNKNOWN, ReplicaState};

use crate::fixture::{LONG, Node, peek, put, until, work_off};

fn topic(count: usize) -> Arc<dyn Topic> {
    Arc::new(MemoryTopic::new(count))
}

#[test]
fn a_standby_has_what_its_owner_acknowledged_and_takes_over() {
    let topic = topic(1);
    let (first, second) = (Node::new(&topic, 1), Node::new(&topic, 1));
    first.follow(0);
    second.follow(0);
    let refusal = first.put("too early").expect_err("nobody owns the shard");
    assert_eq!(refusal.code(), "SHARD-016");
    first.shards.claim(0, 1);
    until("the log is claimed", || matches!(first.state(0), Some(ReplicaState::Claimed { .. })));
    let refusal = first.put("too early").expect_err("a claim alone serves nothing");
    assert_eq!(refusal.code(), "SHARD-016");
    first.own(0);
    for number in 0..500 {
        first.put(&format!("job {number}")).expect("it is accepted");
    }
    until("the standby is in step", || second.is_in_step(0));
    let has_all = |lag: FollowerLag| (lag.messages, lag.since) == (Some(0), None);
    until("the standby says that it is not behind", || second.shards.lag(0).is_some_and(has_all));
    assert_eq!(first.shards.lag(0), None, "an owner follows nobody");
    second.own(0);
    let jobs: Vec<_> = (0..500).map(|number| format!("job {number}")).collect();
    assert_eq!(second.there(), jobs);
    second.put("after").expect("the new owner accepts");
    // The first owner is told by the log, at its next command at the latest.
    match first.put("too late") {
        Err(refusal) => assert!([MOVED, "SHARD-016"].contains(&refusal.code()), "{refusal}"),
        Ok(answer) => panic!("a fenced owner accepted: {answer:?}"),
    }
    until("the first owner follows", || first.is_in_step(0));
    // It has what the second one wrote, and none of its own.
    first.own(0);
    assert_eq!(first.there(), [jobs, vec!["after".to_owned()]].concat());
}

#[test]
fn a_planned_move_refuses_and_loses_nothing() {
    let topic = topic(1);
    let (first, second) = (Node::new(&topic, 1), Node::new(&topic, 1));
    first.follow(0);
    second.follow(0);
    first.own(0);
    // The hand-over may overtake all of the others.
    first.put("first").expect("it is accepted");
    let tickets: Vec<_> = (0..200).map(|number| first.shards.submit(put(&format!("{number}")))).collect();
    first.shards.hand_over(0);
    let mut accepted = vec!["first".to_owned()];
    for (number, ticket) in tickets.into_iter().enumerate() {
        match ticket.wait(LONG).expect("it is answered") {
            Ok(_) => accepted.push(number.to_string()),
            Err(Refusal::Busy { .. }) => {}
            Err(refusal) => panic!("{refusal}"),
        }
    }
    until("the owner has handed over", || first.is_in_step(0));
    second.own(0);
    assert_eq!(second.there(), accepted);
    // And back again: it kept its state.
    second.put("there").expect("it is accepted");
    second.shards.hand_over(0);
    until("the second has handed over", || second.is_in_step(0));
    first.own(0);
    assert_eq!(first.there(), [accepted, vec!["there".to_owned()]].concat());
}

#[test]
fn a_node_that_ended_comes_back_from_its_mirror_and_its_checkpoint() {
    let topic = topic(2);
    let node = Node::new(&topic, 2);
    for shard in 0..2 {
        node.follow(shard);
        node.own(shard);
    }
    for number in 0..50 {
        node.put(&format!("{number}")).expect("it is accepted");
    }
    // A stop writes a checkpoint.
    for shard in 0..2 {
        assert!(node.shards.close_shard(shard, LONG), "the shard stops");
    }
    for shard in 0..2 {
        node.follow(shard);
        node.own(shard);
    }
    assert_eq!(node.there(), (0..50).map(|number| number.to_string()).collect::<Vec<_>>());
    node.put("after").expect("it is accepted");
}

#[test]
fn a_standby_writes_checkpoints_and_its_mirror_does_not_grow() {
    const ROUNDS: usize = 48;
    let topic = topic(1);
    let (first, second) = (Node::keeping_little(&topic, 1), Node::keeping_little(&topic, 1));
    first.follow(0);
    second.follow(0);
    first.own(0);
    let payload = "x".repeat(64 << 10);
    for _ in 0..ROUNDS {
        (0..16).for_each(|_| drop(first.put(&payload).expect("it is accepted")));
        assert_eq!(work_off(&first), 16);
    }
    first.put("stays").expect("it is accepted");
    // A MiB was written in each round.
    let most = (ROUNDS as u64) << 19;
    until("the standby has written checkpoints", || second.newest_checkpoint(0).is_some());
    until("the standby's mirror is shorter than the log", || second.mirror_bytes(0) < most);
    // It comes back from its own checkpoint: what is before that is not there any more.
    second.close(0);
    second.follow(0);
    second.until_in_step(0);
    // A checkpoint that is being written holds up no takeover.
    second.shards.checkpoint_soon();
    second.own(0);
    assert_eq!(second.there(), ["stays"]);
    second.put("goes on").expect("the new owner accepts");
    first.put("too late").expect_err("the owner before was fenced");
    until("the first owner follows", || first.is_in_step(0));
    first.own(0);
    assert_eq!(first.there(), ["stays", "goes on"]);
}

#[test]
fn an_owner_that_does_not_know_of_its_fence_answers_no_read() {
    let topic = topic(1);
    let ((first, lease), second) = (Node::with_lease(&topic, 1), Node::new(&topic, 1));
    first.follow(0);
    second.follow(0);
    first.own(0);
    first.put("before").expect("it is accepted");
    until("the standby is in step", || second.is_in_step(0));
    second.own(0);
    second.put("after").expect("the new owner accepts");
    // As if another could not have claimed the log: the answer is old, so the owner does not know.
    lease.set(true);
    assert_eq!(first.there(), ["before"]);
    lease.set(false);
    match first.ask(peek()) {
        Err(refusal) => assert!([MOVED, "SHARD-016"].contains(&refusal.code()), "{refusal}"),
        Ok(answer) => panic!("a fenced owner answered: {answer:?}"),
    }
    until("the first owner follows", || first.is_in_step(0));
    assert_eq!(second.there(), ["before", "after"]);
}

#[test]
fn without_a_certain_lease_reads_cost_a_commit_and_are_answered() {
    let topic = topic(1);
    let (node, lease) = Node::with_lease(&topic, 1);
    node.follow(0);
    node.own(0);
    node.put("first").expect("it is accepted");
    assert_eq!(node.there(), ["first"]);
    let tickets: Vec<_> = (0..200).map(|_| node.shards.submit(peek())).collect();
    for ticket in tickets {
        ticket.wait(LONG).expect("it is answered").expect("with what is there");
    }
    let barriers = || node.shards.metrics()[0].barriers;
    until("the figures are there", || barriers() >= 2);
    // One for each at most, and one of the beginning, for what the shard owes to others.
    assert!(barriers() <= 202, "{} barriers", barriers());
    // A record without events is nothing to a standby.
    let standby = Node::new(&topic, 1);
    standby.follow(0);
    until("the standby is in step", || standby.is_in_step(0));
    lease.set(true);
    let records = || node.shards.metrics()[0].records;
    node.put("last").expect("it is accepted");
    until("the figures are there", || records() == barriers() + 2);
    let before = barriers();
    assert_eq!(node.there(), ["first", "last"]);
    node.put("marker").expect("it is accepted");
    until("the figures are there", || records() == before + 3);
    assert_eq!(barriers(), before, "a certain lease needs no commit");
    standby.own(0);
    assert_eq!(standby.there(), ["first", "last", "marker"]);
}

#[test]
fn a_log_that_does_not_answer_has_unknown_outcomes_and_then_busy_ones() {
    let memory = MemoryTopic::new(1);
    let topic: Arc<dyn Topic> = Arc::new(memory.clone());
    let (node, _) = Node::with_lease(&topic, 1);
    node.follow(0);
    node.own(0);
    node.put("before").expect("it is accepted");
    // Calls wait until they are stepped.
    memory.set_faults(Some(Box::new(|_| 0)));
    let read = node.shards.submit(peek());
    let refusal = node.put("under way").expect_err("nothing is confirmed");
    assert!(refusal.code() == OUTCOME_UNKNOWN && refusal.is_unknown(), "{refusal}");
    let read = read.wait(LONG).expect("it is answered").expect_err("no commit proves it");
    assert!(read.code() == LOG_AWAY && !read.is_unknown(), "nothing can have happened: {read}");
    let refusal = node.put("refused").expect_err("the log is away");
    assert!(refusal.code() == LOG_AWAY && !refusal.is_unknown(), "{refusal}");
    until("it tells that it is stalled", || matches!(node.state(0), Some(ReplicaState::Stalled { .. })));
    memory.set_faults(None);
    while memory.step() {}
    until("the shard accepts again", || node.put("after").is_ok());
    until("it tells that it serves", || node.serves(0));
    let there = node.there();
    assert!(!there.contains(&"refused".to_owned()), "{there:?}");
    assert_eq!(there.iter().filter(|job| *job == "under way").count(), 1, "{there:?}");
}
