//! The shared subscriptions of one session.
//!
//! Each is found by its text in constant time and has a number that no other of the session has. Deliveries name it,
//! also after it ended: a number that was given back is given again only after many others were.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::{HashTable, hash_table};

use super::session::SharedId;
use crate::packet::SubscriptionOptions;

/// A shared subscription, as the session sees it.
#[derive(Debug, Clone)]
pub(super) struct SharedHeld {
    pub id: SharedId,
    /// `$share/GROUP/FILTER`.
    pub filter: Box<str>,
    pub options: SubscriptionOptions,
    pub subscription_id: Option<u32>,
    /// Some of its topics are denied, see [`super::Grant::Partly`].
    pub is_partly_granted: bool,
}

/// What a session has of them, in no particular order.
#[derive(Debug, Default)]
pub(super) struct Shares {
    by_text: HashTable<SharedHeld>,
    /// The highest number that was given.
    given: u16,
    /// Numbers below it that were given back, the first one first.
    free: VecDeque<u16>,
}

/// Numbers that are given back before one of them is given again. A delivery that came by a subscription that ended must
/// not be taken for one of another group, to which it would be handed on.
const RESTING: usize = 256;

impl Shares {
    pub fn len(&self) -> usize {
        self.by_text.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_text.is_empty()
    }

    pub fn iter(&self) -> hash_table::Iter<'_, SharedHeld> {
        self.by_text.iter()
    }

    pub fn find(&self, filter: &str) -> Option<&SharedHeld> {
        self.by_text.find(hash(filter), |held| &*held.filter == filter)
    }

    /// The number for one more; none where all are in use. It is in use once it is [put](Self::put).
    pub fn free_id(&mut self) -> Option<SharedId> {
        if self.given == u16::MAX && self.free.is_empty() {
            // Numbers that came back from the disk leave gaps.
            let mut used = vec![false; usize::from(u16::MAX) + 1];
            self.iter().for_each(|held| used[usize::from(held.id.number())] = true);
            self.free = (1..=u16::MAX).filter(|&id| !used[usize::from(id)]).collect();
        }
        let rested = self.free.front().copied().filter(|_| self.free.len() > RESTING);
        let number = rested.or_else(|| self.given.checked_add(1)).or_else(|| self.free.front().copied())?;
        Some(SharedId::from_number(number))
    }

    /// A delivery came by a subscription with this number, which may have ended: it is not given to another one now.
    pub fn reserve(&mut self, id: SharedId) {
        self.given = self.given.max(id.number());
    }

    /// Adds one, or replaces the one with the same text.
    pub fn put(&mut self, held: SharedHeld) {
        if self.free.front() == Some(&held.id.number()) {
            self.free.pop_front();
        }
        self.given = self.given.max(held.id.number());
        let entry = self.by_text.entry(
            hash(&held.filter),
            |other| other.filter == held.filter,
            |held| hash(&held.filter),
        );
        match entry {
            hash_table::Entry::Occupied(mut same) => *same.get_mut() = held,
            hash_table::Entry::Vacant(place) => {
                place.insert(held);
            }
        }
    }

    pub fn remove(&mut self, filter: &str) -> Option<SharedHeld> {
        let found = self.by_text.find_entry(hash(filter), |held| &*held.filter == filter).ok()?;
        let (held, _) = found.remove();
        self.free.push_back(held.id.number());
        Some(held)
    }
}

fn hash(text: &str) -> u64 {
    FixedState::default().hash_one(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{QoS, RetainHandling};
    use std::collections::HashSet;

    fn add(shares: &mut Shares, filter: &str) -> Option<u16> {
        let id = shares.free_id()?;
        let options = SubscriptionOptions {
            qos: QoS::AtLeastOnce,
            no_local: false,
            retain_as_published: false,
            retain_handling: RetainHandling::Send,
        };
        let (subscription_id, is_partly_granted) = (None, false);
        shares.put(SharedHeld { id, filter: filter.into(), options, subscription_id, is_partly_granted });
        Some(id.number())
    }

    #[test]
    fn numbers_differ_whatever_comes_and_goes() {
        let mut shares = Shares::default();
        for round in 0..5 {
            for one in 0..1_000 {
                add(&mut shares, &format!("$share/g/{round}/{one}"));
            }
            for one in (0..1_000).step_by(3) {
                assert!(shares.remove(&format!("$share/g/{round}/{one}")).is_some());
            }
        }
        let numbers: HashSet<u16> = shares.iter().map(|held| held.id.number()).collect();
        assert_eq!(numbers.len(), shares.len());
        assert!(!numbers.contains(&0));
        assert!(shares.given <= 4_000, "numbers are given again: {}", shares.given);
    }

    #[test]
    fn a_number_that_was_given_back_rests() {
        let mut shares = Shares::default();
        let first = add(&mut shares, "$share/g/first").expect("there are many");
        shares.remove("$share/g/first").expect("it was added");
        shares.reserve(SharedId::from_number(7));
        for one in 0..RESTING {
            assert!(
                add(&mut shares, "$share/h/t").is_some_and(|number| number != first && number > 7),
                "{one}"
            );
            shares.remove("$share/h/t").expect("it was added");
        }
        assert_eq!(add(&mut shares, "$share/h/t"), Some(first));
    }

    #[test]
    fn numbers_of_restored_ones_are_not_given_again_and_all_are_used() {
        let mut shares = Shares::default();
        let first = add(&mut shares, "$share/g/first").expect("there are many");
        let mut high = shares.remove("$share/g/first").expect("it was added");
        high.id = SharedId::from_number(u16::MAX);
        shares = Shares::default();
        shares.put(high);
        for one in 1..u16::MAX {
            let given = add(&mut shares, &one.to_string()).expect("one is free");
            assert!((first..u16::MAX).contains(&given));
        }
        assert_eq!(shares.len(), usize::from(u16::MAX));
        assert_eq!(add(&mut shares, "one too many"), None);
        let numbers: HashSet<u16> = shares.iter().map(|held| held.id.number()).collect();
        assert_eq!(numbers.len(), shares.len());
    }
}
