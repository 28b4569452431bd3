//! The hashes and scores of docs/rpc-guards.md, computed from that page and not from the crate.
//!
//! Vectors state the intermediate hashes, and no script rests on two scores that nearly tie: the
//! last bit of a logarithm differs between languages.

/// Two scores or costs may differ by a part of this at least, or be equal.
const MARGIN: f64 = 1e-9;

/// FNV-1a with 64 bits.
pub fn fnv(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

/// The output of splitmix64 for one state.
pub fn scramble(state: u64) -> u64 {
    let mut bits = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The score of an instance for a partition or for a client's id; the lowest wins.
pub fn score(value: u64, address: &str, weight: u64) -> f64 {
    let hash = scramble(fnv(address.as_bytes()));
    let distance = (scramble(value ^ hash) >> 11) as f64 / (1_u64 << 53) as f64;
    -(1.0 - distance).ln() / weight.max(1) as f64
}

/// The addresses in the order of their scores, which must not nearly tie.
pub fn order(value: u64, instances: &[(&str, u64)]) -> Vec<String> {
    let mut ranked: Vec<(f64, &str)> =
        instances.iter().map(|&(address, weight)| (score(value, address, weight), address)).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    for pair in ranked.windows(2) {
        assert_apart(pair[0].0, pair[1].0);
    }
    ranked.into_iter().map(|(_, address)| address.to_owned()).collect()
}

/// Fails where two figures that are compared nearly tie and are not equal.
pub fn assert_apart(a: f64, b: f64) {
    let gap = (a - b).abs();
    assert!(gap == 0.0 || gap > a.abs().max(b.abs()) * MARGIN, "{a} and {b} nearly tie: change the script");
}
