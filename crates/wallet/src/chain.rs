//! The hash chain over a shard's records, and the seals over periods of it.
//!
//! docs/formats/wallet-events.md defines the hashed bytes. A tree is built leaf by leaf and keeps
//! one hash for each power of two in its number of leaves.

use std::collections::VecDeque;

use sha2::{Digest, Sha256};

use crate::{Milliseconds, Time};

/// What SHA-256 makes of something.
pub(crate) type Hash = [u8; 32];

/// Bytes of a chain value.
pub(crate) const HASH_BYTES: usize = 32;

/// Records without a seal after which there is one.
pub(crate) const UNSEALED_MAX: u64 = 65_536;

/// Seals that are kept in memory; older ones are in the journal.
pub(crate) const SEALS_KEPT: usize = 10_000;

fn hash(parts: &[&[u8]]) -> Hash {
    let mut digest = Sha256::new();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize().into()
}

/// The hash of an event, or of a chain value as a leaf.
pub(crate) fn leaf(bytes: &[u8]) -> Hash {
    hash(&[&[0], bytes])
}

fn node(left: &Hash, right: &Hash) -> Hash {
    hash(&[&[1], left, right])
}

/// A Merkle tree as RFC 9162 has it, leaf by leaf.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    /// Whole subtrees, the largest first: one for each bit of `leaves`.
    whole: Vec<Hash>,
    leaves: u64,
}

impl Tree {
    pub(crate) fn clear(&mut self) {
        self.whole.clear();
        self.leaves = 0;
    }

    pub(crate) fn leaves(&self) -> u64 {
        self.leaves
    }

    pub(crate) fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        for _ in 0..self.leaves.trailing_ones() {
            let left = self.whole.pop().expect("there is a subtree for each bit");
            hash = node(&left, &hash);
        }
        self.whole.push(hash);
        self.leaves += 1;
    }

    /// The tree's hash; of at least one leaf.
    pub(crate) fn root(&self) -> Hash {
        let (last, rest) = self.whole.split_last().expect("a tree has a leaf");
        rest.iter().rev().fold(*last, |right, left| node(left, &right))
    }

    /// The subtrees, to be saved.
    pub(crate) fn whole(&self) -> &[Hash] {
        &self.whole
    }

    /// Back from what was saved; none where it does not fit together.
    pub(crate) fn restored(whole: Vec<Hash>, leaves: u64) -> Option<Self> {
        (whole.len() as u32 == leaves.count_ones()).then_some(Self { whole, leaves })
    }
}

/// A seal: the root of all records before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal {
    /// Its number, from 1.
    pub number: u64,
    /// When it was made.
    pub at: Time,
    /// Where its record stands.
    pub position: u64,
    /// Records of its period.
    pub records: u64,
    /// Its root.
    pub root: [u8; 32],
}

/// Where the chain stands.
pub(crate) struct Chain {
    /// The last record's value.
    pub(crate) value: Hash,
    /// Chain values that no seal covers.
    pub(crate) tree: Tree,
    /// When the first record was written that no seal covers and that is not only a seal itself.
    pub(crate) since: Option<Time>,
    pub(crate) seals: VecDeque<Seal>,
    /// Seals that were ever made.
    pub(crate) seals_made: u64,
    /// The last seal's root.
    pub(crate) root: Hash,
}

impl Chain {
    /// The beginning of a shard's chain.
    pub(crate) fn new(shard: u16) -> Self {
        let value = hash(&[&[3], &shard.to_le_bytes()]);
        Self { value, tree: Tree::default(), since: None, seals: VecDeque::new(), seals_made: 0, root: value }
    }

    /// The value of a record with that digest that would come next.
    pub(crate) fn next(&self, digest: &Hash, time: Time) -> Hash {
        hash(&[&[2], &self.value, digest, &time.0.to_le_bytes()])
    }

    /// A record was written, and whether it holds nothing but a seal.
    pub(crate) fn advance(&mut self, value: Hash, time: Time, is_seal: bool) {
        self.value = value;
        self.tree.push(leaf(&value));
        if !is_seal && self.since.is_none() {
            self.since = Some(time);
        }
    }

    /// The content of a seal that is made now: number, records and root.
    pub(crate) fn seal(&self) -> (u64, u64, Hash) {
        let number = self.seals_made + 1;
        let root = hash(&[&[4], &self.root, &number.to_le_bytes(), &self.tree.root()]);
        (number, self.tree.leaves(), root)
    }

    /// A seal was made.
    pub(crate) fn sealed(&mut self, seal: Seal) {
        self.seals_made = seal.number;
        self.root = seal.root;
        self.tree.clear();
        self.since = None;
        if self.seals.len() == SEALS_KEPT {
            self.seals.pop_front();
        }
        self.seals.push_back(seal);
    }

    /// When the next seal is due.
    pub(crate) fn deadline(&self, seal_after: Milliseconds) -> Option<Time> {
        let since = self.since?;
        Some(if self.tree.leaves() >= UNSEALED_MAX { since } else { since.after(seal_after) })
    }
}

#[cfg(test)]
mod tests {
    use super::{Hash, Tree, leaf, node};

    /// As in the RFC: split at the largest power of two below.
    fn slowly(leaves: &[Hash]) -> Hash {
        match leaves {
            [one] => *one,
            more => {
                let split = more.len().next_power_of_two() / 2;
                node(&slowly(&more[..split]), &slowly(&more[split..]))
            }
        }
    }

    #[test]
    fn a_tree_built_leaf_by_leaf_has_the_root_of_the_definition() {
        let leaves: Vec<Hash> = (0..70_u8).map(|n| leaf(&[n])).collect();
        let mut tree = Tree::default();
        for (n, leaf) in leaves.iter().enumerate() {
            tree.push(*leaf);
            assert_eq!(tree.root(), slowly(&leaves[..=n]));
        }
    }
}
