//! The result of a run in one sentence, and its headline figures: the same for the page and for the
//! terminal.
//!
//! A figure that the generator cannot stand behind is reported with that mark, never left out and
//! never reported plainly.

use crate::number::{count, nanoseconds, number, rate, share};
use crate::{Outcome, RunResult};

/// How a run went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Every threshold held, to the end.
    Good,
    /// Something did not hold, or the run could not go on.
    Bad,
    /// The generator refuses its figures.
    Refused,
    /// Nothing was asked of it, or it was stopped.
    Open,
}

/// A run's verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) state: State,
    /// One short sentence without its full stop.
    pub(crate) title: String,
    /// What else to know; may be empty.
    pub(crate) detail: String,
    /// Whether the figures are those of a part of the run.
    pub(crate) partial: bool,
}

/// Judges a run.
pub(crate) fn verdict(run: &RunResult) -> Verdict {
    let broken = run.thresholds.iter().filter(|threshold| !threshold.passed).count();
    let all = run.thresholds.len();
    let partial = run.outcome != Outcome::Completed;
    let held = match (broken, all) {
        (_, 0) => "No thresholds were set".to_owned(),
        (0, 1) => "The threshold held".to_owned(),
        (0, _) => format!("All {all} thresholds held"),
        (_, 1) => "The threshold did not hold".to_owned(),
        _ => format!("{broken} of {all} thresholds did not hold"),
    };
    let (state, title, detail) = match &run.outcome {
        Outcome::Failed { reason } => (State::Bad, "The run failed".to_owned(), reason.clone()),
        _ if run.refused() => (
            State::Refused,
            "The generator refuses these figures".to_owned(),
            format!("They mean something else than they seem to, for the reasons below. {held}."),
        ),
        Outcome::Interrupted if broken == 0 => {
            let title = if all == 0 {
                "Stopped before its end".to_owned()
            } else {
                format!("{held} until it was stopped")
            };
            (State::Open, title, String::new())
        }
        _ if broken > 0 => (State::Bad, held, String::new()),
        _ if all == 0 => (State::Open, held, String::new()),
        _ => (State::Good, held, String::new()),
    };
    let stopped = match run.phases.last() {
        Some(last) if partial && last.to_s > run.duration_s => format!(
            "Partial: stopped after {} of {}.",
            crate::number::seconds(run.duration_s),
            crate::number::seconds(last.to_s)
        ),
        _ if partial => {
            format!("Partial: the figures are those until {}.", crate::number::seconds(run.duration_s))
        }
        _ => String::new(),
    };
    let detail = [detail, stopped].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
    Verdict { state, title, detail, partial }
}

/// A headline figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) note: String,
}

/// The headline figures of a run: only those that were measured.
pub(crate) fn figures(run: &RunResult) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut add = |name, value, note| figures.push(Figure { name, value, note });
    let total = &run.total;
    if total.started > 0 && run.counted_s() > 0.0 {
        let note = format!("{} begun, {} answered", count(total.started), count(total.answered));
        add("Answered", rate(total.answered as f64 / run.counted_s()), note);
    }
    let (response, service) = (&total.response, &total.service);
    if let (Some(p50), Some(p99), Some(max)) =
        (response.quantile(0.5), response.quantile(0.99), response.max())
    {
        let note = format!(
            "from when it was due; half within {}, all within {}",
            nanoseconds(p50),
            nanoseconds(max)
        );
        add("Response time, p99", nanoseconds(p99), note);
        if let Some(sent) = service.quantile(0.99) {
            let hidden = p99 as f64 / sent.max(1) as f64;
            let note = if hidden >= 1.5 {
                format!("from when it was sent: what a closed loop shows, {} times less", number(hidden))
            } else {
                "from when it was sent".to_owned()
            };
            add("Service time, p99", nanoseconds(sent), note);
        }
    }
    if let Some(part) = total.failed_share() {
        add("Failed", share(part), format!("{} of {} requests", count(total.failed()), count(total.started)));
    }
    if run.generator.sent_again > 0 {
        let note = "met the end of an idle connection, or were not taken".to_owned();
        add("Sent again", count(run.generator.sent_again), note);
    }
    let messages = &run.messages;
    if messages.sent + messages.received > 0 {
        let note = format!(
            "{} received, {} lost, {} duplicates, {} reordered",
            count(messages.received),
            count(messages.lost),
            count(messages.duplicates),
            count(messages.reordered)
        );
        let p99 = messages.latency.quantile(0.99);
        add("Message latency, p99", p99.map_or_else(|| "-".to_owned(), nanoseconds), note);
    }
    let most = |of: fn(&crate::Interval) -> u64| run.series.iter().map(of).max().unwrap_or(0);
    let (users, devices) = (most(|interval| interval.users), most(|interval| interval.devices));
    if users > 0 {
        let begun: u64 = run.sessions.iter().map(|session| session.started).sum();
        add("Users at once", count(users), format!("{} began a session", count(begun)));
    }
    if devices > 0 {
        let meant: u64 = run.fleets.iter().map(|fleet| fleet.devices).sum();
        let fleets =
            if run.fleets.len() == 1 { "1 fleet".to_owned() } else { format!("{} fleets", run.fleets.len()) };
        add("Devices at once", count(devices), format!("of {} in {fleets}", count(meant)));
    }
    if let Some(late) = run.generator.lateness.quantile(0.99) {
        let note =
            format!("busiest loop {}, steal {}", share(run.generator.busy), share(run.generator.steal));
        add("Generator's lateness, p99", nanoseconds(late), note);
    }
    figures
}
