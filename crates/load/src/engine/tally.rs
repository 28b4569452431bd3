//! Counts of a loop in an interval, as it reports them to the run.
//!
//! A [`Counter`] lives on a loop and allocates nothing once warm; a [`Tally`] holds the counts
//! since the last one, as plain values that travel to other processes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stadium_report::latency::{Counts, Latency};

/// What a loop counted since its last tally.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Number of the loop, over all processes of the run.
    pub share: u32,
    /// Number of the interval, from 0.
    pub interval: u32,
    /// Whether it is the loop's last.
    pub last: bool,
    /// Users in a session.
    pub users: u64,
    /// Users that came.
    pub arrived: u64,
    /// Users that were due and not begun.
    pub not_begun: u64,
    /// Sockets that the system refused.
    pub exhausted: u64,
    /// Requests that were sent again.
    pub sent_again: u64,
    /// Sessions, by their number.
    pub sessions: Vec<SessionTally>,
    /// Steps, by their number.
    pub steps: Vec<StepTally>,
    /// Messages with stamps.
    pub messages: MessageTally,
    /// How late the loop did what was due, in nanoseconds.
    pub lateness: Counts,
    /// Share of the interval in which the loop worked.
    pub busy: f64,
}

/// A kind of session, in an interval.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SessionTally {
    /// Users that began it.
    pub started: u64,
    /// Users that came to its end.
    pub completed: u64,
    /// Users that gave up.
    pub failed: u64,
    /// From due to end, in nanoseconds.
    pub duration: Counts,
}

/// A step, in an interval.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StepTally {
    /// How many were begun.
    pub started: u64,
    /// How many were answered.
    pub answered: u64,
    /// Failures by kind.
    pub errors: BTreeMap<String, u64>,
    /// Answers by status.
    pub statuses: Vec<(u32, u64)>,
    /// Checks that held and that did not, by their number.
    pub checks: Vec<[u64; 2]>,
    /// From due to the answer's end, in nanoseconds.
    pub response: Counts,
    /// From sent to the answer's end, in nanoseconds.
    pub service: Counts,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Bytes received.
    pub bytes_in: u64,
}

/// Messages with stamps, in an interval.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct MessageTally {
    /// Sent.
    pub sent: u64,
    /// Received.
    pub received: u64,
    /// Numbers that are missing between those that came; one that comes late is taken out again, so this may be negative.
    pub lost: i64,
    /// Came again.
    pub duplicates: u64,
    /// Came after a later one.
    pub reordered: u64,
    /// From intended sending to arrival, in nanoseconds.
    pub latency: Counts,
}

/// Counts on a loop.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) arrived: u64,
    pub(crate) not_begun: u64,
    pub(crate) exhausted: u64,
    pub(crate) sent_again: u64,
    pub(crate) sessions: Vec<SessionCounter>,
    pub(crate) steps: Vec<StepCounter>,
    pub(crate) messages: MessageCounter,
    pub(crate) lateness: Latency,
}

#[derive(Debug, Default)]
pub(crate) struct SessionCounter {
    pub(crate) started: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) duration: Latency,
}

#[derive(Debug, Default)]
pub(crate) struct StepCounter {
    pub(crate) started: u64,
    pub(crate) answered: u64,
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) statuses: Vec<(u32, u64)>,
    pub(crate) checks: Vec<[u64; 2]>,
    pub(crate) response: Latency,
    pub(crate) service: Latency,
    pub(crate) bytes_out: u64,
    pub(crate) bytes_in: u64,
}

/// Counts of messages with stamps on a loop.
#[derive(Debug, Default)]
pub(crate) struct MessageCounter {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) lost: i64,
    pub(crate) duplicates: u64,
    pub(crate) reordered: u64,
    pub(crate) latency: Latency,
}

impl Counter {
    /// For so many sessions, and steps with so many checks each.
    pub(crate) fn new(sessions: usize, checks: impl Iterator<Item = usize>) -> Self {
        Counter {
            arrived: 0,
            not_begun: 0,
            exhausted: 0,
            sent_again: 0,
            sessions: (0..sessions).map(|_| SessionCounter::default()).collect(),
            steps: checks
                .map(|checks| StepCounter { checks: vec![[0; 2]; checks], ..StepCounter::default() })
                .collect(),
            messages: MessageCounter::default(),
            lateness: Latency::new(),
        }
    }

    /// Takes everything counted, leaving zeros; the rest is the caller's to fill in.
    pub(crate) fn take(&mut self) -> Tally {
        Tally {
            arrived: std::mem::take(&mut self.arrived),
            not_begun: std::mem::take(&mut self.not_begun),
            exhausted: std::mem::take(&mut self.exhausted),
            sent_again: std::mem::take(&mut self.sent_again),
            sessions: self.sessions.iter_mut().map(SessionCounter::take).collect(),
            steps: self.steps.iter_mut().map(StepCounter::take).collect(),
            messages: self.messages.take(),
            lateness: self.lateness.take(),
            ..Tally::default()
        }
    }
}

impl SessionCounter {
    fn take(&mut self) -> SessionTally {
        SessionTally {
            started: std::mem::take(&mut self.started),
            completed: std::mem::take(&mut self.completed),
            failed: std::mem::take(&mut self.failed),
            duration: self.duration.take(),
        }
    }
}

impl StepCounter {
    /// Counts a failure.
    pub(crate) fn fail(&mut self, kind: &str) {
        match self.errors.get_mut(kind) {
            Some(count) => *count += 1,
            None => {
                self.errors.insert(kind.to_owned(), 1);
            }
        }
    }

    /// Counts an answer's status.
    pub(crate) fn status(&mut self, status: u32) {
        match self.statuses.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count += 1,
            None => self.statuses.push((status, 1)),
        }
    }

    fn take(&mut self) -> StepTally {
        StepTally {
            started: std::mem::take(&mut self.started),
            answered: std::mem::take(&mut self.answered),
            errors: std::mem::take(&mut self.errors),
            statuses: self
                .statuses
                .iter_mut()
                .map(|(status, count)| (*status, std::mem::take(count)))
                .collect(),
            checks: self.checks.iter_mut().map(std::mem::take).collect(),
            response: self.response.take(),
            service: self.service.take(),
            bytes_out: std::mem::take(&mut self.bytes_out),
            bytes_in: std::mem::take(&mut self.bytes_in),
        }
    }
}

impl MessageCounter {
    fn take(&mut self) -> MessageTally {
        MessageTally {
            sent: std::mem::take(&mut self.sent),
            received: std::mem::take(&mut self.received),
            lost: std::mem::take(&mut self.lost),
            duplicates: std::mem::take(&mut self.duplicates),
            reordered: std::mem::take(&mut self.reordered),
            latency: self.latency.take(),
        }
    }
}
