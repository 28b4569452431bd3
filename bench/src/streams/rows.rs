//! The rows of the stream bench: what is held, how late, at which cost, with how many allocations.

use super::holder::{Holder, PEERS};
use crate::figure::{Better, Figure, Samples};

/// One row.
struct Row {
    figure: &'static str,
    unit: &'static str,
    better: Better,
    /// Measurement and value.
    sample: &'static str,
    must: f64,
    aim: Option<f64>,
}

use Better::{Higher, Lower};

const ROWS: &[Row] = &[
    Row {
        figure: "request-streams over 10,000 connections, a message a second each, held",
        unit: "streams",
        better: Higher,
        sample: "together.streams",
        must: 1_000_000.0,
        aim: None,
    },
    Row {
        figure: "a connection's streams opened together: messages late, 99th percentile",
        unit: "ms",
        better: Lower,
        sample: "together.late_p99_ms",
        must: 100.0,
        aim: None,
    },
    Row {
        figure: "a connection's streams opened together: messages missed",
        unit: "messages",
        better: Lower,
        sample: "together.missed",
        must: 0.0,
        aim: None,
    },
    Row {
        figure: "a connection's streams opened together: server's CPU time for a million messages",
        unit: "s",
        better: Lower,
        sample: "together.server_cpu_s_per_million",
        must: 0.3,
        aim: Some(0.15),
    },
    Row {
        figure: "phases spread over the second: streams held",
        unit: "streams",
        better: Higher,
        sample: "spread.streams",
        must: 1_000_000.0,
        aim: None,
    },
    Row {
        figure: "phases spread over the second: messages late, 99th percentile",
        unit: "ms",
        better: Lower,
        sample: "spread.late_p99_ms",
        must: 100.0,
        aim: None,
    },
    Row {
        figure: "phases spread over the second: messages missed",
        unit: "messages",
        better: Lower,
        sample: "spread.missed",
        must: 0.0,
        aim: None,
    },
    Row {
        figure: "phases spread over the second: server's CPU time for a million messages",
        unit: "s",
        better: Lower,
        sample: "spread.server_cpu_s_per_million",
        must: 1.0,
        aim: Some(0.7),
    },
    Row {
        figure: "allocations for each stream message once warm",
        unit: "allocations",
        better: Lower,
        sample: "allocations.allocations_per_message",
        must: 0.0,
        aim: Some(0.0),
    },
];

/// Every row, measured or not.
pub(super) fn figures(samples: &Samples<Holder>) -> Vec<Figure> {
    ROWS.iter().map(|row| figure(row, samples)).collect()
}

fn figure(row: &Row, samples: &Samples<Holder>) -> Figure {
    Figure {
        figure: row.figure.to_owned(),
        unit: row.unit,
        better: row.better,
        runs: samples.runs(row.sample, Holder::Stadium).to_vec(),
        value: samples.median(row.sample, Holder::Stadium),
        must: Some(row.must),
        aim: row.aim,
        peers: samples.medians(row.sample, PEERS),
        limit: None,
    }
}
