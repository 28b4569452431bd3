//! How much of a bench is run: rounds, which measurements, which contenders; and whether its results may be written.
//!
//! Results without peers beside them, or without rounds enough for a median, are a look: printed, never written.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::figure::{Contender, Figure};

/// Where the results go, from the workspace root.
const RESULTS: &str = "bench/results";
/// Rounds that a median needs.
const ROUNDS_MIN: usize = 3;

/// What the command line chose.
#[derive(Args)]
pub(crate) struct Selection {
    /// Rounds; results are medians over them
    #[arg(long, default_value_t = ROUNDS_MIN)]
    pub(crate) rounds: usize,
    /// Only measurements whose name starts with this (several with commas); the results go to a page of
    /// their own, `BENCH-NAME.md`
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these servers, by the start of their names; prints and writes no results
    #[arg(long, value_delimiter = ',')]
    servers: Vec<String>,
}

/// What a bench with plots has to show.
pub(crate) struct Results<'a> {
    /// For people, as Markdown.
    pub(crate) page: &'a str,
    /// The same as plots.
    pub(crate) html: &'a str,
    /// For machines.
    pub(crate) figures: &'a [Figure],
    /// Whether the parameters are those of the published rows.
    pub(crate) are_published: bool,
}

impl Selection {
    /// An error where a chosen name is the start of none of these.
    pub(crate) fn check<K: Contender>(
        &self,
        measurements: impl Iterator<Item = &'static str>,
        contenders: &[K],
    ) -> Result<()> {
        known("measurement", &self.only, &measurements.collect::<Vec<_>>())?;
        let names: Vec<&str> = contenders.iter().map(|contender| contender.name()).collect();
        known("contender", &self.servers, &names)
    }

    /// Whether a measurement is among the chosen.
    pub(crate) fn wants(&self, measurement: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|start| measurement.starts_with(start))
    }

    /// Whether a contender is among the chosen.
    pub(crate) fn wants_contender(&self, contender: impl Contender) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|start| contender.name().starts_with(start))
    }

    /// Whether a row belongs on the page: each one of a full run, else those that have a value.
    pub(crate) fn shows(&self, figure: &Figure) -> bool {
        (self.only.is_empty() && self.servers.is_empty()) || figure.is_measured()
    }

    /// What the results are called: the bench, and what of it was chosen.
    pub(crate) fn results(&self, bench: &str) -> String {
        let parts = std::iter::once(bench).chain(self.only.iter().map(String::as_str));
        parts.collect::<Vec<_>>().join("-")
    }

    /// Prints the page, leaves the plots in target/bench, and, where these are the rows as published, writes both and the figures
    /// beside each other into bench/results.
    pub(crate) fn publish(&self, bench: &str, results: &Results<'_>, target: &Path) -> Result<()> {
        println!("{}", results.page);
        let folder = target.join("bench");
        fs::create_dir_all(&folder)?;
        let look = folder.join(format!("{bench}.html"));
        fs::write(&look, results.html)?;
        eprintln!("plots: {}", look.display());
        if results.are_published {
            self.write(bench, results.page, results.figures)?;
            self.write_file(bench, "html", results.html)?;
        }
        Ok(())
    }

    /// Writes bench/results/NAME.md and NAME.json, unless this was a look.
    pub(crate) fn write(&self, bench: &str, page: &str, figures: &[Figure]) -> Result<()> {
        self.write_file(bench, "md", page)?;
        self.write_file(bench, "json", &(serde_json::to_string_pretty(figures)? + "\n"))
    }

    /// Writes a file of the results, unless this was a look.
    fn write_file(&self, bench: &str, extension: &str, text: &str) -> Result<()> {
        if !self.servers.is_empty() || self.rounds < ROUNDS_MIN {
            return Ok(());
        }
        let results = Path::new(RESULTS);
        fs::create_dir_all(results)?;
        fs::write(results.join(format!("{}.{extension}", self.results(bench))), text)
            .context("cannot write the results: run from the workspace root")
    }
}

fn known(kind: &str, chosen: &[String], names: &[&str]) -> Result<()> {
    match chosen.iter().find(|start| !names.iter().any(|name| name.starts_with(start.as_str()))) {
        Some(wrong) => bail!("`{wrong}` begins no {kind}; there are {}", names.join(", ")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::known;

    #[test]
    fn a_wrong_name_is_an_error_that_lists_the_names() {
        let check = |chosen: &str| known("measurement", &[chosen.to_owned()], &["calls-8", "callers-8"]);
        assert!(check("call").is_ok());
        let error = check("calls-9").expect_err("there is none").to_string();
        assert_eq!(error, "`calls-9` begins no measurement; there are calls-8, callers-8");
    }
}
