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
    must: Threshold,
    aim: Option<Threshold>,
}

/// An absolute number, or a share of what bare Netty reached in this run.
#[derive(Clone, Copy)]
enum Threshold {
    Number(f64),
    OfNetty(f64),
}

use Better::{Higher, Lower};
use Threshold::{Number, OfNetty};

const ROWS: &[Row] = &[
    Row {
        figure: "request-streams over 10,000 connections, a message a second each, held",
        unit: "streams",
        better: Higher,
        sample: "together.streams",
        must: Number(1_000_000.0),
        aim: None,
    },
    Row {
        figure: "a connection's streams opened together: messages late, 99th percentile",
        unit: "ms",
        better: Lower,
        sample: "together.late_p99_ms",
        must: Number(100.0),
        aim: None,
    },
    Row {
        figure: "a connection's streams opened together: messages missed",
        unit: "messages",
        better: Lower,
        sample: "together.missed",
        must: Number(0.0),
        aim: None,
    },
    Row {
        figure: "a connection's streams opened together: server's CPU time for a million messages",
        unit: "s",
        better: Lower,
        sample: "together.server_cpu_s_per_million",
        must: OfNetty(0.9),
        aim: Some(OfNetty(0.8)),
    },
    Row {
        figure: "phases spread over the second: streams held",
        unit: "streams",
        better: Higher,
        sample: "spread.streams",
        must: Number(1_000_000.0),
        aim: None,
    },
    Row {
        figure: "phases spread over the second: messages late, 99th percentile",
        unit: "ms",
        better: Lower,
        sample: "spread.late_p99_ms",
        must: Number(100.0),
        aim: Some(Number(64.0)),
    },
    Row {
        figure: "phases spread over the second: messages missed",
        unit: "messages",
        better: Lower,
        sample: "spread.missed",
        must: Number(0.0),
        aim: None,
    },
    Row {
        figure: "phases spread over the second: server's CPU time for a million messages",
        unit: "s",
        better: Lower,
        sample: "spread.server_cpu_s_per_million",
        must: Number(0.9),
        aim: Some(Number(0.7)),
    },
    Row {
        figure: "allocations for each stream message once warm",
        unit: "allocations",
        better: Lower,
        sample: "allocations.allocations_per_message",
        must: Number(0.0),
        aim: Some(Number(0.0)),
    },
];

/// Every row, measured or not.
pub(super) fn figures(samples: &Samples<Holder>) -> Vec<Figure> {
    ROWS.iter().map(|row| figure(row, samples)).collect()
}

fn figure(row: &Row, samples: &Samples<Holder>) -> Figure {
    let value = |threshold| match threshold {
        Number(number) => Some(number),
        OfNetty(share) => Some(samples.median(row.sample, Holder::Netty)? * share),
    };
    Figure {
        figure: row.figure.to_owned(),
        unit: row.unit,
        better: row.better,
        runs: samples.runs(row.sample, Holder::Stadium).to_vec(),
        value: samples.median(row.sample, Holder::Stadium),
        must: value(row.must),
        aim: row.aim.and_then(value),
        peers: samples.medians(row.sample, PEERS),
        limit: None,
    }
}
