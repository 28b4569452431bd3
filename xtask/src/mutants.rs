//! `cargo xtask mutants [CRATE ...] [--sample N]`: changes the code in small ways, one at a time, and
//! counts how many of the changes the crate's own tests notice.
//!
//! The mutants are those of cargo-mutants. A sample takes every n-th of all, so that the same numbers
//! name the same mutants again. A mutant that no test can notice, because it changes nothing that can be
//! seen, is named with its reason in [`EQUIVALENT`].

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::tools;

/// Crates that decide what becomes of data: the ones to sample unless others are named.
const CRATES: [&str; 6] = ["wallet", "queue", "mqtt", "push", "session", "journal"];

/// Of the mutants that compile, so many in a hundred must be noticed.
const CAUGHT_PERCENT_MIN: usize = 85;

/// Mutants that change nothing that a test could see: `path: what is changed`, a tab, and why.
const EQUIVALENT: &str = "testing/mutants.txt";

/// Which mutants.
#[derive(Args)]
pub(crate) struct Options {
    /// Crates by their folder's name; without one those that keep data
    crates: Vec<String>,
    /// So many mutants in all, spread evenly; all of them with 0
    #[arg(long, default_value_t = 200)]
    sample: usize,
    /// Which of the samples of this size, from 0
    #[arg(long, default_value_t = 0)]
    from: usize,
}

/// How a run went.
#[derive(Default)]
struct Tally {
    caught: usize,
    unviable: usize,
    /// Those that no test noticed, and those of them that stand in the list with a reason.
    missed: Vec<String>,
    equivalent: usize,
}

/// Runs the tests against the sample. The exit code is 0 where enough is caught.
pub(crate) fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    let program = tools::MUTANTS.program(root)?;
    let crates: Vec<&str> = match options.crates.is_empty() {
        true => CRATES.to_vec(),
        false => options.crates.iter().map(String::as_str).collect(),
    };
    if let Some(unknown) = crates.iter().find(|name| !root.join("crates").join(name).is_dir()) {
        bail!("there is no crate `{unknown}` in crates/");
    }
    let cargo_mutants = || {
        let mut mutants = Command::new(&program);
        mutants.current_dir(root).arg("mutants");
        for name in &crates {
            mutants.args(["--package", &format!("stadium-{name}")]);
        }
        mutants
    };
    let all = crate::step::output(cargo_mutants().args(["--list", "--json"]))?;
    let all: Vec<Value> = serde_json::from_str(&all).context("the list of cargo-mutants")?;
    let every = if options.sample == 0 { 1 } else { all.len().div_ceil(options.sample).max(1) };
    if options.from >= every {
        bail!("there are {every} samples of this size: --from is at most {}", every - 1);
    }
    eprintln!("==> one in {every} of {} mutants", all.len());
    let folder = root.join("target/mutants");
    let mut mutants = cargo_mutants();
    mutants.args(["--shard", &format!("{}/{every}", options.from), "--sharding", "round-robin"]);
    mutants.args(["--baseline", "skip", "--timeout", "300", "--colors", "never", "--output"]).arg(&folder);
    // It exits with 2 where mutants were missed, with 3 where tests timed out: both are counted below.
    let status = mutants.status().context("cannot start cargo-mutants")?;
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        bail!("cargo-mutants ended with {status}");
    }
    let outcomes = folder.join("mutants.out/outcomes.json");
    let outcomes = fs::read(&outcomes).with_context(|| format!("cannot read {}", outcomes.display()))?;
    let known = fs::read_to_string(root.join(EQUIVALENT)).unwrap_or_default();
    let tally = count(&serde_json::from_slice(&outcomes).context("outcomes.json")?, &known);
    Ok(tally.show())
}

/// Adds up the outcomes of a run. A test that hangs has noticed.
fn count(outcomes: &Value, known: &str) -> Tally {
    let mut tally = Tally::default();
    for outcome in outcomes["outcomes"].as_array().into_iter().flatten() {
        let Some(mutant) = outcome["scenario"].get("Mutant") else { continue };
        match outcome["summary"].as_str() {
            Some("CaughtMutant" | "Timeout") => tally.caught += 1,
            Some("Unviable") => tally.unviable += 1,
            _ => {
                let name = mutant["name"].as_str().unwrap_or_default();
                let listed = |line: &str| line.split('\t').next() == Some(&without_place(name));
                if known.lines().any(listed) {
                    tally.equivalent += 1;
                } else {
                    tally.missed.push(name.to_owned());
                }
            }
        }
    }
    tally
}

/// `crates/a/src/b.rs:12:5: replace x` without the line and column, which change with every edit.
fn without_place(name: &str) -> String {
    let mut parts = name.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(path), Some(_), Some(_), Some(what)) => format!("{path}:{what}"),
        _ => name.to_owned(),
    }
}

impl Tally {
    fn show(&self) -> ExitCode {
        self.missed.iter().for_each(|name| println!("missed: {name}"));
        let viable = self.caught + self.missed.len();
        let percent = (self.caught * 100).checked_div(viable).unwrap_or(0);
        println!(
            "{} of {viable} mutants caught ({percent}%), {} equivalent, {} do not compile",
            self.caught, self.equivalent, self.unviable
        );
        match percent >= CAUGHT_PERCENT_MIN {
            true => ExitCode::SUCCESS,
            false => {
                println!("at least {CAUGHT_PERCENT_MIN}% must be caught");
                ExitCode::FAILURE
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{count, without_place};
    use serde_json::json;

    #[test]
    fn outcomes_are_counted_and_listed_mutants_are_apart() {
        let outcome =
            |name: &str, summary: &str| json!({"scenario": {"Mutant": {"name": name}}, "summary": summary});
        let outcomes = json!({"outcomes": [
            {"scenario": "Baseline", "summary": "Success"},
            outcome("crates/a/src/b.rs:1:2: replace x with 0", "CaughtMutant"),
            outcome("crates/a/src/b.rs:2:2: replace y with 0", "Timeout"),
            outcome("crates/a/src/b.rs:3:2: replace z with 0", "Unviable"),
            outcome("crates/a/src/b.rs:4:2: replace v with 0", "MissedMutant"),
            outcome("crates/a/src/b.rs:5:2: replace w with 0", "MissedMutant"),
        ]});
        let tally = count(&outcomes, "crates/a/src/b.rs: replace w with 0\tonly a hint\n");
        assert_eq!((tally.caught, tally.unviable, tally.equivalent), (2, 1, 1));
        assert_eq!(tally.missed, ["crates/a/src/b.rs:4:2: replace v with 0"]);
    }

    #[test]
    fn a_mutant_is_known_by_its_file_and_change() {
        let name = "crates/a/src/b.rs:12:5: replace Header::size -> u32 with 0";
        assert_eq!(without_place(name), "crates/a/src/b.rs: replace Header::size -> u32 with 0");
    }
}
