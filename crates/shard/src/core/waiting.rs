//! Commands that wait for an item: first come, first served within the line of a key.
//!
//! Bounded by `waiting_max`. The lines link entries of one slab, so that a caller who goes is taken
//! out in O(1); a deadline of one who went earlier is dropped when it comes up, or when such are most.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hash;

use hashbrown::HashMap;
use slab::Slab;
use stadium_state_machine::Time;

/// A command that waits.
struct Waiter<K, R> {
    /// It, and who is to get the answer.
    request: R,
    /// Distinguishes the request from all others that are not answered yet.
    caller: u64,
    key: K,
    deadline: Time,
    /// Distinguishes entries of one slot.
    number: u64,
    previous: Option<usize>,
    next: Option<usize>,
}

/// The commands that wait under one key.
#[derive(Clone, Copy)]
struct Line {
    first: usize,
    last: usize,
    length: u64,
}

/// Requests `R` that wait in the lines of keys `K`.
pub(super) struct Waiting<K, R> {
    waiters: Slab<Waiter<K, R>>,
    lines: HashMap<K, Line, foldhash::fast::RandomState>,
    by_caller: HashMap<u64, usize, foldhash::fast::RandomState>,
    /// When each gives up: deadline, slot, number.
    deadlines: BinaryHeap<Reverse<(Time, usize, u64)>>,
    numbers: u64,
}

impl<K: Clone + Eq + Hash, R> Waiting<K, R> {
    pub(super) fn new() -> Self {
        Self {
            waiters: Slab::new(),
            lines: HashMap::default(),
            by_caller: HashMap::default(),
            deadlines: BinaryHeap::new(),
            numbers: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiters.len()
    }

    /// How many wait under this key.
    pub(super) fn under(&self, key: &K) -> u64 {
        self.lines.get(key).map_or(0, |line| line.length)
    }

    /// Puts the request of a caller at the end of the key's line.
    pub(super) fn push(&mut self, caller: u64, request: R, key: K, deadline: Time) {
        self.numbers += 1;
        let number = self.numbers;
        let previous = self.lines.get(&key).map(|line| line.last);
        let waiter = Waiter { request, caller, key: key.clone(), deadline, number, previous, next: None };
        let slot = self.waiters.insert(waiter);
        match self.lines.get_mut(&key) {
            Some(line) => {
                self.waiters[line.last].next = Some(slot);
                line.last = slot;
                line.length += 1;
            }
            None => {
                self.lines.insert(key, Line { first: slot, last: slot, length: 1 });
            }
        }
        self.by_caller.insert(caller, slot);
        if self.deadlines.len() > 2 * self.waiters.len() + 64 {
            self.deadlines.clear();
            let left = self.waiters.iter().filter(|&(at, _)| at != slot);
            self.deadlines.extend(left.map(|(at, waiter)| Reverse((waiter.deadline, at, waiter.number))));
        }
        self.deadlines.push(Reverse((deadline, slot, number)));
    }

    /// The first one of a key's line.
    pub(super) fn first(&self, key: &K) -> Option<&R> {
        self.lines.get(key).map(|line| &self.waiters[line.first].request)
    }

    /// Takes out the first one of a key's line.
    pub(super) fn pop(&mut self, key: &K) -> Option<R> {
        let first = self.lines.get(key)?.first;
        Some(self.take(first))
    }

    /// Takes out whom nobody waits for any more.
    pub(super) fn remove(&mut self, caller: u64) -> Option<R> {
        let slot = *self.by_caller.get(&caller)?;
        Some(self.take(slot))
    }

    /// Takes out one whose time is over; with its deadline.
    pub(super) fn pop_expired(&mut self, now: Time) -> Option<(R, Time)> {
        while let Some(&Reverse((deadline, slot, number))) = self.deadlines.peek() {
            let is_there = self.waiters.get(slot).is_some_and(|waiter| waiter.number == number);
            if is_there && deadline > now {
                return None;
            }
            self.deadlines.pop();
            if is_there {
                return Some((self.take(slot), deadline));
            }
        }
        None
    }

    /// Takes out anyone; with its deadline.
    pub(super) fn pop_any(&mut self) -> Option<(R, Time)> {
        let (slot, waiter) = self.waiters.iter().next()?;
        let deadline = waiter.deadline;
        Some((self.take(slot), deadline))
    }

    /// When the next one gives up, or earlier.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.deadlines.peek().map(|&Reverse((deadline, _, _))| deadline)
    }

    /// The keys under which somebody waits.
    pub(super) fn keys(&self, into: &mut Vec<K>) {
        into.extend(self.lines.keys().cloned());
    }

    fn take(&mut self, slot: usize) -> R {
        let waiter = self.waiters.remove(slot);
        if let Some(previous) = waiter.previous {
            self.waiters[previous].next = waiter.next;
        }
        if let Some(next) = waiter.next {
            self.waiters[next].previous = waiter.previous;
        }
        let line = self.lines.get_mut(&waiter.key).expect("a waiter stands in its key's line");
        line.length -= 1;
        match (waiter.previous, waiter.next) {
            (None, None) => {
                self.lines.remove(&waiter.key);
            }
            (None, Some(next)) => line.first = next,
            (Some(previous), None) => line.last = previous,
            (Some(_), Some(_)) => {}
        }
        // Another shard's copy of a request may have come back with the same caller.
        if self.by_caller.get(&waiter.caller) == Some(&slot) {
            self.by_caller.remove(&waiter.caller);
        }
        waiter.request
    }
}

#[cfg(test)]
mod tests {
    use stadium_state_machine::Time;

    /// Requests are the numbers of their callers.
    type Waiting = super::Waiting<&'static str, u64>;

    fn wait(waiting: &mut Waiting, caller: u64, key: &'static str, deadline: u64) {
        waiting.push(caller, caller, key, Time(deadline));
    }

    fn line(waiting: &mut Waiting, key: &'static str) -> Vec<u64> {
        std::iter::from_fn(|| waiting.pop(&key)).collect()
    }

    #[test]
    fn the_first_who_came_is_served_first() {
        let mut waiting = Waiting::new();
        for caller in 1..=3 {
            wait(&mut waiting, caller, "mail", 100);
            wait(&mut waiting, caller + 10, "sms", 100);
        }
        assert_eq!(waiting.under(&"mail"), 3);
        assert_eq!(line(&mut waiting, "mail"), [1, 2, 3]);
        assert_eq!(line(&mut waiting, "sms"), [11, 12, 13]);
        assert_eq!(waiting.len(), 0);
    }

    #[test]
    fn a_consumer_that_goes_leaves_the_line_wherever_it_stands() {
        for gone in 1..=3 {
            let mut waiting = Waiting::new();
            (1..=3).for_each(|caller| wait(&mut waiting, caller, "mail", 100));
            assert!(waiting.remove(gone).is_some());
            assert!(waiting.remove(gone).is_none());
            let rest: Vec<u64> = (1..=3).filter(|&caller| caller != gone).collect();
            assert_eq!(line(&mut waiting, "mail"), rest);
        }
    }

    #[test]
    fn deadlines_come_in_their_order_and_only_of_who_still_waits() {
        let mut waiting = Waiting::new();
        for (caller, deadline) in [(1, 30), (2, 10), (3, 20)] {
            wait(&mut waiting, caller, "mail", deadline);
        }
        waiting.remove(2);
        assert!(waiting.pop_expired(Time(15)).is_none());
        assert_eq!(waiting.next_deadline(), Some(Time(20)));
        assert_eq!(waiting.pop_expired(Time(40)), Some((3, Time(20))));
        assert_eq!(waiting.pop_expired(Time(40)), Some((1, Time(30))));
        assert!(waiting.pop_expired(Time(40)).is_none());
    }

    #[test]
    fn deadlines_of_those_who_went_do_not_pile_up() {
        let mut waiting = Waiting::new();
        for caller in 0..10_000 {
            wait(&mut waiting, caller, "mail", 1_000_000);
            waiting.remove(caller);
        }
        wait(&mut waiting, 1, "mail", 5);
        assert!(waiting.deadlines.len() <= 128, "{}", waiting.deadlines.len());
        assert_eq!(waiting.next_deadline().map(|deadline| deadline <= Time(5)), Some(true));
    }
}
