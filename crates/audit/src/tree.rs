//! Merkle trees as RFC 9162 has them: the root of some leaves, and the path from one leaf to it.
//!
//! Section 2.1.1 defines how a tree is hashed, 2.1.3 how a path is checked. Leaves come in as
//! hashes already; [`crate::chain`] defines a leaf and the byte with which it is hashed.

use sha2::{Digest as _, Sha256};

/// What SHA-256 makes of some bytes.
pub type Hash = [u8; 32];

/// SHA-256 of parts, one after the other.
pub(crate) fn sha256(parts: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().into()
}

fn node(left: &Hash, right: &Hash) -> Hash {
    sha256(&[&[0x01], left, right])
}

/// How many leaves the left side of a tree has: the largest power of two below their number.
fn left_of(leaves: usize) -> usize {
    leaves.next_power_of_two() / 2
}

/// The root of a tree. There must be a leaf.
pub(crate) fn root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => unreachable!("no record and no period is empty"),
        [leaf] => *leaf,
        more => {
            let (left, right) = more.split_at(left_of(more.len()));
            node(&root(left), &root(right))
        }
    }
}

/// What a leaf needs to reach the root: its sisters, from the leaf upwards.
pub(crate) fn path(leaves: &[Hash], index: usize) -> Vec<Hash> {
    if leaves.len() < 2 {
        return Vec::new();
    }
    let (left, right) = leaves.split_at(left_of(leaves.len()));
    let (mut path, sister) = match index.checked_sub(left.len()) {
        None => (path(left, index), root(right)),
        Some(index) => (path(right, index), root(left)),
    };
    path.push(sister);
    path
}

/// Goes from a leaf up to the root of a tree of so many leaves. `None` where the path has not the length that such a tree needs.
pub(crate) fn climb(leaf: Hash, index: u64, leaves: u64, path: &[Hash]) -> Option<Hash> {
    if index >= leaves {
        return None;
    }
    let (mut index, mut last) = (index, leaves - 1);
    let mut hash = leaf;
    for sister in path {
        if last == 0 {
            return None;
        }
        if index % 2 == 1 || index == last {
            hash = node(sister, &hash);
            // The last leaf of an odd row goes up alone until it has a sister.
            while index.is_multiple_of(2) && index != 0 {
                index /= 2;
                last /= 2;
            }
        } else {
            hash = node(&hash, sister);
        }
        index /= 2;
        last /= 2;
    }
    (last == 0).then_some(hash)
}

#[cfg(test)]
mod tests {
    use super::{Hash, climb, node, path, root, sha256};

    fn leaves(count: u8) -> Vec<Hash> {
        (0..count).map(|leaf| sha256(&[&[leaf]])).collect()
    }

    #[test]
    fn a_tree_leans_to_the_left() {
        let l = leaves(5);
        assert_eq!(root(&l[..1]), l[0]);
        assert_eq!(root(&l[..3]), node(&node(&l[0], &l[1]), &l[2]));
        let four = node(&node(&l[0], &l[1]), &node(&l[2], &l[3]));
        assert_eq!(root(&l), node(&four, &l[4]));
    }

    #[test]
    fn every_path_leads_to_the_root_and_no_other_does() {
        for count in 1..40 {
            let leaves = leaves(count);
            let root = root(&leaves);
            for index in 0..leaves.len() {
                let path = path(&leaves, index);
                let size = leaves.len() as u64;
                let at = index as u64;
                assert_eq!(climb(leaves[index], at, size, &path), Some(root), "{index} of {count}");
                assert_eq!(climb(leaves[index], size, size, &path), None);
                assert_ne!(climb(sha256(&[b"x"]), at, size, &path), Some(root));
                if let Some(shorter) = path.split_last().map(|(_, shorter)| shorter) {
                    assert_ne!(climb(leaves[index], at, size, shorter), Some(root));
                    let mut other = path.clone();
                    other[0][0] ^= 1;
                    assert_ne!(climb(leaves[index], at, size, &other), Some(root));
                }
                let longer = [path.as_slice(), &[root]].concat();
                assert_eq!(climb(leaves[index], at, size, &longer), None, "{index} of {count}");
            }
        }
    }
}
