//! Plots as SVG: bars with whiskers, ranges and percentile lines.
//!
//! They know scales and labels, and nothing of queues. Colours are classes of the page's style.

use std::fmt::Write as _;

use crate::figure::shown;

/// Width of every plot, and of the column of names.
const WIDTH: f64 = 880.0;
const NAMES: f64 = 220.0;
/// Room for a value behind a bar.
const VALUES: f64 = 90.0;
const ROW: f64 = 30.0;
const AXIS: f64 = 34.0;

/// One bar.
pub(crate) struct Bar<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_ours: bool,
    pub(crate) value: f64,
    /// What the whisker spans.
    pub(crate) runs: &'a [f64],
}

/// A value that a dashed line shows.
pub(crate) struct Mark {
    pub(crate) name: &'static str,
    pub(crate) class: &'static str,
    pub(crate) value: f64,
}

/// From a low to a high value.
pub(crate) struct Range {
    pub(crate) name: String,
    pub(crate) is_ours: bool,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// One line over common labels.
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_ours: bool,
    pub(crate) points: Vec<f64>,
}

/// Text for HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Horizontal bars from zero, on one linear scale.
pub(crate) fn bars(bars: &[Bar<'_>], marks: &[Mark]) -> String {
    let highest = |bar: &Bar<'_>| bar.runs.iter().copied().fold(bar.value, f64::max);
    let data = bars.iter().map(highest).chain(marks.iter().map(|mark| mark.value)).fold(0.0, f64::max);
    let step = round_step(data / 5.0);
    let top = (data / step).ceil() * step;
    let x = |value: f64| NAMES + value / top * (WIDTH - NAMES - VALUES);
    let head = if marks.is_empty() { 6.0 } else { 8.0 + 18.0 * marks.len() as f64 };
    let bottom = head + ROW * bars.len() as f64;
    let mut svg = start(bottom + AXIS);
    let mut tick = 0.0;
    while tick <= top * 1.001 {
        grid(&mut svg, x(tick), head, bottom, &shown(tick));
        tick += step;
    }
    for (row, bar) in bars.iter().enumerate() {
        let y = head + ROW * row as f64;
        name(&mut svg, bar.name, bar.is_ours, y + ROW / 2.0);
        let (class, right) = (class(bar.is_ours), x(bar.value));
        let _ = write!(
            svg,
            "<rect class={class} stroke=none x={:.1} y={:.1} width={:.1} height={:.1} rx=2 />",
            x(0.0),
            y + 6.0,
            (right - x(0.0)).max(1.0),
            ROW - 12.0
        );
        let lowest = bar.runs.iter().copied().fold(bar.value, f64::min);
        let (from, to, middle) = (x(lowest), x(highest(bar)), y + ROW / 2.0);
        if to - from > 2.0 {
            let _ = write!(
                svg,
                "<path class=whisker fill=none d=\"M{from:.1} {middle:.1}H{to:.1}M{from:.1} {:.1}v8M{to:.1} {:.1}v8\"/>",
                middle - 4.0,
                middle - 4.0
            );
        }
        let _ = write!(
            svg,
            "<text class=ink x={:.1} y={:.1}>{}</text>",
            to.max(right) + 7.0,
            middle + 4.5,
            shown(bar.value)
        );
    }
    for (row, mark) in marks.iter().enumerate() {
        let (at, text) = (x(mark.value), 15.0 + 18.0 * row as f64);
        // Its name stands where there is room.
        let (anchor, shift) = if at > WIDTH - VALUES - 160.0 { ("end", -6.0) } else { ("start", 6.0) };
        let _ = write!(
            svg,
            "<path class={} d=\"M{at:.1} {:.1}V{bottom:.1}\"/><text class={}ink text-anchor={anchor} x={:.1} y={text:.1}>{} {}</text>",
            mark.class,
            text - 11.0,
            mark.class,
            at + shift,
            mark.name,
            shown(mark.value)
        );
    }
    svg + "</svg>"
}

/// Ranges on one logarithmic scale.
pub(crate) fn ranges(ranges: &[Range]) -> String {
    let low = ranges.iter().map(|range| range.low).filter(|low| *low > 0.0).fold(f64::MAX, f64::min);
    let high = ranges.iter().map(|range| range.high).fold(0.0, f64::max);
    let scale = Decades::around(low, high);
    let x = |value: f64| NAMES + scale.share(value) * (WIDTH - NAMES - VALUES);
    let (head, row_height) = (6.0, 24.0);
    let bottom = head + row_height * ranges.len() as f64;
    let mut svg = start(bottom + AXIS);
    for tick in scale.ticks() {
        grid(&mut svg, x(tick), head, bottom, &format!("{} ms", plain(tick)));
    }
    for (row, range) in ranges.iter().enumerate() {
        let y = head + row_height * (row as f64 + 0.5);
        name(&mut svg, &range.name, range.is_ours, y);
        let (from, to, class) = (x(range.low), x(range.high), class(range.is_ours));
        let _ = write!(
            svg,
            "<path class={class} stroke-width=4 stroke-linecap=round d=\"M{from:.1} {y:.1}H{to:.1}\"/>\
             <circle class={class} cx={from:.1} cy={y:.1} r=5 />\
             <text class=ink x={:.1} y={:.1}>{} to {}</text>",
            to + 9.0,
            y + 4.5,
            plain(range.low),
            plain(range.high)
        );
    }
    svg + "</svg>"
}

/// Lines over labels, on one logarithmic scale upwards.
pub(crate) fn lines(lines: &[Line<'_>], labels: &[&str], marks: &[Mark]) -> String {
    let all = || lines.iter().flat_map(|line| line.points.iter().copied());
    let scale = Decades::around(
        all()
            .chain(marks.iter().map(|mark| mark.value))
            .filter(|value| *value > 0.0)
            .fold(f64::MAX, f64::min),
        all().chain(marks.iter().map(|mark| mark.value)).fold(0.0, f64::max),
    );
    let (left, right, head, bottom) = (84.0, WIDTH - 150.0, 12.0, 312.0);
    let y = |value: f64| bottom - scale.share(value) * (bottom - head);
    let between = (right - left) / (labels.len() as f64 - 1.0);
    let mut svg = start(bottom + AXIS);
    for tick in scale.ticks() {
        let at = y(tick);
        let _ = write!(
            svg,
            "<path class=grid d=\"M{left} {at:.1}H{right}\"/>\
             <text class=soft text-anchor=end x={:.1} y={:.1}>{} ms</text>",
            left - 9.0,
            at + 4.5,
            plain(tick)
        );
    }
    for (index, label) in labels.iter().enumerate() {
        let at = left + between * index as f64;
        let _ = write!(
            svg,
            "<text class=soft text-anchor=middle x={at:.1} y={:.1}>{label}</text>",
            bottom + 22.0
        );
    }
    for mark in marks {
        let at = y(mark.value);
        let _ = write!(
            svg,
            "<path class={} d=\"M{left} {at:.1}H{right}\"/><text class={}ink x={:.1} y={:.1}>{}, {} ms</text>",
            mark.class,
            mark.class,
            left + 6.0,
            at - 6.0,
            mark.name,
            plain(mark.value)
        );
    }
    // Names beside the lines' ends, apart where these are close together.
    let mut ends: Vec<(usize, f64)> =
        lines.iter().enumerate().filter_map(|(index, line)| Some((index, y(*line.points.last()?)))).collect();
    ends.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut free = f64::MIN;
    for (index, at) in ends {
        let line = &lines[index];
        let place = at.max(free);
        free = place + 17.0;
        let mut path = String::new();
        for (point, value) in line.points.iter().enumerate() {
            let letter = if point == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", left + between * point as f64, y(*value));
        }
        let (class, weight) = (class(line.is_ours), if line.is_ours { 3.5 } else { 2.0 });
        let ink = if line.is_ours { "ink" } else { "soft" };
        let _ = write!(
            svg,
            "<path class={class} fill-opacity=0 stroke-width={weight} stroke-linejoin=round d=\"{path}\"/>\
             <text class={ink} x={:.1} y={:.1}>{}</text>",
            right + 9.0,
            place + 4.5,
            escaped(line.name)
        );
        for (point, value) in line.points.iter().enumerate() {
            let _ = write!(
                svg,
                "<circle class={class} cx={:.1} cy={:.1} r=3.5 />",
                left + between * point as f64,
                y(*value)
            );
        }
    }
    svg + "</svg>"
}

fn start(height: f64) -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=img xmlns=\"http://www.w3.org/2000/svg\">")
}

fn class(is_ours: bool) -> &'static str {
    if is_ours { "ours" } else { "peer" }
}

fn name(svg: &mut String, name: &str, is_ours: bool, middle: f64) {
    let weight = if is_ours { 600 } else { 400 };
    let _ = write!(
        svg,
        "<text class=ink font-weight={weight} text-anchor=end x={:.1} y={:.1}>{}</text>",
        NAMES - 12.0,
        middle + 4.5,
        escaped(name)
    );
}

fn grid(svg: &mut String, at: f64, head: f64, bottom: f64, label: &str) {
    let _ = write!(
        svg,
        "<path class=grid d=\"M{at:.1} {head:.1}V{bottom:.1}\"/>\
         <text class=soft text-anchor=middle x={at:.1} y={:.1}>{label}</text>",
        bottom + 20.0
    );
}

/// 1, 2 or 5 times a power of ten, at least this.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|times| times * power).find(|step| *step >= least).unwrap_or(10.0 * power)
}

/// A number without needless digits.
fn plain(value: f64) -> String {
    let digits = if value >= 10.0 {
        0
    } else if value >= 1.0 {
        1
    } else {
        2
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A logarithmic scale of whole decades.
struct Decades {
    low: f64,
    high: f64,
}

impl Decades {
    fn around(low: f64, high: f64) -> Self {
        let low = low.min(high).clamp(1e-3, 1e6).log10().floor();
        Self { low, high: high.clamp(1e-3, 1e6).log10().ceil().max(low + 1.0) }
    }

    /// 0 at the low end, 1 at the high one.
    fn share(&self, value: f64) -> f64 {
        ((value.max(1e-3).log10() - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (low, decades) = (self.low, self.high - self.low);
        (0..=decades as i32).map(move |decade| 10_f64.powf(low + f64::from(decade)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Decades, plain, round_step};

    #[test]
    fn steps_are_round() {
        assert!((round_step(0.3) - 0.5).abs() < 1e-9);
        assert!((round_step(7_000.0) - 10_000.0).abs() < 1e-6);
        assert!((round_step(1.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn decades_reach_around_the_data() {
        let scale = Decades::around(0.4, 37.0);
        assert_eq!(scale.ticks().map(plain).collect::<Vec<_>>(), ["0.1", "1", "10", "100"]);
        assert!((scale.share(0.1)).abs() < 1e-9 && (scale.share(100.0) - 1.0).abs() < 1e-9);
    }
}
