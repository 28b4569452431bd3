//! `cargo xtask fuzz [TARGET ...] [--minutes N]`: runs the libFuzzer targets of fuzz/ with the address
//! sanitizer, on the nightly toolchain.
//!
//! The corpus of a target is fuzz/corpus/TARGET.tar.gz, a part of the repository: it is unpacked before a
//! run, and minimised and packed after it. An input that breaks a promise is left under fuzz/artifacts,
//! with the command that runs it again.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::{env, fs};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::step::{Step, command};
use crate::tools;

/// Memory of a target at most, in MiB. Inputs are 4 KB at most: what takes more is a missing bound.
const MEMORY_MIB_MAX: u32 = 1_024;

/// The largest single allocation, in MiB: an allocation whose size comes from the input is caught by it.
const ALLOCATION_MIB_MAX: u32 = 256;

/// The target whose build takes longest; without it the feature that brings it is off.
const NEEDS_HTTP: &str = "http_bodies";

/// Seconds that one input may take.
const INPUT_S_MAX: u32 = 10;

/// What to run, and for how long.
#[derive(Args)]
pub(crate) struct Options {
    /// Which targets; all of them without one
    targets: Vec<String>,
    /// Minutes that each target runs
    #[arg(long, default_value_t = 30)]
    minutes: u32,
}

/// Runs the targets one after the other; a failure does not stop the later ones.
pub(crate) fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    let known = targets(root)?;
    if let Some(unknown) = options.targets.iter().find(|target| !known.contains(target)) {
        bail!("no target `{unknown}`; there are {}", known.join(", "));
    }
    let program = tools::FUZZ.program(root)?;
    let chosen = if options.targets.is_empty() { &known } else { &options.targets };
    let work = root.join("fuzz/target/corpus");
    let needs_http = chosen.iter().any(|target| target == NEEDS_HTTP);
    let cargo_fuzz = |task: &str| {
        let mut fuzz = Command::new("rustup");
        fuzz.args(["run", "nightly"]).arg(&program).args(["fuzz", task]).current_dir(root);
        if !needs_http {
            fuzz.arg("--no-default-features");
        }
        fuzz
    };
    command(&mut cargo_fuzz("build"))?;
    let seeds = root.join(format!("fuzz/target/{}-unknown-linux-gnu/release/seeds", env::consts::ARCH));
    command(Command::new(seeds).arg(&work))?;
    let mut failed = Vec::new();
    for target in chosen {
        let corpus = work.join(target);
        fs::create_dir_all(&corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
        let packed = root.join("fuzz/corpus").join(format!("{target}.tar.gz"));
        if packed.exists() {
            command(Command::new("tar").arg("-xzf").arg(&packed).arg("-C").arg(&corpus))?;
        }
        let step = Step::start(format!("{target}, {} min", options.minutes));
        let mut fuzz = cargo_fuzz("run");
        fuzz.arg(target).arg(&corpus).arg("--").args([
            format!("-max_total_time={}", options.minutes * 60),
            format!("-rss_limit_mb={MEMORY_MIB_MAX}"),
            format!("-malloc_limit_mb={ALLOCATION_MIB_MAX}"),
            format!("-timeout={INPUT_S_MAX}"),
            "-print_final_stats=1".to_owned(),
        ]);
        if !step.end(command(&mut fuzz)) {
            failed.push(target.as_str());
            continue;
        }
        let step = Step::start(format!("{target}: corpus"));
        let minimised = command(cargo_fuzz("cmin").arg(target).arg(&corpus));
        step.end(minimised.and_then(|()| pack(&corpus, &packed)));
    }
    println!("{} targets ran, {} failed", chosen.len(), failed.len());
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("failed: {}; their inputs are in fuzz/artifacts", failed.join(", "));
    Ok(ExitCode::FAILURE)
}

/// Packs a folder so that the same files give the same bytes.
fn pack(folder: &Path, packed: &Path) -> Result<()> {
    fs::create_dir_all(packed.parent().expect("it is in a folder"))?;
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"]);
    // gzip -n: neither a name nor a time in the header.
    tar.args(["--use-compress-program=gzip -9n", "-cf"]).arg(packed).arg("-C").arg(folder).arg(".");
    command(&mut tar)
}

/// The names of the targets: the files in fuzz/fuzz_targets.
fn targets(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for file in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = file?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}
