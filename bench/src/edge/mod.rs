//! The bench of the edge: every row that the product promises, beside its peers, in the same run.
//!
//! Rounds are outermost and servers take turns inside each measurement, so that a noisy minute of the
//! machine falls on all of them. Each measurement starts its server anew. Results are medians.

mod fleet;
mod measurement;
mod page;
mod rows;
mod scrape;

use std::fs;

use anyhow::{Result, bail};
use clap::Args;

use crate::allocations;
use crate::figure::{Contender as _, Figure};
use crate::selection::Selection;
use crate::server::{Kind, Places};
use crate::taken::Taken;
use crate::tls::Identity;
use measurement::{MEASUREMENTS, Tools};

/// How much to measure.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// Seconds of each throughput measurement
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
}

/// Measures and reports; an error when this product could not be measured.
pub(crate) fn run(options: &Options) -> Result<()> {
    let selection = &options.selection;
    let places = Places::find()?;
    if selection.wants_contender(Kind::Stadium) && !places.stadium().exists() {
        bail!("{} is missing: use `cargo xtask bench edge`", places.stadium().display());
    }
    let folder = places.target.join("bench");
    fs::create_dir_all(&folder)?;
    let counter = allocations::library(&folder)?;
    let identity = Identity::generate()?;
    let tools = Tools { places: &places, identity: &identity, counter: &counter, seconds: options.seconds };

    let mut taken = Taken::default();
    for round in 1..=selection.rounds {
        for measurement in MEASUREMENTS.iter().filter(|measurement| selection.wants(measurement.name)) {
            for kind in measurement.kinds.iter().copied().filter(|kind| selection.wants_contender(*kind)) {
                eprintln!("round {round}: {}: {}", measurement.name, kind.name());
                taken.record(measurement.name, kind, measurement.take(kind, &tools));
            }
        }
    }

    let figures: Vec<Figure> =
        rows::figures(&taken.samples).into_iter().filter(|figure| selection.shows(figure)).collect();
    let page = page::write(&page::Content {
        figures: &figures,
        taken: &taken,
        places: &places,
        rounds: selection.rounds,
    });
    println!("{page}");
    selection.write("edge", &page, &figures)?;
    taken.require(Kind::Stadium)
}
