//! What a bench has taken so far: samples, and the measurements that failed, with why.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use crate::figure::{Contender, Samples};

/// Samples and failures of a run.
pub(crate) struct Taken<K> {
    /// Every value, by `MEASUREMENT.VALUE` and contender.
    pub(crate) samples: Samples<K>,
    /// Why a measurement of a contender failed, the last time that it did.
    pub(crate) failures: BTreeMap<(String, K), String>,
}

impl<K> Default for Taken<K> {
    fn default() -> Self {
        Self { samples: Samples::default(), failures: BTreeMap::new() }
    }
}

impl<K: Contender> Taken<K> {
    /// Keeps what one measurement gave.
    pub(crate) fn record(&mut self, measurement: &str, contender: K, result: Result<Vec<(String, f64)>>) {
        match result {
            Ok(values) => {
                for (name, value) in values {
                    self.samples.add(format!("{measurement}.{name}"), contender, value);
                }
            }
            Err(error) => {
                eprintln!("    failed: {error:#}");
                self.failures.insert((measurement.to_owned(), contender), format!("{error:#}"));
            }
        }
    }

    /// An error when this contender failed anywhere: a bench of the product without the product is none.
    pub(crate) fn require(&self, contender: K) -> Result<()> {
        let failed: Vec<&str> = self
            .failures
            .keys()
            .filter(|(_, failed)| *failed == contender)
            .map(|(name, _)| name.as_str())
            .collect();
        if !failed.is_empty() {
            bail!("{} could not be measured: {}", contender.name(), failed.join(", "));
        }
        Ok(())
    }
}
