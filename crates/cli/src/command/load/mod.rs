//! `stadium load`: the load lab. All of it is `stadium_load`'s and `stadium_report`'s; here are only the command lines.
//!
//! `run` runs a scenario, `search` finds the highest rate that it holds, `check` reports what is
//! wrong with one; `report` and `compare` read what runs left; `import` makes scenarios of
//! recordings; `swarm` is a fleet without a scenario.

mod check;
mod import;
mod launch;
mod read;
mod results;
mod run;
mod search;
mod swarm;
mod worker;
mod workers;

use clap::{Args, Subcommand};
use stadium_scenario::secret::Secrets;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Which load.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run a scenario and report what its users saw
    Run(Box<run::Arguments>),
    /// Find the highest rate at which a scenario's thresholds hold
    Search(Box<search::Arguments>),
    /// Report what is wrong with scenarios, with lines and suggestions; sends nothing
    Check(check::Arguments),
    /// Print the JSON schema of scenarios, for editors
    Schema,
    /// Make a scenario of a recording or of another tool's
    #[command(subcommand)]
    Import(import::Import),
    /// Write the report of a result again, as HTML or text
    Report(results::ReportArguments),
    /// Report which differences between two results are more than noise
    Compare(results::CompareArguments),
    /// Make load for runs of coordinators elsewhere, one at a time
    Worker(worker::Arguments),
    /// Start workers over SSH, and run something on them
    Launch(launch::Arguments),
    /// Connect simulated MQTT devices to a broker, hold them, and measure
    Swarm(Box<swarm::Arguments>),
}

/// Does what was asked.
pub(crate) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    terminal.hide(Secrets::default());
    match &arguments.action {
        Action::Run(run) => run::run(run, terminal),
        Action::Search(search) => search::run(search, terminal),
        Action::Check(check) => check::run(check, terminal),
        Action::Schema => terminal.data(stadium_scenario::schema().trim_end()),
        Action::Import(import) => import::run(import, terminal),
        Action::Report(report) => results::report(report, terminal),
        Action::Compare(compare) => results::difference(compare, terminal),
        Action::Worker(worker) => worker::run(worker),
        Action::Launch(launch) => launch::run(launch, terminal),
        Action::Swarm(swarm) => swarm::run(swarm, terminal),
    }
}
