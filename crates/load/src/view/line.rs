//! A run as lines of text, for logs and for people without a terminal.

use stadium_report::{Interval, number};

use super::point::Times;
use crate::run::Progress;

/// An interval in one line, without the end of line.
///
/// ```text
///    12 s  rise  1,000/s offered, 998/s answered, p50 2.1 ms, p99 12 ms, max 61 ms, 1,204 users, 3 failed (0.3%)
/// ```
pub fn line(phase: &str, interval: &Interval) -> String {
    let clock = clock(interval.at_s);
    let mut parts = Vec::new();
    let rate = |events| number::rate(interval.rate(events));
    if interval.started > 0 || interval.answered > 0 || interval.messages == 0 {
        parts.push(format!("{} offered, {} answered", rate(interval.started), rate(interval.answered)));
        parts.extend(Times::of(&interval.response).map(times));
    }
    if interval.messages > 0 {
        parts.push(format!("{} messages", rate(interval.messages)));
        parts.extend(Times::of(&interval.message_latency).map(times));
    }
    parts.push(format!("{} users", number::count(interval.users)));
    if interval.devices > 0 {
        parts.push(format!("{} devices", number::count(interval.devices)));
    }
    match (interval.failed(), interval.started) {
        (0, _) => {}
        (failed, 0) => parts.push(format!("{} failed", number::count(failed))),
        (failed, started) => parts.push(format!(
            "{} failed ({})",
            number::count(failed),
            number::share(failed as f64 / started as f64)
        )),
    }
    let phase: String = phase.chars().filter(|letter| !letter.is_control()).collect();
    format!("{clock:>8}  {phase}  {}", parts.join(", "))
}

fn times(times: Times) -> String {
    let ms = |ms: f64| number::time(ms * 1e6);
    format!("p50 {}, p99 {}, max {}", ms(times.p50), ms(times.p99), ms(times.max))
}

/// A time of a run as a clock shows it: `0:07`, `12:45`, `1:00:00`.
pub(crate) fn clock(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// A line every few seconds, in which no interval is forgotten.
#[derive(Debug)]
pub struct Lines {
    every_s: f64,
    pending: Option<Interval>,
}

impl Lines {
    /// A line for each `every_s` seconds of the run.
    pub fn new(every_s: f64) -> Self {
        Lines { every_s, pending: None }
    }

    /// Takes what has happened; gives a line when it is time for one.
    pub fn hear(&mut self, progress: &Progress<'_>) -> Option<String> {
        let interval = progress.interval?;
        match &mut self.pending {
            Some(pending) => accumulate(pending, interval),
            None => self.pending = Some(interval.clone()),
        }
        // A hair of tolerance: intervals are a second long, give or take.
        let due = self.pending.as_ref().is_some_and(|pending| pending.length_s > self.every_s - 0.05);
        if due { self.rest(progress.phase) } else { None }
    }

    /// The line of what came after the last one, at the run's end.
    pub fn rest(&mut self, phase: &str) -> Option<String> {
        self.pending.take().map(|pending| line(phase, &pending))
    }
}

fn accumulate(into: &mut Interval, next: &Interval) {
    into.at_s = next.at_s;
    into.length_s += next.length_s;
    into.users = next.users;
    into.devices = next.devices;
    into.arrived += next.arrived;
    into.started += next.started;
    into.answered += next.answered;
    into.messages += next.messages;
    into.response.merge(&next.response);
    into.message_latency.merge(&next.message_latency);
    for (kind, count) in &next.errors {
        *into.errors.entry(kind.clone()).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::sample;

    #[test]
    fn a_line_reports_rates_times_users_and_failures() {
        let interval = sample::interval(12, 1_000, 3);
        let text = line("rise", &interval);
        assert_eq!(
            text,
            "    0:12  rise  1,000/s offered, 997/s answered, p50 2 ms, p99 12 ms, max 61 ms, 120 users, 3 failed (0.3%)"
        );
    }

    #[test]
    fn lines_every_few_seconds_forget_no_interval() {
        let result = sample::result(7);
        let mut lines = Lines::new(3.0);
        let written: Vec<String> = result
            .series
            .iter()
            .filter_map(|interval| lines.hear(&sample::progress(&result, Some(interval))))
            .collect();
        assert_eq!(written.len(), 2, "{written:?}");
        assert!(written[0].contains("0:03") && written[1].contains("0:06"), "{written:?}");
        // Three intervals with three failures each.
        assert!(written[0].contains("9 failed"), "{written:?}");
        let rest = lines.rest("hold").unwrap_or_default();
        assert!(rest.contains("0:07") && rest.contains("hold") && rest.contains("3 failed"), "{rest}");
        assert_eq!(lines.rest("hold"), None);
    }

    #[test]
    fn a_phase_cannot_steer_the_terminal() {
        assert!(!line("a\x1b[2Jb", &sample::interval(1, 10, 0)).contains('\x1b'));
    }

    #[test]
    fn a_clock_has_hours_only_where_there_are_any() {
        for (seconds, text) in [(0.0, "0:00"), (7.4, "0:07"), (765.0, "12:45"), (3600.0, "1:00:00")] {
            assert_eq!(clock(seconds), text);
        }
    }
}
