//! Finds entries of tables by what they are called.
//!
//! Only numbers are kept; their keys stand in the table. The index of jobs is in parts that grow
//! one at a time, so that no growth of a large index stops the shard.

use hashbrown::HashTable;

/// Parts of an index.
const PARTS: usize = 1_024;

/// Numbers of entries, by hash.
pub struct Index {
    parts: Box<[HashTable<u32>]>,
}

/// Spreads a job's sequence over 64 bits.
#[inline]
pub fn hash_of(sequence: u64) -> u64 {
    let product = sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 29
}

impl Default for Index {
    fn default() -> Self {
        Self::new()
    }
}

impl Index {
    /// An empty one.
    pub fn new() -> Self {
        Self { parts: (0..PARTS).map(|_| HashTable::new()).collect() }
    }

    #[inline]
    fn part(hash: u64) -> usize {
        (hash >> 40) as usize % PARTS
    }

    /// The entry of that hash which `is` accepts.
    #[inline]
    pub fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        self.parts[Self::part(hash)].find(hash, |&index| is(index)).copied()
    }

    /// Adds an entry that is not there; `rehash` gives the hash of others when a part grows.
    #[inline]
    pub fn insert(&mut self, hash: u64, index: u32, rehash: impl Fn(u32) -> u64) {
        self.parts[Self::part(hash)].insert_unique(hash, index, |&index| rehash(index));
    }

    /// Takes an entry out.
    #[inline]
    pub fn remove(&mut self, hash: u64, index: u32) {
        if let Ok(entry) = self.parts[Self::part(hash)].find_entry(hash, |&other| other == index) {
            entry.remove();
        }
    }

    /// Makes room in an empty index for so many.
    pub fn reserve(&mut self, entries: usize) {
        self.parts.iter_mut().for_each(|part| part.reserve(entries / PARTS, |_| 0));
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(HashTable::allocation_size).sum::<usize>()
            + size_of_val::<[HashTable<u32>]>(&self.parts)
    }
}
