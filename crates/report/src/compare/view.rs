//! A comparison as a page and as plain text.
//!
//! Both show the same table and the same sentence; the page adds the runs' curves over each other, on one axis of time.

use std::fmt::Write;

use super::{Compared, Comparison, Verdict};
use crate::html::escape::{escape, thin};
use crate::html::page::{Page, table};
use crate::html::plots::distribution;
use crate::latency::Counts;
use crate::plot::{Across, Line, Plot, Scale, Style, Unit};
use crate::series::{KINDS, POINTS_MAX, bands, thin_out};
use crate::table::{Cell, News, Table, columns};
use crate::text::clean;
use crate::{Interval, RunResult};

/// What the intervals are and are not; on every comparison.
const CAUTION: &str = "Intervals hold with 99% for the noise within these runs, by blocks of time. How much runs differ \
                       from each other only repeats show: run each side several times before you claim a difference.";

/// One sentence about a pair.
fn sentence(compared: &Compared<'_>) -> String {
    let count = |verdict| compared.count(verdict);
    let (worse, better, same) = (count(Verdict::Worse), count(Verdict::Better), count(Verdict::Same));
    let unknown = count(Verdict::Unknown);
    if compared.differences.is_empty() {
        return "the runs have no figure in common".to_owned();
    }
    let mut text = match (worse, better) {
        (0, 0) => "no difference that the data can show".to_owned(),
        (0, _) => format!("{better} better"),
        (_, 0) => format!("{worse} worse"),
        _ => format!("{worse} worse, {better} better"),
    };
    if worse + better > 0 && same > 0 {
        let _ = write!(text, ", {same} without a difference that the data can show");
    }
    if unknown > 0 {
        let _ = write!(text, ", {unknown} with too little data");
    }
    text
}

fn name(run: &RunResult) -> String {
    match (run.name.is_empty(), run.id.is_empty()) {
        (true, true) => "run without name".to_owned(),
        (true, false) => run.id.clone(),
        (false, true) => run.name.clone(),
        (false, false) => format!("{} {}", run.name, run.id),
    }
}

fn differences(compared: &Compared<'_>) -> Table {
    let row = |difference: &super::Difference| {
        let news = match difference.verdict {
            Verdict::Better => News::Good,
            Verdict::Worse => News::Bad,
            _ => News::None,
        };
        vec![
            difference.subject.as_str().into(),
            difference.figure.as_str().into(),
            difference.before.as_str().into(),
            difference.after.as_str().into(),
            difference.change.as_str().into(),
            if difference.interval.is_empty() { "-".into() } else { difference.interval.as_str().into() },
            Cell { text: difference.verdict.text().to_owned(), news },
        ]
    };
    Table {
        title: "Differences",
        columns: columns(&["<of", "<figure", "baseline", "this run", "change", "99% interval", "<verdict"]),
        rows: compared.differences.iter().map(row).collect(),
        ..Table::default()
    }
}

/// A comparison for people at a terminal; the verdict stands last.
pub fn text(comparison: &Comparison<'_>) -> String {
    let mut out = format!("Baseline  {}\n", clean(&name(comparison.baseline)));
    for compared in &comparison.others {
        let _ = writeln!(out, "\nThis run  {}\n", clean(&name(compared.run)));
        for line in differences(compared).lines() {
            let _ = writeln!(out, "  {}", clean(&line));
        }
        if !compared.warnings.is_empty() {
            out.push_str("\nHard to compare\n");
            compared.warnings.iter().for_each(|warning| {
                let _ = writeln!(out, "  {}", clean(warning));
            });
        }
        let _ = writeln!(out, "\nVERDICT: {}.", sentence(compared));
    }
    let _ = writeln!(out, "({CAUTION})");
    out
}

/// A comparison as one HTML file, of the same kind as [`crate::html::report`].
pub fn html(comparison: &Comparison<'_>) -> String {
    let mut page = Page::new("Runs compared", &format!("baseline: {}", name(comparison.baseline)));
    let body = &mut page.body;
    for compared in &comparison.others {
        write_verdict(body, compared).expect("a String takes everything");
        table(body, &differences(compared));
    }
    let _ = write!(body, "<p class=\"note\">{CAUTION}</p>");
    plots(body, comparison);
    page.finish()
}

fn write_verdict(out: &mut String, compared: &Compared<'_>) -> std::fmt::Result {
    let (class, mark) = match (compared.count(Verdict::Worse), compared.count(Verdict::Better)) {
        (0, 0) => ("open", "="),
        (0, _) => ("good", "✓"),
        _ => ("bad", "✗"),
    };
    write!(out, "<section class=\"verdict {class} spaced\" aria-label=\"Verdict\"><div class=\"said\">")?;
    let sentence = sentence(compared);
    let mut letters = sentence.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().collect::<String>()).unwrap_or_default();
    write!(
        out,
        "<i class=\"mark\" aria-hidden=\"true\">{mark}</i><div><h1>{}</h1>",
        escape(&(first + letters.as_str()))
    )?;
    write!(out, "<p>{}</p></div></div></section>", thin(&escape(&name(compared.run))))?;
    if !compared.warnings.is_empty() {
        out.push_str("<section class=\"doubts marked spaced\" role=\"note\"><h2>Hard to compare</h2><ul>");
        for warning in &compared.warnings {
            write!(out, "<li>{}</li>", thin(&escape(warning)))?;
        }
        out.push_str("</ul></section>");
    }
    Ok(())
}

/// The curves of all runs over each other.
fn plots(out: &mut String, comparison: &Comparison<'_>) {
    let others = comparison.others.iter().map(|compared| compared.run);
    let runs: Vec<&RunResult> =
        std::iter::once(comparison.baseline).chain(others).take(KINDS.len()).collect();
    let names: Vec<String> = runs
        .iter()
        .enumerate()
        .map(|(index, run)| if index == 0 { "baseline".to_owned() } else { name(run) })
        .collect();
    let end = runs.iter().map(|run| run.duration_s).fold(1e-3, f64::max);
    let bands = bands(&comparison.baseline.phases);
    // Runs need not have been cut at the same times: each value goes to the slot of time that its
    // middle lies in.
    let slots = runs.iter().map(|run| run.series.len()).max().unwrap_or(0).clamp(1, POINTS_MAX);
    let slot_s = end / slots as f64;
    let slot_of = |interval: &Interval| ((interval.middle_s() / slot_s) as usize).min(slots - 1);
    let over_time = |title: &str, note: &str, unit, scale, size, of: &dyn Fn(&Interval) -> Option<f64>| {
        let lines = runs.iter().zip(&names).zip(KINDS).map(|((run, name), class)| {
            let mut values = vec![None; slots];
            for interval in thin_out(&run.series, slots) {
                values[slot_of(&interval)] = of(&interval);
            }
            Line { name: name.clone(), class, values: filled(values) }
        });
        Plot {
            title: title.to_owned(),
            note: note.to_owned(),
            unit,
            scale,
            style: Style::Lines,
            across: Across::Time,
            ends: (0.0, end),
            lines: lines.collect(),
            at: (0..slots).map(|slot| (slot as f64 + 0.5) * slot_s).collect(),
            bands: &bands,
            size,
        }
    };
    let quantile = |counts: &Counts, quantile| counts.quantile(quantile).map(|ns: u64| ns as f64);
    let curves: Vec<(&str, &'static str, &Counts)> = runs
        .iter()
        .zip(&names)
        .zip(KINDS)
        .map(|((run, name), class)| (name.as_str(), class, &run.total.response))
        .collect();
    let shown = [
        over_time("Response time, p99", "from due, log scale", Unit::Time, Scale::Log, "wide", &|interval| {
            quantile(&interval.response, 0.99)
        }),
        over_time("Response time, p50", "from due, log scale", Unit::Time, Scale::Log, "", &|interval| {
            quantile(&interval.response, 0.5)
        }),
        over_time("Service time, p99", "from sent, log scale", Unit::Time, Scale::Log, "", &|interval| {
            quantile(&interval.service, 0.99)
        }),
        over_time("Answered", "", Unit::Rate, Scale::Linear, "", &|interval| {
            Some(interval.rate(interval.answered))
        }),
        over_time("Errors", "of all kinds", Unit::Rate, Scale::Linear, "", &|interval| {
            Some(interval.rate(interval.failed()))
        }),
        distribution("Response time by percentile", "the whole runs, warm-ups included", &curves),
    ];
    out.push_str("<h2>Over each other</h2><div class=\"plots\">");
    shown.iter().filter(|plot| plot.has_values()).for_each(|plot| plot.render(out));
    out.push_str("</div>");
}

/// A slot between two values that none fell into has the one before: two series that were cut a little apart.
fn filled(mut values: Vec<Option<f64>>) -> Vec<Option<f64>> {
    for at in 1..values.len().saturating_sub(1) {
        if values[at].is_none() && values[at + 1].is_some() {
            values[at] = values[at - 1];
        }
    }
    values
}
