//! Results as Markdown tables: figures with their verdicts, contenders' own numbers behind them, what failed.
//!
//! Every bench writes its page from these; which rows there are is the bench's business.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::figure::{Contender, Figure, Samples, shown};

/// The table of figures; `limit` heads the column of what the best possible loop reached.
pub(crate) fn figures<K: Contender>(page: &mut String, figures: &[Figure], peers: &[K], limit: &str) {
    let _ = write!(page, "| figure | unit | stadium | must | aim | reached | {limit} |");
    for peer in peers {
        let _ = write!(page, " {} |", peer.name());
    }
    let _ = writeln!(page, "\n|---|---|---|---|---|---|---|{}", "---|".repeat(peers.len()));
    for figure in figures {
        begin(page, figure);
        let _ = write!(page, " {} |", optional(figure.limit));
        for peer in peers {
            let _ = write!(page, " {} |", optional(figure.peers.get(peer.name()).copied()));
        }
        page.push('\n');
    }
}

/// The table of figures that are ratios: what they are over is in their names.
pub(crate) fn ratios(page: &mut String, figures: &[Figure]) {
    page.push_str("| figure | unit | stadium | must | aim | reached |\n|---|---|---|---|---|---|\n");
    for figure in figures {
        begin(page, figure);
        page.push('\n');
    }
}

/// The cells of a figure that do not depend on who else is in the table.
fn begin(page: &mut String, figure: &Figure) {
    let _ = write!(
        page,
        "| {} | {} | {} | {} | {} | {} |",
        figure.figure,
        figure.unit,
        spread(&figure.runs, figure.value),
        optional(figure.must),
        optional(figure.aim),
        figure.verdict(),
    );
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), shown)
}

/// Contenders' own numbers, each row a sample and what people call it; rows that nobody has are left out.
pub(crate) fn details<K: Contender>(
    page: &mut String,
    samples: &Samples<K>,
    contenders: &[K],
    rows: impl Iterator<Item = (String, String)>,
) {
    page.push_str("| |");
    for contender in contenders {
        let _ = write!(page, " {} |", contender.name());
    }
    let _ = writeln!(page, "\n|---|{}", "---|".repeat(contenders.len()));
    for (sample, name) in rows {
        if contenders.iter().all(|contender| samples.runs(&sample, *contender).is_empty()) {
            continue;
        }
        let _ = write!(page, "| {name} |");
        for contender in contenders {
            let median = samples.median(&sample, *contender);
            let _ = write!(page, " {} |", spread(samples.runs(&sample, *contender), median));
        }
        page.push('\n');
    }
}

/// What could not be measured, and why; nothing when all was.
pub(crate) fn failures<K: Contender>(page: &mut String, failures: &BTreeMap<(String, K), String>) {
    if !failures.is_empty() {
        page.push_str("\n## Not measured\n\n");
    }
    for ((measurement, contender), why) in failures {
        let _ = writeln!(page, "- {measurement}, {}: {}", contender.name(), why.replace('\n', " "));
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
