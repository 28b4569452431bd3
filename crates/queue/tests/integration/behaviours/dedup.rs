//! Ids that make a put safe to repeat.

use stadium_queue::{Dedup, NewJob};

use crate::harness::{Harness, job, key};

fn once(payload: &str, id: &str, window: Option<u64>) -> NewJob {
    NewJob { dedup: Some(Dedup { id: key(id), window }), ..job(payload) }
}

#[test]
fn the_same_id_again_is_the_first_job() {
    let mut harness = Harness::new();
    let first = harness.try_put("mail", vec![once("hello", "id", None)]).unwrap()[0];
    let second = harness.try_put("mail", vec![once("hello", "id", None)]).unwrap()[0];
    assert_eq!((first.duplicate, second.duplicate, first.job), (false, true, second.job));
    assert_eq!((harness.queues.jobs(), harness.stats("mail").duplicates), (1, 1));
    harness.crash();
    assert!(harness.try_put("mail", vec![once("hello", "id", None)]).unwrap()[0].duplicate);
}

#[test]
fn it_stays_known_when_the_job_is_done_and_until_the_window_is_over() {
    let mut harness = Harness::new();
    harness.put("mail", once("hello", "id", Some(10_000)));
    let lease = harness.reserve("mail", 1);
    harness.settle_all(lease);
    harness.pass(9_999);
    assert!(harness.try_put("mail", vec![once("hello", "id", Some(10_000))]).unwrap()[0].duplicate);
    harness.pass(1);
    assert!(!harness.try_put("mail", vec![once("hello", "id", Some(10_000))]).unwrap()[0].duplicate);
}

#[test]
fn the_same_id_with_another_content_is_rejected_and_nothing_of_the_put_happens() {
    let mut harness = Harness::new();
    harness.put("mail", once("hello", "id", None));
    let refused = harness.try_put("mail", vec![job("new"), once("other", "id", None)]).unwrap_err();
    assert_eq!(refused.code(), "QUE-024");
    assert_eq!(harness.queues.jobs(), 1);
    let refused = harness.try_put("mail", vec![once("a", "twice", None), once("b", "twice", None)]);
    assert_eq!(refused.unwrap_err().code(), "QUE-024", "within one put too");
}

#[test]
fn an_id_twice_in_one_put_is_one_job() {
    let mut harness = Harness::new();
    let placed = harness.try_put("mail", vec![once("a", "id", None), once("a", "id", None)]).unwrap();
    assert_eq!((placed[0].job, placed[1].duplicate), (placed[1].job, true));
}

#[test]
fn ids_of_different_queues_and_of_a_queue_made_anew_are_different() {
    let mut harness = Harness::new();
    harness.put("mail", once("hello", "id", None));
    assert!(!harness.try_put("other", vec![once("hello", "id", None)]).unwrap()[0].duplicate);
    let lease = harness.reserve("mail", 1);
    harness.settle_all(lease);
    harness.done(stadium_queue::Command::Drop { queue: crate::harness::queue("mail") });
    assert!(!harness.try_put("mail", vec![once("hello", "id", None)]).unwrap()[0].duplicate);
}
