//! What a command writes, and how it looks.
//!
//! Data on standard output, notes and progress on standard error. Colour only where the stream is a
//! terminal and `NO_COLOR` is unset or empty, and never as the only carrier of meaning. With
//! `--json` standard output carries JSON and nothing else, failures included.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;

pub(crate) use indicatif::ProgressBar;
use indicatif::{MultiProgress, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use stadium_scenario::secret::Secrets;

use crate::failure::Failure;

/// Which form results take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// The process's own output streams.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// The form of results.
    pub(crate) form: Form,
    colour_out: bool,
    colour_err: bool,
    /// What no line for people and no failure may show; commands that handle no secrets have none.
    secrets: Mutex<Option<Secrets>>,
    /// The progress bars on standard error: a line that is written meanwhile takes their place, and
    /// they follow below it.
    bars: MultiProgress,
}

impl Terminal {
    /// Looks at the streams and at `NO_COLOR`.
    pub(crate) fn new(json: bool) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let watched = io::stderr().is_terminal() && !json;
        let target = if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self {
            bars: MultiProgress::with_draw_target(target),
            form: if json { Form::Json } else { Form::Text },
            colour_out: wanted && io::stdout().is_terminal(),
            colour_err: wanted && io::stderr().is_terminal(),
            secrets: Mutex::new(None),
        }
    }

    /// From here on notes and failures are shown without these secrets, nor what looks like one.
    pub(crate) fn hide(&self, secrets: Secrets) {
        if let Ok(mut held) = self.secrets.lock() {
            *held = Some(secrets);
        }
    }

    fn shown(&self, text: String) -> String {
        match self.secrets.lock() {
            Ok(held) => held.as_ref().map_or(text.clone(), |secrets| secrets.text(&text)),
            Err(_) => text,
        }
    }

    /// Whether results are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    /// Writes a result as JSON, on one line where a program reads it and indented where a person does.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text = if io::stdout().is_terminal() {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        self.data(
            &text.map_err(|error| Failure::new(format!("the result cannot be written as JSON: {error}")))?,
        )
    }

    /// Writes a line of data to standard output. A reader that has gone away is no failure of ours.
    pub(crate) fn data(&self, line: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(line.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::new(format!("standard output cannot be written: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Writes a line for people to standard error.
    pub(crate) fn note(&self, line: impl Display) {
        let line = self.shown(line.to_string());
        self.bars.suspend(|| {
            let _ = writeln!(io::stderr().lock(), "{line}");
        });
    }

    /// Figures in a frame, on standard error: each row has a label, which may be empty, and its text.
    pub(crate) fn frame(&self, title: &str, rows: &[(&str, String)]) {
        let longest = rows.iter().map(|(_, text)| text.chars().count() + 15).max().unwrap_or(0);
        let width = longest.max(title.chars().count() + 4);
        let edge = |text: String| self.err(Style::Faint, text);
        let rest = "─".repeat(width - title.chars().count() - 3);
        self.note(format_args!("\n  {}", edge(format!("╭─ {title} {rest}╮"))));
        for (label, text) in rows {
            let padding = " ".repeat(width - 14 - text.chars().count());
            self.note(format_args!(
                "  {} {label:<12} {}{padding}{}",
                edge("│".to_owned()),
                self.err(Style::Strong, text),
                edge("│".to_owned())
            ));
        }
        self.note(format_args!("  {}", edge(format!("╰{}╯", "─".repeat(width)))));
    }

    /// Reports a failure: in words on standard error, and with `--json` as an object on standard
    /// output too.
    pub(crate) fn failure(&self, failure: &Failure) {
        if matches!(failure, Failure::Signalled(_) | Failure::Shown | Failure::Logged(_)) {
            return;
        }
        if self.is_json() {
            let _ = self.json(&serde_json::json!({
                "error": self.shown(failure.to_string()),
                "exit_code": failure.number(),
            }));
        }
        match failure {
            // Each has its own prefix.
            Failure::Problems(_) => self.note(failure),
            _ => self.note(format_args!("{} {failure}", self.err(Style::Bad, "error:"))),
        }
        if matches!(failure, Failure::Usage(_)) {
            self.note("\nFor more information, try '--help'.");
        }
    }

    /// Styled text for standard output.
    pub(crate) fn out<T: Display>(&self, style: Style, text: T) -> Styled<T> {
        Styled { style: self.colour_out.then_some(style), text }
    }

    /// Styled text for standard error.
    pub(crate) fn err<T: Display>(&self, style: Style, text: T) -> Styled<T> {
        Styled { style: self.colour_err.then_some(style), text }
    }

    /// Characters of a line of standard output: `COLUMNS`, else the terminal's; no bound where a
    /// program reads.
    pub(crate) fn width(&self) -> Option<usize> {
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let of_terminal = || console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
        let found = columns.or_else(|| if io::stdout().is_terminal() { of_terminal() } else { None });
        found.filter(|columns| *columns > 0)
    }

    /// Whether a person watches standard error.
    pub(crate) fn is_watched(&self) -> bool {
        io::stderr().is_terminal()
    }

    /// Goes on where a person answers yes.
    pub(crate) fn confirm(&self, question: &str) -> Result<(), Failure> {
        if !(io::stdin().is_terminal() && self.is_watched()) {
            return Err(Failure::Usage(format!("{question} Nobody is here to ask: use --yes")));
        }
        let mut err = io::stderr().lock();
        let asked = write!(err, "{question} [y/N] ").and_then(|()| err.flush());
        let mut line = String::new();
        match asked.and_then(|()| io::stdin().read_line(&mut line)) {
            Ok(_) if matches!(line.trim(), "y" | "Y" | "yes") => Ok(()),
            _ => Err(Failure::new("nothing was done")),
        }
    }

    /// Asks for a name to be typed again, before something that cannot be undone.
    pub(crate) fn confirm_by_name(&self, question: &str, name: &str) -> Result<(), Failure> {
        if !(io::stdin().is_terminal() && self.is_watched()) {
            return Err(Failure::Usage(format!("{question} Nobody is here to ask: use --yes")));
        }
        let mut err = io::stderr().lock();
        let asked = write!(err, "{question} Type {name} to go on: ").and_then(|()| err.flush());
        let mut line = String::new();
        match asked.and_then(|()| io::stdin().read_line(&mut line)) {
            Ok(_) if line.trim_end_matches(['\r', '\n']) == name => Ok(()),
            _ => Err(Failure::new("nothing was done")),
        }
    }

    /// A progress bar on standard error, or nothing where no person watches.
    pub(crate) fn progress(&self, length: u64, label: &str) -> ProgressBar {
        let bar = self.bars.add(ProgressBar::new(length));
        let template = if self.colour_err {
            "  {prefix:<12} {bar:32.cyan/dim} {human_pos:>9} / {human_len} {msg:.dim}"
        } else {
            "  {prefix:<12} {bar:32} {human_pos:>9} / {human_len} {msg}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━━╌"));
        }
        bar.set_prefix(label.to_owned());
        bar
    }
}

/// What a piece of text is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A title or a figure to look at.
    Strong,
    /// Secondary.
    Faint,
    /// It worked.
    Good,
    /// Beware.
    Warning,
    /// It failed.
    Bad,
    /// An address, a path, a name.
    Name,
}

/// Text with a colour, where colours are shown.
#[derive(Debug)]
pub(crate) struct Styled<T> {
    style: Option<Style>,
    text: T,
}

impl<T: Display> Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(style) = self.style else { return self.text.fmt(f) };
        let code = match style {
            Style::Strong => "1",
            Style::Faint => "2",
            Style::Good => "32",
            Style::Warning => "1;33",
            Style::Bad => "1;31",
            Style::Name => "36",
        };
        write!(f, "\x1b[{code}m")?;
        self.text.fmt(f)?;
        f.write_str("\x1b[0m")
    }
}

/// A duration in the unit a person would choose: `840 µs`, `12.4 ms`, `1.73 s`.
pub(crate) fn short(seconds: f64) -> String {
    match seconds {
        s if s < 0.001 => format!("{:.0} µs", s * 1e6),
        s if s < 0.1 => format!("{:.1} ms", s * 1e3),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 100.0 => format!("{s:.2} s"),
        s => format!("{s:.0} s"),
    }
}

/// A count with thousands set apart.
pub(crate) fn count(number: u64) -> String {
    stadium_node::settings::grouped(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_the_unit_a_person_would_choose() {
        let table = [
            (0.000_84, "840 µs"),
            (0.012_4, "12.4 ms"),
            (0.25, "250 ms"),
            (1.734, "1.73 s"),
            (250.0, "250 s"),
        ];
        for (seconds, text) in table {
            assert_eq!(short(seconds), text);
        }
    }

    #[test]
    fn colour_is_absent_unless_asked_for() {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
        let plain = Terminal {
            form: Form::Text,
            colour_out: false,
            colour_err: true,
            secrets: Mutex::new(None),
            bars,
        };
        assert_eq!(plain.out(Style::Bad, "x").to_string(), "x");
        assert_eq!(plain.err(Style::Bad, "x").to_string(), "\x1b[1;31mx\x1b[0m");
    }
}
