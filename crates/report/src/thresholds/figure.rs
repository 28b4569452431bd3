//! The figures that a threshold may name: a table of name, where it exists, and what its value looks like.
//!
//! A time (`response`) is followed by which of its figures is meant (`.p99`); all others stand for
//! themselves. `measure` holds the meaning of each row.

use super::{Scope, Unit};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    Response,
    Service,
    Lateness,
    MessageLatency,
    Duration,
    Connect,
    Rate,
    MessageRate,
    Requests,
    Answered,
    Errors,
    Status,
    Checks,
    ChecksFailed,
    Sent,
    Received,
    Lost,
    Duplicates,
    Reordered,
    Started,
    Completed,
    Failed,
    Users,
    Devices,
    FleetDevices,
    Connected,
    Connects,
    LostConnections,
    Refused,
    Busy,
    Saturated,
    MachineBusy,
    Steal,
    NotBegun,
    Exhausted,
    SentAgain,
}

/// Which figure of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Stat {
    Quantile(f64),
    Min,
    Mean,
    Max,
}

impl Stat {
    /// `p99`, `p99.9` (also `p999`), `min`, `mean`, `max`.
    pub(super) fn read(word: &str) -> Option<Stat> {
        match word {
            "min" => return Some(Stat::Min),
            "mean" => return Some(Stat::Mean),
            "max" => return Some(Stat::Max),
            _ => {}
        }
        let digits = word.strip_prefix('p')?;
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return None;
        }
        // p999 is what people write for p99.9.
        let percent: f64 = match digits.len() {
            3.. if digits.starts_with('9') && !digits.contains('.') => {
                format!("{}.{}", &digits[..2], &digits[2..]).parse().ok()?
            }
            _ => digits.parse().ok()?,
        };
        (percent <= 100.0).then_some(Stat::Quantile(percent / 100.0))
    }
}

/// Where a figure exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Run,
    Session,
    Step,
    Fleet,
    Phase,
}

impl Place {
    /// With its article, for a sentence.
    pub(super) fn phrase(self) -> &'static str {
        match self {
            Place::Run => "a run",
            Place::Session => "a session",
            Place::Step => "a step",
            Place::Fleet => "a fleet",
            Place::Phase => "a phase",
        }
    }
}

impl Scope {
    /// The innermost thing that it names.
    pub(super) fn place(&self) -> Place {
        match self {
            Scope { step: Some(_), .. } => Place::Step,
            Scope { session: Some(_), .. } => Place::Session,
            Scope { fleet: Some(_), .. } => Place::Fleet,
            Scope { phase: Some(_), .. } => Place::Phase,
            _ => Place::Run,
        }
    }
}

/// Whether a text in parentheses may follow the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    None,
    May,
    Must,
}

/// A row of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) figure: Figure,
    pub(super) places: &'static [Place],
    /// The units its limit may have; the first is the usual one.
    pub(super) units: &'static [Unit],
    pub(super) which: Which,
}

const TIME: &[Unit] = &[Unit::Time];
const COUNT: &[Unit] = &[Unit::Count];
const SHARE: &[Unit] = &[Unit::Share];
const RATE: &[Unit] = &[Unit::Rate];
const BOTH: &[Unit] = &[Unit::Share, Unit::Count];

const REQUESTS: &[Place] = &[Place::Run, Place::Session, Place::Step, Place::Phase];
const WHOLE: &[Place] = &[Place::Run, Place::Session, Place::Step];
const MESSAGES: &[Place] = &[Place::Run, Place::Fleet];
const OVER_TIME: &[Place] = &[Place::Run, Place::Phase];
const RUN: &[Place] = &[Place::Run];
const SESSION: &[Place] = &[Place::Session];
const FLEET: &[Place] = &[Place::Fleet];

const fn row(name: &'static str, figure: Figure, places: &'static [Place], units: &'static [Unit]) -> Row {
    Row { name, figure, places, units, which: Which::None }
}

const fn naming(row: Row, which: Which) -> Row {
    Row { which, ..row }
}

/// Everything that a threshold may name. A name may stand twice, for different places.
pub(super) const ROWS: &[Row] = &[
    row("response", Figure::Response, REQUESTS, TIME),
    row("service", Figure::Service, REQUESTS, TIME),
    row("rate", Figure::Rate, REQUESTS, RATE),
    row("requests", Figure::Requests, REQUESTS, COUNT),
    row("answered", Figure::Answered, REQUESTS, BOTH),
    naming(row("errors", Figure::Errors, REQUESTS, BOTH), Which::May),
    naming(row("status", Figure::Status, WHOLE, BOTH), Which::Must),
    naming(row("checks", Figure::Checks, WHOLE, SHARE), Which::May),
    row("checks.failed", Figure::ChecksFailed, WHOLE, COUNT),
    row("messages", Figure::MessageLatency, &[Place::Run, Place::Fleet, Place::Phase], TIME),
    row("messages.sent", Figure::Sent, MESSAGES, COUNT),
    row("messages.received", Figure::Received, &[Place::Run, Place::Fleet, Place::Phase], COUNT),
    row("messages.rate", Figure::MessageRate, &[Place::Run, Place::Fleet, Place::Phase], RATE),
    row("messages.lost", Figure::Lost, MESSAGES, BOTH),
    row("messages.duplicates", Figure::Duplicates, MESSAGES, BOTH),
    row("messages.reordered", Figure::Reordered, MESSAGES, BOTH),
    row("lost", Figure::Lost, MESSAGES, BOTH),
    row("duplicates", Figure::Duplicates, MESSAGES, BOTH),
    row("reordered", Figure::Reordered, MESSAGES, BOTH),
    row("started", Figure::Started, SESSION, COUNT),
    row("completed", Figure::Completed, SESSION, BOTH),
    row("failed", Figure::Failed, SESSION, BOTH),
    row("duration", Figure::Duration, SESSION, TIME),
    row("users", Figure::Users, OVER_TIME, COUNT),
    row("devices", Figure::Devices, OVER_TIME, COUNT),
    row("devices", Figure::FleetDevices, FLEET, COUNT),
    row("connected", Figure::Connected, FLEET, BOTH),
    row("connects", Figure::Connects, FLEET, COUNT),
    row("connect", Figure::Connect, FLEET, TIME),
    row("lost_connections", Figure::LostConnections, FLEET, COUNT),
    row("refused", Figure::Refused, FLEET, COUNT),
    row("lateness", Figure::Lateness, OVER_TIME, TIME),
    row("generator.lateness", Figure::Lateness, RUN, TIME),
    row("generator.busy", Figure::Busy, RUN, SHARE),
    row("generator.saturated", Figure::Saturated, RUN, SHARE),
    row("generator.machine_busy", Figure::MachineBusy, RUN, SHARE),
    row("generator.steal", Figure::Steal, RUN, SHARE),
    row("generator.not_begun", Figure::NotBegun, RUN, COUNT),
    row("generator.exhausted", Figure::Exhausted, RUN, COUNT),
    row("generator.sent_again", Figure::SentAgain, RUN, COUNT),
];

impl Row {
    /// Whether one of its figures has to be named: `.p99`.
    pub(super) fn is_time(&self) -> bool {
        self.units == TIME
    }

    /// How it is written.
    pub(super) fn example(&self) -> String {
        let argument = if self.which == Which::Must { "(\"500\")" } else { "" };
        let stat = if self.is_time() { ".p99" } else { "" };
        format!("{}{argument}{stat}", self.name)
    }
}
