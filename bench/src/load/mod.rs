//! The bench of the load lab: how fast and how exactly it loads a target, beside five other load generators.
//!
//! In each round every tool loads the same nginx, one after the other, on the same core.

mod devices;
mod nginx;
mod ours;
mod page;
mod peers;
mod rows;
mod sizes;

use std::time::Instant;

use anyhow::{Result, bail};
use clap::Args;

use crate::figure::{Contender, Figure, shown};
use crate::process::{Cores, children_cpu};
use crate::selection::Selection;
use crate::server::Places;
use crate::services::Start;
use crate::taken::Taken;
use nginx::Nginx;
use peers::Reached;
use sizes::Sizes;

const HTTP: &str = "http";
const HTTPS: &str = "https";
const SESSIONS: &str = "sessions";
const ACCURACY: &str = "accuracy";

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tool {
    /// This product.
    Stadium,
    /// wrk.
    Wrk,
    /// oha.
    Oha,
    /// k6.
    K6,
    /// ApacheBench.
    Ab,
    /// Tsung.
    Tsung,
}

const TOOLS: &[Tool] = &[Tool::Stadium, Tool::Wrk, Tool::Oha, Tool::K6, Tool::Ab, Tool::Tsung];

impl Contender for Tool {
    fn name(self) -> &'static str {
        match self {
            Self::Stadium => "stadium",
            Self::Wrk => "wrk",
            Self::Oha => "oha",
            Self::K6 => "k6",
            Self::Ab => "ab",
            Self::Tsung => "tsung",
        }
    }
}

/// How much to measure.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    sizes: Sizes,
}

/// Measures and reports; an error when this product could not be measured.
pub(crate) fn run(options: &Options) -> Result<()> {
    let Options { selection, sizes } = options;
    let places = Places::find()?;
    let start = Start { places: &places, cores: Cores::First, bench: "load" };
    let mut bench = Bench { options, start, round: 0, taken: Taken::default() };
    for round in 1..=selection.rounds {
        bench.round = round;
        for measurement in [HTTP, HTTPS, SESSIONS, ACCURACY] {
            bench.in_turn(measurement);
        }
        bench.devices();
    }
    let taken = bench.taken;
    let figures: Vec<Figure> =
        rows::figures(&taken.samples, sizes).into_iter().filter(|figure| selection.shows(figure)).collect();
    let page = page::write(&figures, &taken, sizes, selection.rounds, &places);
    println!("{page}");
    if sizes.is_published() {
        selection.write("load", &page, &figures)?;
    }
    taken.require(Tool::Stadium)
}

/// A run.
struct Bench<'a> {
    options: &'a Options,
    start: Start<'a>,
    round: usize,
    taken: Taken<Tool>,
}

impl Bench<'_> {
    /// One measurement, by every tool that can do it.
    fn in_turn(&mut self, measurement: &str) {
        if !self.options.selection.wants(measurement) {
            return;
        }
        let mut wrk = None;
        // wrk first: our figure is given as a share of its.
        for tool in [Tool::Wrk, Tool::Stadium, Tool::Oha, Tool::K6, Tool::Ab, Tool::Tsung] {
            if !self.options.selection.wants_contender(tool) || !can(tool, measurement) {
                continue;
            }
            eprintln!("round {} {measurement} {}", self.round, tool.name());
            let result = self.take(tool, measurement).map(|mut numbers| {
                let rate = numbers.iter().find(|(name, _)| name == "per_second").map(|(_, rate)| *rate);
                eprintln!(
                    "    {}",
                    numbers
                        .iter()
                        .map(|(name, value)| format!("{name} {}", shown(*value)))
                        .collect::<Vec<_>>()
                        .join(", ")
                );
                if tool == Tool::Wrk {
                    wrk = rate;
                }
                if let (Some(rate), Some(wrk)) = (rate, wrk) {
                    numbers.push(("of_wrk".to_owned(), rate / wrk));
                }
                numbers
            });
            self.taken.record(measurement, tool, result);
        }
    }

    fn take(&self, tool: Tool, measurement: &str) -> Result<Vec<(String, f64)>> {
        let Options { sizes, .. } = self.options;
        let places = self.start.places;
        let nginx = Nginx::start(&self.start)?;
        let folder = nginx.service.folder();
        let url = if measurement == HTTPS { nginx.https() } else { nginx.http() };
        if measurement == ACCURACY {
            let result = ours::run(places, folder, &ours::fixed(&url, sizes))?;
            let reached = ours::requests(&result, sizes)?;
            let late = &result["generator"]["lateness"];
            let values = [
                ("per_second", reached.per_second),
                ("failed", reached.failed),
                ("late_p50_ms", ours::quantile_ms(late, 0.5)?),
                ("late_p99_ms", ours::quantile_ms(late, 0.99)?),
                ("late_p999_ms", ours::quantile_ms(late, 0.999)?),
                ("response_p99_ms", ours::quantile_ms(&result["total"]["response"], 0.99)?),
            ];
            return Ok(values.map(|(name, value)| (name.to_owned(), value)).to_vec());
        }
        let (cpu, start) = (children_cpu(), Instant::now());
        let reached = match (tool, measurement) {
            (Tool::Stadium, SESSIONS) => {
                ours::sessions(&ours::run(places, folder, &ours::vote(&url, sizes))?, sizes)
            }
            (Tool::Stadium, _) => ours::requests(&ours::run(places, folder, &ours::get(&url, sizes))?, sizes),
            (Tool::Wrk, _) => peers::wrk(&url, sizes),
            (Tool::Oha, _) => peers::oha(places, &url, sizes),
            (Tool::K6, SESSIONS) => peers::k6(places, "session.js", &url, sizes),
            (Tool::K6, _) => peers::k6(places, "get.js", &url, sizes),
            (Tool::Ab, _) => peers::ab(&url, sizes),
            (Tool::Tsung, of) => {
                let session = if of == SESSIONS { peers::Session::Vote } else { peers::Session::Get };
                peers::tsung(folder, nginx.service.address().port(), &session, sizes)
            }
        }?;
        let Reached { per_second, failed } = reached;
        if failed > 0.0 && failed > per_second * 0.01 {
            bail!("{failed} requests failed");
        }
        let cpu_us = (children_cpu() - cpu).as_micros() as f64 / (per_second * start.elapsed().as_secs_f64());
        let values = [("per_second", per_second), ("failed", failed), ("cpu_us", cpu_us)];
        Ok(values.map(|(name, value)| (name.to_owned(), value)).to_vec())
    }

    fn devices(&mut self) {
        let selection = &self.options.selection;
        if !selection.wants(devices::NAME) || !selection.wants_contender(Tool::Stadium) {
            return;
        }
        eprintln!("round {} {} stadium", self.round, devices::NAME);
        let result = devices::take(&self.start, &self.options.sizes);
        self.taken.record(devices::NAME, Tool::Stadium, result);
    }
}

/// Whether a tool can do a measurement.
fn can(tool: Tool, measurement: &str) -> bool {
    match measurement {
        HTTP => true,
        HTTPS => tool != Tool::Tsung,
        SESSIONS => matches!(tool, Tool::Stadium | Tool::K6 | Tool::Tsung),
        _ => tool == Tool::Stadium,
    }
}
