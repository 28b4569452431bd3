//! The bench of request-streams: a million of them over 10,000 connections, a message a second each, on one core.
//!
//! Rounds are outermost and contenders take turns. A peer that can't hold a million holds what it can: CPU time for each
//! message is what is compared.

mod holder;
mod page;
mod rows;

use std::fs;

use anyhow::{Result, bail};
use clap::Args;

use crate::allocations;
use crate::figure::{Contender as _, Figure};
use crate::selection::Selection;
use crate::server::Places;
use crate::taken::Taken;
use holder::{Holder, Phases, Plan};

/// How much to measure.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// Seconds for which the product holds its million streams
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Seconds for which a peer holds its streams
    #[arg(long, default_value_t = 10)]
    peer_seconds: u32,
    /// Connections; fewer are a look at something else than the rows
    #[arg(long, default_value_t = 10_000)]
    connections: u32,
}

/// Who takes a measurement, with how many streams on each connection.
struct Measurement {
    name: &'static str,
    phases: Phases,
    holders: &'static [(Holder, u32)],
}

/// All but the counted one.
const MEASUREMENTS: &[Measurement] = &[
    Measurement {
        name: "together",
        phases: Phases::Together,
        holders: &[
            (Holder::Stadium, 100),
            (Holder::Netty, 100),
            (Holder::RsocketInterval, 25),
            (Holder::RsocketWheel, 40),
        ],
    },
    Measurement {
        name: "spread",
        phases: Phases::Spread,
        holders: &[(Holder::Stadium, 100), (Holder::Netty, 100)],
    },
];

/// The product's allocations, on a tenth of the connections: each message costs the same.
const ALLOCATIONS: &str = "allocations";
const COUNTED_SECONDS: u32 = 10;

/// Measures and reports; an error when this product could not be measured.
pub(crate) fn run(options: &Options) -> Result<()> {
    let selection = &options.selection;
    let places = Places::find()?;
    let client = places.example("ticks_client");
    if !client.exists() {
        bail!("{} is missing: use `cargo xtask bench streams`", client.display());
    }
    let folder = places.target.join("bench");
    fs::create_dir_all(&folder)?;
    let counter = allocations::library(&folder)?;
    let mut taken = Taken::default();
    for round in 1..=selection.rounds {
        for measurement in MEASUREMENTS.iter().filter(|measurement| selection.wants(measurement.name)) {
            for (holder, streams_each) in measurement.holders.iter().copied() {
                if !selection.wants_contender(holder) {
                    continue;
                }
                let own = holder == Holder::Stadium;
                let plan = Plan {
                    phases: measurement.phases,
                    connections: options.connections,
                    streams_each,
                    seconds: if own { options.seconds } else { options.peer_seconds },
                };
                eprintln!("round {round}: {}: {}", measurement.name, holder.name());
                taken.record(measurement.name, holder, holder.take(&places, plan, None));
            }
        }
        if selection.wants(ALLOCATIONS) && selection.wants_contender(Holder::Stadium) {
            eprintln!("round {round}: {ALLOCATIONS}");
            let plan = Plan {
                phases: Phases::Together,
                connections: options.connections / 10,
                streams_each: 100,
                seconds: COUNTED_SECONDS,
            };
            taken.record(ALLOCATIONS, Holder::Stadium, Holder::Stadium.take(&places, plan, Some(&counter)));
        }
    }
    let figures: Vec<Figure> =
        rows::figures(&taken.samples).into_iter().filter(|figure| selection.shows(figure)).collect();
    let page = page::write(&figures, &taken, selection.rounds);
    println!("{page}");
    if options.connections == 10_000 {
        selection.write("streams", &page, &figures)?;
    }
    taken.require(Holder::Stadium)
}
