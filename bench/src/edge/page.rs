//! The results for people: bench/results/edge.md. Written whole, from one run; never edited by hand.
//! What the numbers are is the rows' business, see [`super::rows`].

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use super::rows::PEERS;
use crate::figure::Figure;
use crate::server::{Kind, Places};
use crate::taken::Taken;
use crate::{machine, newer_debian, table};

/// What the page is made of.
pub(super) struct Content<'a> {
    pub(super) figures: &'a [Figure],
    pub(super) taken: &'a Taken<Kind>,
    pub(super) places: &'a Places,
    pub(super) rounds: usize,
}

/// Servers' own numbers that explain a row, beyond it.
const DETAILS: &[(&str, &str)] = &[
    ("fanout-1.deliveries_per_s", "fan-out 1, deliveries/s"),
    ("fanout-1.server_cpu_us_per_delivery", "fan-out 1, server CPU us a delivery"),
    ("fanout-1.client_busy", "fan-out 1, client's share of its core"),
    ("fanout-1.latency_p50_us", "fan-out 1, latency p50 us"),
    ("fanout-1.latency_p99_us", "fan-out 1, latency p99 us"),
    ("fanout-8.deliveries_per_s", "fan-out 8, deliveries/s"),
    ("fanout-8.server_cpu_us_per_delivery", "fan-out 8, server CPU us a delivery"),
    ("fanout-8.client_busy", "fan-out 8, client's share of its core"),
    ("fanout-qos1.server_cpu_us_per_delivery", "fan-out QoS 1, server CPU us a delivery"),
    ("fanout-qos1.client_busy", "fan-out QoS 1, client's share of its core"),
    ("pairs-qos0.server_cpu_us_per_message", "pairs QoS 0, server CPU us a message"),
    ("pairs-qos0.client_busy", "pairs QoS 0, client's share of its core"),
    ("pairs-qos1.server_cpu_us_per_message", "pairs QoS 1, server CPU us a message"),
    ("pairs-qos1.client_busy", "pairs QoS 1, client's share of its core"),
    ("pairs-scraped.scrapes", "pairs QoS 0, reads of /metrics meanwhile"),
    ("pairs-scraped.scrape_max_ms", "pairs QoS 0, the longest of them, ms"),
    ("connects.server_cpu_us_per_connect", "connects, server CPU us each"),
    ("connects.client_busy", "connects, client's share of its core"),
    ("connects.retries", "connects and storm, retries"),
];

/// The page as Markdown.
pub(super) fn write(content: &Content<'_>) -> String {
    let mut page = String::new();
    page.push_str("# The edge beside its peers\n\n");
    let _ = writeln!(
        page,
        "`cargo xtask bench edge`, {} rounds, medians with (lowest to highest). Server pinned to core 0, client to core 1, \
         servers in turn in each round. Machine: {}. Only ratios within this run mean anything.\n",
        content.rounds,
        machine::describe()
    );
    versions(&mut page, content.places);
    page.push_str("## Figures\n\n");
    table::figures(&mut page, content.figures, PEERS, "bare loop");
    page.push_str("\n## Behind them\n\n");
    let kinds: Vec<Kind> = [Kind::Bare, Kind::Stadium].into_iter().chain(PEERS.iter().copied()).collect();
    let details = DETAILS.iter().map(|(sample, name)| ((*sample).to_owned(), (*name).to_owned()));
    table::details(&mut page, &content.taken.samples, &kinds, details);
    table::failures(&mut page, &content.taken.failures);
    page
}

fn versions(page: &mut String, places: &Places) {
    let first_line = |program: &Path, argument: &str| {
        let output = Command::new(program).arg(argument).output();
        let text =
            output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        text.lines().next().unwrap_or("unknown").trim().to_owned()
    };
    let _ = writeln!(
        page,
        "Versions: {}; {}; {}; rumqttd 0.20.0; mochi-mqtt 2.7.9; HiveMQ CE 2025.5 on {}. \
         Their settings are in bench/src/server.rs.\n",
        first_line(&places.stadium(), "--version"),
        newer_debian::version(newer_debian::MOSQUITTO, "-h"),
        first_line(&places.peer("nats-server"), "--version"),
        first_line(Path::new("java"), "--version"),
    );
}
