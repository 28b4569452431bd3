//! The bench of queues: the published harness rebuilt, ours beside seven other ways to keep jobs.
//!
//! Rounds are outermost; within a round each measurement is taken by all contenders in turn, each
//! started anew. The page states what a peer cannot do, or where it fails; this stops no other
//! peer.

mod clients;
mod delayed;
pub(crate) mod designs;
pub(crate) mod harness;
mod latency;
mod limit;
mod page;
mod recovery;
mod report;
mod rows;
mod scaling;
mod throughput;

use anyhow::Result;
use clap::Args;

use crate::figure::{Contender as _, Figure};
use crate::process::Cores;
use crate::selection::{Results, Selection};
use crate::server::Places;
use crate::services::Start;
use crate::taken::Taken;
use clients::Clients;
use designs::{ALL, Design};

/// Jobs of the published rows.
const RECOVERY_JOBS: u64 = 5_000_000;
const DELAYED_JOBS: u64 = 10_000_000;

/// How much to measure.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    clients: Clients,
    /// Jobs in the queue of the recovery row
    #[arg(long, default_value_t = RECOVERY_JOBS)]
    recovery_jobs: u64,
    /// Jobs of the delayed row
    #[arg(long, default_value_t = DELAYED_JOBS)]
    delayed_jobs: u64,
}

/// Measures and reports; an error when this product could not be measured.
pub(crate) fn run(options: &Options) -> Result<()> {
    let selection = &options.selection;
    let places = Places::find()?;
    let mut bench = Bench {
        options,
        start: Start { places: &places, cores: Cores::Both, bench: "queue" },
        taken: Taken::default(),
    };
    for round in 1..=selection.rounds {
        bench.round(round);
    }
    let taken = bench.taken;
    let figures: Vec<Figure> =
        rows::figures(&taken.samples).into_iter().filter(|figure| selection.shows(figure)).collect();
    let page = page::write(&figures, &taken, &options.clients, selection);
    let html = report::write(&figures, &taken.samples, &options.clients, selection.rounds);
    let are_published = options.is_published();
    let results = Results { page: &page, html: &html, figures: &figures, are_published };
    selection.publish("queue", &results, &places.target)?;
    taken.require(Design::Stadium)
}

impl Options {
    /// Whether the results are those of the rows as published.
    fn is_published(&self) -> bool {
        self.clients.is_published()
            && self.recovery_jobs == RECOVERY_JOBS
            && self.delayed_jobs == DELAYED_JOBS
    }
}

/// A run.
struct Bench<'a> {
    options: &'a Options,
    start: Start<'a>,
    taken: Taken<Design>,
}

impl Bench<'_> {
    fn round(&mut self, round: usize) {
        let (options, start) = (self.options, self.start);
        let clients = &options.clients;
        for batch in &clients.batches {
            let name = throughput::name(*batch);
            for design in ALL {
                self.take(round, &name, *design, |_| match design {
                    Design::Limit => limit::take(start.places, clients, *batch),
                    design => throughput::take(*design, &start, clients, *batch),
                });
            }
        }
        for design in ALL.iter().filter(|design| **design != Design::Limit) {
            self.take(round, latency::NAME, *design, |taken| {
                let single = format!("{}.per_second", throughput::name(1));
                latency::take(*design, &start, clients, taken.samples.median(&single, *design))
            });
        }
        self.take(round, recovery::NAME, Design::Stadium, |_| recovery::take(&start, options.recovery_jobs));
        self.take(round, delayed::NAME, Design::Stadium, |_| delayed::take(&start, options.delayed_jobs));
        self.take(round, crate::scaling::NAME, Design::Stadium, |_| scaling::take(&start, clients));
    }

    /// One measurement of one contender, if it is among the chosen; its failure is kept.
    fn take(
        &mut self,
        round: usize,
        measurement: &str,
        design: Design,
        take: impl FnOnce(&Taken<Design>) -> Result<Vec<(String, f64)>>,
    ) {
        let selection = &self.options.selection;
        if !selection.wants(measurement) || !selection.wants_contender(design) {
            return;
        }
        eprintln!("round {round}: {measurement}: {}", design.name());
        let result = take(&self.taken);
        let shown = ["per_second", "late_p99_ms", "first_answer_s", "bytes_each", "gain"];
        for (name, value) in result.iter().flatten().filter(|(name, _)| shown.contains(&name.as_str())) {
            eprintln!("    {name} {}", crate::figure::shown(*value));
        }
        self.taken.record(measurement, design, result);
    }
}
