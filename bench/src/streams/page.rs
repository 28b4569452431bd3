//! The results for people: bench/results/streams.md. Written whole, from one run; never edited by hand.

use std::fmt::Write as _;

use super::holder::{Holder, PEERS};
use crate::figure::Figure;
use crate::taken::Taken;
use crate::{machine, table};

/// Servers' own numbers that explain a row.
const DETAILS: &[(&str, &str)] = &[
    ("streams", "streams"),
    ("messages", "messages in the span"),
    ("late_p99_ms", "late, 99th percentile, ms"),
    ("missed", "messages missed"),
    ("server_cpu_s_per_million", "server CPU s a million messages"),
    ("server_busy", "server's share of its core"),
    ("server_resident_mb", "server's resident memory, MB"),
    ("client_busy", "client's share of its core"),
];

/// The page as Markdown.
pub(super) fn write(figures: &[Figure], taken: &Taken<Holder>, rounds: usize) -> String {
    let mut page = String::from("# A million request-streams\n\n");
    let _ = writeln!(
        page,
        "`cargo xtask bench streams`, {rounds} rounds, medians with (lowest to highest). Server pinned to core 0, client to \
         core 1, servers in turn in each round; one client for all. Machine: {}. Only ratios within this run mean anything.\n\n\
         The server's CPU time is read from outside, over the seconds after all streams are open. rsocket-java holds 250,000 \
         streams, and 400,000 when one timer drives them. Settings: bench/src/streams/holder.rs.\n",
        machine::describe()
    );
    page.push_str("## Figures\n\n");
    table::figures(&mut page, figures, PEERS, "limit");
    page.push_str("\n## Behind them\n\n");
    let holders: Vec<Holder> = std::iter::once(Holder::Stadium).chain(PEERS.iter().copied()).collect();
    let rows = ["together", "spread", "allocations"].into_iter().flat_map(|measurement| {
        DETAILS
            .iter()
            .map(move |(value, title)| (format!("{measurement}.{value}"), format!("{measurement}: {title}")))
    });
    table::details(&mut page, &taken.samples, &holders, rows);
    table::failures(&mut page, &taken.failures);
    page
}
