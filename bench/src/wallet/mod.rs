//! The bench of the wallet: durable debits, ours beside PostgreSQL and Redis doing the same work.
//!
//! Rounds are outermost; within a round each contender is started anew with all accounts, shows that it does the work, takes its rows
//! one after the other, and has its balances compared. Recovery, memory and voting are the product's alone.

mod books;
mod clients;
mod designs;
mod dialogue;
mod limit;
mod load;
mod memory;
mod page;
mod random;
mod rates;
mod recovery;
mod report;
mod rows;
mod scaling;
mod sweep;
mod voting;
mod zipf;

use std::rc::Rc;

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
use random::Random;
use rates::{Rate, Running, WORK};
use zipf::Zipf;

/// Draws are the same in each run.
const SEED: u64 = 2_026;

/// How much to measure.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    clients: Clients,
    /// Transfers of the recovery row, first credits included
    #[arg(long, default_value_t = recovery::TRANSFERS)]
    recovery_transfers: u64,
    /// Accounts of the memory row
    #[arg(long, default_value_t = memory::ACCOUNTS)]
    memory_accounts: u32,
}

/// Measures and reports; an error when this product could not be measured.
pub(crate) fn run(options: &Options) -> Result<()> {
    let selection = &options.selection;
    let places = Places::find()?;
    let mut bench = Bench {
        options,
        start: Start { places: &places, cores: Cores::Both, bench: "wallet" },
        zipf: Rc::new(Zipf::new(options.clients.accounts, clients::ZIPF, &mut Random::new(SEED))),
        taken: Taken::default(),
    };
    for round in 1..=selection.rounds {
        bench.round(round);
    }
    let taken = bench.taken;
    let figures: Vec<Figure> = rows::figures(&taken.samples, &options.clients)
        .into_iter()
        .filter(|figure| selection.shows(figure))
        .collect();
    let page = page::write(&figures, &taken, &options.clients, selection);
    let html = report::write(&figures, &taken.samples, &options.clients, selection.rounds);
    let are_published = options.is_published();
    let results = Results { page: &page, html: &html, figures: &figures, are_published };
    selection.publish("wallet", &results, &places.target)?;
    taken.require(Design::Stadium)
}

impl Options {
    /// Whether the results are those of the rows as published.
    fn is_published(&self) -> bool {
        self.clients.is_published()
            && self.recovery_transfers == recovery::TRANSFERS
            && self.memory_accounts == memory::ACCOUNTS
    }
}

/// A run.
struct Bench<'a> {
    options: &'a Options,
    start: Start<'a>,
    zipf: Rc<Zipf>,
    taken: Taken<Design>,
}

impl Bench<'_> {
    fn round(&mut self, round: usize) {
        let rates: Vec<Rate> =
            Rate::ALL.into_iter().filter(|rate| self.options.selection.wants(rate.name())).collect();
        for design in ALL.iter().filter(|_| !rates.is_empty()) {
            if self.options.selection.wants_contender(*design) {
                self.rates(round, *design, &rates);
            }
        }
        let Self { options, start, .. } = *self;
        if options.selection.wants_contender(Design::Stadium) {
            self.alone(round, recovery::NAME, |zipf| {
                recovery::take(&start, &options.clients, zipf, options.recovery_transfers)
            });
            self.alone(round, crate::scaling::NAME, |zipf| scaling::take(&start, &options.clients, zipf));
            self.alone(round, memory::NAME, |_| memory::take(&start, options.memory_accounts));
            self.alone(round, voting::NAME, |_| voting::take(&start, &options.clients));
        }
    }

    /// The rows of one contender, on one running server.
    fn rates(&mut self, round: usize, design: Design, rates: &[Rate]) {
        let clients = &self.options.clients;
        if design == Design::Limit {
            for rate in rates {
                note(round, rate.name(), design);
                self.keep(rate.name(), design, limit::take(&self.start, clients, *rate));
            }
            return;
        }
        note(round, WORK, design);
        let zipf = Rc::clone(&self.zipf);
        match Running::start(design, &self.start, clients, &zipf) {
            Err(error) => self.keep(WORK, design, Err(error)),
            Ok(mut running) => {
                for rate in rates {
                    note(round, rate.name(), design);
                    let single = format!("{}.per_second", Rate::Single.name());
                    let result = running.take(*rate, self.taken.samples.median(&single, design));
                    self.keep(rate.name(), design, result);
                }
                self.keep(WORK, design, running.end());
            }
        }
    }

    /// A measurement of the product alone.
    fn alone(
        &mut self,
        round: usize,
        measurement: &str,
        take: impl FnOnce(&Zipf) -> Result<Vec<(String, f64)>>,
    ) {
        if self.options.selection.wants(measurement) {
            note(round, measurement, Design::Stadium);
            let result = take(&self.zipf);
            self.keep(measurement, Design::Stadium, result);
        }
    }

    /// Keeps a result, or its failure.
    fn keep(&mut self, measurement: &str, design: Design, result: Result<Vec<(String, f64)>>) {
        let shown = ["per_second", "p99_ms", "sync_p99_ms", "all_there_s", "bytes_each"];
        for (name, value) in result.iter().flatten().filter(|(name, _)| shown.contains(&name.as_str())) {
            eprintln!("    {name} {}", crate::figure::shown(*value));
        }
        self.taken.record(measurement, design, result);
    }
}

fn note(round: usize, measurement: &str, design: Design) {
    eprintln!("round {round}: {measurement}: {}", design.name());
}
