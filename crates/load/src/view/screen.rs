//! The terminal view of a run: collected from progress, drawn into a frame of any size.
//!
//! Nothing here touches a terminal, so tests draw into a buffer. Small terminals lose the plots
//! first and the tables next; the header, the figures and the generator's health stay. Colour only
//! repeats what words and marks show.

mod palette;
mod plot;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Sparkline, Table};
use stadium_report::{Step, number};

use self::palette::{Palette, ms};
use super::health::{self, Sign};
use super::line::clock;
use super::point::{Point, Times};
use super::series::Series;
use super::wish::Wish;
use crate::run::Progress;

/// Fewer lines than this have no room for plots.
const PLOTS_HEIGHT_MIN: u16 = 20;
/// Fewer columns than this have no room for plots.
const PLOTS_WIDTH_MIN: u16 = 60;
/// Fewer columns than this have no room for failures beside steps.
const BESIDE_MIN: u16 = 76;

/// Fewer columns than this for the table of steps have no room for counts.
const COUNTS_WIDTH_MIN: u16 = 64;

/// A step as a row of the table.
#[derive(Debug, Default)]
struct StepRow {
    session: String,
    name: String,
    answered: u64,
    failed: u64,
    rate: f64,
    times: Option<Times>,
}

/// What there is to draw.
#[derive(Debug)]
pub(super) struct Screen {
    palette: Palette,
    series: Series,
    name: String,
    phase: String,
    /// The phase's arrivals in words, and its ends in seconds.
    arrivals: String,
    phase_s: [f64; 2],
    elapsed_s: f64,
    planned_s: f64,
    steps: Vec<StepRow>,
    errors: Vec<(String, u64)>,
    failed: u64,
    started: u64,
    signs: Vec<Sign>,
    /// What was asked for already.
    pub(super) asked: Option<Wish>,
    /// Whether what is shown stands still.
    pub(super) paused: bool,
}

impl Screen {
    pub(super) fn new(colour: bool) -> Self {
        Screen {
            palette: Palette::new(colour),
            series: Series::default(),
            name: String::new(),
            phase: String::new(),
            arrivals: String::new(),
            phase_s: [0.0; 2],
            elapsed_s: 0.0,
            planned_s: 0.0,
            steps: Vec::new(),
            errors: Vec::new(),
            failed: 0,
            started: 0,
            signs: Vec::new(),
            asked: None,
            paused: false,
        }
    }

    /// Takes what has happened.
    pub(super) fn hear(&mut self, progress: &Progress<'_>) {
        let result = progress.result;
        self.name.clone_from(&result.name);
        self.elapsed_s = progress.elapsed_s;
        self.planned_s = progress.planned_s;
        if let Some(phase) = result.phases.iter().find(|phase| phase.name == progress.phase) {
            self.phase_s = [phase.from_s, phase.to_s];
            self.arrivals.clone_from(&phase.arrivals);
        }
        self.phase = progress.phase.to_owned();
        let Some(interval) = progress.interval else { return };
        let point = Point::of(interval);
        self.series.push(point);
        self.signs = health::signs(&point, &result.generator);
        self.started += interval.started;
        self.failed += interval.failed();
        for (kind, count) in &interval.errors {
            match self.errors.iter_mut().find(|(known, _)| known == kind) {
                Some((_, sum)) => *sum += count,
                None => self.errors.push((kind.clone(), *count)),
            }
        }
        self.errors.sort_by(|one, two| two.1.cmp(&one.1).then_with(|| one.0.cmp(&two.0)));
        self.steps.resize_with(result.steps.len(), StepRow::default);
        for (row, step) in self.steps.iter_mut().zip(&result.steps) {
            row.hear(step, interval.length_s);
        }
    }

    /// Draws it.
    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let plots = area.height >= PLOTS_HEIGHT_MIN
            && area.width >= PLOTS_WIDTH_MIN
            && !self.series.points().is_empty();
        let plots_height = if plots { (area.height * 2 / 5).clamp(8, 24) } else { 0 };
        let [head, bar, figures, users, plots_area, tables, health, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(plots_height),
            Constraint::Min(0),
            Constraint::Length(1),
            Constraint::Length(1),
        ])
        .areas(area);
        self.draw_head(frame, head);
        self.draw_bar(frame, bar);
        self.draw_figures(frame, figures);
        self.draw_users(frame, users);
        if plots {
            let [left, right] = Layout::horizontal([Constraint::Fill(1); 2]).spacing(1).areas(plots_area);
            plot::rates(frame, left, self.series.points(), self.palette);
            plot::times(frame, right, self.series.points(), self.palette);
        }
        let parts = [Constraint::Fill(2), Constraint::Fill(1)];
        let [steps, errors] = match area.width >= BESIDE_MIN {
            true => Layout::horizontal(parts).spacing(2).areas(tables),
            false => Layout::vertical(parts).areas(tables),
        };
        self.draw_steps(frame, steps);
        self.draw_errors(frame, errors);
        self.draw_health(frame, health);
        self.draw_keys(frame, keys);
    }

    fn draw_head(&self, frame: &mut Frame<'_>, area: Rect) {
        let left = (self.planned_s - self.elapsed_s).max(0.0);
        let time = match left > 0.0 {
            true => format!("{} of {}, {} left", clock(self.elapsed_s), clock(self.planned_s), clock(left)),
            false => format!("{}, users finish", clock(self.elapsed_s)),
        };
        let [name, right] =
            Layout::horizontal([Constraint::Fill(1), Constraint::Length(time.len() as u16)]).areas(area);
        let title = Line::from(vec![
            Span::styled("stadium load ", self.palette.faint()),
            Span::styled(self.name.as_str(), self.palette.strong()),
        ]);
        frame.render_widget(title, name);
        frame.render_widget(Line::from(time), right);
    }

    fn draw_bar(&self, frame: &mut Frame<'_>, area: Rect) {
        let [from, to] = self.phase_s;
        let share = if to > from { ((self.elapsed_s - from) / (to - from)).clamp(0.0, 1.0) } else { 0.0 };
        let text = format!("{} · {} ", self.phase, self.arrivals);
        let width = Line::from(text.as_str()).width().min(usize::from(area.width) * 3 / 5) as u16;
        let [label, bar] = Layout::horizontal([Constraint::Length(width), Constraint::Fill(1)]).areas(area);
        frame.render_widget(Line::from(text), label);
        let cells = usize::from(bar.width.saturating_sub(5));
        let done = (cells as f64 * share).round() as usize;
        let line = Line::from(vec![
            Span::styled("━".repeat(done), self.palette.first()),
            Span::styled("╌".repeat(cells.saturating_sub(done)), self.palette.faint()),
            Span::raw(format!(" {:>3.0}%", (share * 100.0).floor())),
        ]);
        frame.render_widget(line, bar);
    }

    fn draw_figures(&self, frame: &mut Frame<'_>, area: Rect) {
        let Some(point) = self.series.points().last() else {
            frame.render_widget(Line::styled("The first second is under way.", self.palette.faint()), area);
            return;
        };
        let times = |times: Option<Times>| {
            times.map_or(String::new(), |times| format!("  p50 {}  p99 {}", ms(times.p50), ms(times.p99)))
        };
        let mut spans = Vec::new();
        if self.started > 0 || point.messages == 0.0 {
            spans.push(Span::styled(
                format!("{} answered", number::rate(point.answered.round())),
                self.palette.strong(),
            ));
            spans.push(Span::raw(format!(" of {}", number::rate(point.offered.round()))));
        }
        if point.messages > 0.0 {
            let gap = if spans.is_empty() { "" } else { "  " };
            spans.push(Span::styled(
                format!("{gap}{} messages", number::rate(point.messages.round())),
                self.palette.strong(),
            ));
        }
        let failed = match (self.failed, self.started) {
            (0, _) => Span::styled("  none failed", self.palette.good()),
            (failed, 0) => Span::styled(format!("  ! {} failed", number::count(failed)), self.palette.bad()),
            (failed, started) => Span::styled(
                format!(
                    "  ! {} failed, {}",
                    number::count(failed),
                    number::share(failed as f64 / started as f64)
                ),
                self.palette.bad(),
            ),
        };
        spans.push(failed);
        spans.push(Span::raw(times(point.response.or(point.message))));
        frame.render_widget(Line::from(spans), area);
    }

    fn draw_users(&self, frame: &mut Frame<'_>, area: Rect) {
        let points = self.series.points();
        let Some(point) = points.last() else { return };
        let (word, of): (_, fn(&Point) -> u64) = match point.devices > point.users {
            true => ("devices", |point| point.devices),
            false => ("users", |point| point.users),
        };
        let text = format!("{} {word} ", number::count(of(point)));
        let [label, rest] =
            Layout::horizontal([Constraint::Length(text.len() as u16), Constraint::Fill(1)]).areas(area);
        frame.render_widget(Line::from(text), label);
        let width = usize::from(rest.width);
        let shown = &points[points.len().saturating_sub(width)..];
        frame
            .render_widget(Sparkline::default().data(shown.iter().map(of)).style(self.palette.first()), rest);
    }

    fn draw_steps(&self, frame: &mut Frame<'_>, area: Rect) {
        if area.height < 2 {
            return;
        }
        let room = usize::from(area.height) - 1;
        let fits = if self.steps.len() > room { room.saturating_sub(1) } else { self.steps.len() };
        // Names need room more than a count that follows from the rate.
        let counts = area.width >= COUNTS_WIDTH_MIN;
        let one_session = self.steps.iter().all(|step| step.session == self.steps[0].session);
        let right = |text: String| Cell::from(Line::from(text).right_aligned());
        let row = |name: Cell<'static>, cells: [Cell<'static>; 5]| {
            Row::new(std::iter::once(name).chain(cells.into_iter().skip(usize::from(!counts))))
        };
        let mut rows: Vec<Row<'_>> = self.steps[..fits]
            .iter()
            .map(|step| {
                let time = |of: fn(&Times) -> f64| {
                    right(step.times.as_ref().map_or("-".into(), |times| ms(of(times))))
                };
                let failed = right(number::count(step.failed));
                let failed = if step.failed > 0 { failed.style(self.palette.bad()) } else { failed };
                let name =
                    if one_session { step.name.clone() } else { format!("{} / {}", step.session, step.name) };
                let [p50, p99] = [time(|times| times.p50), time(|times| times.p99)];
                let answered = right(number::count(step.answered));
                row(Cell::from(name), [answered, right(number::rate(step.rate.round())), p50, p99, failed])
            })
            .collect();
        if fits < self.steps.len() {
            let more = format!("and {} more", self.steps.len() - fits);
            rows.push(row(Cell::from(more), Default::default()).style(self.palette.faint()));
        }
        let widths = [11, 9, 8, 8, 7].into_iter().skip(usize::from(!counts)).map(Constraint::Length);
        let widths = std::iter::once(Constraint::Fill(1)).chain(widths);
        let names = ["Answered", "Rate", "p50", "p99", "Failed"].map(|name| right(name.to_owned()));
        let header = row(Cell::from("Step"), names).style(self.palette.faint());
        frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1), area);
    }

    fn draw_errors(&self, frame: &mut Frame<'_>, area: Rect) {
        if area.height < 2 {
            return;
        }
        let mut lines = vec![Line::styled("Failures by kind", self.palette.faint())];
        if self.errors.is_empty() {
            lines.push(Line::styled("none", self.palette.good()));
        }
        let room = usize::from(area.height) - 1;
        let fits = if self.errors.len() > room { room.saturating_sub(1) } else { self.errors.len() };
        let digits = self.errors.first().map_or(0, |(_, count)| number::count(*count).len()).max(3);
        for (kind, count) in &self.errors[..fits] {
            lines.push(Line::from(vec![
                Span::styled(format!("{:>digits$} ", number::count(*count)), self.palette.bad()),
                Span::raw(kind.as_str()),
            ]));
        }
        if fits < self.errors.len() {
            let rest: u64 = self.errors[fits..].iter().map(|(_, count)| count).sum();
            lines.push(Line::styled(
                format!("{:>digits$} of {} other kinds", number::count(rest), self.errors.len() - fits),
                self.palette.bad(),
            ));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn draw_health(&self, frame: &mut Frame<'_>, area: Rect) {
        // What is bad comes first: a narrow terminal must not cut it off.
        let mut signs: Vec<&Sign> = self.signs.iter().collect();
        signs.sort_by_key(|sign| !sign.bad);
        let mut spans = vec![Span::styled("Generator ", self.palette.faint())];
        for (index, sign) in signs.into_iter().enumerate() {
            spans.push(Span::raw(if index > 0 { " · " } else { "" }));
            let style = if sign.bad { self.palette.warning() } else { Style::new() };
            spans.push(Span::styled(sign.text.as_str(), style));
        }
        frame.render_widget(Line::from(spans), area);
    }

    fn draw_keys(&self, frame: &mut Frame<'_>, area: Rect) {
        let line = match (self.asked, self.paused) {
            (Some(Wish::Stop), _) => Line::styled("Stopping.", self.palette.warning()),
            (Some(Wish::Finish), _) => Line::styled(
                "Finishing: users end what they are at. q again stops at once.",
                self.palette.warning(),
            ),
            (None, true) => Line::styled(
                "Paused: the run goes on, this picture does not. p goes on",
                self.palette.warning(),
            ),
            (None, false) => Line::styled("q finish early   p pause the picture", self.palette.faint()),
        };
        frame.render_widget(line, area);
    }
}

impl StepRow {
    fn hear(&mut self, step: &Step, length_s: f64) {
        let requests = &step.requests;
        self.session.clone_from(&step.session);
        self.name.clone_from(&step.name);
        let fresh = requests.answered.saturating_sub(self.answered);
        self.rate = if length_s > 0.0 { fresh as f64 / length_s } else { 0.0 };
        self.answered = requests.answered;
        self.failed = requests.failed();
        self.times = Times::of(&requests.response);
    }
}

#[cfg(test)]
mod tests;
