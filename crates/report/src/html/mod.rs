//! A run as one HTML file: nothing is fetched, it can be printed, and it stands without a script.
//!
//! Verdict first, then what to doubt, then figures, plots, tables, and what it was that ran. Text
//! from outside passes through [`escape::escape`]. A comparison of runs uses the same page, see
//! [`crate::compare`].

pub(crate) mod escape;
pub(crate) mod page;
pub(crate) mod plots;

use std::fmt::Write;

use crate::verdict::{State, figures, verdict};
use crate::{RunResult, number, tables};
use escape::{escape, thin};
use page::{Page, table};

/// The report of a run.
pub fn report(run: &RunResult) -> String {
    let name = if run.name.is_empty() { "Load run" } else { &run.name };
    let mut page = Page::new(name, &subtitle(run));
    let body = &mut page.body;
    write_verdict(body, run).expect("a String takes everything");
    write_figures(body, run).expect("a String takes everything");
    body.push_str(if run.refused() { "<div class=\"refused-figures\">" } else { "<div>" });
    plots::write(body, run);
    let tables = tables::tables(run);
    if !tables.is_empty() {
        body.push_str("<h2>Tables</h2><div class=\"cards\">");
        tables.iter().for_each(|each| table(body, each));
        body.push_str("</div>");
    }
    body.push_str("</div>");
    plots::write_scraped(body, run);
    write_origin(body, run).expect("a String takes everything");
    page.finish()
}

fn subtitle(run: &RunResult) -> String {
    let parts = [run.id.clone(), run.started.clone(), format!("ran {}", number::seconds(run.duration_s))];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn write_verdict(out: &mut String, run: &RunResult) -> std::fmt::Result {
    let verdict = verdict(run);
    let (class, mark) = match verdict.state {
        State::Good => ("good", "✓"),
        State::Bad => ("bad", "✗"),
        State::Refused => ("refused", "!"),
        State::Open => ("open", "–"),
    };
    write!(out, "<section class=\"verdict {class}\" aria-label=\"Verdict\"><div class=\"said\">")?;
    write!(out, "<i class=\"mark\" aria-hidden=\"true\">{mark}</i><div><h1>{}</h1>", escape(&verdict.title))?;
    if !verdict.detail.is_empty() {
        write!(out, "<p>{}</p>", thin(&escape(&verdict.detail)))?;
    }
    out.push_str("</div>");
    if verdict.partial {
        out.push_str("<strong class=\"stamp\">PARTIAL</strong>");
    }
    out.push_str("</div>");
    if !run.thresholds.is_empty() {
        out.push_str("<ul class=\"thresholds\">");
        for threshold in &run.thresholds {
            let (class, mark, word) =
                if threshold.passed { ("good", "✓", "held") } else { ("bad", "✗", "not held") };
            write!(
                out,
                "<li class=\"{class}\"><i aria-hidden=\"true\">{mark}</i><code>{}</code><span>{}</span><em>{word}</em></li>",
                escape(&threshold.text),
                thin(&escape(&threshold.observed))
            )?;
        }
        out.push_str("</ul>");
    }
    out.push_str("</section>");
    let doubts = &run.generator.doubts;
    if !doubts.is_empty() {
        let class = if run.refused() { "refused" } else { "marked" };
        write!(
            out,
            "<section class=\"doubts {class}\" role=\"note\"><h2>What the generator reports about itself</h2><ul>"
        )?;
        for doubt in doubts {
            let word = if doubt.refuse { "Refused" } else { "Marked" };
            write!(out, "<li><b>{word}</b> {}</li>", escape(&doubt.text))?;
        }
        out.push_str("</ul></section>");
    }
    Ok(())
}

fn write_figures(out: &mut String, run: &RunResult) -> std::fmt::Result {
    let figures = figures(run);
    if figures.is_empty() {
        return Ok(());
    }
    let refused = run.refused();
    out.push_str("<dl class=\"figures\">");
    for figure in figures {
        let value = thin(&escape(&figure.value));
        let value =
            if refused { format!("<s title=\"refused\">{value}</s> <small>refused</small>") } else { value };
        write!(
            out,
            "<div><dt>{}</dt><dd>{value}</dd><dd class=\"note\">{}</dd></div>",
            figure.name,
            thin(&escape(&figure.note))
        )?;
    }
    out.push_str("</dl>");
    Ok(())
}

fn write_origin(out: &mut String, run: &RunResult) -> std::fmt::Result {
    let machine = &run.machine;
    let known = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let bounded = |value: u64| if value == 0 { "-".to_owned() } else { number::count(value) };
    let memory =
        if machine.memory_bytes == 0 { "-".to_owned() } else { number::bytes(machine.memory_bytes as f64) };
    let generator = &run.generator;
    let facts = [
        ("Host", known(&machine.host)),
        ("Processor", known(&machine.cpu)),
        ("Processors", bounded(u64::from(machine.processors))),
        ("Memory", memory),
        ("System", known(&machine.system)),
        ("Stadium", known(&machine.version)),
        ("Open files", bounded(machine.open_files)),
        ("Loops", number::count(u64::from(generator.loops))),
        ("Busiest loop", number::share(generator.busy)),
        ("Loops saturated", format!("in {} of the intervals", number::share(generator.saturated))),
        ("Machine busy", number::share(generator.machine_busy)),
        ("Steal", number::share(generator.steal)),
        ("Sockets refused by the system", number::count(generator.exhausted)),
        ("Requests sent again", number::count(generator.sent_again)),
        ("Users due and not begun", number::count(generator.not_begun)),
    ];
    out.push_str("<h2>What ran</h2><section class=\"card\"><dl class=\"facts\">");
    for (name, value) in facts {
        write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", thin(&escape(&value)))?;
    }
    out.push_str("</dl>");
    if !run.command.is_empty() {
        write!(out, "<h3>Command</h3><pre>{}</pre>", escape(&command(&run.command)))?;
    }
    if !run.scenario.is_empty() {
        write!(
            out,
            "<details open><summary><h3>Scenario</h3></summary><pre>{}</pre></details>",
            escape(&run.scenario)
        )?;
    }
    out.push_str("</section>");
    Ok(())
}

/// A command line that a shell would take as it stands.
fn command(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let quote = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
