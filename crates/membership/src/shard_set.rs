//! A set of shards: a bit for each shard, and in text as ranges, `0-3,7`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::name::{SHARDS_MAX, Shard};

/// Words of 64 bits.
const WORDS: usize = SHARDS_MAX as usize / 64;

/// A set of shards.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ShardSet([u64; WORDS]);

impl ShardSet {
    /// No shards.
    pub const EMPTY: Self = Self([0; WORDS]);

    /// Whether it has the shard. No set has a shard beyond the 1,024 that a cluster may have.
    #[must_use]
    pub fn contains(&self, shard: Shard) -> bool {
        place(shard).is_some_and(|(word, bit)| self.0[word] & bit != 0)
    }

    /// Adds a shard; returns whether the set changed.
    pub fn insert(&mut self, shard: Shard) -> bool {
        let Some((word, bit)) = place(shard) else { return false };
        let before = self.0[word];
        self.0[word] |= bit;
        self.0[word] != before
    }

    /// Takes a shard out; returns whether the set changed.
    pub fn remove(&mut self, shard: Shard) -> bool {
        let Some((word, bit)) = place(shard) else { return false };
        let before = self.0[word];
        self.0[word] &= !bit;
        self.0[word] != before
    }

    /// How many shards it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == Self::EMPTY.0
    }

    /// Its shards, in order.
    pub fn iter(&self) -> impl Iterator<Item = Shard> + '_ {
        (0..SHARDS_MAX).map(Shard).filter(|shard| self.contains(*shard))
    }
}

fn place(shard: Shard) -> Option<(usize, u64)> {
    let number = shard.0 as usize;
    (shard.0 < SHARDS_MAX).then(|| (number / 64, 1 << (number % 64)))
}

impl FromIterator<Shard> for ShardSet {
    fn from_iter<I: IntoIterator<Item = Shard>>(shards: I) -> Self {
        let mut set = Self::EMPTY;
        for shard in shards {
            set.insert(shard);
        }
        set
    }
}

impl fmt::Display for ShardSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shards = self.iter().map(|shard| shard.0).peekable();
        let mut separator = "";
        while let Some(first) = shards.next() {
            let mut last = first;
            while let Some(next) = shards.next_if_eq(&(last + 1)) {
                last = next;
            }
            match first == last {
                true => write!(f, "{separator}{first}")?,
                false => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for ShardSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

impl From<ShardSet> for String {
    fn from(set: ShardSet) -> Self {
        set.to_string()
    }
}

impl TryFrom<String> for ShardSet {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut set = Self::EMPTY;
        for range in text.split(',').filter(|range| !range.is_empty()) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number < SHARDS_MAX);
            match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last => {
                    (first..=last).for_each(|number| _ = set.insert(Shard(number)));
                }
                _ => return Err(format!("{range:?} is no range of shards")),
            }
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_ranges() {
        let set: ShardSet = [0, 1, 2, 3, 7, 63, 64, 1023].into_iter().map(Shard).collect();
        assert_eq!(set.to_string(), "0-3,7,63-64,1023");
        assert_eq!(ShardSet::try_from(set.to_string()), Ok(set));
        assert_eq!(set.len(), 8);
        assert_eq!(ShardSet::EMPTY.to_string(), "");
        assert_eq!(ShardSet::try_from(String::new()), Ok(ShardSet::EMPTY));
    }

    #[test]
    fn no_set_reaches_beyond_the_shards_of_a_cluster() {
        let mut set = ShardSet::EMPTY;
        assert!(!set.insert(Shard(SHARDS_MAX)));
        assert!(set.is_empty());
        for bad in ["1024", "0-1024", "3-1", "-", "a", "1-", "1 2"] {
            assert!(ShardSet::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
