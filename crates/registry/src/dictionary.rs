//! Texts by number: a text that many devices share is stored once, and a device has its number.
//!
//! A text is here as long as somebody has it. Numbers of texts that went are given out again, and never leave the
//! registry: events and views have the texts.

use stadium_table::{Entry, Paged, Table};

use crate::numbers::Numbers;

/// An entry that is found by its content.
pub(crate) trait HashedContent: Entry + PartialEq {
    /// A hash of its content.
    fn hash(&self, state: &foldhash::fast::FixedState) -> u64;
}

/// Entries by number and by content, with the number of uses of each.
pub(crate) struct Dictionary<T> {
    /// Saved by checkpoints.
    pub(crate) table: Table<T>,
    /// Rebuilt: uses of each.
    uses: Paged<u32>,
    /// Rebuilt.
    index: Numbers,
    state: foldhash::fast::FixedState,
}

impl<T: HashedContent> Dictionary<T> {
    pub(crate) fn new(hash_seed: u64) -> Self {
        Self {
            table: Table::new(),
            uses: Paged::new(),
            index: Numbers::new(),
            state: foldhash::fast::FixedState::with_seed(hash_seed),
        }
    }

    pub(crate) fn state(&self) -> &foldhash::fast::FixedState {
        &self.state
    }

    /// The number of the entry with this content, by its hash.
    pub(crate) fn find(&self, hash: u64, is: impl Fn(&T) -> bool) -> Option<u32> {
        self.index.find(hash, |number| is(self.table.at(number)))
    }

    /// Adds one that is not there, unused as yet.
    pub(crate) fn add(&mut self, entry: T) -> u32 {
        let hash = entry.hash(&self.state);
        let number = self.table.insert(entry);
        self.uses.reach(number);
        let (table, state) = (&self.table, &self.state);
        self.index.insert(hash, number, |other| table.at(other).hash(state));
        number
    }

    pub(crate) fn at(&self, number: u32) -> &T {
        self.table.at(number)
    }

    pub(crate) fn uses(&self, number: u32) -> u32 {
        self.uses[number]
    }

    /// One more uses it.
    pub(crate) fn used(&mut self, number: u32) {
        self.uses[number] += 1;
    }

    /// One fewer uses it. Returns whether it was the last, and it is gone.
    pub(crate) fn unused(&mut self, number: u32) -> bool {
        let uses = &mut self.uses[number];
        *uses -= 1;
        if *uses > 0 {
            return false;
        }
        let hash = self.table.at(number).hash(&self.state);
        self.index.remove(hash, number);
        self.table.remove(number);
        true
    }

    /// After a restore: finds each by its content. False where two have the same.
    pub(crate) fn rebuild(&mut self) -> bool {
        self.index = Numbers::new();
        let numbers: Vec<u32> = self.table.iter().map(|(number, _)| number).collect();
        self.uses.clear();
        for number in numbers {
            self.uses.reach(number);
            let entry = self.table.at(number);
            let hash = entry.hash(&self.state);
            if self.find(hash, |other| other == entry).is_some() {
                return false;
            }
            let (table, state) = (&self.table, &self.state);
            self.index.insert(hash, number, |other| table.at(other).hash(state));
        }
        true
    }

    /// After a restore: whether each is used.
    pub(crate) fn all_used(&self) -> bool {
        self.table.iter().all(|(number, _)| self.uses(number) > 0)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.table.bytes() + self.uses.bytes() + self.index.bytes()
    }
}
