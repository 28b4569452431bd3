//! Who makes the load where it is not this process: workers that are named, found, or started for the run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use stadium_load::Error;
use stadium_load::run::{Run, RunOptions};
use stadium_load::workers::launch::{Hosts, Launched};
use stadium_load::workers::{self, Children, Workers, compile_scenario};
use stadium_scenario::Program;

use super::run::failure;
use crate::command::service::discovery;
use crate::failure::{Context, Failure};
use crate::terminal::Terminal;

/// How long discovery may take to list the workers.
const FIND_WITHIN: Duration = Duration::from_secs(10);

/// The workers of a run; without any of these this process makes the load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workers")]
pub(super) struct WorkerFlags {
    /// Let these make the load: `stadium load worker` on other machines; name several by commas
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', conflicts_with_all = ["discovery", "hosts", "processes"])]
    workers: Vec<String>,
    /// What the workers ask for
    #[arg(long, value_name = "KEY", env = workers::KEY_VARIABLE, hide_env_values = true, default_value = "", hide_default_value = true)]
    worker_key: String,
    /// Find workers in etcd://HOST:PORT,..., in zk://HOST:PORT,..., or in a file with a line load_worker/1=HOST:PORT for each
    #[arg(long, value_name = "URL", conflicts_with_all = ["hosts", "processes"])]
    discovery: Option<String>,
    /// Root of the tree in etcd and ZooKeeper
    #[arg(long, value_name = "PATH", default_value = "/services")]
    prefix: String,
    /// Start workers over SSH on the hosts of this file, for the run
    #[arg(long, value_name = "FILE", conflicts_with = "processes")]
    hosts: Option<PathBuf>,
    /// Start so many workers on this machine, for the run: each process may have open files of its own
    #[arg(long, value_name = "COUNT")]
    processes: Option<u32>,
}

impl WorkerFlags {
    /// Meets them, where there are any; `loops` are those of each process of this machine.
    pub(super) fn connect(&self, loops: u32, terminal: &Terminal) -> Result<Option<Workers>, Failure> {
        let group = if !self.workers.is_empty() {
            Workers::connect(&self.workers, &self.worker_key, compile_scenario).map_err(failure)?
        } else if let Some(url) = &self.discovery {
            let found = workers::find(&discovery(url, &self.prefix)?, FIND_WITHIN).map_err(failure)?;
            Workers::connect(&found, &self.worker_key, compile_scenario).map_err(failure)?
        } else if let Some(file) = &self.hosts {
            Workers::of_launched(launch(file)?, compile_scenario).map_err(failure)?
        } else if let Some(count) = self.processes {
            let children = Children::start(count, loops, &own()?).map_err(failure)?;
            Workers::of_children(children, compile_scenario).map_err(failure)?
        } else {
            return Ok(None);
        };
        for worker in group.facts() {
            terminal.note(format!(
                "worker {} at {}: {} loops, {} open files, clock {:+.3} ms (within {:.3} ms)",
                worker.name,
                worker.address,
                worker.loops,
                worker.open_files,
                worker.clock_offset_us / 1e3,
                worker.clock_error_us / 1e3
            ));
        }
        Ok(Some(group))
    }
}

/// Starts a run on the workers, or in this process where there are none.
pub(super) fn start(program: Program, options: &RunOptions, group: Option<&Workers>) -> Result<Run, Error> {
    match group {
        Some(group) => Run::start_on(program, options, group),
        None => Run::start(program, options),
    }
}

/// Starts workers on the hosts of a file.
pub(super) fn launch(file: &Path) -> Result<Launched, Failure> {
    let name = file.display();
    let text = std::fs::read_to_string(file).context(format_args!("reading {name}"))?;
    let hosts = Hosts::parse(&text).map_err(|error| Failure::Input(format!("{name}: {error}")))?;
    Launched::start(&hosts, &own()?).map_err(failure)
}

/// This binary.
pub(super) fn own() -> Result<PathBuf, Failure> {
    std::env::current_exe().context("this binary's path")
}
