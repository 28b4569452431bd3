//! The chain that goes through all records of a shard, and the roots of its periods.
//!
//! docs/formats/wallet-events.md, "The chain, and roots": the hashed bytes, and the byte in front
//! that names their kind.

use crate::tree::{Hash, root, sha256};

/// What an event hashes to: a leaf of its record's tree.
pub(crate) fn event_leaf(event: &[u8]) -> Hash {
    sha256(&[&[0x00], event])
}

/// The chain of a shard before its first record; also its root before its first seal.
pub(crate) fn beginning(shard: u16) -> Hash {
    sha256(&[&[0x03], &shard.to_le_bytes()])
}

/// The chain value of a record.
pub(crate) fn next(before: &Hash, digest: &Hash, time: u64) -> Hash {
    sha256(&[&[0x02], before, digest, &time.to_le_bytes()])
}

/// The digest of a record: the root over its events.
pub(crate) fn digest(events: &[&[u8]]) -> Hash {
    let leaves: Vec<Hash> = events.iter().map(|event| event_leaf(event)).collect();
    root(&leaves)
}

/// What a record is in its period's tree.
pub(crate) fn period_leaf(chain: &Hash) -> Hash {
    sha256(&[&[0x00], chain])
}

/// The root that a seal publishes.
pub(crate) fn seal_root(before: &Hash, number: u64, tree: &Hash) -> Hash {
    sha256(&[&[0x04], before, &number.to_le_bytes(), tree])
}
