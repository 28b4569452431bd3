//! Measured figures: samples by row and server, medians with their spread, the JSON that machines read.
//!
//! A figure is one row that was asked for. Its thresholds may lean on what peers reached in the same run.

use std::collections::BTreeMap;

use serde::Serialize;

/// One side of a comparison.
pub(crate) trait Contender: Copy + Ord {
    /// Its name in tables and results.
    fn name(self) -> &'static str;
}

/// Every sample of a run, by measurement and contender.
pub(crate) struct Samples<K>(BTreeMap<(String, K), Vec<f64>>);

impl<K> Default for Samples<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Contender> Samples<K> {
    /// Adds one round's value.
    pub(crate) fn add(&mut self, measurement: String, contender: K, value: f64) {
        self.0.entry((measurement, contender)).or_default().push(value);
    }

    /// The values of one measurement of one contender, in the order of the rounds.
    pub(crate) fn runs(&self, measurement: &str, contender: K) -> &[f64] {
        self.0.get(&(measurement.to_owned(), contender)).map_or(&[], Vec::as_slice)
    }

    /// The median of one measurement of one contender.
    pub(crate) fn median(&self, measurement: &str, contender: K) -> Option<f64> {
        median(self.runs(measurement, contender))
    }

    /// The medians of those of `contenders` that have any, by name.
    pub(crate) fn medians(&self, measurement: &str, contenders: &[K]) -> BTreeMap<&'static str, f64> {
        let named = |contender: &K| Some((contender.name(), self.median(measurement, *contender)?));
        contenders.iter().filter_map(named).collect()
    }
}

/// Which direction is better.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// One row, as bench/results/NAME.json holds it.
#[derive(Serialize)]
pub(crate) struct Figure {
    /// What was measured.
    pub(crate) figure: String,
    /// Unit of `runs`, `value`, `must`, `aim`, `peers` and `limit`.
    pub(crate) unit: &'static str,
    /// Which direction is better.
    pub(crate) better: Better,
    /// This product's value in each round.
    pub(crate) runs: Vec<f64>,
    /// Their median; null when nothing could be measured.
    pub(crate) value: Option<f64>,
    /// What it must reach.
    pub(crate) must: Option<f64>,
    /// What it aims for.
    pub(crate) aim: Option<f64>,
    /// Peers' medians, by name.
    pub(crate) peers: BTreeMap<&'static str, f64>,
    /// The bare loop's median.
    pub(crate) limit: Option<f64>,
}

/// Who is who among the contenders of a bench.
pub(crate) struct Sides<K: 'static> {
    /// This product.
    pub(crate) product: K,
    /// Those that stand in the results as peers.
    pub(crate) peers: &'static [K],
    /// The bare loop.
    pub(crate) limit: K,
}

/// A row that is still without thresholds.
pub(crate) struct Row<'a, K: 'static> {
    /// Where its values are.
    pub(crate) samples: &'a Samples<K>,
    /// `MEASUREMENT.VALUE`.
    pub(crate) sample: String,
    /// What was measured.
    pub(crate) figure: String,
    /// Of the values.
    pub(crate) unit: &'static str,
    /// Which direction is better.
    pub(crate) better: Better,
}

impl<K: Contender> Row<'_, K> {
    /// The median of the best of these.
    pub(crate) fn best(&self, of: &[K]) -> Option<f64> {
        let medians = of.iter().filter_map(|contender| self.samples.median(&self.sample, *contender));
        match self.better {
            Better::Higher => medians.reduce(f64::max),
            Better::Lower => medians.reduce(f64::min),
        }
    }

    /// The row with its thresholds.
    pub(crate) fn figure(self, sides: &Sides<K>, must: Option<f64>, aim: Option<f64>) -> Figure {
        Figure {
            runs: self.samples.runs(&self.sample, sides.product).to_vec(),
            value: self.samples.median(&self.sample, sides.product),
            peers: self.samples.medians(&self.sample, sides.peers),
            limit: self.samples.median(&self.sample, sides.limit),
            figure: self.figure,
            unit: self.unit,
            better: self.better,
            must,
            aim,
        }
    }
}

impl Figure {
    /// Whether anybody has a value.
    pub(crate) fn is_measured(&self) -> bool {
        self.value.is_some() || self.limit.is_some() || !self.peers.is_empty()
    }

    /// Whether `value` reaches a threshold.
    pub(crate) fn reaches(&self, threshold: f64) -> bool {
        match (self.value, self.better) {
            (None, _) => false,
            (Some(value), Better::Higher) => value >= threshold,
            (Some(value), Better::Lower) => value <= threshold,
        }
    }

    /// One word for the table.
    pub(crate) fn verdict(&self) -> &'static str {
        match (self.must, self.aim) {
            _ if self.value.is_none() => "not measured",
            (Some(must), _) if !self.reaches(must) => "**missed**",
            (_, Some(aim)) if self.reaches(aim) => "aim",
            (Some(_), _) => "must",
            (None, Some(_)) => "below the aim",
            _ => "",
        }
    }
}

/// The middle of the runs.
pub(crate) fn median(runs: &[f64]) -> Option<f64> {
    let mut runs = runs.to_vec();
    runs.sort_by(f64::total_cmp);
    let middle = runs.len() / 2;
    match runs.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(runs[middle]),
        _ => Some(f64::midpoint(runs[middle - 1], runs[middle])),
    }
}

/// A number as people read it: three significant digits, thousands apart.
pub(crate) fn shown(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if value.abs() < 100.0 {
        let digits = if value.abs() < 1.0 {
            3
        } else if value.abs() < 10.0 {
            2
        } else {
            1
        };
        return format!("{value:.digits$}");
    }
    let rounded = format!("{value:.0}");
    let mut text = String::new();
    for (index, character) in rounded.chars().enumerate() {
        if index > 0 && (rounded.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(character);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{median, shown};

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn numbers_are_shown_for_people() {
        assert_eq!(shown(1_234_567.8), "1,234,568");
        assert_eq!(shown(123.4), "123");
        assert_eq!(shown(7.123), "7.12");
        assert_eq!(shown(0.0), "0");
        assert_eq!(shown(0.4567), "0.457");
    }
}
