//! Numbers for the fuzz bodies where they run with a fixed seed: SplitMix64, small, and the same on every machine.
//!
//! `damage` damages bytes with them; a suite whose input needs more care does that by itself.

/// The state: a seed at first.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// One of 0 to `end`, without `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }
}
