//! `stadium memcache`: values in memcached, the statistics of its servers, and their speed.
//!
//! The commands use the same client as the server and applications: keys go to the same servers. [`place`] has the flags
//! that say which, and the exit codes; no server of Stadium is needed.

mod bench;
mod keys;
mod load;
mod place;
mod stats;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::terminal::Terminal;

/// The arguments of `stadium memcache`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium memcache get user:7 --servers 10.0.0.7,10.0.0.8:11212
  stadium memcache set page:1 --expire 10m < page.html
  STADIUM_MEMCACHE=/run/memcached.sock stadium memcache stats

Exit codes: 0 done; 1 there is no such value, or it failed; 2 wrong
usage; 65 the server refused it, which will never work; 69 a server
cannot be reached; 75 too much is under way, try again; 124 no answer
in time.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write a value's bytes to standard output, as they are; exit code 1 where there is none
    Get(keys::Get),
    /// Store a value, from an argument or from standard input
    Set(keys::Set),
    /// Remove a value; exit code 1 where there is none
    Delete(keys::Delete),
    /// Give a value a new time to live; exit code 1 where there is none
    Touch(keys::Touch),
    /// Add to a number and print the new one
    Incr(keys::Incr),
    /// Show the items, memory, hit rate and more of each server
    Stats(stats::Arguments),
    /// Measure throughput and latency with reads and writes of your mix
    Bench(bench::Arguments),
}

/// Does one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::Get(get) => keys::get(&get, terminal),
        Action::Set(set) => keys::set(&set, terminal),
        Action::Delete(delete) => keys::delete(&delete, terminal),
        Action::Touch(touch) => keys::touch(&touch, terminal),
        Action::Incr(incr) => keys::incr(&incr, terminal),
        Action::Stats(stats) => stats::run(&stats, terminal),
        Action::Bench(bench) => bench::run(&bench, terminal),
    }
}
