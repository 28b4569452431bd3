//! Project tasks: `cargo xtask test | verify | fix | bench NAME | drill NAME | dist`.
//!
//! `test` installs what is missing, verifies and runs every suite; `verify` is what CI relies on and
//! changes nothing; `fix` is the one that edits; `bench` reruns a figure quoted in the documentation;
//! `drill` has one thing go wrong in a cluster; `sdk` crosses the clients and servers of the SDKs;
//! `fuzz` and `mutants` look for what the tests do not see; `dist` makes what a release consists of;
//! `docs` builds the documentation as a site.
//! Every command runs from the workspace root, whatever the caller's directory.

mod advisories;
mod bench;
mod components;
mod cpp;
mod dist;
mod docs;
mod drill;
mod features;
mod fix;
mod fuzz;
mod generated;
mod licences;
mod mutants;
mod newer_debian;
mod quotes;
mod sdk;
mod sdk_bench;
mod step;
mod suite;
mod tidy;
mod tools;
mod verify;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// What the command line asks for.
#[derive(Parser)]
#[command(name = "cargo xtask", about = "Stadium's project tasks", disable_version_flag = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

/// The tasks. Each prints its steps to stderr and its result to stdout.
#[derive(Subcommand)]
enum Task {
    /// Install what is missing, verify, run every suite; ends with `N passed, N failed`
    Test(suite::Options),
    /// Format, clippy, tidy rules, docs, licences, generated files; changes nothing
    Verify {
        /// Only these steps: tidy, format, licences, clippy, features, docs, site, generated
        steps: Vec<String>,
    },
    /// Only the tidy rules of docs/architecture.md: `verify tidy`, takes about a second
    Tidy,
    /// Format, apply clippy's suggestions, regenerate generated files
    Fix,
    /// Rerun a quoted figure and write bench/results/NAME.md and NAME.json
    Bench(bench::Options),
    /// Have one thing go wrong in a cluster of three nodes, brokers and members of etcd, under load
    Drill(drill::Options),
    /// Make archives, packages, images, SBOMs, checksums and their signature in target/dist-packages
    Dist(dist::Options),
    /// Build the documentation as a site in target/site, or serve it
    Docs(docs::Options),
    /// Check a release's version, or print its notes
    #[command(subcommand)]
    Release(dist::version::Task),
    /// Build the actors of the SDKs, and cross their clients and servers
    Sdk(sdk::Options),
    /// Run the libFuzzer targets of fuzz/ with sanitizers; needs the nightly toolchain
    Fuzz(fuzz::Options),
    /// Change the code in small ways and count how many of the changes the tests notice
    Mutants(mutants::Options),
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<ExitCode> {
    let root = root();
    std::env::set_current_dir(&root)?;
    match task {
        Task::Test(options) => suite::run(&root, &options),
        Task::Verify { steps } => Ok(verify::run(&root, &steps)?.exit_code()),
        Task::Tidy => Ok(verify::run(&root, &["tidy".to_owned()])?.exit_code()),
        Task::Fix => fix::run(&root),
        Task::Bench(options) => bench::run(&root, &options),
        Task::Drill(options) => drill::run(&root, &options),
        Task::Dist(options) => dist::run(&root, &options),
        Task::Docs(options) => docs::run(&root, &options),
        Task::Release(task) => dist::version::run(&root, &task),
        Task::Sdk(options) => sdk::run(&root, &options),
        Task::Fuzz(options) => fuzz::run(&root, &options),
        Task::Mutants(options) => mutants::run(&root, &options),
    }
}

/// The workspace root: this package's parent folder.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask/ lies in the workspace root").to_path_buf()
}
