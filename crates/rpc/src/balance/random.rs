//! A small generator of random numbers, so that decisions can be replayed from a seed.
//!
//! It is xorshift64* (Vigna, 2016): a few cycles a number, good enough to spread calls and waits, and
//! never to be used for a secret. The code that builds one passes the seed; nothing here asks the
//! system.

/// A seeded generator; the same seed gives the same numbers.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that starts from `seed`; any value will do.
    pub const fn seeded(seed: u64) -> Self {
        // The state must not be zero, and near seeds must not give near numbers.
        Self(super::rendezvous::scramble(seed) | 1)
    }

    /// The next 64 bits.
    #[inline]
    pub const fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number from 0 up to, and without, `bound`; 0 when `bound` is 0.
    #[inline]
    pub const fn below(&mut self, bound: u32) -> u32 {
        // The high half of a product is below its factor, so the conversion cannot lose anything.
        (((self.bits() >> 32) * bound as u64) >> 32) as u32
    }

    /// A number from `range`'s start to its end, both included.
    pub fn within(&mut self, range: std::ops::RangeInclusive<u64>) -> u64 {
        let span = range.end().saturating_sub(*range.start());
        range.start() + ((u128::from(self.bits()) * (u128::from(span) + 1)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_both_ends() {
        let mut random = Random::seeded(0);
        let mut seen = [false; 3];
        for _ in 0..1_000 {
            seen[random.below(3) as usize] = true;
            assert!((10..=12).contains(&random.within(10..=12)));
        }
        assert_eq!(seen, [true; 3]);
        assert_eq!(random.below(0), 0);
        assert_eq!(random.within(7..=7), 7);
    }
}
