//! `cargo xtask mutants [CRATE ...] [--sample N]`: changes the code in small ways, one at a time, and
//! counts how many of the changes the crate's own tests notice.
//!
//! The mutants are those of cargo-mutants. Which of them are in the sample follows from hashes of their
//! names ([`sample`]), so that the same numbers name the same mutants again, also after edits elsewhere.
//! They are tried in a copy of the workspace under target/mutants ([`copy`]), crate by crate, with a
//! target folder that stays warm. Results are kept as they come: `--resume` goes on with them.
//! A mutant that no test can notice, because it changes nothing that can be seen, is named with its
//! reason in [`EQUIVALENT`].

mod copy;
mod results;
mod sample;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::tools;
use results::{Results, Tally};
use sample::Mutant;

/// Crates that decide what becomes of data: the ones to sample unless others are named.
const CRATES: [&str; 6] = ["journal", "wallet", "queue", "session", "push", "mqtt"];

/// Of the mutants that compile, so many in a hundred must be noticed.
const CAUGHT_PERCENT_MIN: usize = 85;

/// Mutants that change nothing that a test could see: `path: what is changed`, a tab, and why. `#2` behind the change names the third
/// of the same change in the file alone.
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
    /// Seconds that a crate's tests may take; a mutant whose tests take longer counts as noticed
    #[arg(long, default_value_t = 60)]
    timeout: u32,
    /// Go on with the results of earlier runs: only mutants that were missed or not tried are tried
    #[arg(long)]
    resume: bool,
    /// Run nothing: add up the results of earlier runs
    #[arg(long, conflicts_with = "resume")]
    count: bool,
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
    let place = Place { program, folder: root.join("target/mutants") };
    if !options.count {
        // Once: a run takes an hour, and edits meanwhile would have it try other mutants than it
        // listed.
        copy::bring_up_to_date(root, &place.tree())?;
    }
    let tree = place.tree();
    let all = place.list(if options.count { root } else { &tree }, &crates)?;
    let chosen = sample::choose(&all, options.sample, options.from)?;
    eprintln!("==> {} of {} mutants", chosen.len(), all.len());
    let known = fs::read_to_string(root.join(EQUIVALENT)).unwrap_or_default();
    let mut results = Results::open(&place.folder.join("results.tsv"));
    if options.resume || options.count {
        for name in &crates {
            // A run that was cut has left them.
            results.absorb(&place.outcomes(name), &all)?;
        }
    } else {
        chosen.iter().for_each(|mutant| results.forget(&mutant.key));
    }
    let mut total = Tally::default();
    for name in &crates {
        let package = format!("stadium-{name}");
        let of_crate: Vec<&Mutant> =
            chosen.iter().filter(|mutant| mutant.package == package).copied().collect();
        let to_try: Vec<&Mutant> =
            of_crate.iter().filter(|mutant| !results.is_decided(&mutant.key)).copied().collect();
        let begun = Instant::now();
        if !options.count && !to_try.is_empty() {
            place.try_out(name, &to_try, &all, options.timeout)?;
            results.absorb(&place.outcomes(name), &all)?;
            results.save()?;
        }
        let tally = results.tally(&of_crate, &known);
        println!("{name}: {tally}, {} minutes", begun.elapsed().as_secs().div_ceil(60));
        total.add(tally);
    }
    total.missed.iter().for_each(|name| println!("missed: {name}"));
    total.untried.iter().for_each(|name| println!("not tried: {name}"));
    println!("{total}: {}%", total.caught_percent());
    match total.caught_percent() >= CAUGHT_PERCENT_MIN && total.untried.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false => {
            println!("all must be tried, and at least {CAUGHT_PERCENT_MIN}% be caught");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Where mutants are tried.
struct Place {
    program: PathBuf,
    folder: PathBuf,
}

impl Place {
    /// The copy of the workspace that they are tried in.
    fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// All mutants of some crates, in the order of cargo-mutants.
    fn list(&self, workspace: &Path, crates: &[&str]) -> Result<Vec<Mutant>> {
        let mut mutants = Command::new(&self.program);
        mutants.current_dir(workspace).args(["mutants", "--list", "--json"]);
        for name in crates {
            mutants.args(["--package", &format!("stadium-{name}")]);
        }
        sample::read(&crate::step::output(&mut mutants)?)
    }

    /// The file with the outcomes of a crate's last run.
    fn outcomes(&self, name: &str) -> PathBuf {
        self.folder.join(name).join("mutants.out/outcomes.json")
    }

    /// Runs a crate's tests, first as the crate is and then against each of the mutants.
    fn try_out(&self, name: &str, to_try: &[&Mutant], all: &[Mutant], timeout: u32) -> Result<()> {
        // cargo-mutants chooses by regular expressions, but some kinds of mutants ignore them: those that are not to be tried
        // are named as caught before, and such ones it leaves out.
        let folder = self.folder.join(name);
        let out = folder.join("mutants.out");
        if out.exists() {
            fs::remove_dir_all(&out).with_context(|| format!("cannot remove {}", out.display()))?;
        }
        fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
        let mut others = String::new();
        for mutant in all.iter().filter(|mutant| to_try.iter().all(|other| other.name != mutant.name)) {
            others.push_str(&mutant.name);
            others.push('\n');
        }
        fs::write(out.join("previously_caught.txt"), others)
            .context("cannot name what is not to be tried")?;
        let mut mutants = Command::new(&self.program);
        mutants.current_dir(self.tree()).args(["mutants", "--package", &format!("stadium-{name}")]);
        mutants.args(["--in-place", "--iterate", "--colors", "never", "--output"]).arg(&folder);
        mutants.args(["--timeout", &timeout.to_string(), "--build-timeout", "600"]);
        // No examples, no doc tests: they take longer to build than all tests take to run.
        mutants.args(["--cargo-test-arg=--lib", "--cargo-test-arg=--tests"]);
        mutants.env("CARGO_TARGET_DIR", self.folder.join("build"));
        mutants.env("CARGO_INCREMENTAL", "1").env("CARGO_PROFILE_DEV_DEBUG", "0");
        // It exits with 2 where mutants were missed, with 3 where tests timed out: both are counted.
        let status = mutants.status().context("cannot start cargo-mutants")?;
        match status.code() {
            Some(0 | 2 | 3) => Ok(()),
            Some(4) => bail!("the tests of {name} fail without any change"),
            _ => bail!("cargo-mutants ended with {status}; --resume goes on"),
        }
    }
}
