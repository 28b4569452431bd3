//! The bench of service RPC: the published table and what lies beyond it, beside six other ways to call.
//!
//! Rounds are outermost; within a round each cell is taken by all contenders in turn, so that a noisy minute of the
//! machine falls on all of them. A contender's server is started anew for each round.

pub(crate) mod bare;
mod cell;
mod overload;
mod page;
mod peer;
mod rows;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::figure::{Contender as _, Figure};
use crate::selection::Selection;
use crate::server::Places;
use crate::taken::Taken;
use cell::{Cell, Flight};
use peer::{ALL, Fixture, Peer, Times};

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

/// Starts of one contender's programs in a round before it is given up for that round.
const STARTS_MAX: usize = 2;

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
        let mut bench = Round { places: &places, times, fixtures: BTreeMap::new(), starts: BTreeMap::new() };
        let peers = || ALL.iter().copied().filter(|peer| selection.wants_contender(*peer));
        for peer in peers().filter(|_| !cells.is_empty()) {
            // All warm up before anybody is measured. One that can't start fails at its first cell.
            eprintln!("round {round}: start {}", peer.name());
            let _ = bench.start(peer);
        }
        for cell in &cells {
            for peer in peers() {
                eprintln!("round {round}: {}: {}", cell.name(), peer.name());
                taken.record(&cell.name(), peer, bench.take(peer, *cell));
            }
        }
        drop(bench);
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

/// One round: contenders at work.
struct Round<'a> {
    places: &'a Places,
    times: Times,
    fixtures: BTreeMap<Peer, Fixture<'a>>,
    starts: BTreeMap<Peer, usize>,
}

impl<'a> Round<'a> {
    /// A contender's programs. After a failure they are started again, but not without end.
    fn start(&mut self, peer: Peer) -> Result<&mut Fixture<'a>> {
        if !self.fixtures.contains_key(&peer) {
            let starts = self.starts.entry(peer).or_default();
            if *starts == STARTS_MAX {
                bail!("given up for this round");
            }
            *starts += 1;
            self.fixtures.insert(peer, Fixture::start(peer, self.places, &[])?);
        }
        self.fixtures.get_mut(&peer).context("just started")
    }

    /// One cell of one contender.
    fn take(&mut self, peer: Peer, cell: Cell) -> Result<Vec<(String, f64)>> {
        let times = self.times;
        let result = self.start(peer)?.measure(cell, times).map(|numbers| with_tail(cell, numbers));
        if result.is_err() {
            self.fixtures.remove(&peer);
        }
        result
    }
}

/// Adds the 99th percentile over the median, where the load is full.
fn with_tail(cell: Cell, mut numbers: Vec<(String, f64)>) -> Vec<(String, f64)> {
    let value = |name: &str| numbers.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    if cell.flight == Flight::Full
        && let (Some(p50), Some(p99)) = (value("p50_us"), value("p99_us"))
    {
        numbers.push(("tail".to_owned(), p99 / p50));
    }
    numbers
}
