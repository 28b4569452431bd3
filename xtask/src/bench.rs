//! `cargo xtask bench NAME`: builds both sides, then hands over to the binary of bench/.
//!
//! Peers are installed once under target/peers: packages of Debian, a crate, a Go module. The bench
//! itself (scenarios, pinning, medians, results) lives in bench/; this only makes sure that it can run.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::components;
use crate::step::{Step, cargo, command};

/// The peer crate and its version: a quoted figure names what it was taken against.
///
/// Its own lock file names a release of `metrics` that no longer compiles, so it is resolved anew.
const RUMQTTD: &str = "rumqttd@0.20.0";

/// What to bench, and how much of it.
#[derive(Args)]
pub(crate) struct Options {
    /// Which bench
    name: Name,
    /// Passed on to the bench, for example `--only fanout --rounds 1` (see `--help` there)
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// The benches there are.
#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// Devices over MQTT: memory, fan-out, pairs, connects, storm, against four peers
    Edge,
}

/// Builds and runs; the bench's exit code is ours.
pub(crate) fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    let name = match options.name {
        Name::Edge => "edge",
    };
    let good = Step::start("peers").end(peers(root)) && Step::start("release build").end(build());
    if !good {
        bail!("cannot bench");
    }
    let status =
        Command::new(root.join("target/release/stadium-bench")).arg(name).args(&options.rest).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn build() -> Result<()> {
    command(&mut cargo(&["build", "--release", "--package", "stadium-cli", "--package", "stadium-bench"]))
}

fn peers(root: &Path) -> Result<()> {
    components::for_bench()?;
    let folder = root.join("target/peers");
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin)?;
    if !bin.join("rumqttd").exists() {
        let mut install = cargo(&["install", "--no-default-features", RUMQTTD, "--root"]);
        command(install.arg(&folder).env("CARGO_TARGET_DIR", folder.join("build")))?;
    }
    if !bin.join("mochi").exists() {
        let mut build = Command::new("go");
        build.current_dir(root.join("bench/peers/mochi")).args(["build", "-o"]);
        command(build.arg(bin.join("mochi")).arg("."))?;
    }
    Ok(())
}
