//! How long deliveries took: counts in buckets that grow with what they hold, an eighth wide.
//!
//! Buckets of several shards are added, so that the sum is as exact as the values of one shard.

use stadium_state_machine::encoding::{Reader, corrupt, number};

use crate::{Corrupt, Latency, Milliseconds};

/// A distribution of milliseconds, in buckets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spread {
    first: Milliseconds,
    last: Milliseconds,
    count: u64,
    /// How many of each bucket, by [`bucket`].
    buckets: Vec<u32>,
}

/// All that a [`Spread`] consists of, for whoever sends one to another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpreadParts {
    /// The shortest, in milliseconds.
    pub first: Milliseconds,
    /// The longest, in milliseconds.
    pub last: Milliseconds,
    /// How many values.
    pub count: u64,
    /// How many of each bucket.
    pub buckets: Vec<u32>,
}

/// Values below are their own buckets.
const EXACT: u64 = 16;

/// Greater values, of more than two years, are counted as this one.
const VALUE_MAX: Milliseconds = 1 << 36;

/// Values that a distribution can have: more than all devices get in a lifetime.
const COUNT_MAX: u64 = 1 << 48;

/// The bucket of a value: 8 for each doubling.
fn bucket(value: Milliseconds) -> usize {
    if value < EXACT {
        return value as usize;
    }
    let doublings = u64::from(63 - value.leading_zeros());
    let eighth = (value >> (doublings - 3)) & 7;
    (EXACT + (doublings - 4) * 8 + eighth) as usize
}

/// The greatest value of a bucket.
fn ceiling(bucket: usize) -> Milliseconds {
    let bucket = bucket as u64;
    if bucket < EXACT {
        return bucket;
    }
    let (doublings, eighth) = ((bucket - EXACT) / 8 + 4, (bucket - EXACT) % 8);
    ((8 + eighth + 1) << (doublings - 3)) - 1
}

impl Spread {
    /// Counts a value.
    pub fn count(&mut self, value: Milliseconds) {
        let value = value.min(VALUE_MAX);
        let bucket = bucket(value);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] = self.buckets[bucket].saturating_add(1);
        self.first = if self.count == 0 { value } else { self.first.min(value) };
        self.last = self.last.max(value);
        self.count += 1;
    }

    /// Takes in all of another one.
    pub fn add(&mut self, other: &Spread) {
        if other.count == 0 {
            return;
        }
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (count, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *count = count.saturating_add(*more);
        }
        self.first = if self.count == 0 { other.first } else { self.first.min(other.first) };
        self.last = self.last.max(other.last);
        self.count += other.count;
    }

    /// What it comes to.
    pub fn latency(&self) -> Latency {
        let at = |share: u64| {
            let rank = (self.count * share).div_ceil(100).max(1);
            let mut seen = 0;
            let found = self.buckets.iter().position(|&count| {
                seen += u64::from(count);
                seen >= rank
            });
            found.map_or(0, |bucket| ceiling(bucket).clamp(self.first, self.last))
        };
        if self.count == 0 {
            return Latency::default();
        }
        Latency {
            count: self.count,
            first_ms: self.first,
            p50_ms: at(50),
            p99_ms: at(99),
            last_ms: self.last,
        }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.buckets.capacity() * 4
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        for value in [self.first, self.last, self.count, self.buckets.len() as u64] {
            number(out, value);
        }
        self.buckets.iter().for_each(|&count| number(out, u64::from(count)));
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let (first, last, count) = (input.number()?, input.number()?, input.number()?);
        let buckets = input.small::<u16>()?;
        let buckets = (0..buckets).map(|_| input.small()).collect::<Result<Vec<u32>, _>>()?;
        Self::of_parts(SpreadParts { first, last, count, buckets })
            .ok_or_else(|| corrupt("a distribution of latencies that no pushes have"))
    }

    /// All that it consists of.
    pub fn to_parts(&self) -> SpreadParts {
        let Self { first, last, count, ref buckets } = *self;
        SpreadParts { first, last, count, buckets: buckets.clone() }
    }

    /// The distribution of these parts; none where no values have it.
    pub fn of_parts(parts: SpreadParts) -> Option<Self> {
        let SpreadParts { first, last, count, buckets } = parts;
        let sum: u64 = buckets.iter().map(|&one| u64::from(one)).sum();
        let adds_up = sum == count || sum < count && buckets.contains(&u32::MAX);
        let ends = if count == 0 { 0 } else { bucket(last.min(VALUE_MAX)) + 1 };
        let is_one =
            first <= last && last <= VALUE_MAX && count <= COUNT_MAX && adds_up && buckets.len() == ends;
        is_one.then_some(Self { first, last, count, buckets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_an_eighth_wide_and_without_gaps() {
        for value in (0..5_000).chain((1..30).map(|shift| (1_u64 << shift) + 3)) {
            let top = ceiling(bucket(value));
            assert!(top >= value && top - value <= value / 8, "{value} in a bucket that ends at {top}");
            assert_eq!(bucket(top), bucket(value));
            assert_eq!(bucket(top + 1), bucket(value) + 1);
        }
    }

    #[test]
    fn a_distribution_that_cannot_be_is_damage() {
        let mut spread = Spread::default();
        [3, 40, 2_000].into_iter().for_each(|value| spread.count(value));
        let decoded = |spread: &Spread| {
            let mut bytes = Vec::new();
            spread.encode(&mut bytes);
            Spread::decode(&mut Reader::new(&bytes))
        };
        assert_eq!(decoded(&spread), Ok(spread.clone()));
        assert_eq!(decoded(&Spread::default()), Ok(Spread::default()));
        // Found by libFuzzer: the shortest was longer than the longest.
        let damaged = [
            Spread { first: 2_001, ..spread.clone() },
            Spread { last: 1 << 40, ..spread.clone() },
            Spread { count: 2, ..spread.clone() },
            Spread { count: 4, ..spread.clone() },
            Spread { buckets: Vec::new(), ..spread.clone() },
            Spread { last: 4_000, ..spread },
        ];
        damaged.iter().for_each(|spread| assert!(decoded(spread).is_err(), "{spread:?}"));
    }

    #[test]
    fn percentiles_of_added_spreads_are_those_of_all_values() {
        let (mut one, mut other, mut all) = (Spread::default(), Spread::default(), Spread::default());
        for value in 0..1_000 {
            if value % 3 == 0 { &mut one } else { &mut other }.count(value);
            all.count(value);
        }
        one.add(&other);
        assert_eq!(one.latency(), all.latency());
        assert_eq!(one.latency().first_ms, 0);
        assert_eq!(one.latency().last_ms, 999);
        assert!((499..=563).contains(&one.latency().p50_ms), "{:?}", one.latency());
    }
}
