//! The bench of the memcached clients: ours in Rust and on the JVM beside Xmemcached, Folsom,
//! spymemcached, clients of crates.io, and a bare loop.
//!
//! memcached is on core 0, the client's program on core 1 with all its threads. Rounds are outermost;
//! within a round each measurement is taken by all its contenders in turn, on one server. Programs stay
//! through a round. A row is a ratio within a round.

pub(crate) mod bare;
mod caller;
mod calls;
mod client;
mod measurement;
mod page;
mod rows;
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;

use crate::allocations;
use crate::figure::{Contender as _, Figure};
use crate::process::Cores;
use crate::ratio::{self, Round};
use crate::selection::Selection;
use crate::server::Places;
use crate::services::Start;
use crate::taken::Taken;
use caller::{CALLERS, Caller};
use client::Client;
use measurement::MEASUREMENTS;
use rows::ROWS;
use server::Memcached;

/// The extent of a run.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
}

/// Measures and reports; an error when a client of ours could not be measured.
pub(crate) fn run(options: &Options) -> Result<()> {
    let selection = &options.selection;
    selection.check(MEASUREMENTS.iter().map(|measurement| measurement.name), CALLERS)?;
    let places = Places::find()?;
    let ours = places.example("memcache_load");
    if !ours.exists() {
        bail!("{} is missing: use `cargo xtask bench memcache`", ours.display());
    }
    fs::create_dir_all(places.target.join("bench"))?;
    let counter = allocations::library(&places.target.join("bench"))?;
    let mut taken = Taken::default();
    for round in 1..=selection.rounds {
        take_round(round, selection, &places, &counter, &mut taken)?;
    }
    let figures: Vec<Figure> =
        ratio::figures(ROWS, &taken.samples).into_iter().filter(|figure| selection.shows(figure)).collect();
    let page = page::write(&figures, &taken, selection.rounds);
    println!("{page}");
    selection.write("memcache", &page, &figures)?;
    ROWS.iter().try_for_each(|row| taken.require(row.ours))
}

/// All measurements once, each by all its contenders.
fn take_round(
    round: usize,
    selection: &Selection,
    places: &Places,
    counter: &Path,
    taken: &mut Taken<Caller>,
) -> Result<()> {
    let start = Start { places, cores: Cores::First, bench: "memcache" };
    let mut server = Memcached::start(&start)?;
    let mut clients: BTreeMap<Caller, Client> = BTreeMap::new();
    let mut numbers = Round::default();
    for measurement in MEASUREMENTS.iter().filter(|measurement| selection.wants(measurement.name)) {
        for caller in measurement.callers.iter().copied() {
            if !selection.wants_contender(caller) {
                continue;
            }
            eprintln!("round {round}: {}: {}", measurement.name, caller.name());
            // One that fails is started anew for its next measurement.
            let client = match clients.remove(&caller) {
                Some(client) => Ok(client),
                None => Client::start(caller, places, counter, &server),
            };
            let result = client.and_then(|mut client| {
                let result = client.take(measurement, &mut server)?;
                clients.insert(caller, client);
                Ok(result)
            });
            let result = server.service.explain(result);
            if let Ok(values) = &result {
                numbers.keep(measurement.name, caller, values.clone());
            }
            taken.record(measurement.name, caller, result);
        }
    }
    numbers.add_ratios(ROWS, &mut taken.samples);
    Ok(())
}
