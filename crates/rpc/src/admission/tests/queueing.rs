//! Behaviours of calls that wait for a worker.

use crate::admission::*;

const MS: u64 = 1_000;
const SECOND: u64 = 1_000 * MS;

fn room(waiting_max: usize) -> Queue<u32> {
    Queue::new(QueueSettings { waiting_max, ..Default::default() })
}

fn waits(item: u32, since_us: u64) -> Waiting<u32> {
    Waiting { item, since_us, deadline_us: since_us + SECOND }
}

#[test]
fn in_good_times_the_first_to_come_is_the_first_to_go() {
    let mut queue = room(10);
    for item in 1..=3 {
        assert_eq!(queue.push(waits(item, 0)), Pushed::Waiting);
    }
    let order: Vec<_> = std::iter::from_fn(|| queue.pop(MS)).collect();
    assert_eq!(order, [Popped::Work(1), Popped::Work(2), Popped::Work(3)]);
}

#[test]
fn a_call_whose_deadline_has_passed_is_never_work() {
    let mut queue = room(10);
    let _ = queue.push(Waiting { deadline_us: 2 * MS, ..waits(1, 0) });
    let _ = queue.push(waits(2, 0));
    assert_eq!(queue.pop(2 * MS), Some(Popped::Expired(1)));
    assert_eq!(queue.pop(2 * MS), Some(Popped::Work(2)));
    assert_eq!(queue.pop(2 * MS), None);
}

#[test]
fn a_queue_that_stands_serves_the_newest_and_refuses_the_oldest() {
    let mut queue = room(100);
    for n in 0..30 {
        let _ = queue.push(waits(n, u64::from(n) * 5 * MS));
    }
    // The oldest has been waiting for 145 ms, and above the target of 5 ms for 140 of them.
    let now_us = 145 * MS;
    assert!(queue.overloaded(now_us));
    for stale in 0..9 {
        assert_eq!(queue.pop(now_us), Some(Popped::Stale(stale)), "older than 100 ms");
    }
    assert_eq!(queue.pop(now_us), Some(Popped::Work(29)));
    assert_eq!(queue.pop(now_us), Some(Popped::Work(28)));
}

#[test]
fn a_short_burst_is_no_overload() {
    let mut queue = room(100);
    for n in 0..20 {
        let _ = queue.push(waits(n, 0));
    }
    for n in 0..20 {
        let now_us = u64::from(n) * 4 * MS;
        assert_eq!(queue.pop(now_us), Some(Popped::Work(n)), "the burst is gone before the interval is over");
    }
}

#[test]
fn a_queue_that_has_recovered_is_in_order_again() {
    let mut queue = room(100);
    for n in 0..10 {
        let _ = queue.push(waits(n, 0));
    }
    while queue.pop(150 * MS).is_some() {}
    let _ = queue.push(waits(10, 151 * MS));
    let _ = queue.push(waits(11, 151 * MS));
    assert_eq!(queue.pop(152 * MS), Some(Popped::Work(10)));
}

#[test]
fn a_full_queue_says_when_to_come_back() {
    let mut queue = room(50);
    for n in 0..50 {
        let _ = queue.push(waits(n, 0));
    }
    // Four milliseconds a call.
    for n in 0..10 {
        assert!(matches!(queue.pop(u64::from(n) * 4 * MS), Some(Popped::Work(_))));
        let _ = queue.push(waits(100 + n, u64::from(n) * 4 * MS));
    }
    match queue.push(waits(999, 40 * MS)) {
        Pushed::Full { item: 999, retry_after_ms } => {
            assert!((190..=210).contains(&retry_after_ms), "51 calls of 4 ms: {retry_after_ms}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_full_queue_makes_room_from_those_that_are_too_late() {
    let mut queue = room(2);
    let _ = queue.push(Waiting { deadline_us: 10 * MS, ..waits(1, 0) });
    let _ = queue.push(waits(2, 0));
    assert!(matches!(queue.push(waits(3, 5 * MS)), Pushed::Full { item: 3, .. }));
    assert_eq!(queue.push(waits(3, 10 * MS)), Pushed::DisplacedExpired(1));
    assert!(matches!(queue.push(waits(4, 11 * MS)), Pushed::Full { item: 4, .. }));
    assert_eq!(queue.push(waits(4, 200 * MS)), Pushed::DisplacedStale(2));
    assert_eq!(queue.len(), 2);
}

#[test]
fn a_cancelled_call_leaves_its_place() {
    let mut queue = room(2);
    let _ = queue.push(waits(1, 0));
    let _ = queue.push(waits(2, 0));
    assert_eq!(queue.cancel(|call| call.item == 1), Some(1));
    assert_eq!(queue.cancel(|call| call.item == 1), None);
    assert_eq!(queue.pop(0), Some(Popped::Work(2)));
}

#[test]
fn under_overload_those_who_are_served_were_served_soon() {
    // One worker of 2 ms, a call each millisecond with a patience of 150 ms, for ten seconds.
    let mut queue = room(1_000);
    let (mut served, mut waited_us, mut vain) = (0u32, Vec::new(), 0u32);
    for ms in 0..10_000u64 {
        let _ = queue.push(Waiting { item: ms as u32, since_us: ms * MS, deadline_us: (ms + 150) * MS });
        if ms % 2 == 1 {
            loop {
                match queue.pop(ms * MS) {
                    Some(Popped::Work(at_ms)) => {
                        served += 1;
                        waited_us.push(ms - u64::from(at_ms));
                        break;
                    }
                    Some(Popped::Expired(_) | Popped::Stale(_)) => vain += 1,
                    None => break,
                }
            }
        }
    }
    waited_us.sort_unstable();
    assert_eq!(served, 5_000, "the worker always has work");
    assert!(vain > 4_500);
    assert!(waited_us[4_500] <= 1, "nine in ten wait a millisecond at most: {}", waited_us[4_500]);
}
