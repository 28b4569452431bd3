//! The results for people: bench/results/backup.md. Written whole, from one run; never edited by
//! hand.

use std::fmt::Write as _;

use super::measurement::{NAME, Server};
use super::{Options, TURNS};
use crate::figure::Figure;
use crate::taken::Taken;
use crate::{machine, table};

/// Both sides' own numbers.
const DETAILS: &[(&str, &str)] = &[
    ("per_second", "jobs/s"),
    ("put_p50_ms", "put, median ms"),
    ("put_p99_ms", "put, 99th percentile ms"),
    ("settle_p50_ms", "settle, median ms"),
    ("settle_p99_ms", "settle, 99th percentile ms"),
    ("late_p99_ms", "put to reserve, 99th percentile ms"),
    ("server_cpu_s_per_million", "server's CPU s for a million jobs"),
    ("client_cpu", "client's share of a core"),
    ("backups", "backups stored"),
    ("backup_cpu_s", "CPU s of a backup"),
    ("backup_mb", "MB of a backup"),
    ("restored_mb", "MB restored"),
    ("restore_mb_per_second", "MB/s of a restore"),
];

/// The page as Markdown.
pub(super) fn write(figures: &[Figure], taken: &Taken<Server>, options: &Options) -> String {
    let mut page = String::from("# A server with backups and without\n\n");
    let _ = writeln!(
        page,
        "`cargo xtask bench backup`, {} rounds, medians with (lowest to highest). In a round each \
         side has {} turns, one after the other, and its value is their mean; the side that begins \
         changes from round to round. In a turn a server that is started anew has {} s of single \
         durable jobs of 200 bytes, and a backup every {} s to a folder on the same disk. Server and \
         client share both cores. Machine: {}. A ratio is one within a round.\n\n\
         Every job was counted: each one was reserved and settled exactly once, or the side has failed. A restore reads the \
         newest backup, verifies all checksums and replays all records.\n",
        options.selection.rounds,
        TURNS,
        options.seconds,
        options.every_s,
        machine::describe()
    );
    page.push_str("## Figures\n\n");
    table::ratios(&mut page, figures);
    page.push_str("\n## Behind them\n\n");
    let rows = DETAILS.iter().map(|(value, title)| (format!("{NAME}.{value}"), (*title).to_owned()));
    table::details(&mut page, &taken.samples, &[Server::Plain, Server::BackedUp], rows);
    table::failures(&mut page, &taken.failures);
    page
}
