//! The bench of the edge: every row that the product promises, beside its peers, in the same run.
//!
//! Rounds are outermost and servers take turns inside each measurement, so that a noisy minute of the
//! machine falls on all of them. Each measurement starts its server anew. Results are medians.

mod fleet;
mod measurement;
mod page;
mod rows;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::allocations;
use crate::figure::{Figure, Samples};
use crate::server::{Kind, Places};
use crate::tls::Identity;
use measurement::{MEASUREMENTS, Tools};

/// How much to measure.
#[derive(Args)]
pub(crate) struct Options {
    /// Rounds; results are medians over them
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds of each throughput measurement
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Only measurements whose name starts with this (several with commas); the results go to a page of
    /// their own, `edge-NAME.md`
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these servers, by the start of their names (bare, stadium, mosquitto, nats, rumqttd, mochi);
    /// prints and writes no results
    #[arg(long, value_delimiter = ',')]
    servers: Vec<String>,
}

impl Options {
    fn wants(&self, measurement: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|start| measurement.starts_with(start))
    }

    fn wants_server(&self, kind: Kind) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|start| kind.name().starts_with(start))
    }

    fn is_full(&self) -> bool {
        self.only.is_empty() && self.servers.is_empty()
    }

    /// The page's name, without its ending; `None` for a look: without peers beside us, or without rounds
    /// enough for a median.
    fn page_name(&self) -> Option<String> {
        if !self.servers.is_empty() || self.rounds < 3 {
            return None;
        }
        let parts = std::iter::once("edge").chain(self.only.iter().map(String::as_str));
        Some(parts.collect::<Vec<_>>().join("-"))
    }
}

/// Where the results go, from the workspace root.
const RESULTS: &str = "bench/results";

/// Measures and reports; an error when this product could not be measured.
pub(crate) fn run(options: &Options) -> Result<()> {
    let places = Places::find()?;
    if options.wants_server(Kind::Stadium) && !places.stadium().exists() {
        bail!("{} is missing: use `cargo xtask bench edge`", places.stadium().display());
    }
    let folder = places.target.join("bench");
    fs::create_dir_all(&folder)?;
    let counter = allocations::library(&folder)?;
    let identity = Identity::generate()?;
    let tools = Tools { places: &places, identity: &identity, counter: &counter, seconds: options.seconds };

    let mut samples = Samples::default();
    let mut failures: BTreeMap<(String, Kind), String> = BTreeMap::new();
    for round in 1..=options.rounds {
        for measurement in MEASUREMENTS.iter().filter(|measurement| options.wants(measurement.name)) {
            for kind in measurement.kinds.iter().copied().filter(|kind| options.wants_server(*kind)) {
                eprintln!("round {round}: {}: {}", measurement.name, kind.name());
                match measurement.take(kind, &tools) {
                    Ok(values) => {
                        for (name, value) in values {
                            samples.add(format!("{}.{name}", measurement.name), kind, value);
                        }
                    }
                    Err(error) => {
                        eprintln!("    failed: {error:#}");
                        failures.insert((measurement.name.to_owned(), kind), format!("{error:#}"));
                    }
                }
            }
        }
    }

    let is_shown = |figure: &Figure| options.is_full() || figure.is_measured();
    let figures: Vec<Figure> = rows::figures(&samples).into_iter().filter(is_shown).collect();
    let page = page::write(&page::Content {
        figures: &figures,
        samples: &samples,
        failures: &failures,
        places: &places,
        rounds: options.rounds,
    });
    println!("{page}");
    if let Some(name) = options.page_name() {
        let results = Path::new(RESULTS);
        fs::create_dir_all(results)?;
        fs::write(results.join(format!("{name}.md")), &page)
            .context("cannot write the results: run from the workspace root")?;
        fs::write(results.join(format!("{name}.json")), serde_json::to_string_pretty(&figures)? + "\n")?;
    }
    let ours: Vec<&str> =
        failures.keys().filter(|(_, kind)| *kind == Kind::Stadium).map(|(name, _)| name.as_str()).collect();
    if !ours.is_empty() {
        bail!("stadium could not be measured: {}", ours.join(", "));
    }
    Ok(())
}
