//! The results for people: bench/results/edge.md. Written whole, from one run; never edited by hand.
//! What the numbers are is the rows' business, see [`super::rows`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use super::rows::PEERS;
use crate::figure::{Figure, Samples, shown};
use crate::machine;
use crate::server::{Kind, Places};

/// What the page is made of.
pub(super) struct Content<'a> {
    pub(super) figures: &'a [Figure],
    pub(super) samples: &'a Samples,
    pub(super) failures: &'a BTreeMap<(String, Kind), String>,
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
    figures(&mut page, content);
    details(&mut page, content);
    if !content.failures.is_empty() {
        page.push_str("\n## Not measured\n\n");
        for ((measurement, kind), why) in content.failures {
            let _ = writeln!(page, "- {measurement}, {}: {}", kind.name(), why.replace('\n', " "));
        }
    }
    page
}

fn figures(page: &mut String, content: &Content<'_>) {
    page.push_str("## Figures\n\n| figure | unit | stadium | must | aim | reached | bare loop |");
    for peer in PEERS {
        let _ = write!(page, " {} |", peer.name());
    }
    let _ = writeln!(page, "\n|---|---|---|---|---|---|---|{}", "---|".repeat(PEERS.len()));
    let optional = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), shown);
    for figure in content.figures {
        let _ = write!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} |",
            figure.figure,
            figure.unit,
            spread(&figure.runs, figure.value),
            optional(figure.must),
            optional(figure.aim),
            figure.verdict(),
            optional(figure.limit)
        );
        for peer in PEERS {
            let _ = write!(page, " {} |", optional(figure.peers.get(peer.name()).copied()));
        }
        page.push('\n');
    }
}

fn details(page: &mut String, content: &Content<'_>) {
    let kinds: Vec<Kind> = [Kind::Bare, Kind::Stadium].into_iter().chain(PEERS.iter().copied()).collect();
    page.push_str("\n## Behind them\n\n| |");
    for kind in &kinds {
        let _ = write!(page, " {} |", kind.name());
    }
    let _ = writeln!(page, "\n|---|{}", "---|".repeat(kinds.len()));
    for (sample, name) in DETAILS {
        if kinds.iter().all(|kind| content.samples.runs(sample, *kind).is_empty()) {
            continue;
        }
        let _ = write!(page, "| {name} |");
        for kind in &kinds {
            let runs = content.samples.runs(sample, *kind);
            let _ = write!(page, " {} |", spread(runs, content.samples.median(sample, *kind)));
        }
        page.push('\n');
    }
}

/// `median (lowest to highest)`.
fn spread(runs: &[f64], median: Option<f64>) -> String {
    let Some(median) = median else { return "-".into() };
    let lowest = runs.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = runs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match runs.len() {
        1 => shown(median),
        _ => format!("{} ({} to {})", shown(median), shown(lowest), shown(highest)),
    }
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
        "Versions: {}; {}; {}; rumqttd 0.20.0; mochi-mqtt 2.7.9. Their settings are in bench/src/server.rs.\n",
        first_line(&places.stadium(), "--version"),
        first_line(Path::new("mosquitto"), "-h"),
        first_line(Path::new("nats-server"), "--version"),
    );
}
