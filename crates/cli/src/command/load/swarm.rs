//! `stadium load swarm`: simulated MQTT devices against any broker.
//!
//! All of it is `stadium_load::swarm`'s; here is only the progress.

use stadium_load::on_interrupt;
use stadium_load::swarm::{self, Progress, Swarm};

use crate::failure::{Context, Failure};
use crate::terminal::{Terminal, count, short};

/// Runs a swarm.
pub(super) fn run(arguments: &swarm::Args, terminal: &Terminal) -> Result<(), Failure> {
    let config = arguments.config().map_err(usage)?;
    let bar = terminal.progress(u64::from(config.devices), "connecting");
    let swarm = Swarm::start(config).map_err(usage)?;
    let control = swarm.control();
    on_interrupt(move || control.stop()).context("Ctrl-C cannot be listened for")?;
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
