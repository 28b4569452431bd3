//! `stadium-simulator`: runs seeds, or replays one with everything that happens.

use std::num::NonZeroU64;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Parser;
use stadium_simulator::{Sabotage, run, run_printed};

/// Runs shards on simulated disks and checks every promise.
#[derive(Parser)]
struct Arguments {
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
    let arguments = Arguments::parse();
    if let Some(seed) = arguments.seed {
        let outcome = match arguments.verbose {
            true => run_printed(seed),
            false => run(seed, Sabotage::None).map_err(|failure| failure.to_string()),
        };
        return match outcome {
            Ok(summary) => {
                println!("seed {seed} holds: {summary:?}");
                ExitCode::SUCCESS
            }
            Err(what) => {
                println!("seed {seed}: {what}");
                ExitCode::FAILURE
            }
        };
    }
    let failed = AtomicU64::new(0);
    let next = AtomicU64::new(arguments.from);
    let end = arguments.from + arguments.count * arguments.step.get();
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            scope.spawn(|| {
                while failed.load(Ordering::Relaxed) < arguments.failures {
                    let seed = next.fetch_add(arguments.step.get(), Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    if let Err(failure) = run(seed, Sabotage::None) {
                        failed.fetch_add(1, Ordering::Relaxed);
                        println!("{failure}\n");
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    println!("{} seeds from {} on, {failed} failed", arguments.count, arguments.from);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
