//! How far a figure may be off: a bootstrap over blocks of time, and proportions that know of clumps.
//!
//! A run's seconds are no independent samples: a pause touches its neighbours. So time is cut into blocks at least as
//! long as the figures remember themselves, and whole blocks are drawn again, within each phase. Everything is decided
//! by a fixed seed: the same two runs always get the same answer.

use crate::latency::Counts;
use crate::{Interval, Requests};

/// How often a run is drawn again.
pub(super) const DRAWS: usize = 2_000;
/// Blocks without which nothing is stated about noise.
const BLOCKS_MIN: usize = 10;
/// Blocks that a phase is cut into at least, as long as it has so many intervals.
const BLOCKS_IN_PHASE_MIN: usize = 8;
/// Blocks that a phase is cut into at most: more show nothing new and cost memory.
const BLOCKS_IN_PHASE_MAX: usize = 120;
/// Standard deviations of the 99% interval.
const Z: f64 = 2.576;
/// The part of the draws outside the 99% interval, on each side.
const TAIL: f64 = 0.005;

/// What is compared: the intervals of a run, cut into blocks.
#[derive(Debug)]
pub(super) struct Sample {
    blocks: Vec<Block>,
    /// First and last block (not included) of each phase.
    strata: Vec<(usize, usize)>,
    pub(super) sum: Interval,
}

#[derive(Debug)]
struct Block {
    sum: Interval,
}

impl Sample {
    /// From the intervals of each phase.
    pub(super) fn new(phases: &[Vec<&Interval>]) -> Sample {
        let memory = phases.iter().map(|phase| memory_of(phase)).max().unwrap_or(0);
        let mut sample = Sample { blocks: Vec::new(), strata: Vec::new(), sum: Interval::default() };
        for phase in phases.iter().filter(|phase| !phase.is_empty()) {
            let longest = (phase.len() / BLOCKS_IN_PHASE_MIN).max(1);
            let length = (2 * memory).clamp(1, longest).max(phase.len().div_ceil(BLOCKS_IN_PHASE_MAX));
            let from = sample.blocks.len();
            for group in phase.chunks(length) {
                let mut sum = group[0].clone();
                group[1..].iter().for_each(|next| sum.append(next));
                sample.sum.append(&sum);
                sample.blocks.push(Block { sum });
            }
            sample.strata.push((from, sample.blocks.len()));
        }
        sample
    }

    /// Whether there is enough to estimate how far figures may be off.
    pub(super) fn is_enough(&self) -> bool {
        self.blocks.len() >= BLOCKS_MIN
    }

    /// Draws blocks again: how often each is in a draw, for each draw.
    ///
    /// A block is drawn from those around it in its phase (the local bootstrap of Paparoditis and Politis, 2002), so that
    /// a ramp's climb, which is planned, is not taken for noise.
    pub(super) fn draws(&self, seed: u64) -> Vec<Vec<u32>> {
        let mut noise = Noise(seed);
        let draw = |_| {
            let mut times = vec![0_u32; self.blocks.len()];
            for &(from, to) in &self.strata {
                let around = ((to - from) / 8).max(2);
                for block in from..to {
                    let first = block.saturating_sub(around).max(from);
                    let last = (block + around + 1).min(to);
                    times[first + noise.below(last - first)] += 1;
                }
            }
            times
        };
        (0..DRAWS).map(draw).collect()
    }

    /// A rate a second in each draw.
    pub(super) fn rates(&self, draws: &[Vec<u32>], of: fn(&Interval) -> u64) -> Vec<f64> {
        let rate = |times: &Vec<u32>| {
            let each = times.iter().zip(&self.blocks).map(|(times, block)| (f64::from(*times), &block.sum));
            let (events, length) = each.fold((0.0, 0.0), |sum, (times, block)| {
                (sum.0 + times * of(block) as f64, sum.1 + times * block.length_s)
            });
            events / length
        };
        draws.iter().map(rate).collect()
    }

    /// A quantile, in nanoseconds, in each draw.
    pub(super) fn quantiles(
        &self,
        draws: &[Vec<u32>],
        of: fn(&Interval) -> &Counts,
        quantile: f64,
    ) -> Vec<f64> {
        let values: Vec<u64> = of(&self.sum).buckets().iter().map(|bucket| bucket.0).collect();
        if values.is_empty() {
            return vec![f64::NAN; draws.len()];
        }
        let blocks = self.blocks.len();
        // For each value: how many times in each block did not exceed it.
        let mut until = vec![0_u64; values.len() * blocks];
        for (column, block) in self.blocks.iter().enumerate() {
            let mut buckets = of(&block.sum).buckets().iter().peekable();
            let mut seen = 0;
            for (row, value) in values.iter().enumerate() {
                while let Some((_, count)) = buckets.next_if(|bucket| bucket.0 <= *value) {
                    seen += count;
                }
                until[row * blocks + column] = seen;
            }
        }
        let weighed = |row: usize, times: &[u32]| -> u64 {
            let row = &until[row * blocks..(row + 1) * blocks];
            row.iter().zip(times).map(|(count, times)| count * u64::from(*times)).sum()
        };
        let find = |times: &Vec<u32>| {
            let all = weighed(values.len() - 1, times);
            if all == 0 {
                return f64::NAN;
            }
            let rank = (quantile * all as f64).ceil().max(1.0) as u64;
            let (mut low, mut high) = (0, values.len() - 1);
            while low < high {
                let middle = (low + high) / 2;
                if weighed(middle, times) < rank { low = middle + 1 } else { high = middle }
            }
            values[low] as f64
        };
        draws.iter().map(find).collect()
    }

    /// How many times as uncertain a share is as if all events were independent: at least 1.
    pub(super) fn clumping(&self, part: impl Fn(&Interval) -> u64, whole: impl Fn(&Interval) -> u64) -> f64 {
        let each: Vec<(f64, f64)> =
            self.blocks.iter().map(|block| (part(&block.sum) as f64, whole(&block.sum) as f64)).collect();
        let (parts, all) = each.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let share = parts / all;
        if all == 0.0 || each.len() < 2 || share <= 0.0 || share >= 1.0 {
            return 1.0;
        }
        let count = each.len() as f64;
        let squares: f64 = each.iter().map(|(part, whole)| (part - share * whole).powi(2)).sum();
        let between = count / (count - 1.0) * squares / (all * all);
        (between / (share * (1.0 - share) / all)).max(1.0)
    }
}

/// The 99% interval of the ratio of two figures' draws.
pub(super) fn ratio_interval(before: &[f64], after: &[f64]) -> Option<(f64, f64)> {
    let mut ratios: Vec<f64> = before
        .iter()
        .zip(after)
        .map(|(before, after)| after / before)
        .filter(|ratio| ratio.is_finite())
        .collect();
    if ratios.len() < DRAWS * 9 / 10 {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share).round() as usize];
    Some((at(TAIL), at(1.0 - TAIL)))
}

/// Some of many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Part {
    pub(super) part: u64,
    pub(super) whole: u64,
    /// See [`Sample::clumping`].
    pub(super) clumping: f64,
}

impl Part {
    pub(super) fn failed(requests: &Requests, clumping: f64) -> Part {
        Part { part: requests.failed().min(requests.started), whole: requests.started, clumping }
    }

    pub(super) fn share(self) -> f64 {
        if self.whole == 0 { 0.0 } else { self.part as f64 / self.whole as f64 }
    }

    /// Wilson's interval, with as many events as are independent.
    fn interval(self) -> (f64, f64) {
        let (share, count) = (self.share(), self.whole as f64 / self.clumping);
        let square = Z * Z / count;
        let middle = (share + square / 2.0) / (1.0 + square);
        let half = Z / (1.0 + square) * (share * (1.0 - share) / count + square / count / 4.0).sqrt();
        ((middle - half).max(0.0), (middle + half).min(1.0))
    }
}

/// The 99% interval of the difference of two shares (Newcombe 1998, method 10).
pub(super) fn difference_interval(before: Part, after: Part) -> Option<(f64, f64)> {
    if before.whole == 0 || after.whole == 0 {
        return None;
    }
    let (first, second) = (before.share(), after.share());
    let ((low_1, high_1), (low_2, high_2)) = (before.interval(), after.interval());
    let difference = second - first;
    let below = ((second - low_2).powi(2) + (high_1 - first).powi(2)).sqrt();
    let above = ((high_2 - second).powi(2) + (first - low_1).powi(2)).sqrt();
    Some((difference - below, difference + above))
}

/// The 99% interval of the ratio of two quantiles, from histograms alone: by the ranks between which the true one lies.
pub(super) fn rank_interval(
    before: (&Counts, f64),
    after: (&Counts, f64),
    quantile: f64,
) -> Option<(f64, f64)> {
    let spread = |(counts, clumping): (&Counts, f64)| {
        let independent = counts.len() as f64 / clumping;
        let half = Z * (quantile * (1.0 - quantile) / independent).sqrt();
        // Without a rank above, the histogram does not show how long the slowest may be.
        if quantile + half >= 1.0 || quantile - half <= 0.0 {
            return None;
        }
        let [low, middle, high] = [quantile - half, quantile, quantile + half]
            .map(|at| counts.quantile(at).map(|ns| (ns as f64).ln()));
        let (low, middle, high) = (low?, middle?, high?);
        Some((middle - low, middle, high - middle))
    };
    let (below_1, middle_1, above_1) = spread(before)?;
    let (below_2, middle_2, above_2) = spread(after)?;
    let difference = middle_2 - middle_1;
    Some(((difference - below_2.hypot(above_1)).exp(), (difference + above_2.hypot(below_1)).exp()))
}

/// For how many intervals figures remember themselves: the first lag at which the correlation is lost in noise.
fn memory_of(intervals: &[&Interval]) -> usize {
    let tail = |interval: &&Interval| interval.response.quantile(0.99).map_or(0.0, |ns| (ns as f64).ln());
    let rate = |interval: &&Interval| interval.rate(interval.answered);
    let of = |values: Vec<f64>| {
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count.max(1) as f64;
        let product =
            |lag: usize| (lag..count).map(|at| (values[at] - mean) * (values[at - lag] - mean)).sum::<f64>();
        let whole = product(0);
        if whole <= mean.abs() * 1e-9 {
            return 0;
        }
        let lost = 2.0 / (count as f64).sqrt();
        (1..count / BLOCKS_IN_PHASE_MIN).find(|lag| product(*lag) / whole < lost).map_or(count, |lag| lag - 1)
    };
    of(intervals.iter().map(tail).collect()).max(of(intervals.iter().map(rate).collect()))
}

/// SplitMix64.
struct Noise(u64);

impl Noise {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(part: u64, whole: u64) -> Part {
        Part { part, whole, clumping: 1.0 }
    }

    #[test]
    fn the_interval_of_two_shares_is_newcombe_s() {
        // Newcombe 1998, table II (a): 56 of 70 less 48 of 80; his method 10 at 95% gives 0.0524 to 0.3339. At 99% it is
        // wider and still around 0.2.
        let (low, high) = difference_interval(part(48, 80), part(56, 70)).expect("there are events");
        assert!(low < 0.0524 && low > -0.02, "{low}");
        assert!(high > 0.3339 && high < 0.40, "{high}");
        let (low, high) = difference_interval(part(0, 1000), part(0, 1000)).expect("there are events");
        assert!(low < 0.0 && high > 0.0);
        let (low, _) = difference_interval(part(0, 10_000), part(50, 10_000)).expect("there are events");
        assert!(low > 0.0, "fifty failures after none are seen");
        assert_eq!(difference_interval(part(0, 0), part(1, 2)), None);
    }

    #[test]
    fn failures_that_come_in_clumps_count_less() {
        let second =
            |failed: u64| Interval { length_s: 1.0, started: 100, messages: failed, ..Interval::default() };
        let even: Vec<Interval> = (0..40).map(|at| second(at % 2)).collect();
        let clumped: Vec<Interval> = (0..40).map(|at| second(if at == 7 { 20 } else { 0 })).collect();
        let clumping = |series: &[Interval]| {
            let phases = [series.iter().collect::<Vec<_>>()];
            Sample::new(&phases).clumping(|interval| interval.messages, |interval| interval.started)
        };
        assert_eq!(clumping(&even), 1.0);
        assert!(clumping(&clumped) > 10.0, "{}", clumping(&clumped));
    }

    #[test]
    fn draws_of_a_quantile_lie_around_it() {
        let second = |at: u64| Interval {
            length_s: 1.0,
            answered: 100,
            response: Counts::from_buckets((1..=100).map(|ms| ((ms + at % 7) * 1_000_000, 1)).collect()),
            ..Interval::default()
        };
        let series: Vec<Interval> = (0..70).map(second).collect();
        let sample = Sample::new(&[series.iter().collect()]);
        let draws = sample.draws(1);
        let mut found = sample.quantiles(&draws, |interval| &interval.response, 0.9);
        found.sort_by(f64::total_cmp);
        let whole = sample.sum.response.quantile(0.9).expect("it has times") as f64;
        assert!(found[0] <= whole && whole <= found[DRAWS - 1]);
        assert!(found[0] > 0.9 * whole && found[DRAWS - 1] < 1.1 * whole);
        let rates = sample.rates(&draws, |interval| interval.answered);
        assert!(rates.iter().all(|rate| (rate - 100.0).abs() < 1e-9));
    }
}
