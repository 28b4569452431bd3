//! The results for people: bench/results/load.md. Written whole, from one run; never edited by hand.

use std::fmt::Write as _;

use super::sizes::Sizes;
use super::{ACCURACY, HTTP, HTTPS, SESSIONS, TOOLS, Tool, devices, nginx, peers};
use crate::figure::Figure;
use crate::server::Places;
use crate::services::version;
use crate::taken::Taken;
use crate::{machine, table};

/// The page as Markdown.
pub(super) fn write(
    figures: &[Figure],
    taken: &Taken<Tool>,
    sizes: &Sizes,
    rounds: usize,
    places: &Places,
) -> String {
    let mut page = String::from("# The load lab\n\n");
    let _ = writeln!(
        page,
        "`cargo xtask bench load`, {rounds} rounds, medians with (lowest to highest). nginx has one worker on core 0 and answers from \
         memory; each generator runs alone on core 1 for {} seconds with {} connections, and in each round they take turns. \
         Ours runs one loop; wrk one thread; the others as they like on that core. The column *limit* is wrk's. A session is four requests \
         (log in, list, balance, vote) with two values taken from JSON and six checks; wrk, oha and ab cannot do that. At the fixed \
         rate users arrive evenly and share {} connections. Devices are connected to {} brokers of ours, each a process of its own. \
         Peers: {}; {}; {}; {}; {}. Machine: {}.\n",
        sizes.seconds,
        sizes.connections,
        sizes.connections,
        sizes.brokers,
        nginx::version(),
        version::of("wrk"),
        version::of("apache2-utils"),
        version::of("tsung"),
        peers::versions(places),
        machine::describe()
    );
    page.push_str("## Figures\n\n");
    let peers = [Tool::Wrk, Tool::Oha, Tool::K6, Tool::Ab, Tool::Tsung];
    table::figures::<Tool>(&mut page, figures, &peers, "limit");
    page.push_str("\n## Behind them\n\n");
    table::details(&mut page, &taken.samples, TOOLS, details().into_iter());
    table::failures(&mut page, &taken.failures);
    page
}

/// Numbers beyond the figures.
fn details() -> Vec<(String, String)> {
    let of = |measurement: &str, value: &str, title: &str| {
        (format!("{measurement}.{value}"), format!("{measurement}: {title}"))
    };
    vec![
        of(HTTP, "of_wrk", "share of wrk in the same round"),
        of(HTTP, "cpu_us", "the generator's processor time for each request, us"),
        of(HTTP, "failed", "requests that failed"),
        of(HTTPS, "of_wrk", "share of wrk in the same round"),
        of(HTTPS, "cpu_us", "the generator's processor time for each request, us"),
        of(HTTPS, "failed", "requests that failed"),
        of(SESSIONS, "cpu_us", "the generator's processor time for each session, us"),
        of(SESSIONS, "failed", "requests or checks that failed"),
        of(ACCURACY, "late_p50_ms", "median ms"),
        of(ACCURACY, "late_p999_ms", "99.9th percentile ms"),
        of(ACCURACY, "per_second", "requests answered a second"),
        of(ACCURACY, "response_p99_ms", "response, 99th percentile ms"),
        of(devices::NAME, "processes", "processes of the swarm"),
        of(devices::NAME, "connects_per_second", "connections a second"),
        of(devices::NAME, "all_up_s", "until all were connected, s"),
    ]
}
