//! The results for people: bench/results/queue.md. Written whole, from one run; never edited by hand.

use std::fmt::Write as _;

use super::clients::Clients;
use super::designs::{ALL, Design, PEERS};
use super::{delayed, latency, recovery, throughput};
use crate::figure::{Contender as _, Figure};
use crate::selection::Selection;
use crate::taken::Taken;
use crate::{machine, scaling, table};

/// The page as Markdown.
pub(super) fn write(
    figures: &[Figure],
    taken: &Taken<Design>,
    clients: &Clients,
    selection: &Selection,
) -> String {
    let mut page = String::from("# Queues side by side\n\n");
    let plots = format!("{}.html", selection.results("queue"));
    let _ = writeln!(
        page,
        "`cargo xtask bench queue`, {} rounds, medians with (lowest to highest). Each implementation is started anew for each \
         measurement and measured in turn; servers and the one client thread share both cores. {} producers and {} consumers, \
         payloads of {} bytes, {} seconds of puts, all data on one disk. Machine: {}. Only ratios within this run mean \
         anything. Plots: [{plots}]({plots}).\n\n\
         Every job was counted: each one was reserved and settled exactly once, or the row has failed. The limit is a bare loop \
         of write and fdatasync that carries in each sync what all consumers can have under way \
         ([limit.rs](../src/queue/limit.rs)).\n",
        selection.rounds,
        clients.producers,
        clients.consumers,
        clients.payload_bytes,
        clients.seconds,
        machine::describe()
    );
    page.push_str("## Figures\n\n");
    table::figures(&mut page, figures, PEERS, "bare fdatasync");
    page.push_str("\n## How durable each is\n\n| implementation | version | put | reserve | settle |\n|---|---|---|---|---|\n");
    for design in ALL.iter().filter(|design| **design != Design::Limit) {
        let [put, reserve, settle] = design.durability();
        let _ = writeln!(page, "| {} | {} | {put} | {reserve} | {settle} |", design.name(), design.version());
    }
    page.push_str("\nSettings: bench/src/queue/designs.\n\n## Behind them\n\n");
    table::details(&mut page, &taken.samples, ALL, details(clients).into_iter());
    table::failures(&mut page, &taken.failures);
    page
}

/// Contenders' own numbers, beyond the figures.
fn details(clients: &Clients) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut row = |measurement: &str, value: &str, title: &str| {
        rows.push((format!("{measurement}.{value}"), title.to_owned()));
    };
    for batch in &clients.batches {
        let name = throughput::name(*batch);
        for (value, title) in [
            ("per_second", "jobs/s"),
            ("put_p50_ms", "put, median ms"),
            ("put_p99_ms", "put, 99th percentile ms"),
            ("settle_p50_ms", "settle, median ms"),
            ("settle_p99_ms", "settle, 99th percentile ms"),
            ("conflicts", "requests made again"),
            ("client_cpu", "client's share of a core"),
            ("sync_p50_ms", "fdatasync, median ms"),
            ("sync_p99_ms", "fdatasync, 99th percentile ms"),
        ] {
            row(&name, value, &format!("batch {batch}: {title}"));
        }
    }
    for (value, title) in [
        ("late_p50_ms", "put to reserve, median ms"),
        ("late_p99_ms", "put to reserve, 99th percentile ms"),
        ("late_p999_ms", "put to reserve, 99.9th percentile ms"),
        ("put_p99_ms", "put, 99th percentile ms"),
        ("kept_up", "share of the rate that went the whole way"),
    ] {
        row(latency::NAME, value, &format!("10,000 jobs/s: {title}"));
    }
    for (value, title) in [
        ("fill_per_second", "jobs put a second before the kill"),
        ("disk_mb", "disk taken, MB"),
        ("unanswered", "requests that nobody heard"),
        ("busy", "requests asked to retry later"),
        ("empty_per_second", "jobs reserved and settled a second afterwards"),
    ] {
        row(recovery::NAME, value, &format!("recovery: {title}"));
    }
    for (value, title) in [
        ("bytes_each_changed", "bytes each, after cancels and edits"),
        ("disk_mb", "disk taken, MB"),
        ("put_per_second", "put a second"),
        ("cancels_per_second", "cancelled a second, by one caller"),
        ("edits_per_second", "edited a second, by one caller"),
        ("late_p50_ms", "lateness, median ms"),
        ("late_p999_ms", "lateness, 99.9th percentile ms"),
    ] {
        row(delayed::NAME, value, &format!("delayed: {title}"));
    }
    for (value, title) in scaling::details("jobs") {
        row(scaling::NAME, &value, &format!("scaling: {title}"));
    }
    rows
}
