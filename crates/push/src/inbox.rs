//! The inbox of a device: the pushes that it is owed, as itself reads and settles them.
//!
//! A device that is connected over MQTT gets its inbox and acknowledges it there. One that asks over
//! HTTP reads it here page by page, and settles the pushes that it has taken. A settled push is
//! delivered, as if the device had acknowledged it: it is dispatched to it no more.

use std::borrow::Cow;

use stadium_registry::{AppName, DeviceId};
use stadium_state_machine::Record;

use crate::app::App;
use crate::events::{Event, Taken};
use crate::execute::unknown_device;
use crate::lists;
use crate::log::What;
use crate::outcome::Outcome;
use crate::platform::{Platform, Spot};
use crate::refusal::{COUNT, PUSH_UNKNOWN, REVOKED, rejected};
use crate::send::{head, payload};
use crate::{Answer, ConnectionName, InboxMessage, InboxPage, NewPush, Owed, PushId, Refusal, Time};

/// Pushes of a page at most.
pub(crate) const PAGE_MAX: u32 = 100;

/// Bytes of the messages of a page, after which it ends: so that a page of large messages stays
/// small beside what a connection takes. A page has one message at least.
const PAGE_BYTES: usize = 1 << 20;

/// The place of a push in an inbox: by priority, the highest first, then by number.
type Place = (u8, u64);

impl Platform {
    /// The app and the slot of a device that acts for itself; refused where it is revoked.
    pub(crate) fn find_own(&self, app: &AppName, device: &DeviceId) -> Result<(u32, u32), Refusal> {
        let number = self.app_number(app)?;
        let registry = &self.apps[&number].registry;
        let slot = registry.find(device).ok_or_else(|| unknown_device(app, device))?;
        if registry.revoked().contains(slot.0) {
            let reason = format!("device {:?} of app {:?} is revoked", device.as_str(), app.as_str());
            return Err(rejected(REVOKED, reason));
        }
        Ok((number, slot.0))
    }

    /// Where a device stands with a push: none where it was not for it.
    pub(crate) fn outcome_at(&self, app: &App, spot: Spot, slot: u32) -> Option<Outcome> {
        match spot {
            Spot::Single(place) => {
                let single = self.singles.at(place);
                (single.slot == slot).then_some(single.outcome)
            }
            Spot::Many(place) => app.outcome(self.many(place), slot),
        }
    }

    /// The pushes that a device is owed, in the order in which it gets them.
    pub(crate) fn owed_to(&self, app: &App, slot: u32) -> Vec<(Place, Spot)> {
        let mut owed: Vec<(Place, Spot)> = Vec::new();
        if app.inboxes.of(slot) == 0 {
            return owed;
        }
        for place in lists::owed(&self.singles, app, slot) {
            let single = self.singles.at(place);
            owed.push(((9 - single.priority, single.number), Spot::Single(place)));
        }
        for &(rank, number, place) in &app.open {
            if self.many(place).is_owed(slot) {
                owed.push(((rank, number), Spot::Many(place)));
            }
        }
        owed.sort_unstable_by_key(|&(place, _)| place);
        owed
    }

    /// A delivery that its device is owed.
    pub(crate) fn owed_at(&self, spot: Spot) -> Owed {
        match spot {
            Spot::Single(place) => {
                let single = self.singles.at(place);
                Owed {
                    push: single.id,
                    since: single.started_at,
                    until: Some(single.until),
                    priority: single.priority,
                }
            }
            Spot::Many(place) => {
                let many = self.many(place);
                Owed {
                    push: many.push.id,
                    since: many.started_at.unwrap_or(many.accepted_at),
                    until: Some(many.until),
                    priority: many.push.options.priority,
                }
            }
        }
    }

    /// A page of the inbox of a device that acts for itself.
    pub(crate) fn inbox(
        &self,
        app: &AppName,
        device: &DeviceId,
        after: Option<PushId>,
        pushes_max: usize,
    ) -> Result<InboxPage, Refusal> {
        let (number, slot) = self.find_own(app, device)?;
        let app = &self.apps[&number];
        let after = after.map(|push| self.place_in_inbox(number, slot, push)).transpose()?;
        let mut page = InboxPage::default();
        let mut bytes = 0;
        for (place, spot) in self.owed_to(app, slot) {
            if after.is_some_and(|after| place <= after) {
                continue;
            }
            if page.messages.len() == pushes_max || bytes >= PAGE_BYTES {
                page.more = true;
                break;
            }
            let message = self.message(app, spot, slot);
            bytes += message.payload.len();
            page.messages.push(message);
        }
        Ok(page)
    }

    /// The place of a push that was for this device, whether or not it is owed it still.
    fn place_in_inbox(&self, app_number: u32, slot: u32, push: PushId) -> Result<Place, Refusal> {
        let spot = self.find_id(app_number, push);
        let own = spot.filter(|&spot| self.outcome_at(&self.apps[&app_number], spot, slot).is_some());
        let spot = own.ok_or_else(|| {
            let reason = format!("push {push} was not for this device, or is not remembered: begin again");
            rejected(PUSH_UNKNOWN, reason)
        })?;
        Ok((9 - self.owed_at(spot).priority, self.number_at(spot)))
    }

    fn message(&self, app: &App, spot: Spot, slot: u32) -> InboxMessage {
        let push: Cow<'_, NewPush> = match spot {
            Spot::Single(place) => Cow::Owned(self.singles.at(place).push()),
            Spot::Many(place) => Cow::Borrowed(&self.many(place).push),
        };
        let (content_type, properties) = head(&push.content);
        InboxMessage {
            owed: self.owed_at(spot),
            payload: payload(app, &push, slot),
            content_type,
            properties,
        }
    }

    /// A device has these pushes of its inbox. Those that it is not owed are left as they are.
    pub(crate) fn settle_own(
        &mut self,
        now: Time,
        app_number: u32,
        slot: u32,
        pushes: &[PushId],
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        if !(1..=PAGE_MAX as usize).contains(&pushes.len()) {
            let given = pushes.len();
            return Err(rejected(COUNT, format!("it names {given} pushes; 1 to {PAGE_MAX} are allowed")));
        }
        let app = &self.apps[&app_number];
        let mut steps: Vec<Taken> = Vec::new();
        let mut settled = Vec::with_capacity(pushes.len());
        for &push in pushes {
            let spot = self
                .find_id(app_number, push)
                .filter(|&spot| self.outcome_at(app, spot, slot).is_some_and(Outcome::is_open));
            settled.push(spot.is_some());
            let Some(spot) = spot else { continue };
            let push = self.number_at(spot);
            if steps.iter().all(|step| step.push != push) {
                let connection = ConnectionName::default();
                steps.push(Taken { push, slot, what: What::Acknowledged, at: now, connection, action: None });
            }
        }
        if !steps.is_empty() {
            self.emit(now, record, &Event::Steps(Cow::Borrowed(&steps)));
            steps.iter().for_each(|step| self.note_step(step));
        }
        Ok(Answer::Settled(settled))
    }
}
