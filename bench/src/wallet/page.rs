//! The results for people: bench/results/wallet.md. Written whole, from one run; never edited by hand.

use std::fmt::Write as _;

use super::clients::Clients;
use super::designs::{ALL, Design, PEERS};
use super::rates::Rate;
use super::{memory, recovery, voting};
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
    let mut page = String::from("# Wallets side by side\n\n");
    let plots = format!("{}.html", selection.results("wallet"));
    let _ = writeln!(
        page,
        "`cargo xtask bench wallet`, {} rounds, medians with (lowest to highest). In each round every implementation is started anew \
         with {} accounts and takes the rows of debits one after the other; servers and the one client thread share both cores, all \
         data is on one disk. Loads take {} seconds, after half a second that is not looked at. Machine: {}. Only ratios within \
         this run mean anything. Plots: [{plots}]({plots}).\n\n\
         Before it is measured, each shows that it does the work: everybody debits one account at once until it has nothing left, and \
         exactly what it had is booked. One of 100 debits is sent again and must be answered that it was booked before. Afterwards every \
         balance is compared with what the client was answered, or the row has failed. Transfer ids begin with the time, as in UUID \
         version 7, which indexes like. Where a connection has several requests under way, everybody's has: calls of RPC here, \
         pipelines at the peers. The limit is a bare loop of write and fdatasync that carries in each sync what can be under way \
         ([limit.rs](../src/wallet/limit.rs)).\n",
        selection.rounds,
        clients.accounts,
        clients.seconds,
        machine::describe()
    );
    page.push_str("## Figures\n\n");
    table::figures(&mut page, figures, PEERS, "bare fdatasync");
    page.push_str(
        "\n## What each does for a debit\n\n| implementation | version | how | on disk when it is answered |\n|---|---|---|---|\n",
    );
    for design in ALL.iter().filter(|design| **design != Design::Limit) {
        let [how, durable] = design.work();
        let _ = writeln!(page, "| {} | {} | {how} | {durable} |", design.name(), design.version());
    }
    page.push_str(
        "\nSettings: bench/src/services. Procedures: bench/src/wallet/designs.\n\n## Behind them\n\n",
    );
    table::details(&mut page, &taken.samples, ALL, details().into_iter());
    table::failures(&mut page, &taken.failures);
    page
}

/// Contenders' own numbers, beyond the figures.
fn details() -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut row = |measurement: &str, value: &str, title: &str| {
        rows.push((format!("{measurement}.{value}"), format!("{measurement}: {title}")));
    };
    for rate in Rate::ALL {
        for (value, title) in [
            ("per_second", "debits/s"),
            ("p50_ms", "answer, median ms"),
            ("p99_ms", "answer, 99th percentile ms"),
            ("p999_ms", "answer, 99.9th percentile ms"),
            ("kept_up", "share of the rate that was answered"),
            ("again", "requests made again"),
            ("client_cpu", "client's share of a core"),
            ("sync_p50_ms", "fdatasync, median ms"),
            ("sync_p99_ms", "fdatasync, 99th percentile ms"),
        ] {
            row(rate.name(), value, title);
        }
    }
    for (value, title) in [
        ("all_there_s", "seconds from the start until all shards answer"),
        ("transfers_per_second", "transfers a second, replayed"),
        ("fill_per_second", "debits a second before the kill"),
        ("disk_mb", "disk taken, MB"),
    ] {
        row(recovery::NAME, value, title);
    }
    for (value, title) in [
        ("bytes_each", "bytes for each account, opened"),
        ("bytes_each_credited", "bytes for each account with the id of its one transfer"),
        ("disk_mb", "disk taken when they are opened, MB"),
    ] {
        row(memory::NAME, value, title);
    }
    for (value, title) in [
        ("per_second", "requests/s"),
        ("sessions_per_second", "sessions/s"),
        ("signed_up_per_second", "voters signed up and credited a second"),
        ("p50_ms", "answer, median ms"),
        ("p99_ms", "answer, 99th percentile ms"),
        ("again", "requests made again"),
        ("client_cpu", "client's share of a core"),
    ] {
        row(voting::NAME, value, title);
    }
    for (value, title) in scaling::details("debits") {
        row(scaling::NAME, &value, &title);
    }
    rows
}
