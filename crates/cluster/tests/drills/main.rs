//! Drills: three nodes, three brokers and three members of etcd as processes, killed, stopped and cut
//! off from each other under load. Each drill is a row of the table in docs/cluster.md.
//!
//! They are tests of a harness of their own, since all share one cluster: starting it takes longer
//! than most drills. One that fails has the next one begin with another cluster. `cargo xtask drill
//! NAME` runs one of them for longer; `STADIUM_KILLS` asks for more kills.

mod drill;
mod load;
mod process;
mod rows;
mod stage;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Parser;
use libtest_mimic::{Failed, Trial};

use self::rows::{How, KILLS, ROWS};
use self::stage::Stage;

/// The command line: that of a test program, and what a drill needs.
#[derive(Parser)]
struct CommandLine {
    /// Run this drill, for as long as a drill lasts
    #[arg(long, value_name = "NAME")]
    drill: Option<String>,
    /// How long the failure lasts, for example 60s
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    lasts: Option<Duration>,
    /// Name the drills and run none
    #[arg(long)]
    drills: bool,
    #[command(flatten)]
    tests: libtest_mimic::Arguments,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text);
    number.parse().map(Duration::from_secs).map_err(|_| "give whole seconds, for example 60s".to_owned())
}

fn main() -> ExitCode {
    let mut line = CommandLine::parse();
    let all = || ROWS.iter().chain([&KILLS]);
    if line.drills {
        for row in all() {
            println!("{:<12} {}, for {} s", row.name, row.what, row.lasts_s.1);
        }
        return ExitCode::SUCCESS;
    }
    if let Some(name) = &line.drill {
        if !all().any(|row| row.name == name) {
            let names: Vec<_> = all().map(|row| row.name).collect();
            eprintln!("there is no drill `{name}`; there are {}", names.join(", "));
            return ExitCode::FAILURE;
        }
        line.tests.filter = Some(name.clone());
        line.tests.exact = true;
    }
    let kills = std::env::var("STADIUM_KILLS").ok().map(|kills| kills.parse().expect("a number"));
    let is_drill = line.drill.is_some();
    let stage: Arc<Mutex<Option<Stage>>> = Arc::default();
    let tests = all()
        // Its short form is in the others.
        .filter(|row| row.name != KILLS.name || is_drill || kills.is_some())
        .map(|row| {
            let own = if is_drill { row.lasts_s.1 } else { row.lasts_s.0 };
            let how = How { lasts: line.lasts.unwrap_or(Duration::from_secs(own)), kills };
            let stage = Arc::clone(&stage);
            let drill = row.drill;
            Trial::test(row.name, move || {
                let mut stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
                // Where the drill panics it is dropped and not given back: the next one starts another.
                let mut cluster = stage.take().unwrap_or_else(Stage::start);
                drill(&mut cluster, how);
                *stage = Some(cluster);
                Ok::<(), Failed>(())
            })
        })
        .collect();
    // The cluster ends with the thread that started it: all drills run on this one.
    line.tests.test_threads = Some(1);
    libtest_mimic::run(&line.tests, tests).exit_code()
}
