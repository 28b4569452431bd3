//! A loop's part of users or devices: they are dealt like cards, so that all loops have the same
//! load at any time.

use serde::{Deserialize, Serialize};

/// A loop's part: every `of`-th, from `index` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Number of the loop, over all processes of the run.
    pub index: u32,
    /// How many loops there are.
    pub of: u32,
}

impl Share {
    /// How many of `total` are its own.
    pub(crate) fn part(self, total: u32) -> u32 {
        (total / self.of) + u32::from(self.index < total % self.of)
    }

    /// Which of all its own number `slot` is.
    pub(crate) fn nth(self, slot: u32) -> u32 {
        slot * self.of + self.index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_card_is_dealt_to_exactly_one_loop() {
        for (total, of) in [(1, 1), (10, 3), (7, 8), (100, 7)] {
            let mut dealt: Vec<u32> = (0..of)
                .map(|index| Share { index, of })
                .flat_map(|share| (0..share.part(total)).map(move |slot| share.nth(slot)))
                .collect();
            dealt.sort_unstable();
            assert_eq!(dealt, (0..total).collect::<Vec<_>>(), "{total} devices over {of} loops");
        }
    }
}
