//! Damages samples for the fuzz bodies where they run with a fixed seed.

use super::random::Random;

/// The bytes with none to two places changed, cut off or grown.
pub fn damaged(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.below(3) {
        let at = random.below(bytes.len().max(1));
        match random.below(8) {
            0 => bytes.insert(at.min(bytes.len()), random.next() as u8),
            1 => bytes.truncate(at),
            _ if bytes.is_empty() => {}
            2 | 3 => bytes[at] ^= 1 << random.below(8),
            4 | 5 => bytes[at] = bytes[at].wrapping_add(1),
            _ => bytes[at] = random.next() as u8,
        }
    }
    bytes
}

/// Runs a body on damaged samples; a panic names the bytes. Returns how many were taken.
pub fn damaged_runs(
    random: &mut Random,
    rounds: usize,
    samples: &[Vec<u8>],
    body: fn(&[u8]) -> bool,
) -> usize {
    let mut taken = 0;
    for _ in 0..rounds {
        let sample = &samples[random.below(samples.len())];
        let bytes = damaged(random, sample);
        let result = std::panic::catch_unwind(|| body(&bytes));
        taken += usize::from(result.unwrap_or_else(|_| panic!("bytes: {bytes:02x?}")));
    }
    taken
}
