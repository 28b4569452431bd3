//! The report with plots: the figures of queue.md as plots.

use super::clients::Clients;
use super::designs::{ALL, Design, PEERS};
use super::{latency, throughput};
use crate::figure::{Contender as _, Figure, Samples};
use crate::machine;
use crate::report::plot::{self, Line, Mark, Range};
use crate::report::{self, section};

/// The page.
pub(super) fn write(
    figures: &[Figure],
    samples: &Samples<Design>,
    clients: &Clients,
    rounds: usize,
) -> String {
    let what = format!(
        "Medians of {rounds} rounds, whiskers from the lowest to the highest. {} producers, {} consumers, {} bytes a job. {}.",
        clients.producers,
        clients.consumers,
        clients.payload_bytes,
        machine::describe()
    );
    let mut html = report::begin("Queues side by side", &what);
    for batch in &clients.batches {
        rates(&mut html, figures, samples, *batch);
    }
    answers(&mut html, samples);
    percentiles(&mut html, samples);
    report::end(&mut html, figures, PEERS);
    html
}

fn contenders() -> impl Iterator<Item = Design> {
    ALL.iter().copied().filter(|design| *design != Design::Limit)
}

/// Jobs a second by implementation.
fn rates(html: &mut String, figures: &[Figure], samples: &Samples<Design>, batch: usize) {
    let sample = format!("{}.per_second", throughput::name(batch));
    let mut marks = Vec::new();
    // The published rows are the first two figures that speak of jobs a second, one for each batch size.
    let is_row =
        |figure: &&Figure| figure.unit == "jobs/s" && figure.figure.contains(&format!("batch {batch}"));
    if let Some(must) = figures.iter().find(|figure| is_row(figure)).and_then(|figure| figure.must) {
        marks.push(Mark { name: "must", class: "must", value: must });
    }
    if let Some(limit) = samples.median(&sample, Design::Limit) {
        marks.push(Mark { name: "bare fdatasync", class: "limit", value: limit });
    }
    let Some(bars) = report::bars(samples, &sample, contenders(), Design::Stadium, &marks) else { return };
    let title = format!("Jobs a second, batch {batch}");
    let what =
        "Put, reserved and settled, each step durable as the table of queue.md states; more is better.";
    section(html, &title, what, &bars);
}

/// How long a put and a settle take under full load.
fn answers(html: &mut String, samples: &Samples<Design>) {
    let name = throughput::name(1);
    let mut ranges = Vec::new();
    for design in contenders() {
        let value = |what: &str| samples.median(&format!("{name}.{what}"), design);
        for (step, low, high) in
            [("put", "put_p50_ms", "put_p99_ms"), ("settle", "settle_p50_ms", "settle_p99_ms")]
        {
            // RabbitMQ does not answer an acknowledgement, so there is nothing to show of it.
            if let (Some(low), Some(high)) = (value(low), value(high))
                && high > 0.01
            {
                let is_ours = design == Design::Stadium;
                ranges.push(Range { name: format!("{}: {step}", design.name()), is_ours, low, high });
            }
        }
    }
    if !ranges.is_empty() {
        let what = "From the median to the 99th percentile, milliseconds, at full load with single jobs; less is better.";
        section(html, "Time to an answer, batch 1", what, &plot::ranges(&ranges));
    }
}

/// Put to reserve at a fixed rate.
fn percentiles(html: &mut String, samples: &Samples<Design>) {
    const POINTS: [(&str, &str); 5] = [
        ("50%", "late_p50_ms"),
        ("90%", "late_p90_ms"),
        ("99%", "late_p99_ms"),
        ("99.9%", "late_p999_ms"),
        ("99.99%", "late_p9999_ms"),
    ];
    let mut lines = Vec::new();
    for design in contenders() {
        let value = |what: &str| samples.median(&format!("{}.{what}", latency::NAME), design);
        let points: Option<Vec<f64>> = POINTS.iter().map(|(_, sample)| value(sample)).collect();
        lines.extend(points.map(|points| Line {
            name: design.name(),
            is_ours: design == Design::Stadium,
            points,
        }));
    }
    if lines.is_empty() {
        return;
    }
    let disk = samples.median(&format!("{}.sync_p99_ms", throughput::name(1)), Design::Limit);
    let marks: Vec<Mark> = disk
        .map(|value| Mark { name: "fdatasync, 99th percentile", class: "limit", value })
        .into_iter()
        .collect();
    let what = "Milliseconds from the time that a timetable names until a consumer holds the job; less is better. An \
                implementation that cannot do this rate is not shown.";
    let labels = POINTS.map(|(label, _)| label);
    section(html, "From put to reserve at 10,000 jobs a second", what, &plot::lines(&lines, &labels, &marks));
}
