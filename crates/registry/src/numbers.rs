//! Numbers of entries by a hash of what they are called.
//!
//! A server may have thousands of apps with few devices each, so it begins as one small table; when it grows it becomes an
//! [`Index`], whose parts grow one at a time, so that no growth stops the shard.

use hashbrown::HashTable;
use stadium_table::Index;

/// Numbers that one table holds before it becomes an index.
const SMALL_MAX: usize = 8_192;

pub(crate) enum Numbers {
    Small(HashTable<u32>),
    Large(Index),
}

impl Numbers {
    pub(crate) fn new() -> Self {
        Self::Small(HashTable::new())
    }

    /// The number of that hash which `is` accepts.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        match self {
            Self::Small(table) => table.find(hash, |&number| is(number)).copied(),
            Self::Large(index) => index.find(hash, is),
        }
    }

    /// Adds a number that is not there; `rehash` gives the hash of others.
    pub(crate) fn insert(&mut self, hash: u64, number: u32, rehash: impl Fn(u32) -> u64) {
        if let Self::Small(table) = self
            && table.len() >= SMALL_MAX
        {
            let mut index = Index::new();
            table.iter().for_each(|&number| index.insert(rehash(number), number, &rehash));
            *self = Self::Large(index);
        }
        match self {
            Self::Small(table) => {
                table.insert_unique(hash, number, |&number| rehash(number));
            }
            Self::Large(index) => index.insert(hash, number, rehash),
        }
    }

    pub(crate) fn remove(&mut self, hash: u64, number: u32) {
        match self {
            Self::Small(table) => {
                if let Ok(entry) = table.find_entry(hash, |&other| other == number) {
                    entry.remove();
                }
            }
            Self::Large(index) => index.remove(hash, number),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Small(table) => table.allocation_size(),
            Self::Large(index) => index.bytes(),
        }
    }
}
