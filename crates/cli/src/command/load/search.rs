//! `stadium load search`: the highest rate at which a scenario's thresholds hold.

use std::path::PathBuf;

use clap::Args;
use stadium_load::run::RunOptions;
use stadium_load::search::{SearchOptions, search};
use stadium_report::Trial;

use super::read::Scenario;
use super::run::{Generator, failure, keep_result, stop_on_interrupt};
use super::workers::start;
use crate::failure::Failure;
use crate::terminal::{Terminal, count};

/// What is searched.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    scenario: Scenario,
    #[command(flatten)]
    generator: Generator,

    /// The lowest rate to try, in users a second
    #[arg(long, default_value_t = 10.0, help_heading = "Search")]
    from: f64,
    /// The highest
    #[arg(long, default_value_t = 1_000_000.0, help_heading = "Search")]
    to: f64,
    /// How close to come, as a share of the rate
    #[arg(long, default_value_t = 0.05, help_heading = "Search")]
    precision: f64,
    /// How often to search: the median and the interval come from the repeats
    #[arg(long, default_value_t = 3, help_heading = "Search")]
    repeats: u32,
    /// Seconds that a trial is measured
    #[arg(long, default_value_t = 10.0, help_heading = "Search")]
    trial: f64,
    /// Seconds that a trial warms up before
    #[arg(long, default_value_t = 2.0, help_heading = "Search")]
    warm_up: f64,

    /// Folder for the result and its report
    #[arg(long, value_name = "FOLDER", help_heading = "Results")]
    out: Option<PathBuf>,
}

/// Searches, with a line about each trial.
pub(super) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let program = arguments.scenario.read(terminal)?;
    if program.thresholds.is_empty() {
        return Err(Failure::Usage(
            "the scenario has no thresholds: name what must hold, such as --threshold 'response.p99 < 50ms'"
                .to_owned(),
        ));
    }
    if !(arguments.from > 0.0
        && arguments.to >= arguments.from
        && arguments.precision > 0.0
        && arguments.trial > 0.0)
    {
        return Err(Failure::Usage(
            "--from, --precision and --trial are above zero, and --to is not below --from".to_owned(),
        ));
    }
    let options = SearchOptions {
        from: arguments.from,
        to: arguments.to,
        precision: arguments.precision,
        repeats: arguments.repeats,
        trial_ns: (arguments.trial * 1e9) as u64,
        warm_up_ns: (arguments.warm_up.max(0.0) * 1e9) as u64,
    };
    let engine = RunOptions { folder: arguments.scenario.folder(), ..arguments.generator.options() };
    let group = arguments.generator.workers(terminal)?;
    let found = search(
        &program,
        &options,
        &mut |program| {
            let run = start(program, &engine, group.as_ref()).map_err(failure)?;
            stop_on_interrupt(run.control())?;
            run.wait(&mut |_| {}).map_err(failure)
        },
        &mut |trial: &Trial| terminal.note(trial_line(trial)),
    )?;
    let Some(result) = found else { return Err(Failure::Signalled(2)) };
    if let Some(folder) = &arguments.out {
        keep_result(&result, folder, terminal)?;
    }
    let Some(search) = &result.search else { return Ok(()) };
    if terminal.is_json() {
        return terminal.json(search);
    }
    terminal.data(&format!(
        "{} users/s hold {} (interval {} to {} over {} searches)",
        count(search.rate as u64),
        search.goal,
        count(search.interval[0] as u64),
        count(search.interval[1] as u64),
        search.found.len()
    ))?;
    if search.rate >= arguments.to {
        terminal.note("that is the highest rate that was tried; a higher --to may find more");
    }
    if search.rate > 0.0 {
        Ok(())
    } else {
        Err(Failure::Threshold("not even the lowest rate holds".to_owned()))
    }
}

fn trial_line(trial: &Trial) -> String {
    let rate = count(trial.rate as u64);
    if trial.held {
        format!("{rate:>9} users/s  holds")
    } else {
        format!("{rate:>9} users/s  does not: {}", trial.reason)
    }
}
