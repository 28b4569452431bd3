//! The results for people: bench/results/rpc.md. Written whole, from one run; never edited by hand.

use std::fmt::Write as _;

use super::cell::{Cell, Flight};
use super::fixture::SERVER_CPU;
use super::peer::{ALL, PEERS, Peer};
use super::{bulk, overload};
use crate::figure::Figure;
use crate::taken::Taken;
use crate::{machine, table};

/// The page as Markdown.
pub(super) fn write(figures: &[Figure], taken: &Taken<Peer>, rounds: usize) -> String {
    let mut page = String::from("# Service RPC beside its peers\n\n");
    let _ = writeln!(
        page,
        "`cargo xtask bench rpc`, {rounds} rounds, medians with (lowest to highest). Server pinned to core 0, client to core 1; \
         contenders in turn in each cell. Each contender brings its own client, but for the row that has one client for \
         all. Machine: {}. Only ratios within this run \
         mean anything.\n\n\
         A message is a `Sample` of bench/proto/echo.proto, 48 or 3,216 bytes; a server decodes it and encodes it again \
         (the bare epoll echo does not, except for the one that says so). \
         Latency is from before the encoding of a request to after the decoding of its \
         answer. Versions: bench/peers/java/pom.xml, bench/peers/tonic/Cargo.lock; settings: bench/src/rpc/peer.rs.\n",
        machine::describe()
    );
    page.push_str("## Figures\n\n");
    table::figures(&mut page, figures, PEERS, "bare epoll");
    page.push_str("\n## Behind them\n\n");
    table::details(&mut page, &taken.samples, ALL, details().into_iter());
    table::failures(&mut page, &taken.failures);
    page
}

/// Contenders' own numbers, beyond the figures.
fn details() -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut row = |measurement: &str, value: &str, title: String| {
        rows.push((format!("{measurement}.{value}"), title));
    };
    for cell in Cell::all() {
        let (name, title) = (cell.name(), cell.title());
        row(&name, "p50_us", format!("{title}: median us"));
        row(&name, "p99_us", format!("{title}: 99th percentile us"));
        row(&name, "mean_us", format!("{title}: mean us"));
        row(&name, SERVER_CPU, format!("{title}: server's share of its core"));
        if cell.flight != Flight::Idle {
            row(&name, "busy_per_second", format!("{title}: answered Busy a second"));
            row(&name, "client_cpu", format!("{title}: client's share of its core"));
        }
    }
    let title = format!("{}, one client for all", bulk::CELL.title());
    row(bulk::NAME, SERVER_CPU, format!("{title}: server's share of its core"));
    row(bulk::NAME, "client_cpu", format!("{title}: client's share of its core"));
    row(overload::NAME, "capacity", "overload: capacity, calls/s".into());
    row(overload::NAME, "goodput", "overload: goodput, calls/s".into());
    row(overload::NAME, "p50_us", "overload: accepted calls, median us".into());
    rows
}
