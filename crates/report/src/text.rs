//! A run for people at a terminal: plain text, no colours, the verdict at the end where the eye is.

use std::fmt::Write;

use crate::verdict::{State, figures, verdict};
use crate::{RunResult, number, tables};

/// The summary of a run, ending with its verdict and a line break.
pub fn summary(run: &RunResult) -> String {
    let mut text = String::new();
    write_summary(&mut text, run).expect("a String takes everything");
    text
}

fn write_summary(out: &mut String, run: &RunResult) -> std::fmt::Result {
    let name = if run.name.is_empty() { "(no name)" } else { &run.name };
    writeln!(out, "{}  {}", clean(name), clean(&run.id))?;
    writeln!(out, "started {}, ran {}", clean(&run.started), number::seconds(run.duration_s))?;
    let refused = run.refused();
    let figures = figures(run);
    let wide = figures.iter().map(|figure| figure.name.chars().count()).max().unwrap_or(0);
    let wide_value = figures.iter().map(|figure| figure.value.chars().count()).max().unwrap_or(0);
    writeln!(out)?;
    for figure in &figures {
        let mark = if refused { "refused  " } else { "" };
        writeln!(out, "  {:wide$}  {mark}{:>wide_value$}  {}", figure.name, figure.value, figure.note)?;
    }
    for table in tables::tables(run) {
        writeln!(out, "\n{}", table.title)?;
        if !table.note.is_empty() {
            writeln!(out, "  ({})", clean(&table.note))?;
        }
        for line in table.lines() {
            writeln!(out, "  {}", clean(&line))?;
        }
    }
    if !run.generator.doubts.is_empty() {
        writeln!(out, "\nDoubts of the generator")?;
        for doubt in &run.generator.doubts {
            writeln!(out, "  {} {}", if doubt.refuse { "REFUSED:" } else { "marked:" }, clean(&doubt.text))?;
        }
    }
    let thresholds = tables::thresholds(run);
    if !thresholds.rows.is_empty() {
        writeln!(out, "\n{}", thresholds.title)?;
        for line in thresholds.lines().iter().skip(1) {
            writeln!(out, "  {}", clean(line))?;
        }
    }
    let verdict = verdict(run);
    let state = match verdict.state {
        State::Good => "GOOD",
        State::Bad => "BAD",
        State::Refused => "REFUSED",
        State::Open => "DONE",
    };
    let partial = if verdict.partial { "PARTIAL, " } else { "" };
    write!(out, "\n{partial}{state}: {}.", verdict.title)?;
    if !verdict.detail.is_empty() {
        write!(out, " {}", clean(&verdict.detail))?;
    }
    writeln!(out)
}

/// Names come from servers and scenarios: nothing in them may move a terminal's cursor.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, SERVER};
    use crate::{Doubt, Outcome};

    #[test]
    fn the_verdict_is_the_last_line() {
        let run = sample::run(SERVER);
        let text = summary(&run);
        assert_eq!(text.lines().last(), Some("BAD: 2 of 6 thresholds did not hold."), "{text}");
        assert!(text.contains("NOT HELD  lost == 0"), "{text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn a_stall_is_in_the_response_time_and_the_service_time_is_reported_apart() {
        let run = sample::run(SERVER);
        let text = summary(&run);
        let response = run.total.response.quantile(0.999).expect("it has answers");
        assert!(response > 1_000_000_000, "the sample's stall shows: {response}");
        assert!(text.contains("times less"), "{text}");
    }

    #[test]
    fn figures_of_a_run_that_was_stopped_or_is_refused_are_marked() {
        let mut run = sample::run(SERVER);
        run.outcome = Outcome::Interrupted;
        run.duration_s = 100.0;
        assert!(summary(&run).contains(
            "PARTIAL, BAD: 2 of 6 thresholds did not hold. Partial: stopped after 100 s of 2 min."
        ));
        run.generator.doubts = vec![Doubt { refuse: true, text: "a loop was saturated".to_owned() }];
        let text = summary(&run);
        assert!(text.contains("PARTIAL, REFUSED: The generator refuses these figures."), "{text}");
        assert!(text.contains("Response time, p99"), "{text}");
        assert!(
            text.lines().any(|line| line.contains("Response time, p99") && line.contains("refused")),
            "{text}"
        );
    }

    #[test]
    fn a_run_without_anything_has_a_summary() {
        assert!(summary(&RunResult::default()).ends_with("DONE: No thresholds were set.\n"));
    }

    #[test]
    fn no_name_reaches_the_terminal_as_an_escape_sequence() {
        let mut run = sample::run(SERVER);
        run.steps[0].name = "a\u{1b}[2Jb".to_owned();
        run.total.errors.insert("x\ny\u{7}".to_owned(), 1);
        let text = summary(&run);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    }
}
