//! The principals of the jobs that are here: each stands once, under a number that fits into a job.
//!
//! A number is nobody's business but the state's: events and checkpoints of a job have the id, or
//! the table beside it. A principal whose last job is gone keeps its number until another one needs
//! it, so that a queue which runs empty and full again finds it in its place.

use std::hash::BuildHasher;

use foldhash::quality::FixedState;
use hashbrown::HashTable;

use crate::PrincipalId;

/// Principals that have jobs on a shard at one time. Jobs of further ones name none; their history,
/// which is read from the journal, does.
pub(crate) const PRINCIPALS_MAX: u16 = (1 << 12) - 1;

/// The number of no principal.
pub(crate) const NOBODY: u16 = 0;

/// The principals, by number from 1.
#[derive(Default)]
pub(crate) struct Principals {
    /// The one with number n stands at n - 1.
    all: Vec<Holder>,
    by_id: HashTable<u16>,
    hasher: FixedState,
    /// The number that was asked for last: most puts are of the same one as the put before.
    last: u16,
    /// Where the search for a number that is free begins.
    next: usize,
}

/// A principal, and how many of its jobs are here.
struct Holder {
    id: Option<PrincipalId>,
    jobs: u32,
}

impl Principals {
    /// Notes a job of a principal, and returns the principal's number: [`NOBODY`] where it has none,
    /// or where all numbers are taken.
    pub(crate) fn take(&mut self, id: &str) -> u16 {
        if id.is_empty() {
            return NOBODY;
        }
        if self.id(self.last).is_none_or(|last| last.as_str() != id) {
            self.last = self.find(id).unwrap_or_else(|| self.number(id));
        }
        if self.last != NOBODY {
            self.all[usize::from(self.last) - 1].jobs += 1;
        }
        self.last
    }

    /// One more job of a number that a checkpoint has. False where nobody has that number.
    pub(crate) fn take_again(&mut self, number: u16) -> bool {
        if number == NOBODY {
            return true;
        }
        let holder = self.all.get_mut(usize::from(number) - 1).filter(|holder| holder.id.is_some());
        holder.map(|holder| holder.jobs += 1).is_some()
    }

    /// A job of that number is gone.
    pub(crate) fn give_back(&mut self, number: u16) {
        if number != NOBODY {
            self.all[usize::from(number) - 1].jobs -= 1;
        }
    }

    /// The principal with that number.
    pub(crate) fn id(&self, number: u16) -> Option<&PrincipalId> {
        self.all.get(usize::from(number).checked_sub(1)?)?.id.as_ref()
    }

    fn find(&self, id: &str) -> Option<u16> {
        let found = self
            .by_id
            .find(self.hasher.hash_one(id), |&number| self.id(number).is_some_and(|of| of.as_str() == id));
        found.copied()
    }

    /// A number for a principal that has none: a new one, or one whose jobs are all gone.
    fn number(&mut self, id: &str) -> u16 {
        let Ok(id) = PrincipalId::new(id) else { return NOBODY };
        if self.all.len() < usize::from(PRINCIPALS_MAX) {
            self.all.push(Holder { id: None, jobs: 0 });
            let number = self.all.len() as u16;
            self.give(number, id);
            return number;
        }
        let free = |at: &usize| self.all[*at].jobs == 0;
        let Some(at) = (self.next..self.all.len()).chain(0..self.next).find(free) else { return NOBODY };
        self.next = at + 1;
        let number = at as u16 + 1;
        if let Some(old) = self.all[at].id.take() {
            let hash = self.hasher.hash_one(old.as_str());
            if let Ok(entry) = self.by_id.find_entry(hash, |&of| of == number) {
                entry.remove();
            }
        }
        self.give(number, id);
        number
    }

    /// A number that was nobody's is a principal's.
    fn give(&mut self, number: u16, id: PrincipalId) {
        let hash = self.hasher.hash_one(id.as_str());
        self.all[usize::from(number) - 1].id = Some(id);
        let (all, hasher) = (&self.all, &self.hasher);
        self.by_id.insert_unique(hash, number, |&of| {
            hasher.hash_one(all[usize::from(of) - 1].id.as_ref().map_or("", PrincipalId::as_str))
        });
    }

    /// All numbers in their order, with the principals that have jobs.
    pub(crate) fn of_jobs(&self) -> impl ExactSizeIterator<Item = Option<&PrincipalId>> {
        self.all.iter().map(|holder| holder.id.as_ref().filter(|_| holder.jobs > 0))
    }

    /// The next number, as a checkpoint has it. False where there are too many, or one stands twice.
    pub(crate) fn restore(&mut self, id: Option<PrincipalId>) -> bool {
        let is_known = id.as_ref().is_some_and(|id| self.find(id.as_str()).is_some());
        if is_known || self.all.len() >= usize::from(PRINCIPALS_MAX) {
            return false;
        }
        self.all.push(Holder { id: None, jobs: 0 });
        if let Some(id) = id {
            self.give(self.all.len() as u16, id);
        }
        true
    }

    /// Bytes of memory, but for ids of more than 24 bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<Holder>() + self.by_id.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use super::{NOBODY, PRINCIPALS_MAX, Principals};

    fn name(number: u16) -> String {
        format!("k_{number:016x}")
    }

    #[test]
    fn a_principal_has_one_number_while_it_has_jobs() {
        let mut principals = Principals::default();
        let (first, second) = (principals.take("anna"), principals.take("ben"));
        assert_ne!(first, second);
        assert_eq!([principals.take("anna"), principals.take("anna")], [first, first]);
        assert_eq!(principals.id(first).map(|id| id.as_str()), Some("anna"));
        assert_eq!((principals.take(""), principals.id(NOBODY)), (NOBODY, None));
    }

    #[test]
    fn jobs_beyond_the_bound_name_nobody_until_a_number_is_free() {
        let mut principals = Principals::default();
        for number in 1..=PRINCIPALS_MAX {
            assert_eq!(principals.take(&name(number)), number);
        }
        assert_eq!(principals.take("one too many"), NOBODY);
        assert_eq!(principals.take(&name(7)), 7, "who has a number keeps it");
        principals.give_back(7);
        assert_eq!(principals.take("one too many"), NOBODY, "it has a job still");
        principals.give_back(7);
        assert_eq!(principals.take("one too many"), 7);
        assert_eq!(principals.id(7).map(|id| id.as_str()), Some("one too many"));
        assert_eq!(principals.take(&name(7)), NOBODY, "another one has its number");
    }

    #[test]
    fn numbers_are_the_same_when_they_come_back() {
        let mut principals = Principals::default();
        let numbers = ["anna", "ben", "carl"].map(|name| principals.take(name));
        principals.give_back(numbers[1]);
        let saved: Vec<_> = principals.of_jobs().map(|id| id.cloned()).collect();
        assert_eq!(saved.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
        let mut restored = Principals::default();
        assert!(saved.into_iter().all(|id| restored.restore(id)));
        assert!(restored.take_again(numbers[2]) && restored.take_again(NOBODY));
        assert!(!restored.take_again(numbers[1]) && !restored.take_again(77), "nobody has these");
        assert_eq!(restored.take("carl"), numbers[2]);
        assert!(!restored.restore(Some("anna".parse().expect("an id"))), "it stands there already");
    }
}
