//! The report with plots: the figures of wallet.md as plots.

use super::clients::Clients;
use super::designs::{ALL, Design, PEERS};
use super::rates::Rate;
use super::rows;
use crate::figure::{Contender as _, Figure, Samples};
use crate::machine;
use crate::report::plot::{self, Line, Mark};
use crate::report::{self, section};

/// The page.
pub(super) fn write(
    figures: &[Figure],
    samples: &Samples<Design>,
    clients: &Clients,
    rounds: usize,
) -> String {
    let what = format!(
        "Medians of {rounds} rounds, whiskers from the lowest to the highest. {} accounts, {} connections. {}.",
        clients.accounts,
        clients.connections,
        machine::describe()
    );
    let mut html = report::begin("Wallets side by side", &what);
    for rate in [Rate::Single, Rate::SingleOne, Rate::Batch, Rate::Hot] {
        rates(&mut html, figures, samples, clients, rate);
    }
    percentiles(&mut html, samples, clients);
    report::end(&mut html, figures, PEERS);
    html
}

fn contenders() -> impl Iterator<Item = Design> {
    ALL.iter().copied().filter(|design| *design != Design::Limit)
}

/// Debits a second by implementation.
fn rates(html: &mut String, figures: &[Figure], samples: &Samples<Design>, clients: &Clients, rate: Rate) {
    let sample = format!("{}.per_second", rate.name());
    let title = rows::title(rate, clients);
    let must = figures.iter().find(|figure| figure.figure == title).and_then(|figure| figure.must);
    let marks = must.map(|value| Mark { name: "must", class: "must", value });
    let marks: Vec<Mark> = marks.into_iter().collect();
    if let Some(bars) = report::bars(samples, &sample, contenders(), Design::Stadium, &marks) {
        let what = "Debits booked a second, each durable when it is answered; more is better.";
        section(html, &heading(rate, clients), what, &bars);
    }
}

fn heading(rate: Rate, clients: &Clients) -> String {
    let (depth, batch) = rate.shape(clients);
    let accounts = if rate == Rate::Hot { "from one account" } else { "by Zipf's law" };
    let requests = if depth == 1 { "one request".to_owned() } else { format!("{depth} requests") };
    let debits = if batch == 1 { "Single debits".to_owned() } else { format!("Batches of {batch} debits") };
    format!("{debits} {accounts}, {requests} under way on each connection")
}

/// From the time in the table to the answer.
fn percentiles(html: &mut String, samples: &Samples<Design>, clients: &Clients) {
    const POINTS: [(&str, &str); 3] = [("50%", "p50_ms"), ("99%", "p99_ms"), ("99.9%", "p999_ms")];
    let value = |what: &str, design| samples.median(&format!("{}.{what}", Rate::Latency.name()), design);
    let lines: Vec<Line<'_>> = contenders()
        .filter_map(|design| {
            let points: Option<Vec<f64>> = POINTS.iter().map(|(_, sample)| value(sample, design)).collect();
            Some(Line { name: design.name(), is_ours: design == Design::Stadium, points: points? })
        })
        .collect();
    if lines.is_empty() {
        return;
    }
    let disk = value("sync_p99_ms", Design::Limit);
    let disk = disk.map(|value| Mark { name: "fdatasync, 99th percentile", class: "limit", value });
    let marks: Vec<Mark> = disk.into_iter().collect();
    let title = format!("Answers at {} debits a second", clients.rate);
    let what = "Milliseconds from the time that a timetable names to the answer; less is better. An implementation that \
                cannot do this rate is not shown.";
    section(html, &title, what, &plot::lines(&lines, &POINTS.map(|(label, _)| label), &marks));
}
