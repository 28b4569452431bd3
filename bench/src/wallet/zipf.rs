//! Which account is debited next: a few very often, most hardly ever, as Zipf's law has it.
//!
//! Ranks are drawn exactly, by the inverse of the distribution, before anything is measured. Which account has which rank is
//! mixed, so that no implementation finds the hot ones side by side.

use super::random::Random;

/// Draws that are made; loads go through them again and again.
const DRAWS: usize = 1 << 22;

/// Accounts in the order in which they are debited.
pub(super) struct Zipf {
    draws: Vec<u32>,
}

impl Zipf {
    /// Of so many accounts, the one of rank r with a weight of 1 / r^`exponent`.
    pub(super) fn new(accounts: u32, exponent: f64, random: &mut Random) -> Self {
        let mut sum = 0.0;
        let sums: Vec<f64> = (1..=accounts)
            .map(|rank| {
                sum += f64::from(rank).powf(-exponent);
                sum
            })
            .collect();
        let mut by_rank: Vec<u32> = (0..accounts).collect();
        for rank in (1..by_rank.len()).rev() {
            by_rank.swap(rank, random.below(rank as u64 + 1) as usize);
        }
        let draw = |_| {
            let point = random.fraction() * sum;
            let rank = sums.partition_point(|up_to| *up_to <= point).min(by_rank.len() - 1);
            by_rank[rank]
        };
        Self { draws: (0..DRAWS).map(draw).collect() }
    }

    /// The account of a draw.
    pub(super) fn account(&self, draw: u64) -> u32 {
        self.draws[draw as usize % DRAWS]
    }
}

#[cfg(test)]
mod tests {
    use super::{DRAWS, Random, Zipf};

    #[test]
    fn the_hottest_account_has_its_share() {
        let accounts = 1_000;
        let zipf = Zipf::new(accounts, 0.99, &mut Random::new(7));
        let mut counts = vec![0_u32; accounts as usize];
        zipf.draws.iter().for_each(|account| counts[*account as usize] += 1);
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let weights: f64 = (1..=accounts).map(|rank| f64::from(rank).powf(-0.99)).sum();
        for (rank, count) in [(1.0_f64, counts[0]), (2.0, counts[1]), (10.0, counts[9])] {
            let expected = rank.powf(-0.99) / weights * DRAWS as f64;
            assert!((f64::from(count) / expected - 1.0).abs() < 0.05, "rank {rank}: {count} of {expected}");
        }
    }
}
