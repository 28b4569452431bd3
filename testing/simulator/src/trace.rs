//! The events of a run, line by line, for replaying a seed.
//!
//! A run without a trace spends nothing on it; a failing seed is run again with one.

use std::io::Write as _;

use crate::clock::Clock;

/// What becomes of the lines.
#[derive(Debug, Default)]
pub enum Trace {
    /// Nothing.
    #[default]
    Off,
    /// Kept, for the report of a failure.
    Kept(Vec<String>),
    /// Printed at once.
    Printed,
}

impl Trace {
    /// One line with the time, made only where somebody reads it.
    pub fn line(&mut self, clock: &Clock, text: impl FnOnce() -> String) {
        self.text(|| {
            let text = text();
            let text = if text.len() > 4_000 { text.chars().take(4_000).collect() } else { text };
            format!("{:>9} ms  {text}", clock.now().0 - clock.start().0)
        });
    }

    /// One line as it is, made only where somebody reads it.
    pub fn text(&mut self, text: impl FnOnce() -> String) {
        match self {
            Trace::Off => {}
            Trace::Kept(lines) => lines.push(text()),
            // A reader who has seen enough is no failure.
            Trace::Printed => {
                let _ = writeln!(std::io::stdout(), "{}", text());
            }
        }
    }
}
