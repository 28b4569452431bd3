//! Thresholds: what must hold of a run, in one line each.
//!
//! ```text
//! threshold  = figure comparison value
//! figure     = { scope [ "." ] } name { "." name }           response.p99    step("vote").errors
//! scope      = ( "session" | "step" | "fleet" | "phase" ) ( "(" text ")" | text )
//! name       = word [ "(" text ")" ]                         lost            status("500")
//! comparison = "<" | "<=" | ">" | ">=" | "==" | "!="
//! value      = number [ unit ]                               50ms   0.1%   20_000/s   0
//! ```
// `figure` is the table of what can be measured, `parse` reads the line, `measure` looks into the result.

mod figure;
mod measure;
mod parse;

use std::fmt;
use std::ops::Range;

use crate::RunResult;
use figure::{Figure, Stat};
pub use parse::parse;

/// A threshold that was read and means something.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    text: String,
    scope: Scope,
    figure: Figure,
    /// Of a figure that is a time.
    stat: Stat,
    /// Which kind of error, status or check, where one was named.
    which: Option<String>,
    comparison: Comparison,
    limit: Limit,
}

impl Threshold {
    /// As it was written, without space around it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it holds of a run. A figure that was not measured does not hold, and the answer
    /// gives the reason.
    pub fn evaluate(&self, run: &RunResult) -> crate::Threshold {
        let (observed, passed) = match measure::measure(self, run) {
            Ok(measured) => (measured.text, self.comparison.holds(measured.value, self.limit.value)),
            Err(why) => (format!("no data: {why}"), false),
        };
        crate::Threshold { text: self.text.clone(), observed, passed }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Evaluates each of several thresholds, in their order: what [`RunResult::thresholds`] holds.
pub fn evaluate_all<'a>(
    thresholds: impl IntoIterator<Item = &'a Threshold>,
    run: &RunResult,
) -> Vec<crate::Threshold> {
    thresholds.into_iter().map(|threshold| threshold.evaluate(run)).collect()
}

/// Every figure that a threshold may name, as a Markdown table: for help texts and reference pages.
pub fn reference() -> String {
    let mut text = String::from("| figure | of | value |\n|---|---|---|\n");
    for row in figure::ROWS {
        let places: Vec<&str> = row.places.iter().map(|place| place.phrase()).collect();
        let units: Vec<&str> = row.units.iter().map(|unit| unit.phrase()).collect();
        let line = format!("| `{}` | {} | {} |\n", row.example(), places.join(", "), units.join(" or "));
        text.push_str(&line);
    }
    text
}

/// Why a text is no threshold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Which bytes of the text are meant; empty at its end where something is missing.
    pub at: Range<usize>,
    /// What is wrong, as a sentence without its full stop.
    pub text: String,
    /// What may have been meant instead of those bytes.
    pub suggestion: Option<String>,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "; did you mean `{suggestion}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Mistake {}

/// What of a run a figure is about; the whole run where nothing is named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Scope {
    session: Option<String>,
    step: Option<String>,
    fleet: Option<String>,
    phase: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Different,
}

impl Comparison {
    fn holds(self, observed: f64, limit: f64) -> bool {
        match self {
            Comparison::Less => observed < limit,
            Comparison::AtMost => observed <= limit,
            Comparison::More => observed > limit,
            Comparison::AtLeast => observed >= limit,
            Comparison::Equal => observed == limit,
            Comparison::Different => observed != limit,
        }
    }
}

/// The right side: nanoseconds, a share of 0 to 1, a rate a second, or a count.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Limit {
    value: f64,
    unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Time,
    Share,
    Rate,
    Count,
}

impl Unit {
    /// With an example, for a sentence.
    fn phrase(self) -> &'static str {
        match self {
            Unit::Time => "a time (50ms)",
            Unit::Share => "a share (0.1%)",
            Unit::Rate => "a rate (200/s)",
            Unit::Count => "a number",
        }
    }
}

#[cfg(test)]
mod tests;
