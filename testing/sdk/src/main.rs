//! The conformance runner: crosses the clients of every SDK with the servers of every SDK.
//!
//! `testing/sdk/README.md` has the orders that actors obey. `cargo xtask sdk conformance` builds the
//! actors and runs this.

mod actor;
mod cases;
mod language;
mod mutants;
mod registry;
mod report;
mod run;
mod stage;

use std::process::ExitCode;

use clap::Parser;

use language::Language;
use run::Plan;

/// Crosses the clients of every SDK with the servers of every SDK
#[derive(Parser)]
#[command(name = "cargo xtask sdk conformance")]
struct Arguments {
    /// Languages that call; all of them if none is named
    #[arg(long, value_enum, value_delimiter = ',')]
    clients: Vec<Language>,
    /// Languages that serve; all of them if none is named
    #[arg(long, value_enum, value_delimiter = ',')]
    servers: Vec<Language>,
    /// Only cases whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Every fault of every server, and not one server for each fault; new servers of every language
    #[arg(long)]
    long: bool,
    /// Actors that are wrong in one way: each must be found
    #[arg(long)]
    mutants: bool,
    /// Print the names of the cases
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let Arguments { clients, servers, only, long, mutants, list } = Arguments::parse();
    if list {
        let pairs = cases::PAIRS.iter().map(|case| case.name);
        pairs.chain(cases::SHARED.iter().copied()).for_each(|name| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    let all = |named: Vec<Language>| if named.is_empty() { Language::ALL.to_vec() } else { named };
    let servers: Vec<Language> = all(servers).into_iter().filter(|language| language.serves()).collect();
    if servers.is_empty() {
        eprintln!("error: none of these languages has a server");
        return ExitCode::from(2);
    }
    let plan = Plan { clients: all(clients), servers, only, long };
    let counts = if mutants { run::mutants() } else { run::all(&plan) };
    match counts {
        Ok((passed, failed)) => {
            println!("{passed} passed, {failed} failed");
            if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
