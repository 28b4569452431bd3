//! Rendezvous hashing: the order in which a key prefers the instances.
//!
//! Each pair of key and instance has a score, and the lowest wins (highest random weight: Thaler and
//! Ravishankar, 1998; with weights: Schindelhauer and Schomaker, 2005). So an instance that goes moves
//! only its own keys, and gets them back when it returns. Every client computes the same order from the
//! addresses and weights alone, in any language: FNV-1a 64 over the bytes, then the finaliser of splitmix64.
//! Keys fall into [`PARTITIONS`], and it is the partition that has an order, so that it can be remembered.

/// The parts that all keys are divided into, by the upper 16 bits of their hash.
///
/// With a hundred instances chance gives each its share within 4%. A client remembers two bytes for each
/// partition, once it has used a key.
pub const PARTITIONS: usize = 1 << 16;

/// The hash of an affinity key (`message/x.stadium.key.v1`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyHash(pub u64);

impl KeyHash {
    /// The hash of `key`, the same in every client. Linear in its length; empty keys are keys too.
    #[inline]
    pub fn of(key: &[u8]) -> Self {
        Self(scramble(fnv(key)))
    }

    /// The key's partition, below [`PARTITIONS`].
    #[inline]
    pub const fn partition(self) -> usize {
        (self.0 >> 48) as usize
    }
}

/// Who calls: what makes one client's subset differ from another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientId(pub u64);

impl ClientId {
    /// The id of the client that calls itself `name` (host and process, say).
    pub fn of(name: &str) -> Self {
        Self(scramble(fnv(name.as_bytes())))
    }
}

/// FNV-1a with 64 bits.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The finaliser of splitmix64: every bit of the input moves about half of the output.
#[inline]
pub(crate) const fn scramble(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// One instance as rendezvous hashing sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Node {
    /// The scrambled hash of the instance's address.
    pub(crate) hash: u64,
    /// One over its weight, so that the scan multiplies.
    pub(crate) inverse_weight: f64,
}

impl Node {
    /// How far from 1 this node's draw for `key` lies, from 0 up to, and without, 1.
    #[inline]
    fn distance(&self, key: u64) -> f64 {
        const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
        (scramble(key ^ self.hash) >> 11) as f64 * UNIT
    }

    /// The score of this node for `key`; the lowest of all nodes wins.
    #[inline]
    pub(crate) fn score(&self, key: u64) -> f64 {
        -(1.0 - self.distance(key)).ln() * self.inverse_weight
    }

    /// The score, where it is below `best`; saves the logarithm for the many nodes that cannot win.
    #[inline]
    pub(crate) fn score_below(&self, key: u64, best: f64) -> Option<f64> {
        let distance = self.distance(key);
        // -ln(1 - d) is never less than d.
        if distance * self.inverse_weight >= best {
            return None;
        }
        let score = -(1.0 - distance).ln() * self.inverse_weight;
        (score < best).then_some(score)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, weight: f64) -> Node {
        Node { hash: scramble(fnv(name.as_bytes())), inverse_weight: 1.0 / weight }
    }

    fn winner(nodes: &[Node], key: u64) -> usize {
        let mut best = (0, f64::INFINITY);
        for (index, node) in nodes.iter().enumerate() {
            if let Some(score) = node.score_below(key, best.1) {
                best = (index, score);
            }
        }
        best.0
    }

    #[test]
    fn keys_spread_by_weight() {
        let nodes = [node("a:1", 1.0), node("b:1", 1.0), node("c:1", 2.0)];
        let mut counts = [0u32; 3];
        for n in 0..40_000u32 {
            counts[winner(&nodes, KeyHash::of(&n.to_be_bytes()).0)] += 1;
        }
        for (count, wanted) in counts.iter().zip([10_000u32, 10_000, 20_000]) {
            assert!(count.abs_diff(wanted) < wanted / 20, "{counts:?}");
        }
    }

    #[test]
    fn the_shortcut_finds_the_lowest_score() {
        let nodes: Vec<Node> =
            (0..17).map(|n| node(&format!("10.0.0.{n}:7800"), f64::from(n % 4 + 1))).collect();
        for n in 0..2_000u64 {
            let key = KeyHash::of(&n.to_be_bytes()).0;
            let scores = nodes.iter().map(|node| node.score(key));
            let lowest = scores.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).expect("there are nodes").0;
            assert_eq!(winner(&nodes, key), lowest);
        }
    }

    #[test]
    fn hashes_are_those_of_every_other_client() {
        // FNV-1a 64 of "foobar" (draft-eastlake-fnv, appendix C), and splitmix64's first output from seed 0.
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(scramble(0), 0xe220_a839_7b1d_cdaf);
    }
}
