//! The bench of queues.
pub(crate) mod designs;
pub(crate) mod harness;

use std::time::Duration;
use anyhow::Result;
use clap::Args;
use crate::figure::Contender as _;
use crate::process::Cores;
use crate::selection::Selection;
use crate::server::Places;
use harness::{Amount, Pace, Plan, Tally};

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    #[arg(long, default_value_t = 1)]
    batch: usize,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let places = Places::find()?;
    let start = designs::Start { places: &places, cores: Cores::Both };
    for design in designs::PEERS {
        if !options.selection.wants_contender(*design) { continue; }
        let t = std::time::Instant::now();
        let batch = options.batch;
        let endpoint = match design.start(&start, batch) { Ok(e) => e, Err(e) => { eprintln!("{}: {e:#}", design.name()); continue } };
        let started = t.elapsed();
        let plan = Plan { producers: 100, consumers: 100, batch, payload_bytes: 200, pace: Pace::Closed { backlog_max: 1000 * batch as u64 }, amount: Amount::For(Duration::from_secs_f64(options.seconds)), due: None, drain_max: Duration::from_secs(30) };
        let mut tally = Tally::default();
        match harness::drive(&*endpoint, &plan, &mut tally) {
            Ok(m) => eprintln!("{}: start {started:?} {:?} jobs {} open {}", design.name(), m.numbers(), m.jobs, tally.open()),
            Err(e) => eprintln!("{}: {e:#}", design.name()),
        }
    }
    Ok(())
}
