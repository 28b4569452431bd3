//! Finds remembered transfers by their ids.
//!
//! Beside each place stands half of its hash, so that to grow never looks into the table, which is far larger than any cache. It is in parts that
//! grow one at a time, so that no growth of a large index stops the shard.

use hashbrown::HashTable;
use stadium_table::hash_of;

/// Parts of an index.
const PARTS: usize = 1_024;

/// Places, by hash.
pub(crate) struct Ids {
    parts: Box<[HashTable<(u32, u32)>]>,
}

/// Which part, and what stands beside the place.
#[inline]
fn split(hash: u64) -> (usize, u32) {
    ((hash >> 40) as usize % PARTS, hash as u32)
}

#[inline]
fn within(half: u32) -> u64 {
    hash_of(u64::from(half))
}

impl Ids {
    pub(crate) fn new() -> Self {
        Self { parts: (0..PARTS).map(|_| HashTable::new()).collect() }
    }

    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let (part, half) = split(hash);
        let found = self.parts[part].find(within(half), |&(other, place)| other == half && is(place));
        found.map(|&(_, place)| place)
    }

    #[inline]
    pub(crate) fn insert(&mut self, hash: u64, place: u32) {
        let (part, half) = split(hash);
        self.parts[part].insert_unique(within(half), (half, place), |&(half, _)| within(half));
    }

    pub(crate) fn remove(&mut self, hash: u64, place: u32) {
        let (part, half) = split(hash);
        if let Ok(entry) = self.parts[part].find_entry(within(half), |&entry| entry == (half, place)) {
            entry.remove();
        }
    }

    /// Makes room in an empty index for so many.
    pub(crate) fn reserve(&mut self, places: usize) {
        self.parts.iter_mut().for_each(|part| part.reserve(places / PARTS, |&(half, _)| within(half)));
    }

    pub(crate) fn bytes(&self) -> usize {
        self.parts.iter().map(HashTable::allocation_size).sum::<usize>()
            + size_of_val::<[HashTable<(u32, u32)>]>(&self.parts)
    }
}
