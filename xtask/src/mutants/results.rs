//! The outcomes of mutants, kept in a file under target/mutants, so that a run that was cut goes on.
//!
//! One line a mutant: its key, a tab, and cargo-mutants' word for the outcome. A mutant that was caught, or that does not
//! compile, stays so until a run without `--resume`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::sample::{Mutant, without_place};

/// Outcomes by the mutants' keys.
pub(super) struct Results {
    file: PathBuf,
    outcomes: BTreeMap<String, String>,
}

/// How the mutants of a sample fared.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) caught: usize,
    /// Of those that were caught: tests hung.
    pub(super) timed_out: usize,
    pub(super) unviable: usize,
    /// Missed, and listed with a reason.
    pub(super) equivalent: usize,
    pub(super) missed: Vec<String>,
    pub(super) untried: Vec<String>,
}

impl Results {
    /// Reads what earlier runs found, if there were any.
    pub(super) fn open(file: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        let outcomes = lines.map(|(key, outcome)| (key.to_owned(), outcome.to_owned())).collect();
        Self { file: file.to_owned(), outcomes }
    }

    pub(super) fn save(&self) -> Result<()> {
        let text: String = self.outcomes.iter().map(|(key, outcome)| format!("{key}\t{outcome}\n")).collect();
        fs::write(&self.file, text).with_context(|| format!("cannot write {}", self.file.display()))
    }

    pub(super) fn forget(&mut self, key: &str) {
        self.outcomes.remove(key);
    }

    /// Takes in the outcomes that cargo-mutants wrote to a file, if it did.
    pub(super) fn absorb(&mut self, outcomes: &Path, all: &[Mutant]) -> Result<()> {
        let Ok(outcomes) = fs::read(outcomes) else { return Ok(()) };
        let outcomes: Value = serde_json::from_slice(&outcomes).context("outcomes.json")?;
        let keys: BTreeMap<&str, &str> =
            all.iter().map(|mutant| (mutant.name.as_str(), mutant.key.as_str())).collect();
        for outcome in outcomes["outcomes"].as_array().into_iter().flatten() {
            let name = outcome["scenario"]["Mutant"]["name"].as_str();
            if let (Some(key), Some(summary)) =
                (name.and_then(|name| keys.get(name)), outcome["summary"].as_str())
            {
                self.outcomes.insert((*key).to_owned(), summary.to_owned());
            }
        }
        Ok(())
    }

    /// Whether a test has noticed it, or it does not compile.
    pub(super) fn is_decided(&self, key: &str) -> bool {
        matches!(self.outcomes.get(key).map(String::as_str), Some("CaughtMutant" | "Timeout" | "Unviable"))
    }

    /// Adds up. A test that hangs has noticed. `known` lists what no test can notice.
    pub(super) fn tally(&self, sample: &[&Mutant], known: &str) -> Tally {
        let mut tally = Tally::default();
        for mutant in sample {
            match self.outcomes.get(&mutant.key).map(String::as_str) {
                Some("CaughtMutant") => tally.caught += 1,
                Some("Timeout") => (tally.caught, tally.timed_out) = (tally.caught + 1, tally.timed_out + 1),
                Some("Unviable") => tally.unviable += 1,
                None => tally.untried.push(mutant.name.clone()),
                Some(_) => {
                    let what = without_place(&mutant.name);
                    let is_listed = |line: &str| {
                        line.split_once('\t').is_some_and(|(listed, why)| {
                            (listed == what || listed == mutant.key) && !why.trim().is_empty()
                        })
                    };
                    match known.lines().any(is_listed) {
                        true => tally.equivalent += 1,
                        false => tally.missed.push(mutant.name.clone()),
                    }
                }
            }
        }
        tally
    }
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.caught += other.caught;
        self.timed_out += other.timed_out;
        self.unviable += other.unviable;
        self.equivalent += other.equivalent;
        self.missed.extend(other.missed);
        self.untried.extend(other.untried);
    }

    /// Of those that compile and change something.
    pub(super) fn caught_percent(&self) -> usize {
        (self.caught * 100).checked_div(self.caught + self.missed.len()).unwrap_or(100)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} caught ({} by a timeout), {} missed, {} equivalent, {} do not compile, {} not tried",
            self.caught,
            self.timed_out,
            self.missed.len(),
            self.equivalent,
            self.unviable,
            self.untried.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn outcomes_are_added_up_and_listed_mutants_are_apart() {
        let name = |line: usize| format!("crates/a/src/b.rs:{line}:2: replace x{line} with 0");
        let list: Vec<Value> =
            (1..=6).map(|line| serde_json::json!({"name": name(line), "package": "stadium-a"})).collect();
        let all = sample::read(&Value::from(list).to_string()).expect("a list");
        let mut results = Results { file: PathBuf::new(), outcomes: BTreeMap::new() };
        let words = ["CaughtMutant", "Timeout", "Unviable", "MissedMutant", "MissedMutant"];
        for (mutant, word) in all.iter().zip(words) {
            results.outcomes.insert(mutant.key.clone(), word.to_owned());
        }
        let sample: Vec<&Mutant> = all.iter().collect();
        let known =
            "crates/a/src/b.rs: replace x5 with 0\tonly a hint\ncrates/a/src/b.rs: replace x4 with 0\t\n";
        let tally = results.tally(&sample, known);
        assert_eq!((tally.caught, tally.timed_out, tally.unviable, tally.equivalent), (2, 1, 1, 1));
        assert_eq!(tally.missed, [name(4)], "a line without a reason counts for nothing");
        assert_eq!(tally.untried, [name(6)]);
        assert_eq!(tally.caught_percent(), 66);
        assert!(results.is_decided(&all[2].key) && !results.is_decided(&all[3].key));
    }
}
