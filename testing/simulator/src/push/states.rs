//! Whether a delivery can be in the state that the platform reports.
//!
//! Each state has its reason; the books know the possible reasons. A final state stays as it is.

use stadium_push::{Audience, Pace, QuietHours, State, Time, When};

use super::books::{Books, Is, OPEN, Push, Who};
use super::dispatched::is_over;
use super::plan::PushPlan;

/// What else is known when the checker looks.
#[derive(Debug, Clone, Copy)]
pub struct Conditions {
    pub now: Time,
    /// The latest that any clock ever showed.
    pub high: Time,
    /// No disk is full, and none failed lately: what time brings was done.
    pub is_calm: bool,
}

impl Books {
    /// A device stands here with a push.
    ///
    /// # Errors
    ///
    /// It cannot.
    pub fn check_state(
        &self,
        plan: &PushPlan,
        push: &Push,
        who: Who,
        state: &State,
        conditions: Conditions,
    ) -> Result<(), String> {
        let device = who.1;
        let reports = push.reports.get(&device).copied().unwrap_or_default();
        let is_other = push.is_other(device, &self.devices[&who]);
        if let Some(before) = push.seen.get(&device)
            && is_over(before)
            && !is_other
            && std::mem::discriminant(before) != std::mem::discriminant(state)
            && !(*before == State::Delivered && *state == State::Opened && reports.opened)
            && !(matches!(before, State::Delivered | State::Opened)
                && *state == State::Clicked
                && reports.clicked)
        {
            return Err(format!("was {before:?} and is {state:?}"));
        }
        if is_other {
            // Another one of its name was registered since.
            return Ok(());
        }
        if reports.click_is_durable && *state != State::Clicked {
            return Err(format!("is {state:?}, and its click was durable"));
        }
        let (may, must) = push.means(device, plan.devices[device].as_str());
        let is_single = matches!(push.new.audience, Audience::Device(_));
        let options = push.options();
        let others =
            || self.pushes.values().filter(|other| other.app == push.app && other.new.id != push.new.id);
        let quiet = push.any(device, |facts| facts.quiet);
        let app = &plan.apps[push.app].1;
        let expiry = options.expiry.unwrap_or(app.expiry);
        // At QoS 0 it is over for everybody a minute after its start.
        let expiry = if options.qos == 0 { expiry.min(60_000) } else { expiry };
        let can = match state {
            // Only live pushes have these states, which no shard keeps.
            State::Counted => false,
            State::Scheduled => push.new.when != When::Now && !push.has_started(device),
            State::NotRegistered => push.any(device, |facts| !facts.registered),
            State::NotMatched { .. } => !must,
            State::OptedOut => may && !is_single && push.any(device, |facts| !facts.opted_in),
            State::Revoked => may && push.any(device, |facts| facts.revoked),
            State::HeldOut => may && options.holdout > 0,
            State::Capped => {
                let cap = options.cap.or(app.cap);
                let may_have = others().filter(|other| other.means(device, plan.devices[device].as_str()).0);
                may && cap.is_some_and(|cap| may_have.count() >= usize::from(cap.pushes))
            }
            // At QoS 0 nothing waits.
            State::Quiet => {
                let skips = options.quiet_hours == QuietHours::Skip;
                may && quiet && (skips || (options.qos == 0 && options.quiet_hours == QuietHours::Wait))
            }
            State::NoValue(_) => {
                may && push.asks_for_name() && push.any(device, |facts| facts.name.is_none())
            }
            State::Waiting(until) => {
                let is_over = conditions.is_calm && *until <= conditions.now;
                may && quiet && options.quiet_hours == QuietHours::Wait && !is_over
            }
            State::Owed | State::InFlight => {
                let expires = push.start.max.0.saturating_add(expiry);
                let has_expired = conditions.is_calm && push.start.max != OPEN && expires <= conditions.now.0;
                if has_expired {
                    return Err(format!(
                        "is {state:?}, and it expired at {expires}, {} ms ago",
                        conditions.now.0 - expires
                    ));
                }
                if push.cancelled == Is::Yes {
                    return Err(format!("is {state:?}, and it was cancelled"));
                }
                let goes_nowhere = options.qos == 0 && options.pace == Pace::AtOnce && *state == State::Owed;
                if goes_nowhere && conditions.is_calm {
                    return Err("is owed at QoS 0 what was not sent to it when it started".into());
                }
                let is_reported =
                    (reports.acknowledged || reports.refused || reports.too_large) && reports.is_durable;
                if is_reported {
                    return Err(format!("is {state:?}, and that it has it was durable"));
                }
                may && (*state == State::Owed || reports.dispatched > 0)
            }
            State::Delivered | State::Opened | State::Clicked => {
                // Whose user opened it has it.
                let has_it = reports.settled
                    || reports.dispatched > 0 && (reports.acknowledged || reports.opened || options.qos == 0);
                let is_reported = match state {
                    State::Opened => reports.opened,
                    State::Clicked => reports.clicked,
                    _ => true,
                };
                may && has_it && is_reported
            }
            State::Expired => {
                let in_time = push.start.min.0.saturating_add(expiry) > conditions.high.0;
                may && (options.qos == 0 || !in_time)
            }
            State::Collapsed => {
                let is_newer =
                    |other: &Push| other.options().collapse == options.collapse && other.accepted != Is::No;
                may && options.collapse.is_some() && others().any(is_newer)
            }
            State::CrowdedOut => {
                let may_have = others().filter(|other| other.means(device, plan.devices[device].as_str()).0);
                may && may_have.count() >= usize::from(app.inbox_max)
            }
            State::Refused => may && reports.refused,
            State::TooLarge => may && reports.too_large,
            State::Cancelled => {
                may && (push.cancelled != Is::No || push.any(device, |facts| !facts.registered))
            }
        };
        if can {
            return Ok(());
        }
        let facts = push.facts.get(&device);
        Err(format!(
            "is {state:?}, which cannot be: reports {reports:?}, the device may have been {facts:?}, push {:?}",
            push.new
        ))
    }
}
