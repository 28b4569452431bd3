//! `cargo xtask drill NAME [--for SECONDS]`: one thing goes wrong in a cluster under load.
//!
//! The drills are a test program of crates/cluster, which runs short ones in `cargo xtask test`. It
//! has their names, and prints the report. This only builds it, and the node that it starts.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use cargo_metadata::Message;
use clap::Args;

use crate::step::{cargo, command, output};

/// The package of the drills.
const PACKAGE: &str = "stadium-cluster";

/// Which drill, and for how long.
#[derive(Args)]
pub(crate) struct Options {
    /// Which drill; without one they are listed
    name: Option<String>,
    /// How long the failure lasts, for example 60s; each drill has a time of its own
    #[arg(long = "for", value_name = "SECONDS")]
    lasts: Option<String>,
    /// List the drills, and run none
    #[arg(long)]
    list: bool,
}

/// Runs the drill. The exit code is 0 only when all held that must.
pub(crate) fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    let mut drills = Command::new(build()?);
    // Where cargo runs tests.
    drills.current_dir(root.join("crates/cluster"));
    match &options.name {
        Some(name) if !options.list => {
            drills.args(["--drill", name]);
            drills.args(options.lasts.iter().flat_map(|lasts| ["--for", lasts]));
        }
        _ => _ = drills.arg("--drills"),
    }
    let status = drills.status().context("cannot start the drills")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the test program, and the node that it starts.
pub(crate) fn build() -> Result<PathBuf> {
    command(&mut cargo(&["build", "--quiet", "--package", PACKAGE, "--example", "cluster_node"]))?;
    let built = output(&mut cargo(&[
        "test",
        "--quiet",
        "--no-run",
        "--message-format=json-render-diagnostics",
        "--package",
        PACKAGE,
        "--test",
        "drills",
    ]))?;
    for message in Message::parse_stream(built.as_bytes()) {
        if let Message::CompilerArtifact(artifact) = message.context("cannot read what cargo says")?
            && artifact.target.name == "drills"
            && let Some(executable) = artifact.executable
        {
            return Ok(executable.into());
        }
    }
    bail!("cargo built no test program `drills`")
}
