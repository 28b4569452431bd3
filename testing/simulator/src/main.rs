//! `stadium-simulator`: runs seeds, or replays one with everything that happens.
//!
//! Without a word the seeds are those of shards on simulated disks; with the word `log` they are
//! those of nodes that write to a replicated log, with `links` those of nodes that ask each other, with `forward`
//! those of nodes that ask each other's shards, with `backup` those of a server that is backed up.

use std::num::NonZeroU64;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::{Args, Parser, Subcommand, ValueEnum};
use stadium_simulator::{Failure, Sabotage, backup, forward, links, log, run, run_printed};

/// Runs shards on simulated disks and checks every promise.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    world: Option<World>,
    #[command(flatten)]
    seeds: Seeds,
}

#[derive(Subcommand)]
enum World {
    /// Runs nodes that claim a simulated partition and write to it, and checks every promise.
    Log {
        #[command(flatten)]
        seeds: Seeds,
        /// Breaks a rule, which must be found out.
        #[arg(long = "break", value_name = "RULE")]
        broken: Option<Broken>,
    },
    /// Runs nodes that ask each other over links that break, and checks every promise.
    Links {
        #[command(flatten)]
        seeds: Seeds,
        /// Breaks a rule, which must be found out.
        #[arg(long = "break", value_name = "RULE")]
        broken: Option<BrokenLinks>,
    },
    /// Runs nodes that ask each other's shards while those move, and checks every promise.
    Forward {
        #[command(flatten)]
        seeds: Seeds,
        /// Breaks a rule, which must be found out.
        #[arg(long = "break", value_name = "RULE")]
        broken: Option<BrokenForward>,
    },
    /// Runs a server that is backed up and restored, and checks every promise.
    Backup {
        #[command(flatten)]
        seeds: Seeds,
        /// Breaks a rule, which must be found out.
        #[arg(long = "break", value_name = "RULE")]
        broken: Option<BrokenBackup>,
    },
}

/// A rule of backups.
#[derive(Clone, Copy, ValueEnum)]
enum BrokenBackup {
    /// Programs do not see the markers of others
    Markers,
    /// A backup does not wait until the records up to its moment are durable
    Moment,
    /// The server removes segments that no backup has
    Hold,
    /// A backup replaces another one of the same number
    Create,
}

/// A rule of forwarded commands.
#[derive(Clone, Copy, ValueEnum)]
enum BrokenForward {
    /// Puts get no id, and are asked again all the same
    Ids,
    /// An attempt with an unknown outcome counts as one that did not happen
    Unknown,
    /// Commands that are due are forgotten
    Due,
    /// Commands that a shard gave back are asked again by nobody
    GivenBack,
}

/// A rule of links.
#[derive(Clone, Copy, ValueEnum)]
enum BrokenLinks {
    /// Requests that were under way when their link broke are sent again
    Resend,
    /// Requests that were under way when their link broke count as not sent
    Unsent,
    /// A deadline that passes gives credit back
    Credit,
    /// Earlier incarnations are let in
    Incarnation,
}

/// A rule of the replicated log.
#[derive(Clone, Copy, ValueEnum)]
enum Broken {
    /// An owner takes each acknowledged message for the one right behind its last
    Offsets,
    /// A fence counts with an equal epoch
    Epochs,
    /// A message of the current claim counts, whatever its sequence is
    Sequence,
}

#[derive(Args)]
struct Seeds {
    /// Runs this seed only.
    #[arg(long)]
    seed: Option<u64>,
    /// Prints everything that happens.
    #[arg(long)]
    verbose: bool,
    /// Where to begin.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// How many seeds to run.
    #[arg(long, default_value_t = 1_000)]
    count: u64,
    /// Runs every so-manieth seed: 5 with a start like 3 runs those with MQTT alone.
    #[arg(long, default_value = "1")]
    step: NonZeroU64,
    /// Failing seeds after which to stop.
    #[arg(long, default_value_t = 1)]
    failures: u64,
}

fn main() -> ExitCode {
    let Arguments { world, seeds } = Arguments::parse();
    match world {
        None => seeds.run(
            |seed| run_printed(seed).map(|summary| format!("{summary:?}")),
            |seed| run(seed, Sabotage::None).map(|summary| format!("{summary:?}")),
        ),
        Some(World::Log { seeds, broken }) => {
            let sabotage = match broken {
                None => log::Sabotage::None,
                Some(Broken::Offsets) => log::Sabotage::Offsets,
                Some(Broken::Epochs) => log::Sabotage::Epochs,
                Some(Broken::Sequence) => log::Sabotage::Sequence,
            };
            seeds.run(
                |seed| log::run_printed(seed, sabotage).map(|summary| format!("{summary:?}")),
                |seed| log::run(seed, sabotage).map(|summary| format!("{summary:?}")),
            )
        }
        Some(World::Links { seeds, broken }) => {
            let sabotage = match broken {
                None => links::Sabotage::None,
                Some(BrokenLinks::Resend) => links::Sabotage::Resend,
                Some(BrokenLinks::Unsent) => links::Sabotage::Unsent,
                Some(BrokenLinks::Credit) => links::Sabotage::Credit,
                Some(BrokenLinks::Incarnation) => links::Sabotage::Incarnation,
            };
            seeds.run(
                |seed| links::run_printed(seed, sabotage).map(|summary| format!("{summary:?}")),
                |seed| links::run(seed, sabotage).map(|summary| format!("{summary:?}")),
            )
        }
        Some(World::Forward { seeds, broken }) => {
            let sabotage = match broken {
                None => forward::Sabotage::None,
                Some(BrokenForward::Ids) => forward::Sabotage::Ids,
                Some(BrokenForward::Unknown) => forward::Sabotage::Unknown,
                Some(BrokenForward::Due) => forward::Sabotage::Due,
                Some(BrokenForward::GivenBack) => forward::Sabotage::GivenBack,
            };
            seeds.run(
                |seed| forward::run_printed(seed, sabotage).map(|summary| format!("{summary:?}")),
                |seed| forward::run(seed, sabotage).map(|summary| format!("{summary:?}")),
            )
        }
        Some(World::Backup { seeds, broken }) => {
            let sabotage = match broken {
                None => backup::Sabotage::None,
                Some(BrokenBackup::Markers) => backup::Sabotage::Markers,
                Some(BrokenBackup::Moment) => backup::Sabotage::Moment,
                Some(BrokenBackup::Hold) => backup::Sabotage::Hold,
                Some(BrokenBackup::Create) => backup::Sabotage::Create,
            };
            seeds.run(
                |seed| backup::run_printed(seed, sabotage).map(|summary| format!("{summary:?}")),
                |seed| backup::run(seed, sabotage).map(|summary| format!("{summary:?}")),
            )
        }
    }
}

impl Seeds {
    /// Runs what is asked for: `printed` runs a seed and prints it, `silent` only reports.
    fn run(
        &self,
        printed: impl Fn(u64) -> Result<String, String>,
        silent: impl Fn(u64) -> Result<String, Box<Failure>> + Sync,
    ) -> ExitCode {
        if let Some(seed) = self.seed {
            let outcome = match self.verbose {
                true => printed(seed),
                false => silent(seed).map_err(|failure| failure.to_string()),
            };
            return match outcome {
                Ok(summary) => {
                    println!("seed {seed} holds: {summary}");
                    ExitCode::SUCCESS
                }
                Err(what) => {
                    println!("seed {seed}: {what}");
                    ExitCode::FAILURE
                }
            };
        }
        let failed = AtomicU64::new(0);
        let next = AtomicU64::new(self.from);
        let end = self.from + self.count * self.step.get();
        std::thread::scope(|scope| {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            for _ in 0..threads {
                scope.spawn(|| {
                    while failed.load(Ordering::Relaxed) < self.failures {
                        let seed = next.fetch_add(self.step.get(), Ordering::Relaxed);
                        if seed >= end {
                            break;
                        }
                        if let Err(failure) = silent(seed) {
                            failed.fetch_add(1, Ordering::Relaxed);
                            println!("{failure}\n");
                        }
                    }
                });
            }
        });
        let failed = failed.into_inner();
        println!("{} seeds from {} on, {failed} failed", self.count, self.from);
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
