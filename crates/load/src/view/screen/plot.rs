//! The two plots of the terminal: rates from zero, times on a logarithmic axis.
//!
//! Their titles name each line with its newest figure, so that nobody has to know colours.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType};
use stadium_report::number;

use super::palette::{Palette, ms};
use crate::view::line::clock;
use crate::view::point::{Point, Times};

/// The longest title of the plot of times: `━ p50 99.9 ms  ━ p99 99.9 ms  ┄ max 99.9 ms`.
const TIMES_TITLE_WIDTH: u16 = 45;

/// Where a line goes: seconds, and the height on the axis.
type Dots = Vec<(f64, f64)>;

/// Offered and answered requests a second; messages where there are no requests.
pub(super) fn rates(frame: &mut Frame<'_>, area: Rect, points: &[Point], palette: Palette) {
    let of =
        |value: fn(&Point) -> f64| points.iter().map(|point| (point.at_s, value(point))).collect::<Dots>();
    let requests =
        points.iter().any(|point| point.offered > 0.0) || points.iter().all(|point| point.messages == 0.0);
    let newest = points.last().copied().unwrap_or_default();
    let rate = |value: f64| number::rate(value.round());
    let (first, second, title) = match requests {
        true => (
            of(|point| point.offered),
            of(|point| point.answered),
            vec![
                Span::styled(format!("┄ offered {}", rate(newest.offered)), palette.first()),
                Span::raw("  "),
                Span::styled(format!("━ answered {}", rate(newest.answered)), palette.good()),
            ],
        ),
        false => {
            let title = Span::styled(format!("━ messages {}", rate(newest.messages)), palette.good());
            (Dots::new(), of(|point| point.messages), vec![title])
        }
    };
    let top = first.iter().chain(&second).map(|dot| dot.1).fold(1.0, f64::max);
    let top = round_up(top);
    let labels = [0.0, top / 2.0, top].map(number::number);
    let plot = Plot { title: Line::from(title), ends: [0.0, top], labels: labels.to_vec() };
    let lines = [(&first, Marker::Dot, palette.first()), (&second, Marker::Braille, palette.good())];
    plot.draw(frame, area, points, &lines, palette);
}

/// Median, 99th percentile and longest response time; latencies of messages where there are no requests.
pub(super) fn times(frame: &mut Frame<'_>, area: Rect, points: &[Point], palette: Palette) {
    let requests = points.iter().any(|point| point.response.is_some());
    let times_of = |point: &Point| if requests { point.response } else { point.message };
    let of = |value: fn(&Times) -> f64| {
        let dots =
            points.iter().filter_map(|point| Some((point.at_s, value(&times_of(point)?).max(1e-3).log10())));
        dots.collect::<Dots>()
    };
    let (p50, p99, max) = (of(|times| times.p50), of(|times| times.p99), of(|times| times.max));
    let newest = points.last().and_then(times_of);
    // In a narrow plot the figures matter more than the look of their lines.
    let wide = area.width >= TIMES_TITLE_WIDTH;
    let text = |mark: &str, name: &str, value: fn(&Times) -> f64| {
        let figure = newest.as_ref().map_or("-".to_owned(), |times| ms(value(times)));
        if wide { format!("{mark} {name} {figure}") } else { format!("{name} {figure}") }
    };
    let title = Line::from(vec![
        Span::styled(text("━", "p50", |times| times.p50), palette.first()),
        Span::raw("  "),
        Span::styled(text("━", "p99", |times| times.p99), palette.warning()),
        Span::raw("  "),
        Span::styled(text("┄", "max", |times| times.max), palette.bad()),
    ]);
    let all = || p50.iter().chain(&max).map(|dot| dot.1);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let (low, high) =
        if low.is_finite() { (low.floor(), high.ceil().max(low.floor() + 1.0)) } else { (0.0, 1.0) };
    // Labels are spread evenly, so each must be a whole number of decades from the next.
    let decades = (high - low) as u16;
    let step = decades.div_ceil((area.height.saturating_sub(3) / 2).max(1)).max(1);
    let count = decades.div_ceil(step);
    let high = low + f64::from(count * step);
    let labels = (0..=count).map(|index| ms(10_f64.powf(low + f64::from(index * step)))).collect();
    let plot = Plot { title, ends: [low, high], labels };
    let lines = [
        (&max, Marker::Dot, palette.bad()),
        (&p99, Marker::Braille, palette.warning()),
        (&p50, Marker::Braille, palette.first()),
    ];
    plot.draw(frame, area, points, &lines, palette);
}

struct Plot<'a> {
    title: Line<'a>,
    ends: [f64; 2],
    labels: Vec<String>,
}

impl Plot<'_> {
    fn draw(
        self,
        frame: &mut Frame<'_>,
        area: Rect,
        points: &[Point],
        lines: &[(&Dots, Marker, Style)],
        palette: Palette,
    ) {
        let from = points.first().map_or(0.0, |point| point.at_s - point.length_s);
        let to = points.last().map_or(1.0, |point| point.at_s);
        let sets = lines.iter().map(|(dots, marker, style)| {
            Dataset::default().marker(*marker).graph_type(GraphType::Line).style(*style).data(dots)
        });
        let across =
            Axis::default().bounds([from, to]).labels([clock(from), clock(to)]).style(palette.faint());
        let width = self.labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let labels = self.labels.iter().map(|label| format!("{label:>width$}"));
        let up = Axis::default().bounds(self.ends).labels(labels).style(palette.faint());
        let chart =
            Chart::new(sets.collect()).x_axis(across).y_axis(up).block(Block::new().title(self.title));
        frame.render_widget(chart.legend_position(None), area);
    }
}

/// The next of 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8 and 10 with as many noughts as it takes: halves of them read well too.
fn round_up(value: f64) -> f64 {
    let size = 10_f64.powf(value.max(1e-9).log10().floor());
    let steps = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * size).find(|step| *step >= value * 0.999_999).unwrap_or(value)
}
