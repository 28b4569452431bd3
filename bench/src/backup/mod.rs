//! The bench of backups: a server at full load with single durable jobs, without backups and with
//! them.
//!
//! Both sides run in each round, one after the other, and the side that begins changes from round
//! to round. The backups go to a folder on the disk of the server, which is the worst place for
//! them: both share its bandwidth. Afterwards the newest backup is restored.

mod measurement;
mod page;
mod rows;

use anyhow::Result;
use clap::Args;

use crate::figure::{Contender as _, Figure};
use crate::process::Cores;
use crate::ratio;
use crate::selection::Selection;
use crate::server::Places;
use crate::services::Start;
use crate::taken::Taken;
use measurement::{NAME, Server};
use rows::ROWS;

/// Seconds of puts and between backups, as published.
const SECONDS: u32 = 30;
const EVERY_S: u32 = 5;

/// The sizes of a run.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// Seconds that producers put for
    #[arg(long, default_value_t = SECONDS)]
    seconds: u32,
    /// Seconds between two backups
    #[arg(long, default_value_t = EVERY_S)]
    every_s: u32,
}

/// Measures and reports; an error when a side could not be measured.
pub(crate) fn run(options: &Options) -> Result<()> {
    let selection = &options.selection;
    let places = Places::find()?;
    let start = Start { places: &places, cores: Cores::Both, bench: "backup" };
    let mut taken = Taken::default();
    for round in 1..=selection.rounds {
        let mut numbers = ratio::Round::default();
        let mut sides = [Server::Plain, Server::BackedUp];
        // The second one finds another state of the disk.
        if round % 2 == 0 {
            sides.reverse();
        }
        for server in sides {
            eprintln!("round {round}: {}", server.name());
            let result = measurement::take(server, &start, options.seconds, options.every_s);
            if let Ok(values) = &result {
                numbers.keep(NAME, server, values.clone());
            }
            taken.record(NAME, server, result);
        }
        numbers.add_ratios(ROWS, &mut taken.samples);
    }
    let figures: Vec<Figure> =
        ratio::figures(ROWS, &taken.samples).into_iter().filter(|figure| selection.shows(figure)).collect();
    let page = page::write(&figures, &taken, options);
    println!("{page}");
    if (options.seconds, options.every_s) == (SECONDS, EVERY_S) {
        selection.write("backup", &page, &figures)?;
    }
    [Server::Plain, Server::BackedUp].into_iter().try_for_each(|server| taken.require(server))
}
