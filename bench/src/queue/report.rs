//! The report with plots: one HTML file with everything in it, without scripts.
//!
//! It shows what queue.md says in numbers; how plots are drawn is in [`plot`].

use std::fmt::Write as _;

use super::crowd::Crowd;
use super::designs::{ALL, Design, PEERS};
use super::{latency, throughput};
use crate::figure::{Contender as _, Figure, Samples, shown};
use crate::machine;

mod plot;

use plot::{Bar, Line, Mark, Range};

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;color:#1d2733;background:#fff;max-width:880px;margin:32px auto;padding:0 20px}\
h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:36px 0 2px}p{margin:4px 0 10px;color:#52606d}\
svg{display:block;width:100%;height:auto;font:13px system-ui,sans-serif}\
table{border-collapse:collapse;width:100%;font-size:14px}th,td{text-align:left;padding:6px 10px 6px 0;vertical-align:top;\
border-bottom:1px solid #e4e9ee}th{font-weight:600}td.n,th.n{text-align:right;white-space:nowrap}\
.missed{color:#b3261e;font-weight:600}.ink{fill:#1d2733}.soft{fill:#6b7885}.grid{stroke:#e4e9ee}.axis{stroke:#9aa7b4}\
.ours{fill:#0b6e4f;stroke:#0b6e4f}.peer{fill:#8fa3b7;stroke:#8fa3b7}.whisker{stroke:#1d2733}\
.must{stroke:#c77700;stroke-dasharray:5 4}.limit{stroke:#7a3fc0;stroke-dasharray:2 3}.mustink{fill:#c77700}.limitink{fill:#7a3fc0}";

/// The page.
pub(super) fn write(figures: &[Figure], samples: &Samples<Design>, crowd: &Crowd, rounds: usize) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Queues side by side</title><style>{STYLE}</style>\n\
         <h1>Queues side by side</h1>\n<p>Medians of {rounds} rounds, whiskers from the lowest to the highest. {} producers, {} \
         consumers, {} bytes a job. {}.</p>\n",
        crowd.producers,
        crowd.consumers,
        crowd.payload_bytes,
        plot::escaped(&machine::describe())
    );
    for batch in &crowd.batches {
        rates(&mut html, figures, samples, *batch);
    }
    answers(&mut html, samples);
    percentiles(&mut html, samples);
    table(&mut html, figures);
    html.push_str("</html>\n");
    html
}

fn section(html: &mut String, title: &str, what: &str, plot: &str) {
    let _ = writeln!(html, "<h2>{}</h2>\n<p>{}</p>\n{plot}", plot::escaped(title), plot::escaped(what));
}

fn contenders() -> impl Iterator<Item = Design> {
    ALL.iter().copied().filter(|design| *design != Design::Limit)
}

/// Jobs a second by implementation.
fn rates(html: &mut String, figures: &[Figure], samples: &Samples<Design>, batch: usize) {
    let sample = format!("{}.per_second", throughput::name(batch));
    let mut bars: Vec<Bar<'_>> = contenders()
        .filter_map(|design| {
            let runs = samples.runs(&sample, design);
            let value = samples.median(&sample, design)?;
            Some(Bar { name: design.name(), is_ours: design == Design::Stadium, value, runs })
        })
        .collect();
    bars.sort_by(|one, other| other.value.total_cmp(&one.value));
    if bars.is_empty() {
        return;
    }
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
    let title = format!("Jobs a second, batch {batch}");
    let what = "Put, reserved and settled, each step durable as the table of queue.md says; more is better.";
    section(html, &title, what, &plot::bars(&bars, &marks));
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
    let what = "Milliseconds from the moment that a timetable names until a consumer holds the job; less is better. Who \
                cannot do this rate is not shown.";
    let labels = POINTS.map(|(label, _)| label);
    section(html, "From put to reserve at 10,000 jobs a second", what, &plot::lines(&lines, &labels, &marks));
}

fn table(html: &mut String, figures: &[Figure]) {
    html.push_str(
        "<h2>Figures</h2>\n<table><tr><th>figure</th><th class=n>stadium</th><th class=n>must</th><th class=n>aim</th>\
         <th class=n>best peer</th><th>reached</th></tr>\n",
    );
    for figure in figures {
        let optional = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), shown);
        let verdict = figure.verdict().replace("**", "");
        let class = if verdict == "missed" { " class=missed" } else { "" };
        let best = PEERS.iter().filter_map(|peer| figure.peers.get(peer.name()).copied());
        let best = match figure.better {
            crate::figure::Better::Higher => best.reduce(f64::max),
            crate::figure::Better::Lower => best.reduce(f64::min),
        };
        let _ = writeln!(
            html,
            "<tr><td>{}, {}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td{class}>{verdict}\
             </td></tr>",
            plot::escaped(&figure.figure),
            figure.unit,
            optional(figure.value),
            optional(figure.must),
            optional(figure.aim),
            optional(best),
        );
    }
    html.push_str("</table>\n");
}
