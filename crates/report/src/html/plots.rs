//! Which plots a run has.
//!
//! Every plot over time has the same horizontal axis, so that a crosshair stands at the same time
//! in all of them. A plot of which nothing was measured is left out.

use crate::latency::Counts;
use crate::plot::{Across, Band, Line, Plot, Scale, Style, Unit, time_label};
use crate::series::{POINTS_MAX, bands, errors, line, percentiles, scraped, thin_out};
use crate::{Interval, RunResult};

/// Small plots of published figures in a page; the result holds all.
const SCRAPED_MAX: usize = 60;

const PERCENTILES: [(&str, f64, &str); 5] =
    [("p50", 0.5, "p1"), ("p90", 0.9, "p2"), ("p99", 0.99, "p3"), ("p99.9", 0.999, "p4"), ("max", 1.0, "p5")];
const FEW: [(&str, f64, &str); 3] = [("p50", 0.5, "p1"), ("p99", 0.99, "p3"), ("max", 1.0, "p5")];

/// Appends the plots of what the generator did and saw.
pub(super) fn write(out: &mut String, run: &RunResult) {
    let series = thin_out(&run.series, POINTS_MAX);
    let bands = bands(&run.phases);
    let ends = ends(run);
    let over_time = |title: &str, note: &str, unit, scale, lines| Plot {
        title: title.to_owned(),
        note: note.to_owned(),
        unit,
        scale,
        style: Style::Lines,
        across: Across::Time,
        ends,
        at: series.iter().map(Interval::middle_s).collect(),
        lines,
        bands: &bands,
        size: "",
    };
    let time =
        |title: &str, note: &str, of: fn(&Interval) -> &Counts, which: &[(&str, f64, &'static str)]| {
            over_time(title, note, Unit::Time, Scale::Log, percentiles(&series, of, which))
        };
    let any = |of: fn(&Interval) -> u64| series.iter().any(|interval| of(interval) > 0);
    let mut plots = vec![Plot {
        size: "wide",
        ..time(
            "Response time",
            "from when a request was due, log scale",
            |interval| &interval.response,
            &PERCENTILES,
        )
    }];
    if any(|interval| interval.started) {
        let rates = vec![
            line(&series, "users arrived", "c3", |interval| interval.rate(interval.arrived)),
            line(&series, "requests begun", "c1", |interval| interval.rate(interval.started)),
            line(&series, "answered", "c2", |interval| interval.rate(interval.answered)),
        ];
        plots.push(over_time("Rates", "", Unit::Rate, Scale::Linear, rates));
    }
    plots.push(time(
        "Service time",
        "from when a request was sent, log scale",
        |interval| &interval.service,
        &FEW,
    ));
    plots.push(Plot {
        style: Style::Stacked,
        ..over_time("Errors", "by kind, stacked", Unit::Rate, Scale::Linear, errors(&series))
    });
    if any(|interval| interval.users) {
        let users = vec![line(&series, "users", "c1", |interval| interval.users as f64)];
        plots.push(over_time("Users", "in a session at once", Unit::Count, Scale::Linear, users));
    }
    if any(|interval| interval.devices) {
        let devices = vec![line(&series, "devices", "c2", |interval| interval.devices as f64)];
        plots.push(over_time("Devices", "connected at once", Unit::Count, Scale::Linear, devices));
    }
    plots.push(time(
        "Message latency",
        "from intended sending, log scale",
        |interval| &interval.message_latency,
        &FEW,
    ));
    if any(|interval| interval.messages) {
        let messages = vec![line(&series, "received", "c4", |interval| interval.rate(interval.messages))];
        plots.push(over_time("Messages", "", Unit::Rate, Scale::Linear, messages));
    }
    if any(|interval| interval.bytes[0] + interval.bytes[1]) {
        let bytes = vec![
            line(&series, "sent", "c1", |interval| interval.rate(interval.bytes[0])),
            line(&series, "received", "c2", |interval| interval.rate(interval.bytes[1])),
        ];
        plots.push(over_time("Bytes", "without TLS", Unit::ByteRate, Scale::Linear, bytes));
    }
    let mut own =
        vec![time("Lateness", "of the generator itself, log scale", |interval| &interval.lateness, &FEW)];
    if !series.is_empty() {
        let busy = vec![
            line(&series, "busiest loop", "c1", |interval| interval.busy),
            line(&series, "machine", "c2", |interval| interval.machine_busy),
            line(&series, "steal", "c5", |interval| interval.steal),
        ];
        own.push(over_time("Processors", "of the generator's machines", Unit::Share, Scale::Linear, busy));
    }
    section(out, "Over time", &plots);
    section(out, "Distribution", &distributions(run));
    section(out, "The generator itself", &own);
}

/// Appends what targets published, beside the same axis of time.
pub(super) fn write_scraped(out: &mut String, run: &RunResult) {
    let bands: Vec<Band> = bands(&run.phases);
    let mut plots = scraped(&run.scraped, ends(run), &bands);
    plots.retain(Plot::has_values);
    let hidden = plots.len().saturating_sub(SCRAPED_MAX);
    plots.truncate(SCRAPED_MAX);
    section(out, "What the targets published", &plots);
    if hidden > 0 {
        out.push_str(&format!("<p class=\"note\">{hidden} more metrics are in the result.</p>"));
    }
}

fn section(out: &mut String, title: &str, plots: &[Plot<'_>]) {
    let mut shown = plots.iter().filter(|plot| plot.has_values()).peekable();
    if shown.peek().is_none() {
        return;
    }
    out.push_str(&format!("<h2>{title}</h2><div class=\"plots\">"));
    shown.for_each(|plot| plot.render(out));
    out.push_str("</div>");
}

fn ends(run: &RunResult) -> (f64, f64) {
    let last = run.series.iter().map(|interval| interval.at_s);
    let last = last.chain(run.scraped.iter().filter_map(|one| one.points.last()).map(|point| point.0));
    (0.0, last.fold(run.duration_s, f64::max).max(1e-3))
}

/// Times by percentile: every nine more takes the same room, so that the slowest are seen.
pub(crate) fn distribution<'a>(
    title: &str,
    note: &str,
    curves: &[(&str, &'static str, &Counts)],
) -> Plot<'a> {
    let most = curves.iter().map(|(_, _, counts)| counts.len()).max().unwrap_or(0);
    let last = (most.max(10) as f64).log10().min(7.0);
    let at: Vec<f64> = (0..=200).map(|step| f64::from(step) / 200.0 * last).collect();
    let curve = |&(name, class, counts): &(&str, &'static str, &Counts)| {
        let value = |nines: &f64| counts.quantile(1.0 - 10_f64.powf(-nines)).map(|ns| ns as f64);
        Line { name: name.to_owned(), class, values: at.iter().map(value).collect() }
    };
    Plot {
        title: title.to_owned(),
        note: note.to_owned(),
        unit: Unit::Time,
        scale: Scale::Log,
        style: Style::Lines,
        across: Across::Nines,
        ends: (0.0, last),
        lines: curves.iter().map(curve).collect(),
        at,
        bands: &[],
        size: "wide",
    }
}

fn distributions(run: &RunResult) -> Vec<Plot<'static>> {
    let total = &run.total;
    let requests = distribution(
        "Response and service time by percentile",
        "where they part, requests waited before they were sent",
        &[("response, from due", "c1", &total.response), ("service, from sent", "c3", &total.service)],
    );
    let messages = distribution(
        "Message latency by percentile",
        "from intended sending to arrival",
        &[("messages", "c4", &run.messages.latency)],
    );
    let stall = run.series.iter().filter(|interval| interval.response.max() == total.response.max());
    let longest = stall
        .map(|interval| time_label(interval.middle_s()))
        .next()
        .filter(|_| total.response.max().is_some());
    let note = longest
        .map_or_else(|| requests.note.clone(), |at| format!("{}; the longest was at {at}", requests.note));
    vec![Plot { note, ..requests }, messages]
}
