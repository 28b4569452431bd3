//! The bench of service RPC: the published table and what lies beyond it, beside six other ways to call.
//!
//! Rounds are outermost; within a round each cell is taken by all contenders in turn, so that a noisy minute of the
//! machine falls on all of them. A contender's server is started anew for each round.

pub(crate) mod bare;
mod bulk;
pub(crate) mod cell;
pub(crate) mod fixture;
mod overload;
mod page;
pub(crate) mod peer;
mod rows;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Result, bail};
use clap::Args;

use crate::figure::{Contender as _, Figure};
use crate::process;
use crate::selection::Selection;
use crate::server::Places;
use crate::taken::Taken;
use cell::{Cell, Flight};
use fixture::{Round, Times};
use peer::{ALL, Peer, Started};

/// The measurement of servers that nobody asks for anything.
const REST: &str = "rest";

/// The rate over that of the bare loop that decodes, in the same round.
const OF_DECODING: &str = "of_decoding";

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

/// Measures and reports; an error when this product could not be measured.
pub(crate) fn run(options: &Options) -> Result<()> {
    let selection = &options.selection;
    let places = Places::find()?;
    let echo = places.example("echo_server");
    if selection.wants_contender(Peer::Stadium) && !echo.exists() {
        bail!("{} is missing: use `cargo xtask bench rpc`", echo.display());
    }
    fs::create_dir_all(places.target.join("bench"))?;
    let times = Times { seconds: options.seconds, warm: options.warm };
    let cells: Vec<Cell> = Cell::all().into_iter().filter(|cell| selection.wants(&cell.name())).collect();
    let mut taken = Taken::default();
    for round in 1..=selection.rounds {
        let mut bench = Round::new(|peer| Started { peer, places: &places }, times);
        let peers = || ALL.iter().copied().filter(|peer| selection.wants_contender(*peer));
        for peer in peers().filter(|_| !cells.is_empty()) {
            // All warm up before anybody is measured. One that can't start fails at its first cell.
            eprintln!("round {round}: start {}", peer.name());
            if let Ok(fixture) = bench.start(peer) {
                taken.record(REST, peer, fixture.rest());
            }
        }
        for cell in &cells {
            let mut rates = BTreeMap::new();
            for peer in peers() {
                eprintln!("round {round}: {}: {}", cell.name(), peer.name());
                let numbers = bench.take(peer, *cell).map(|numbers| with_tail(*cell, numbers));
                let rate = numbers.as_ref().ok().and_then(|numbers| process::number(numbers, "per_second"));
                rates.extend(rate.map(|rate| (peer, rate)));
                taken.record(&cell.name(), peer, numbers);
            }
            if let (Some(ours), Some(bare)) = (rates.get(&Peer::Stadium), rates.get(&Peer::BareDecoding)) {
                let share = vec![(OF_DECODING.to_owned(), ours / bare)];
                taken.record(&cell.name(), Peer::Stadium, Ok(share));
            }
        }
        drop(bench);
        for peer in bulk::CONTENDERS.iter().copied() {
            if selection.wants(bulk::NAME) && selection.wants_contender(peer) {
                eprintln!("round {round}: {}: {}", bulk::NAME, peer.name());
                taken.record(bulk::NAME, peer, bulk::take(&places, peer));
            }
        }
        if selection.wants(overload::NAME) && selection.wants_contender(Peer::Stadium) {
            eprintln!("round {round}: {}", overload::NAME);
            taken.record(overload::NAME, Peer::Stadium, overload::take(&places));
        }
    }
    let figures: Vec<Figure> =
        rows::figures(&taken.samples).into_iter().filter(|figure| selection.shows(figure)).collect();
    let page = page::write(&figures, &taken, selection.rounds);
    println!("{page}");
    selection.write("rpc", &page, &figures)?;
    taken.require(Peer::Stadium)
}

/// Adds the 99th percentile over the median, where the load is full.
fn with_tail(cell: Cell, mut numbers: Vec<(String, f64)>) -> Vec<(String, f64)> {
    if cell.flight == Flight::Full
        && let (Some(p50), Some(p99)) =
            (process::number(&numbers, "p50_us"), process::number(&numbers, "p99_us"))
    {
        numbers.push(("tail".to_owned(), p99 / p50));
    }
    numbers
}
