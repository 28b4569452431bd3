//! Where deliveries stand, in the words of the API, and why a device did or did not get a push.
//!
//! The words are those of the push's counts, so that a count and the deliveries behind it are called the same.

use serde::Serialize;
use stadium_push::{DeliveryView, State, Trace};
use utoipa::ToSchema;

use crate::spelling::timestamp;

/// A state's word.
pub(crate) fn word(state: &State) -> &'static str {
    match state {
        State::Scheduled => "scheduled",
        State::NotRegistered => "not_registered",
        State::NotMatched { .. } => "not_matched",
        State::OptedOut => "opted_out",
        State::Revoked => "revoked",
        State::HeldOut => "held_out",
        State::Capped => "capped",
        State::Quiet => "quiet",
        State::NoValue(_) => "no_value",
        State::Waiting(_) => "waiting",
        State::Owed => "owed",
        State::InFlight => "in_flight",
        State::Delivered => "delivered",
        State::Opened => "opened",
        State::Clicked => "clicked",
        State::Expired => "expired",
        State::Collapsed => "collapsed",
        State::CrowdedOut => "crowded_out",
        State::Refused => "refused",
        State::TooLarge => "too_large",
        State::Cancelled => "cancelled",
        State::Counted => "counted",
    }
}

/// The details of a state: the clause, the missing value, the time.
pub(crate) fn detail(state: &State) -> Option<String> {
    match state {
        State::NotMatched { path, clause } if path.is_empty() => Some(clause.clone()),
        State::NotMatched { path, clause } => Some(format!("{path}: {clause}")),
        State::NoValue(name) => Some(name.to_string()),
        State::Waiting(until) => Some(timestamp(*until)),
        _ => None,
    }
}

/// Why a device did or did not get a push.
#[derive(Serialize, ToSchema)]
pub(crate) struct TraceReport {
    /// The push.
    push: String,
    /// The device.
    device: String,
    /// `not_matched`, `owed`, `in_flight`, `delivered`, `expired` ...
    #[schema(example = "expired")]
    state: &'static str,
    /// The clause that did not match, the value that is missing, or the time that it waits for.
    detail: Option<String>,
    /// The answer in a sentence.
    #[schema(example = "phone-7 did not get it: it was not connected until the push expired at 14:00 UTC.")]
    sentence: String,
    /// What happened, oldest first, as far as it is remembered.
    steps: Vec<StepReport>,
}

/// One thing that happened.
#[derive(Serialize, ToSchema)]
struct StepReport {
    /// When (RFC 3339).
    at: String,
    /// What: `accepted`, `scheduled`, `started`, `targeted`, `sent`, `acknowledged` ...
    what: &'static str,
    /// On which connection, where it was one.
    connection: Option<String>,
    /// The action of a click, such as a button.
    action: Option<String>,
}

impl TraceReport {
    pub(crate) fn of(trace: Trace) -> Self {
        let step = |step: &stadium_push::TraceStep| StepReport {
            at: timestamp(step.at),
            what: step.what,
            connection: step.connection.map(|name| name.to_string()),
            action: step.action.as_ref().map(ToString::to_string),
        };
        Self {
            push: trace.push.to_string(),
            device: trace.device.to_string(),
            state: word(&trace.state),
            detail: detail(&trace.state),
            steps: trace.steps.iter().map(step).collect(),
            sentence: trace.sentence,
        }
    }
}

/// A delivery in a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeliveryReport {
    /// The device.
    pub(crate) device: String,
    /// Where it stands.
    pub(crate) state: &'static str,
    /// The clause that did not match, the value that is missing, or the time that it waits for.
    pub(crate) detail: Option<String>,
    /// When it was sent last.
    pub(crate) sent_at: Option<String>,
    /// When it was acknowledged.
    pub(crate) acknowledged_at: Option<String>,
}

impl DeliveryReport {
    pub(crate) fn of(view: &DeliveryView) -> Self {
        Self {
            device: view.device.to_string(),
            state: word(&view.state),
            detail: detail(&view.state),
            sent_at: view.sent_at.map(timestamp),
            acknowledged_at: view.acknowledged_at.map(timestamp),
        }
    }
}
