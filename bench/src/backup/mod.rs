//! The bench of backups: a server at full load with single durable jobs, without backups and with
//! them.
//!
//! In each round both sides have several turns, one after the other, and the side that begins
//! changes from round to round. A side's value is the mean of its turns, since the speed of a
//! machine changes within a minute by more than a backup costs. The backups go to a folder on the
//! disk of the server, which is the worst place for them: both share its bandwidth. Afterwards the
//! newest backup is restored.

mod measurement;
mod page;
mod rows;

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;

use crate::figure::{Contender as _, Figure};
use crate::process::Cores;
use crate::ratio;
use crate::selection::Selection;
use crate::server::Places;
use crate::services::Start;
use crate::taken::Taken;
use measurement::{NAME, Server, Values};
use rows::ROWS;

/// Seconds of puts and between backups, as published.
const SECONDS: u32 = 30;
const EVERY_S: u32 = 5;

/// Turns of each side in a round.
const TURNS: usize = 3;

/// The sizes of a run.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// Seconds that producers put for in each turn
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
        let mut turns = BTreeMap::<Server, Vec<Result<Values>>>::new();
        for turn in 1..=TURNS {
            for server in sides {
                eprintln!("round {round}, turn {turn}: {}", server.name());
                let result = measurement::take(server, &start, options.seconds, options.every_s);
                turns.entry(server).or_default().push(result);
            }
        }
        for (server, turns) in turns {
            let result = turns.into_iter().collect::<Result<Vec<_>>>().map(|turns| means(&turns));
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

/// The mean of each value over turns that have the same values.
fn means(turns: &[Values]) -> Values {
    let mean = |at: usize| turns.iter().map(|turn| turn[at].1).sum::<f64>() / turns.len() as f64;
    turns[0].iter().enumerate().map(|(at, (name, _))| (name.clone(), mean(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::means;

    #[test]
    fn a_side_has_the_means_of_its_turns() {
        let turn = |jobs, ms| vec![("jobs".to_owned(), jobs), ("ms".to_owned(), ms)];
        assert_eq!(means(&[turn(1.0, 4.0), turn(2.0, 5.0), turn(6.0, 9.0)]), turn(3.0, 6.0));
    }
}
