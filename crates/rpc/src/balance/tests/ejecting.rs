//! Behaviours of instances that fail, sit out, and prove themselves.
//!
//! Time is a number that the behaviours move on.

use super::fixture::*;
use crate::balance::*;

#[test]
fn five_failures_in_a_row_eject() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1"]);
    fleet.calls(4, "a:1", Outcome::Deadline);
    fleet.calls(1, "a:1", Outcome::Ok);
    fleet.calls(4, "a:1", Outcome::Broken);
    assert_eq!(fleet.state("a:1"), State::Serving);
    fleet.calls(1, "a:1", Outcome::Broken);
    assert_eq!(fleet.state("a:1"), State::Ejected { for_us: SECOND });
    assert_eq!(fleet.shares(200, &["a:1"]), [0.0]);
    assert_eq!(fleet.balancer.ejections(), 1);
}

#[test]
fn busy_and_rejected_are_no_failures() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1"]);
    fleet.calls(50, "a:1", Outcome::Rejected);
    fleet.calls(50, "a:1", Outcome::Busy { retry_after_ms: 1 });
    fleet.calls(50, "a:1", Outcome::Cancelled);
    fleet.wait(SECOND);
    assert_eq!(fleet.state("a:1"), State::Serving);
}

#[test]
fn one_probe_at_a_time_until_three_succeed() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1"]);
    fleet.calls(5, "a:1", Outcome::Broken);
    fleet.wait(SECOND);
    for _ in 0..3 {
        assert_eq!(fleet.state("a:1"), State::Probation);
        assert_eq!(fleet.next(), ("a:1".into(), Why::Probe));
        let probed = fleet.id("a:1");
        fleet.balancer.began(probed, fleet.now_us);
        assert_eq!(fleet.shares(100, &["a:1"]), [0.0], "a probe is under way");
        fleet.wait(MS);
        fleet.balancer.ended(probed, Outcome::Ok, MS, fleet.now_us);
    }
    assert_eq!(fleet.state("a:1"), State::Serving);
    assert!(fleet.shares(500, &["a:1"])[0] > 0.1);
}

#[test]
fn a_failed_probe_makes_the_next_ejection_longer() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1"]);
    fleet.calls(5, "a:1", Outcome::Broken);
    for round in 2..80 {
        let State::Ejected { for_us } = fleet.state("a:1") else { panic!("it is ejected") };
        assert_eq!(for_us, ((round - 1) * SECOND).min(60 * SECOND));
        fleet.wait(for_us);
        assert_eq!(fleet.next(), ("a:1".into(), Why::Probe));
        fleet.calls(1, "a:1", Outcome::Deadline);
    }
}

#[test]
fn a_probe_that_is_taken_back_makes_room_for_another() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1"]);
    fleet.calls(5, "a:1", Outcome::Broken);
    fleet.wait(SECOND);
    fleet.calls(1, "a:1", Outcome::Cancelled);
    assert_eq!(fleet.next(), ("a:1".into(), Why::Probe));
    fleet.calls(1, "a:1", Outcome::Busy { retry_after_ms: 1 });
    assert_eq!(fleet.next(), ("a:1".into(), Why::Probe));
}

#[test]
fn calls_from_before_the_ejection_prove_nothing() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1"]);
    let id = fleet.id("a:1");
    let began_us = fleet.now_us;
    for _ in 0..4 {
        fleet.balancer.began(id, began_us);
    }
    fleet.calls(5, "a:1", Outcome::Broken);
    fleet.wait(SECOND);
    assert_eq!(fleet.next(), ("a:1".into(), Why::Probe));
    fleet.balancer.began(id, fleet.now_us);
    for _ in 0..4 {
        fleet.balancer.ended(id, Outcome::Deadline, fleet.now_us - began_us, fleet.now_us);
    }
    assert_eq!(fleet.state("a:1"), State::Probation);
}

#[test]
fn good_conduct_makes_old_ejections_forgotten() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1"]);
    for _ in 0..3 {
        fleet.calls(5, "a:1", Outcome::Broken);
        let State::Ejected { for_us } = fleet.state("a:1") else { panic!("it is ejected") };
        fleet.wait(for_us);
        fleet.calls(3, "a:1", Outcome::Ok);
    }
    fleet.wait(200 * SECOND);
    fleet.calls(5, "a:1", Outcome::Broken);
    assert_eq!(fleet.state("a:1"), State::Ejected { for_us: SECOND });
}

#[test]
fn at_most_half_are_ejected_and_the_last_is_used_all_the_same() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1"]);
    for address in ["a:1", "b:1", "c:1"] {
        fleet.calls(20, address, Outcome::Broken);
    }
    assert!(matches!(fleet.state("a:1"), State::Ejected { .. }));
    assert!(matches!(fleet.state("b:1"), State::Ejected { .. }), "half of three, rounded up, is two");
    assert_eq!(fleet.state("c:1"), State::Serving);
    assert_eq!(fleet.next(), ("c:1".into(), Why::OnlyOne));
}

#[test]
fn when_all_are_ejected_all_are_used() {
    let mut fleet = Fleet::of(&["a:1", "b:1"]);
    fleet.calls(5, "a:1", Outcome::Broken);
    let other = fleet.id("b:1");
    fleet.balancer.disconnected(other, fleet.now_us + 60 * SECOND);
    assert_eq!(fleet.next(), ("a:1".into(), Why::Panic));
    let key = Choice { key: Some(KeyHash::of(b"k")), exclude: &[] };
    assert_eq!(fleet.choose(key).expect("a is left").0, "a:1");
}

#[test]
fn a_success_rate_far_below_the_others_ejects() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1", "d:1"]);
    // The first window starts with the first update; let it pass, so that the test has one of its
    // own.
    fleet.wait(10 * SECOND);
    fleet.calls(1, "a:1", Outcome::Ok);
    for turn in 0..100 {
        // Every second call fails: never five in a row.
        fleet.calls(1, "a:1", if turn % 2 == 0 { Outcome::Broken } else { Outcome::Ok });
        for address in ["b:1", "c:1", "d:1"] {
            fleet.calls(1, address, if turn % 25 == 0 { Outcome::Broken } else { Outcome::Ok });
        }
    }
    assert_eq!(fleet.state("a:1"), State::Serving, "the window is not over");
    fleet.wait(10 * SECOND);
    fleet.calls(1, "b:1", Outcome::Ok);
    assert!(matches!(fleet.state("a:1"), State::Ejected { .. }));
    assert_eq!(fleet.state("b:1"), State::Serving);
}

#[test]
fn trouble_that_all_share_ejects_nobody_by_rate() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1", "d:1"]);
    for turn in 0..400 {
        for address in ["a:1", "b:1", "c:1", "d:1"] {
            fleet.calls(1, address, if turn % 2 == 0 { Outcome::Broken } else { Outcome::Ok });
        }
        fleet.wait(60 * MS);
    }
    assert_eq!(fleet.balancer.ejections(), 0);
}

#[test]
fn a_retry_is_never_a_probe() {
    let mut fleet = Fleet::of(&["a:1", "b:1", "c:1"]);
    fleet.calls(5, "a:1", Outcome::Broken);
    fleet.wait(SECOND);
    let tried = [fleet.id("b:1")];
    let chosen = fleet.choose(Choice { key: None, exclude: &tried }).expect("c is left");
    assert_eq!(chosen, ("c:1".into(), Why::OnlyOne));
}
