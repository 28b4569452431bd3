//! Of the devices that a push was matched with: those that are left out, those that wait, and those
//! that are owed it at once.
//!
//! In this order: opted out or revoked, held out, no value for its words, had its fill, quiet. Everybody is in one of them.

use roaring::RoaringBitmap;
use stadium_registry::Slot;
use stadium_table::hash_of;

use crate::app::App;
use crate::lists;
use crate::outcome::Outcome;
use crate::platform::Platform;
use crate::sliced::Sliced;
use crate::template;
use crate::{Cap, Content, NewPush, PushId, QuietHours, Time};

/// Those that a push was matched with, apart.
#[derive(Default)]
pub(crate) struct Split {
    pub(crate) left_out: Vec<(Outcome, RoaringBitmap)>,
    pub(crate) waiting: Vec<(Time, RoaringBitmap)>,
    pub(crate) owed: RoaringBitmap,
}

/// Whether a device is held out of a push: always the same ones of the same push.
fn is_held_out(id: PushId, slot: u32, per_cent: u8) -> bool {
    let seed = hash_of(id.0 as u64 ^ (id.0 >> 64) as u64);
    (hash_of(hash_of(seed ^ u64::from(slot))) >> 32) % 100 < u64::from(per_cent)
}

/// The name that a device has no value for, though its words need one.
pub(crate) fn missing_value<'a>(app: &App, content: &'a Content, slot: u32) -> Option<&'a str> {
    let Content::Notification(notification) = content else { return None };
    let (registry, slot) = (&app.registry, Slot(slot));
    template::missing(notification, registry.platform(slot), registry.language(slot), |name| {
        registry.value(slot, name)
    })
}

/// The name that kept a device out, for its trace: where it has a value by now, the first one that its words need.
pub(crate) fn lacked_value<'a>(app: &App, content: &'a Content, slot: u32) -> &'a str {
    let Content::Notification(notification) = content else { return "" };
    let (platform, language) = (app.registry.platform(Slot(slot)), app.registry.language(Slot(slot)));
    let needed = || template::missing(notification, platform, language, |_| None);
    missing_value(app, content, slot).or_else(needed).unwrap_or_default()
}

impl Platform {
    /// Takes those apart that a push to many was matched with.
    pub(crate) fn split(&self, now: Time, app: &App, push: &NewPush, mut matched: RoaringBitmap) -> Split {
        let mut split = Split::default();
        let mut leave_out = |matched: &mut RoaringBitmap, outcome: Outcome, slots: RoaringBitmap| {
            if !slots.is_empty() {
                *matched -= &slots;
                split.left_out.push((outcome, slots));
            }
        };
        let revoked = &matched & app.registry.revoked();
        leave_out(&mut matched, Outcome::Revoked, revoked);
        let opted_out = &matched - app.registry.opted_in();
        leave_out(&mut matched, Outcome::OptedOut, opted_out);
        if push.options.holdout > 0 {
            let held = matched.iter().filter(|&slot| is_held_out(push.id, slot, push.options.holdout));
            let held = RoaringBitmap::from_sorted_iter(held).unwrap_or_default();
            leave_out(&mut matched, Outcome::HeldOut, held);
        }
        if let Content::Notification(notification) = &push.content
            && template::needs_values(notification)
        {
            let lacking = matched.iter().filter(|&slot| missing_value(app, &push.content, slot).is_some());
            let lacking = RoaringBitmap::from_sorted_iter(lacking).unwrap_or_default();
            leave_out(&mut matched, Outcome::NoValue, lacking);
        }
        if let Some(cap) = push.options.cap.or(app.settings.cap) {
            let full = self.had_their_fill(now, app, cap, &matched);
            leave_out(&mut matched, Outcome::Capped, full);
        }
        match push.options.quiet_hours {
            QuietHours::Ignore => {}
            // A device that is sent it at most once is not sent it later.
            QuietHours::Wait if push.options.qos > 0 => {
                for (group, until) in app.registry.quiet_groups(now) {
                    let waiting = group & &matched;
                    if !waiting.is_empty() {
                        matched -= &waiting;
                        split.waiting.push((until, waiting));
                    }
                }
            }
            QuietHours::Wait | QuietHours::Skip => {
                let quiet = app.registry.quiet_groups(now).into_iter();
                let quiet = quiet.fold(RoaringBitmap::new(), |all, (group, _)| all | group) & &matched;
                leave_out(&mut matched, Outcome::Quiet, quiet);
            }
        }
        split.owed = matched;
        split
    }

    /// The outcome of a push to one device, which is registered, and the time until which it waits.
    pub(crate) fn outcome_of_one(&self, now: Time, app: &App, slot: u32, push: &NewPush) -> (Outcome, Time) {
        let left_out = |outcome| (outcome, Time(0));
        if app.registry.revoked().contains(slot) {
            return left_out(Outcome::Revoked);
        }
        if push.options.holdout > 0 && is_held_out(push.id, slot, push.options.holdout) {
            return left_out(Outcome::HeldOut);
        }
        if missing_value(app, &push.content, slot).is_some() {
            return left_out(Outcome::NoValue);
        }
        if let Some(cap) = push.options.cap.or(app.settings.cap)
            && !self.had_their_fill(now, app, cap, &RoaringBitmap::from_iter([slot])).is_empty()
        {
            return left_out(Outcome::Capped);
        }
        if push.options.quiet_hours == QuietHours::Ignore {
            return (Outcome::Owed, Time(0));
        }
        match app.registry.quiet_until(Slot(slot), now) {
            None => (Outcome::Owed, Time(0)),
            Some(until) if push.options.quiet_hours == QuietHours::Wait && push.options.qos > 0 => {
                (Outcome::Waiting, until)
            }
            Some(_) => left_out(Outcome::Quiet),
        }
    }

    /// Those of these devices that were given as many pushes in that time as they may be. Pushes
    /// that ended without them do not count.
    pub(crate) fn had_their_fill(
        &self,
        now: Time,
        app: &App,
        cap: Cap,
        slots: &RoaringBitmap,
    ) -> RoaringBitmap {
        let since = Time(now.0.saturating_sub(cap.within));
        let mut had = Sliced::default();
        for &(_, place) in app.started.range((since, 0)..) {
            let many = self.many(place);
            let given = many.owed_among(slots) | (&many.sets[Outcome::Delivered] & slots);
            had.add(&app.slot_owners.without(many.number, given));
        }
        let mut count = |slot: u32| {
            for place in lists::newest(&self.singles, app, slot) {
                let single = self.singles.at(place);
                if single.started_at < since {
                    break;
                }
                if single.outcome.is_open() || single.outcome == Outcome::Delivered {
                    had.add_one(slot);
                }
            }
        };
        // Whichever is shorter: the devices asked about, or those that had a push of their own.
        if slots.len() < app.singles.len() as u64 {
            slots.iter().filter(|slot| app.singles.contains_key(slot)).for_each(&mut count);
        } else {
            app.singles.keys().copied().filter(|&slot| slots.contains(slot)).for_each(&mut count);
        }
        had.at_least(cap.pushes.into()) & slots
    }
}
