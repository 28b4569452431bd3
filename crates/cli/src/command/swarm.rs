//! `stadium load`: simulated devices against any MQTT broker.
//!
//! All of it is `stadium_load`'s; here are only the command line and the progress.

use clap::{Args, Subcommand};
use stadium_load::swarm::{self, Progress, Swarm, stop_on_interrupt};

use crate::failure::{Context, Failure};
use crate::terminal::{Terminal, count, short};

/// Which load.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Connect simulated MQTT devices to a broker, hold them, and measure
    Swarm(Box<swarm::Args>),
    /// One process of a swarm; takes its orders on standard input
    #[command(hide = true)]
    SwarmWorker,
}

/// Runs a swarm, or one process of it.
pub(crate) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match &arguments.action {
        Action::Swarm(swarm) => run_swarm(swarm, terminal),
        // The parent has been told what failed, and tells the user.
        Action::SwarmWorker => swarm::worker::run().map_err(|error| Failure::new(error.to_string())),
    }
}

fn run_swarm(arguments: &swarm::Args, terminal: &Terminal) -> Result<(), Failure> {
    let config = arguments.config().map_err(usage)?;
    let bar = terminal.progress(u64::from(config.devices), "connecting");
    let swarm = Swarm::start(config).map_err(usage)?;
    stop_on_interrupt(swarm.control()).context("Ctrl-C cannot be listened for")?;
    let ran = swarm.wait(&mut |progress: &Progress| {
        bar.set_position(u64::from(progress.now.up));
        if progress.settled {
            bar.set_prefix("connected");
        }
        bar.set_message(describe(progress));
    });
    bar.finish_and_clear();
    let report = ran.context("the swarm failed")?;
    if terminal.is_json() {
        terminal.json(&report)?;
    } else {
        terminal.data(report.table().trim_end())?;
    }
    if report.at_end.up == 0 && report.sums.connected == 0 {
        return Err(Failure::new("no device ever connected: is the broker there, and does it let them in?"));
    }
    Ok(())
}

/// What a swarm was asked for and cannot be is wrong usage; anything else is a failure.
fn usage(error: swarm::Error) -> Failure {
    match error {
        swarm::Error::Config(text) => Failure::Usage(text),
        other => Failure::new(other.to_string()),
    }
}

fn describe(progress: &Progress) -> String {
    let mut parts = Vec::new();
    if progress.connects_per_second > 0.0 {
        parts.push(format!("{} connects/s", count(progress.connects_per_second as u64)));
    }
    if progress.deliveries_per_second > 0.0 {
        parts.push(format!("{} deliveries/s", count(progress.deliveries_per_second as u64)));
    }
    if let Some(newest) = &progress.broadcast {
        parts.push(format!("last message to all in {}", short(newest.to_last_ms / 1_000.0)));
    }
    parts.join(", ")
}
