//! Looks a figure up in a run's result.
//!
//! What was not measured is an error with the reason, never a zero: a run without a single message has not proved that
//! none is lost.

use std::collections::BTreeMap;

use super::figure::{Figure, Stat};
use super::{Scope, Threshold, Unit};
use crate::latency::Counts;
use crate::merge::{Merge, add_kinds};
use crate::{Fleet, Interval, Messages, Phase, Requests, RunResult, Session, number};

/// What was measured, in the unit of the limit, and the same for people.
pub(super) struct Measured {
    pub(super) value: f64,
    pub(super) text: String,
}

type Outcome = Result<Measured, String>;

/// The value of a threshold's figure, or why there is none.
pub(super) fn measure(threshold: &Threshold, run: &RunResult) -> Outcome {
    use Figure::*;
    let look = Look { threshold, run, scope: &threshold.scope };
    match threshold.figure {
        Response | Service | Requests | Answered | Errors | Status | Rate => look.requests(),
        Checks | ChecksFailed => look.checks(),
        MessageLatency | MessageRate | Sent | Received | Lost | Duplicates | Reordered => look.messages(),
        Started | Completed | Failed | Duration => look.session(),
        Users | Devices => look.most_at_once(),
        FleetDevices | Connected | Connects | Connect | LostConnections | Refused => look.fleet(),
        Lateness | Busy | Saturated | MachineBusy | Steal | NotBegun | Exhausted | SentAgain => {
            look.generator()
        }
    }
}

struct Look<'a> {
    threshold: &'a Threshold,
    run: &'a RunResult,
    scope: &'a Scope,
}

impl Look<'_> {
    fn requests(&self) -> Outcome {
        let (requests, length_s) = self.requests_of()?;
        if requests.started == 0 {
            return Err("no request was begun".to_owned());
        }
        let which = self.threshold.which.as_deref();
        match self.threshold.figure {
            Figure::Response => self.time(&requests.response, "no request was answered"),
            Figure::Service => self.time(&requests.service, "no request was answered"),
            Figure::Rate => rate(requests.answered, length_s),
            Figure::Requests => Ok(count(requests.started)),
            Figure::Answered => self.part(requests.answered, requests.started),
            Figure::Errors => self.part(of_kind(&requests.errors, which), requests.started),
            _ if requests.answered == 0 => Err("no request was answered".to_owned()),
            _ => {
                let answers = which.and_then(|status| requests.statuses.get(status)).copied().unwrap_or(0);
                self.part(answers, requests.answered)
            }
        }
    }

    /// The requests that the scope means, and over which time.
    fn requests_of(&self) -> Result<(Requests, f64), String> {
        if let Some(name) = &self.scope.phase {
            let (phase, intervals) = self.intervals(name)?;
            let mut sum = Requests::default();
            for interval in intervals {
                sum.started += interval.started;
                sum.answered += interval.answered;
                sum.response.merge(&interval.response);
                sum.service.merge(&interval.service);
                add_kinds(&mut sum.errors, &interval.errors);
            }
            return Ok((sum, phase.to_s - phase.from_s));
        }
        let Scope { session, step, .. } = self.scope;
        if session.is_none() && step.is_none() {
            return Ok((self.run.total.clone(), self.run.counted_s()));
        }
        let mut sum: Option<Requests> = None;
        for found in self.steps() {
            sum.get_or_insert_default().merge(&found.requests);
        }
        let sum = sum.ok_or_else(|| self.no_step())?;
        Ok((sum, self.run.counted_s()))
    }

    fn steps(&self) -> impl Iterator<Item = &crate::Step> {
        let Scope { session, step, .. } = self.scope;
        self.run.steps.iter().filter(move |found| {
            session.as_ref().is_none_or(|name| *name == found.session)
                && step.as_ref().is_none_or(|name| *name == found.name)
        })
    }

    fn no_step(&self) -> String {
        match (&self.scope.session, &self.scope.step) {
            (Some(session), Some(step)) => {
                format!("the run has no step \"{step}\" in a session \"{session}\"")
            }
            (Some(session), None) => format!("the run has no step of a session \"{session}\""),
            (_, Some(step)) => format!("the run has no step \"{step}\""),
            _ => "the run has no step".to_owned(),
        }
    }

    /// The intervals whose middle lies in a phase.
    fn intervals(&self, name: &str) -> Result<(&Phase, Vec<&Interval>), String> {
        let found = self.run.phases.iter().find(|phase| phase.name == name);
        let phase = found.ok_or_else(|| format!("the run has no phase \"{name}\""))?;
        let inside = self.run.series.iter().filter(|interval| phase.holds(interval)).collect::<Vec<_>>();
        if inside.is_empty() {
            Err(format!("nothing was measured in phase \"{name}\""))
        } else {
            Ok((phase, inside))
        }
    }

    fn checks(&self) -> Outcome {
        if self.steps().next().is_none() {
            return Err(self.no_step());
        }
        let which = self.threshold.which.as_deref();
        let checks = self.steps().flat_map(|step| &step.checks);
        let checks = checks.filter(|check| which.is_none_or(|text| text == check.text));
        let (passed, failed) = checks.fold((0, 0), |sum, check| (sum.0 + check.passed, sum.1 + check.failed));
        match (passed + failed, self.threshold.figure) {
            (0, _) => Err("nothing was checked".to_owned()),
            (_, Figure::ChecksFailed) => Ok(count(failed)),
            (all, _) => self.part(passed, all),
        }
    }

    fn messages(&self) -> Outcome {
        let (messages, length_s) = match (&self.scope.fleet, &self.scope.phase) {
            (Some(_), _) => (self.fleet_of()?.messages.clone(), self.run.counted_s()),
            (None, Some(name)) => {
                let (phase, intervals) = self.intervals(name)?;
                let mut sum = Messages::default();
                for interval in intervals {
                    sum.received += interval.messages;
                    sum.latency.merge(&interval.message_latency);
                }
                (sum, phase.to_s - phase.from_s)
            }
            (None, None) => (self.run.messages.clone(), self.run.counted_s()),
        };
        if messages.sent == 0 && messages.received == 0 {
            return Err("no message with a stamp was sent or received".to_owned());
        }
        // What was lost is a share of what should have come: sent counts only what this run sent itself.
        let expected = messages.received.saturating_sub(messages.duplicates).saturating_add(messages.lost);
        match self.threshold.figure {
            Figure::MessageLatency => self.time(&messages.latency, "no message with a stamp was received"),
            Figure::MessageRate => rate(messages.received, length_s),
            Figure::Sent => Ok(count(messages.sent)),
            Figure::Received => Ok(count(messages.received)),
            Figure::Lost => self.part(messages.lost, expected),
            Figure::Duplicates => self.part(messages.duplicates, messages.received),
            _ => self.part(messages.reordered, messages.received),
        }
    }

    fn session(&self) -> Outcome {
        let name = self.scope.session.as_deref().unwrap_or_default();
        let found = self.run.sessions.iter().find(|session| session.name == name);
        let session: &Session = found.ok_or_else(|| format!("the run has no session \"{name}\""))?;
        if session.started == 0 {
            return Err(format!("no user began session \"{name}\""));
        }
        match self.threshold.figure {
            Figure::Started => Ok(count(session.started)),
            Figure::Completed => self.part(session.completed, session.started),
            Figure::Failed => self.part(session.failed, session.started),
            _ => self.time(&session.duration, "no user came to the session's end"),
        }
    }

    fn most_at_once(&self) -> Outcome {
        let of = |interval: &Interval| match self.threshold.figure {
            Figure::Users => interval.users,
            _ => interval.devices,
        };
        let most = match &self.scope.phase {
            Some(name) => self.intervals(name)?.1.into_iter().map(of).max(),
            None => self.run.series.iter().map(of).max(),
        };
        most.map(count).ok_or_else(|| "the run has no intervals".to_owned())
    }

    fn fleet_of(&self) -> Result<&Fleet, String> {
        let name = self.scope.fleet.as_deref().unwrap_or_default();
        let found = self.run.fleets.iter().find(|fleet| fleet.name == name);
        found.ok_or_else(|| format!("the run has no fleet \"{name}\""))
    }

    fn fleet(&self) -> Outcome {
        let fleet = self.fleet_of()?;
        match self.threshold.figure {
            Figure::FleetDevices => Ok(count(fleet.devices)),
            Figure::Connected => self.part(fleet.connected_max, fleet.devices),
            Figure::Connects => Ok(count(fleet.connects)),
            Figure::LostConnections => Ok(count(of_kind(&fleet.lost_connections, None))),
            Figure::Refused => Ok(count(of_kind(&fleet.refused, None))),
            _ => self.time(&fleet.connect, "no device connected"),
        }
    }

    fn generator(&self) -> Outcome {
        let generator = &self.run.generator;
        match (self.threshold.figure, &self.scope.phase) {
            (Figure::Lateness, Some(name)) => {
                let mut lateness = Counts::default();
                self.intervals(name)?.1.iter().for_each(|interval| lateness.merge(&interval.lateness));
                self.time(&lateness, "nothing was due")
            }
            (Figure::Lateness, None) => self.time(&generator.lateness, "nothing was due"),
            (Figure::Busy, _) => Ok(share(generator.busy)),
            (Figure::Saturated, _) => Ok(share(generator.saturated)),
            (Figure::MachineBusy, _) => Ok(share(generator.machine_busy)),
            (Figure::Steal, _) => Ok(share(generator.steal)),
            (Figure::NotBegun, _) => Ok(count(generator.not_begun)),
            (Figure::SentAgain, _) => Ok(count(generator.sent_again)),
            _ => Ok(count(generator.exhausted)),
        }
    }

    fn time(&self, counts: &Counts, missing: &str) -> Outcome {
        let value = match self.threshold.stat {
            Stat::Quantile(quantile) => counts.quantile(quantile).map(|ns| ns as f64),
            Stat::Min => counts.min().map(|ns| ns as f64),
            Stat::Max => counts.max().map(|ns| ns as f64),
            Stat::Mean => counts.mean(),
        };
        let value = value.ok_or_else(|| missing.to_owned())?;
        Ok(Measured { value, text: number::time(value) })
    }

    /// A part of something: as a share where the limit is one, otherwise as a count.
    fn part(&self, part: u64, whole: u64) -> Outcome {
        if self.threshold.limit.unit != Unit::Share {
            return Ok(count(part));
        }
        if whole == 0 {
            return Err("there was nothing of which it is a share".to_owned());
        }
        let value = part as f64 / whole as f64;
        let text = format!("{} ({} of {})", number::share(value), number::count(part), number::count(whole));
        Ok(Measured { value, text })
    }
}

fn count(value: u64) -> Measured {
    Measured { value: value as f64, text: number::count(value) }
}

fn share(value: f64) -> Measured {
    Measured { value, text: number::share(value) }
}

fn rate(events: u64, length_s: f64) -> Outcome {
    if length_s <= 0.0 {
        return Err("no time passed".to_owned());
    }
    let value = events as f64 / length_s;
    Ok(Measured { value, text: number::rate(value) })
}

/// All of a map, or one kind: `connect` means `connect: refused` too.
fn of_kind(counts: &BTreeMap<String, u64>, which: Option<&str>) -> u64 {
    let wanted = |kind: &str| {
        which.is_none_or(|which| {
            kind.strip_prefix(which).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        })
    };
    counts.iter().filter(|(kind, _)| wanted(kind)).map(|(_, count)| count).sum()
}
