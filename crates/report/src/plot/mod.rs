//! Plots over time (or over percentiles) as HTML with an SVG in it: they stand without a script.
//!
//! The SVG holds only lines, stretched to any width with strokes that keep theirs; every text is HTML beside it, so it
//! stays readable on a phone. A script finds what it needs (values, ends of the axis) in a JSON beside each plot: it
//! adds a crosshair, hides lines and zooms by the SVG's view box, and draws nothing itself.

mod axis;
mod render;

pub(crate) use axis::Scale;
pub(crate) use axis::{time_label, time_ticks};

use crate::number;

/// What a plot's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds.
    Time,
    /// Events a second.
    Rate,
    /// Bytes a second.
    ByteRate,
    /// 0 to 1.
    Share,
    /// Whole things.
    Count,
    /// A figure whose unit we do not know.
    Plain,
}

impl Unit {
    /// A value as people read it.
    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Unit::Time => number::time(value),
            Unit::Rate => number::rate(value),
            Unit::ByteRate => format!("{}/s", number::bytes(value)),
            Unit::Share => number::share(value),
            Unit::Count => number::number(value),
            Unit::Plain => compact(value),
        }
    }

    /// The script's word for it.
    fn word(self) -> &'static str {
        match self {
            Unit::Time => "time",
            Unit::Rate => "rate",
            Unit::ByteRate => "bytes",
            Unit::Share => "share",
            Unit::Count => "count",
            Unit::Plain => "plain",
        }
    }
}

/// A number of any size in a few letters: `1.2 G`.
fn compact(value: f64) -> String {
    let mut size = value;
    for unit in ["", " k", " M", " G", " T"] {
        if size.abs() < 9_999.5 || unit == " T" {
            return format!("{}{unit}", number::number(size));
        }
        size /= 1000.0;
    }
    number::number(value)
}

/// A line of a plot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// Its class in the page's style, such as `c1`: colour and dashes.
    pub(crate) class: &'static str,
    /// One for each of the plot's times; nothing where nothing was measured.
    pub(crate) values: Vec<Option<f64>>,
}

/// A stretch of the horizontal axis with a name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Band {
    pub(crate) name: String,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// How lines are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Each for itself.
    Lines,
    /// Each on top of those before it, as areas.
    Stacked,
}

/// What the horizontal axis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Across {
    /// Seconds of the run; such plots share a crosshair and a zoom.
    Time,
    /// Percentiles: as many nines as -log10(1 - q).
    Nines,
}

/// A plot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plot<'a> {
    pub(crate) title: String,
    /// What the values are, in a few words; may be empty.
    pub(crate) note: String,
    pub(crate) unit: Unit,
    pub(crate) scale: Scale,
    pub(crate) style: Style,
    pub(crate) across: Across,
    /// The ends of the horizontal axis.
    pub(crate) ends: (f64, f64),
    /// Where each value stands, ascending.
    pub(crate) at: Vec<f64>,
    pub(crate) lines: Vec<Line>,
    pub(crate) bands: &'a [Band],
    /// Class of its size in the page: `wide`, `small` or nothing.
    pub(crate) size: &'static str,
}

impl Plot<'_> {
    /// Whether any line has a value; a plot without one is not worth its place.
    pub(crate) fn has_values(&self) -> bool {
        self.lines.iter().any(|line| line.values.iter().any(Option::is_some))
    }
}

/// The horizontal ticks of a percentile plot up to its end: 0, 90%, 99%...
pub(crate) fn nines(to: f64) -> Vec<(f64, String)> {
    let mut ticks = vec![(0.0, "0%".to_owned()), (std::f64::consts::LOG10_2, "50%".to_owned())];
    for nines in 1..=(to.floor().clamp(0.0, 9.0) as usize) {
        let text = match nines {
            1 => "90%".to_owned(),
            2 => "99%".to_owned(),
            _ => format!("99.{}%", "9".repeat(nines - 2)),
        };
        ticks.push((nines as f64, text));
    }
    ticks
}
