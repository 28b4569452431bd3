//! Rows that are ratios: a contender over what it is compared with, in the same round.
//!
//! Both sides of a ratio ran in one round of one run, so that a machine that is slower in the next
//! round changes neither. A round that lacks one of the two has no value for the row.

use std::collections::BTreeMap;

use crate::figure::{Better, Contender, Figure, Samples};
use crate::process;

/// The numbers of one round by name, of each measurement and contender.
pub(crate) struct Round<K>(BTreeMap<(&'static str, K), Vec<(String, f64)>>);

impl<K> Default for Round<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Contender> Round<K> {
    /// Keeps what a measurement gave.
    pub(crate) fn keep(&mut self, measurement: &'static str, contender: K, numbers: Vec<(String, f64)>) {
        self.0.insert((measurement, contender), numbers);
    }

    fn value(&self, measurement: &'static str, contender: K, name: &str) -> Option<f64> {
        process::number(self.0.get(&(measurement, contender))?, name)
    }

    /// Adds the value of each row that is a ratio.
    pub(crate) fn add_ratios(&self, rows: &[Row<K>], samples: &mut Samples<K>) {
        for row in rows.iter().filter(|row| !row.over.is_empty()) {
            if let Some(ratio) = row.ratio(self) {
                samples.add(row.sample(), row.ours, ratio);
            }
        }
    }
}

/// One row.
pub(crate) struct Row<K: 'static> {
    /// Its name on the page.
    pub(crate) figure: &'static str,
    /// Of its value.
    pub(crate) unit: &'static str,
    /// Which direction is better.
    pub(crate) better: Better,
    /// The measurement of `ours`.
    pub(crate) measurement: &'static str,
    /// The compared number.
    pub(crate) value: &'static str,
    /// This product.
    pub(crate) ours: K,
    /// The best of these is what `ours` is divided by; with none, the row is the value itself.
    pub(crate) over: &'static [K],
    /// The measurement of `over`; mostly that of `ours`.
    pub(crate) over_in: &'static str,
    /// The value to reach.
    pub(crate) must: Option<f64>,
    /// The value to aim for.
    pub(crate) aim: Option<f64>,
}

impl<K: Contender> Row<K> {
    /// The name of its values, one a round.
    pub(crate) fn sample(&self) -> String {
        let value = format!("{}.{}", self.measurement, self.value);
        if self.over.is_empty() {
            return value;
        }
        let over: Vec<&str> = self.over.iter().map(|contender| contender.name()).collect();
        format!("{value} over {} in {}", over.join(", "), self.over_in)
    }

    /// Its value in a round.
    pub(crate) fn ratio(&self, round: &Round<K>) -> Option<f64> {
        let value = |contender| round.value(self.over_in, contender, self.value);
        // The best may be one that failed: then there is none.
        let others: Option<Vec<f64>> = self.over.iter().map(|contender| value(*contender)).collect();
        let best = match self.better {
            Better::Higher => others?.into_iter().reduce(f64::max),
            Better::Lower => others?.into_iter().reduce(f64::min),
        }?;
        Some(round.value(self.measurement, self.ours, self.value)? / best)
    }

    fn figure(&self, samples: &Samples<K>) -> Figure {
        Figure {
            figure: self.figure.to_owned(),
            unit: self.unit,
            better: self.better,
            runs: samples.runs(&self.sample(), self.ours).to_vec(),
            value: samples.median(&self.sample(), self.ours),
            must: self.must,
            aim: self.aim,
            peers: BTreeMap::new(),
            limit: None,
        }
    }
}

/// Every row, measured or not.
pub(crate) fn figures<K: Contender>(rows: &[Row<K>], samples: &Samples<K>) -> Vec<Figure> {
    rows.iter().map(|row| row.figure(samples)).collect()
}

/// The number of different names among the values of rows.
#[cfg(test)]
pub(crate) fn names<K: Contender>(rows: &[Row<K>]) -> usize {
    rows.iter().map(|row| (row.sample(), row.ours)).collect::<std::collections::BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::{Round, Row, figures};
    use crate::figure::{Better, Contender, Samples};

    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    struct Named(&'static str);

    impl Contender for Named {
        fn name(self) -> &'static str {
            self.0
        }
    }

    const OURS: Named = Named("ours");
    const FAST: Named = Named("fast");
    const SLOW: Named = Named("slow");

    fn row(better: Better, over: &'static [Named], over_in: &'static str) -> Row<Named> {
        let (must, aim) = (Some(1.0), Some(0.2));
        let (measurement, value) = ("many", "number");
        let figure = "a number of ours";
        Row { figure, unit: "times", better, measurement, value, ours: OURS, over, over_in, must, aim }
    }

    fn round(numbers: &[(&'static str, Named, f64)]) -> Round<Named> {
        let mut round = Round::default();
        for (measurement, contender, value) in numbers {
            round.keep(measurement, *contender, vec![("number".to_owned(), *value)]);
        }
        round
    }

    #[test]
    fn a_ratio_is_over_the_best_of_the_others_in_its_round() {
        let higher = row(Better::Higher, &[SLOW, FAST], "many");
        let all = [("many", OURS, 120.0), ("many", SLOW, 10.0), ("many", FAST, 20.0)];
        assert_eq!(higher.ratio(&round(&all)), Some(6.0));
        assert_eq!(row(Better::Lower, &[SLOW, FAST], "many").ratio(&round(&all)), Some(12.0));
        assert_eq!(higher.ratio(&round(&all[1..])), None);
        assert_eq!(higher.ratio(&round(&all[..2])), None);
    }

    #[test]
    fn the_others_may_be_those_of_another_measurement() {
        let numbers = [("many", OURS, 60.0), ("many", FAST, 60.0), ("few", FAST, 20.0)];
        assert_eq!(row(Better::Higher, &[FAST], "few").ratio(&round(&numbers)), Some(3.0));
    }

    #[test]
    fn less_than_the_peer_reaches_the_aim_where_less_is_better() {
        let rows = [row(Better::Lower, &[FAST], "many")];
        let mut samples = Samples::default();
        round(&[("many", OURS, 1.0), ("many", FAST, 10.0)]).add_ratios(&rows, &mut samples);
        let figures = figures(&rows, &samples);
        assert_eq!(figures.iter().map(|figure| figure.verdict()).collect::<Vec<_>>(), ["aim"]);
    }
}
