//! The principals of the jobs that are here: each stands once, under a number that fits into a job.
//!
//! Events have the id, jobs in memory and in checkpoints the number. Which number a principal has
//! follows from the events alone, so that a recovery gives the same one. A principal whose last job
//! is gone keeps its number until another one needs it.

use std::hash::BuildHasher;

use foldhash::quality::FixedState;
use hashbrown::HashTable;
use stadium_state_machine::encoding::{Reader, corrupt, number, text};

use crate::{Corrupt, PrincipalId};

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
    id: PrincipalId,
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
        let holder = self.all.get_mut(usize::from(number) - 1);
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
        Some(&self.all.get(usize::from(number).checked_sub(1)?)?.id)
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
            return self.add(id);
        }
        let free = |at: &usize| self.all[*at].jobs == 0;
        let Some(at) = (self.next..self.all.len()).chain(0..self.next).find(free) else { return NOBODY };
        self.next = at + 1;
        let number = at as u16 + 1;
        let old = std::mem::replace(&mut self.all[at].id, id);
        if let Ok(entry) = self.by_id.find_entry(self.hasher.hash_one(old.as_str()), |&of| of == number) {
            entry.remove();
        }
        self.index(number);
        number
    }

    fn add(&mut self, id: PrincipalId) -> u16 {
        self.all.push(Holder { id, jobs: 0 });
        let number = self.all.len() as u16;
        self.index(number);
        number
    }

    fn index(&mut self, number: u16) {
        let (all, hasher) = (&self.all, &self.hasher);
        let hash = |of: u16| hasher.hash_one(all[usize::from(of) - 1].id.as_str());
        self.by_id.insert_unique(hash(number), number, |&of| hash(of));
    }

    /// Appends the principals by number, and where the next free number is looked for.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        number(out, self.all.len() as u64);
        self.all.iter().for_each(|holder| text(out, holder.id.as_str()));
        number(out, self.next as u64);
    }

    /// Reads what [`Self::encode`] wrote; jobs are counted as they are found.
    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let mut principals = Self::default();
        for _ in 0..input.number()? {
            let id = PrincipalId::new(input.text()?).map_err(|error| corrupt(error.to_string()))?;
            let is_full = principals.all.len() == usize::from(PRINCIPALS_MAX);
            if is_full || principals.find(id.as_str()).is_some() {
                return Err(corrupt("a principal stands twice, or there are too many"));
            }
            principals.add(id);
        }
        principals.next = input.small()?;
        if principals.next > principals.all.len() {
            return Err(corrupt("the next principal is beyond the last one"));
        }
        Ok(principals)
    }

    /// Bytes of memory, but for ids of more than 24 bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<Holder>() + self.by_id.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use stadium_state_machine::encoding::Reader;

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
        let mut saved = Vec::new();
        principals.encode(&mut saved);
        let mut restored = Principals::decode(&mut Reader::new(&saved)).expect("its own bytes");
        assert!(restored.take_again(numbers[2]) && restored.take_again(NOBODY));
        assert!(!restored.take_again(77), "nobody has it");
        for name in ["carl", "ben", "dora"] {
            assert_eq!(restored.take(name), principals.take(name), "{name}");
        }
        let twice = [&[2, 1, b'a', 1, b'a', 0][..], &[1, 0, 0], &[1, 1, b'a', 2], &[9]];
        assert!(twice.iter().all(|bytes| Principals::decode(&mut Reader::new(bytes)).is_err()));
    }
}
