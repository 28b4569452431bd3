//! Whether a dispatch may leave: nothing goes twice that was acknowledged, nothing that is over, nothing to whom it is not for.

use stadium_push::live::LiveDispatch;
use stadium_push::{Audience, Content, Dispatch, PushId, State};

use super::books::{Books, Is, Who};
use super::facts::{Facts, NAME};
use super::plan::PushPlan;
use crate::clock::Clock;

/// The push that a payload names as its origin.
pub fn push_of(payload: &[u8]) -> Option<PushId> {
    let text = std::str::from_utf8(payload).ok()?;
    let (_, rest) = text.split_once("\"push\":\"")?;
    rest.get(..32)?.parse().ok()
}

impl Books {
    /// A live push left for a device.
    ///
    /// # Errors
    ///
    /// It should not have.
    pub fn live_dispatched(
        &mut self,
        plan: &PushPlan,
        who: Who,
        dispatch: &LiveDispatch,
    ) -> Result<(), String> {
        let token = dispatch.token.0;
        let name = |what: &str| {
            format!("live push {token} for {}/{}: {what}", plan.apps[who.0].0, plan.devices[who.1])
        };
        // Shards keep nothing of it: after a crash nobody sends it.
        let Some(live) = self.lives.get_mut(&token) else {
            return Err(name("it is dispatched, and this process was not asked for it"));
        };
        if live.push.app != who.0 {
            return Err(name("it is of another app"));
        }
        if dispatch.qos.number() != live.push.options().qos {
            return Err(name("it is dispatched with another QoS"));
        }
        let (may, _) = live.push.means(who.1, plan.devices[who.1].as_str());
        let is_single = matches!(live.push.new.audience, Audience::Device(_));
        let is_in = |facts: &Facts| facts.registered && !facts.revoked && (is_single || facts.opted_in);
        if !may || !live.push.any(who.1, is_in) {
            return Err(name("it is dispatched to a device that its audience does not mean"));
        }
        let got = live.got.entry(who.1).or_default();
        *got += 1;
        if *got > 1 {
            return Err(name("it is dispatched twice"));
        }
        check_content(&live.push, &dispatch.message.payload).map_err(|what| name(&what))
    }

    /// A dispatch left for a device.
    ///
    /// # Errors
    ///
    /// It should not have.
    pub fn dispatched(
        &mut self,
        plan: &PushPlan,
        who: Who,
        dispatch: &Dispatch,
        clock: &Clock,
    ) -> Result<PushId, String> {
        let Some(id) = push_of(&dispatch.payload) else {
            return Err(format!("bytes are dispatched that nobody wrote: {:?}", dispatch.payload));
        };
        let name =
            |what: &str| format!("push {id} for {}/{}: {what}", plan.apps[who.0].0, plan.devices[who.1]);
        self.discover(who.0, id, clock).map_err(|what| name(&format!("it is dispatched, and {what}")))?;
        let known = &self.devices[&who];
        let push = self.pushes.get_mut(&(who.0, id)).expect("it was found just now");
        let is_other = push.is_other(who.1, known);
        // Dispatches that leave are durable, and so is their cause.
        push.accepted = Is::Yes;
        if push.cancelled == Is::Yes {
            return Err(name("it is dispatched after its cancellation was answered"));
        }
        if dispatch.qos != push.options().qos {
            return Err(name("it is dispatched with another QoS"));
        }
        let (may, _) = push.means(who.1, plan.devices[who.1].as_str());
        if !may {
            return Err(name("it is dispatched to a device that its audience does not mean"));
        }
        if push.start.min > clock.high() && !matches!(push.new.when, stadium_push::When::Local(_)) {
            return Err(name("it is dispatched before its time"));
        }
        check_content(push, &dispatch.payload).map_err(|what| name(&what))?;
        let reports = push.reports.entry(who.1).or_default();
        if !is_other {
            if reports.acknowledged && reports.is_durable {
                return Err(name("it is dispatched again, after its acknowledgement was durable"));
            }
            if (reports.refused || reports.too_large) && reports.is_durable {
                return Err(name(
                    "it is dispatched again, after that the device does not take it was durable",
                ));
            }
            if dispatch.qos == 0 && reports.dispatched > reports.returned {
                return Err(name("it is dispatched for the second time at QoS 0"));
            }
            if let Some(state) = push.seen.get(&who.1)
                && is_over(state)
            {
                return Err(name(&format!("it is dispatched, and was seen as {state:?}")));
            }
        }
        reports.dispatched += 1;
        push.closed.insert(who.1);
        Ok(id)
    }
}

/// Whether nothing comes after this state, but that it is opened.
pub fn is_over(state: &State) -> bool {
    !matches!(state, State::Scheduled | State::Waiting(_) | State::Owed | State::InFlight)
}

fn check_content(push: &super::books::Push, payload: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(payload);
    match &push.new.content {
        Content::Raw { payload: wanted, .. } => {
            // Occurrences carry the id of their schedule's push; there is none in their bytes.
            if push.is_occurrence || wanted == payload {
                return Ok(());
            }
        }
        Content::Notification(_) => {
            let is_from = text.contains(&format!("\"body\":\"from {}\"", push.new.app));
            let is_whole = !text.contains("{{") && !text.contains(NAME);
            if is_from && is_whole && text.contains("\"title\":\"Hello") {
                return Ok(());
            }
        }
    }
    Err(format!("other bytes are dispatched than it has: {text}"))
}
