//! The bench of the language SDKs: each beside what a user of that language would take instead.
//!
//! A row is a ratio within a round: both sides of it ran next to each other. Rounds are outermost;
//! within a round each measurement is taken by all its contenders in turn. Virtual machines stay through
//! the rows of the JVM.

mod caller;
mod measurement;
mod page;
mod queue;
mod rows;

use std::fs;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

use crate::figure::{Contender as _, Figure};
use crate::process;
use crate::ratio;
use crate::rpc::fixture::{Round, Times};
use crate::selection::Selection;
use crate::server::Places;
use crate::taken::Taken;
use caller::{Caller, Started};
use measurement::{GROUPS, Measurement, Work};
use rows::ROWS;

/// How much to measure.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// Seconds of each cell that count
    #[arg(long, default_value_t = 1.2)]
    seconds: f64,
    /// Seconds of each cell before them
    #[arg(long, default_value_t = 0.4)]
    warm: f64,
}

/// The time that a program without a server may take beyond its seconds.
const ALONE_SLACK: Duration = Duration::from_secs(30);

/// Measures and reports; an error when an SDK could not be measured.
pub(crate) fn run(options: &Options) -> Result<()> {
    let selection = &options.selection;
    let places = Places::find()?;
    let echo = places.example("echo_server");
    if !echo.exists() {
        bail!("{} is missing: use `cargo xtask bench sdk`", echo.display());
    }
    fs::create_dir_all(places.target.join("bench"))?;
    let times = Times { seconds: options.seconds, warm: options.warm };
    let mut taken = Taken::default();
    for round in 1..=selection.rounds {
        let mut numbers = ratio::Round::default();
        for group in GROUPS {
            let wanted = group.iter().filter(|measurement| selection.wants(measurement.name));
            let wanted: Vec<&Measurement> = wanted.collect();
            take_group(round, &wanted, selection, &places, times, &mut taken, &mut numbers);
        }
        numbers.add_ratios(ROWS, &mut taken.samples);
    }
    let figures: Vec<Figure> =
        ratio::figures(ROWS, &taken.samples).into_iter().filter(|figure| selection.shows(figure)).collect();
    let page = page::write(&figures, &taken, selection.rounds);
    println!("{page}");
    selection.write("sdk", &page, &figures)?;
    ROWS.iter().try_for_each(|row| taken.require(row.ours))
}

/// The measurements whose programs run side by side, for one round.
fn take_group(
    round: usize,
    group: &[&Measurement],
    selection: &Selection,
    places: &Places,
    times: Times,
    taken: &mut Taken<Caller>,
    numbers: &mut ratio::Round<Caller>,
) {
    let mut bench = Round::new(|caller| Started { caller, places }, times);
    for measurement in group {
        let callers =
            || measurement.callers.iter().copied().filter(|caller| selection.wants_contender(*caller));
        if let Work::Cell(_) = measurement.work {
            // All warm up before anybody is measured. One that can't start fails at its cell.
            for caller in callers().filter(|caller| caller.has_virtual_machine()) {
                if bench.is_new(caller) {
                    eprintln!("round {round}: start {}", caller.name());
                    let _ = bench.start(caller);
                }
            }
        }
        for caller in callers() {
            eprintln!("round {round}: {}: {}", measurement.name, caller.name());
            let result = match measurement.work {
                Work::Cell(_) if caller == Caller::Protobuf => alone(caller, places, times),
                Work::Cell(cell) => bench.take(caller, cell),
                Work::Queue => queue::take(caller, places),
            };
            if let Ok(values) = &result {
                numbers.keep(measurement.name, caller, values.clone());
            }
            taken.record(measurement.name, caller, result);
        }
    }
}

/// A program that calls nobody.
fn alone(caller: Caller, places: &Places, times: Times) -> Result<Vec<(String, f64)>> {
    let mut command = caller.client(places);
    command.args(["--elements", "2", "--seconds", &times.seconds.to_string()]);
    command.args(["--warm", &times.warm.to_string()]);
    let deadline = ALONE_SLACK + Duration::from_secs_f64(times.seconds + times.warm);
    Ok(process::numbers(&process::client(&mut command, deadline)?))
}
