//! The bench of a cluster: its nodes, three brokers and etcd share this machine, so CPU and ratios
//! count.
//!
//! Two rows need a shard without a server around it, so that a bare producer can be held beside it:
//! those are taken by an example of crates/cluster. The others are taken on real servers, over RPC.

mod forwarded;
mod kills;
mod moves;
mod page;
mod rows;
mod scaling;
mod shard;
mod stage;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::figure::{Contender, Figure, shown};
use crate::process::Cores;
use crate::selection::Selection;
use crate::server::Places;
use crate::services::Start;
use crate::taken::Taken;

/// Jobs in the shard that is taken over.
const JOBS: u64 = 1_000_000;

/// Everything here is measured of this product; a bare producer is a part of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Stadium,
    Bare,
}

const SIDES: &[Side] = &[Side::Stadium];

impl Contender for Side {
    fn name(self) -> &'static str {
        match self {
            Self::Stadium => "stadium",
            Self::Bare => "bare producer",
        }
    }
}

/// The numbers of a measurement, by name.
type Numbers = Vec<(String, f64)>;

/// How much to measure.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// Jobs in the shard that is taken over
    #[arg(long, default_value_t = JOBS)]
    jobs: u64,
    /// Seconds of each load
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Planned moves of a shard under load
    #[arg(long, default_value_t = 10)]
    moves: usize,
    /// Kills of a node under load, by the drill
    #[arg(long, default_value_t = 50)]
    kills: usize,
    /// The program of the drills; `cargo xtask bench cluster` sets it
    #[arg(long, env = "STADIUM_DRILLS", hide = true)]
    drills: Option<PathBuf>,
}

/// Measures and reports; an error when this product could not be measured.
pub(crate) fn run(options: &Options) -> Result<()> {
    let selection = &options.selection;
    let places = Places::find()?;
    let start = Start { places: &places, cores: Cores::Both, bench: "cluster" };
    let mut taken = Taken::default();
    for round in 1..=selection.rounds {
        let mut take = |name: &str, take: &dyn Fn() -> Result<Numbers>| {
            if !selection.wants(name) {
                return;
            }
            eprintln!("round {round}: {name}");
            let result = take();
            for (name, value) in result.iter().flatten() {
                eprintln!("    {name} {}", shown(*value));
            }
            taken.record(name, Side::Stadium, result);
        };
        take(shard::NAME, &|| shard::take(&places, options.jobs));
        take(forwarded::NAME, &|| forwarded::take(&start, options.seconds));
        take(moves::NAME, &|| moves::take(&start, options.seconds, options.moves));
        take(scaling::NAME, &|| scaling::take(&start, options.seconds));
        if let (1, Some(drills)) = (round, &options.drills) {
            take(kills::NAME, &|| kills::take(drills, options.kills));
        }
    }
    let figures: Vec<Figure> =
        rows::figures(&taken.samples, options).into_iter().filter(|figure| selection.shows(figure)).collect();
    let page = page::write(&figures, &taken, options);
    println!("{page}");
    if options.jobs == JOBS {
        selection.write("cluster", &page, &figures)?;
    }
    taken.require(Side::Stadium)
}
