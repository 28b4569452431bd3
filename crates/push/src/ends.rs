//! How deliveries end, and pushes with them: delivered, expired, collapsed, crowded out, cancelled; settled, forgotten.
//!
//! A push that leaves an inbox passes through [`Platform::end_single`], [`Platform::end_many`] or
//! [`Platform::end_one`]: they keep the counts, the lists, the timers and the deliveries in flight.

use roaring::RoaringBitmap;
use stadium_registry::Slot;

use crate::life::cost;
use crate::lists::{self, List};
use crate::outcome::Outcome;
use crate::platform::{Due, Platform, Spot};
use crate::single::NONE;
use crate::{NewPush, Time};

impl Platform {
    /// A push to one device, which it is owed, ends so.
    pub(crate) fn end_single(&mut self, now: Time, place: u32, outcome: Outcome) {
        let single = self.singles.at_mut(place);
        debug_assert!(single.outcome.is_open(), "only what is owed can end");
        let (number, app, slot, until) = (single.number, single.app, single.slot, single.until);
        if single.outcome == Outcome::Waiting {
            self.due.remove(&(single.next_at, Due::Release(number)));
        }
        let app_number = app;
        let app = self.apps.get_mut(&app_number).expect("an app's pushes go before it does");
        single.outcome = outcome;
        single.ended_after = single.after(now);
        single.next_at = now.after(app.settings.remember);
        let flew = std::mem::take(&mut single.in_flight);
        self.ends.remove(&(until, number));
        self.orphans.remove(&number);
        self.forgets.insert((single.next_at, number));
        app.inboxes.subtract_one(slot);
        List::Owed.take(&mut self.singles, app, slot, place);
        if flew {
            self.landed(app_number, slot);
        }
        self.count_ended(outcome, 1);
    }

    /// For these devices, which are owed a push, it ends so.
    pub(crate) fn end_many(&mut self, now: Time, place: u32, slots: &RoaringBitmap, outcome: Outcome) {
        if slots.is_empty() {
            return;
        }
        let many = self.manies.at_mut(place).many_mut();
        let number = many.number;
        many.end(slots, outcome, |until| {
            self.due.remove(&(until, Due::Release(number)));
        });
        let flew = &many.in_flight & slots;
        many.in_flight -= slots;
        let app_number = many.app;
        let app = self.apps.get_mut(&app_number).expect("an app's pushes go before it does");
        app.inboxes.subtract(slots);
        flew.iter().for_each(|slot| self.landed(app_number, slot));
        self.count_ended(outcome, slots.len());
        self.settle(now, place);
    }

    /// The same for one device. Returns whether it was owed it.
    pub(crate) fn end_one(&mut self, now: Time, place: u32, slot: u32, outcome: Outcome) -> bool {
        let many = self.manies.at_mut(place).many_mut();
        let number = many.number;
        let over = |until| {
            self.due.remove(&(until, Due::Release(number)));
        };
        if !many.end_one(slot, outcome, over) {
            return false;
        }
        let flew = many.in_flight.remove(slot);
        let app_number = many.app;
        let app = self.apps.get_mut(&app_number).expect("an app's pushes go before it does");
        app.inboxes.subtract_one(slot);
        if flew {
            self.landed(app_number, slot);
        }
        self.count_ended(outcome, 1);
        self.settle(now, place);
        true
    }

    /// Looks whether nobody is owed a push to many any more.
    pub(crate) fn settle(&mut self, now: Time, place: u32) {
        let many = self.manies.at_mut(place).many_mut();
        if many.is_open() {
            return;
        }
        let app = self.apps.get_mut(&many.app).expect("an app's pushes go before it does");
        app.open.remove(&(9 - many.push.options.priority, many.number, place));
        self.ends.remove(&(many.until, many.number));
        self.orphans.remove(&many.number);
        if many.settled || !many.is_done() {
            return;
        }
        many.settled = true;
        self.many_bytes -= many.held_bytes;
        many.held_bytes = many.bytes();
        self.many_bytes += many.held_bytes;
        many.next_at = now.after(app.settings.remember);
        self.forgets.insert((many.next_at, many.number));
        self.paced.remove(&many.number);
    }

    /// A newer push takes the place of older ones with its key.
    pub(crate) fn collapse(
        &mut self,
        now: Time,
        app_number: u32,
        push: &NewPush,
        targeted: &RoaringBitmap,
        newer: u64,
    ) {
        let app = &self.apps[&app_number];
        let key = &push.options.collapse;
        let older: Vec<u32> = app
            .open
            .iter()
            .filter(|&&(_, number, place)| number != newer && self.many(place).push.options.collapse == *key)
            .map(|&(_, _, place)| place)
            .collect();
        let owing = &app.owing & targeted;
        let mut singles = Vec::new();
        for slot in &owing {
            singles.extend(lists::owed(&self.singles, app, slot).filter(|&place| {
                let single = self.singles.at(place);
                single.number != newer && single.collapse.as_deref() == key.as_ref()
            }));
        }
        for place in older {
            let taken = self.many(place).owed_among(targeted);
            self.end_many(now, place, &taken, Outcome::Collapsed);
        }
        singles.into_iter().for_each(|place| self.end_single(now, place, Outcome::Collapsed));
    }

    /// Where inboxes hold more than they may, the oldest of the lowest priority goes.
    pub(crate) fn crowd_out(&mut self, now: Time, app_number: u32, targeted: &RoaringBitmap) {
        loop {
            let app = &self.apps[&app_number];
            let mut full = app.inboxes.at_least(u64::from(app.settings.inbox_max) + 1) & targeted;
            if full.is_empty() {
                return;
            }
            let by_one = &full & &app.owing;
            full -= &by_one;
            // The same order for all who have nothing but pushes to many.
            let mut order: Vec<(std::cmp::Reverse<u8>, u64, u32)> = app
                .open
                .iter()
                .map(|&(rank, number, place)| (std::cmp::Reverse(rank), number, place))
                .collect();
            order.sort_unstable();
            for (_, _, place) in order {
                if full.is_empty() {
                    break;
                }
                let crowded = self.many(place).owed_among(&full);
                full -= &crowded;
                self.end_many(now, place, &crowded, Outcome::CrowdedOut);
            }
            debug_assert!(full.is_empty(), "what is counted is owed");
            for slot in by_one {
                self.crowd_out_one(now, app_number, slot);
            }
        }
    }

    pub(crate) fn crowd_out_one(&mut self, now: Time, app_number: u32, slot: u32) {
        loop {
            let app = &self.apps[&app_number];
            if app.inboxes.of(slot) <= u64::from(app.settings.inbox_max) {
                return;
            }
            let single = lists::owed(&self.singles, app, slot)
                .map(|place| {
                    let single = self.singles.at(place);
                    (single.priority, single.number, Spot::Single(place))
                })
                .min_by_key(|&(priority, number, _)| (priority, number));
            let many = app
                .open
                .iter()
                .filter(|&&(_, _, place)| self.many(place).is_owed(slot))
                .map(|&(rank, number, place)| (9 - rank, number, Spot::Many(place)))
                .min_by_key(|&(priority, number, _)| (priority, number));
            let oldest =
                [single, many].into_iter().flatten().min_by_key(|&(priority, number, _)| (priority, number));
            match oldest {
                Some((_, _, Spot::Single(place))) => self.end_single(now, place, Outcome::CrowdedOut),
                Some((_, _, Spot::Many(place))) => {
                    self.end_one(now, place, slot, Outcome::CrowdedOut);
                }
                None => {
                    debug_assert!(false, "what is counted is owed");
                    return;
                }
            }
        }
    }

    /// A device goes, with the pushes that it is owed, and its slot may become another one's.
    pub(crate) fn forget_device(&mut self, now: Time, app_number: u32, slot: u32) {
        let app = &self.apps[&app_number];
        let open: Vec<u32> = app
            .open
            .iter()
            .map(|&(_, _, place)| place)
            .filter(|&place| self.many(place).is_owed(slot))
            .collect();
        let owed: Vec<u32> = lists::owed(&self.singles, app, slot).collect();
        for place in open {
            self.end_one(now, place, slot, Outcome::Cancelled);
        }
        for place in owed {
            self.end_single(now, place, Outcome::Cancelled);
        }
        let all: Vec<u32> = lists::newest(&self.singles, &self.apps[&app_number], slot).collect();
        let app = self.apps.get_mut(&app_number).expect("it was there just now");
        for place in all {
            List::All.take(&mut self.singles, app, slot, place);
            self.singles.at_mut(place).slot = NONE;
        }
        let connection = app.connections.remove(&slot);
        app.reading.remove(slot);
        self.counted.in_flight -= connection.map_or(0, |connection| u64::from(connection.in_flight));
        self.held_back.retain(|&(_, of, other)| (of, other) != (app_number, slot));
        app.slot_owners.vacate(slot, self.number_next);
        if app.slot_owners.is_long() {
            let oldest = app.order.iter().map(|&(_, number)| number).min();
            app.slot_owners.prune(oldest.unwrap_or(self.number_next));
        }
    }

    /// A push is remembered no more.
    pub(crate) fn forget(&mut self, spot: Spot) {
        self.unindex(spot);
        match spot {
            Spot::Single(place) => {
                let single = self.singles.at(place);
                let (number, slot, cost) = (single.number, single.slot, single.cost());
                let (accepted_at, app, open) = (single.accepted_at, single.app, single.outcome.is_open());
                self.ends.remove(&(single.until, number));
                self.forgets.remove(&(single.next_at, number));
                self.due.remove(&(single.next_at, Due::Start(number)));
                self.due.remove(&(single.next_at, Due::Release(number)));
                if let Some(app) = self.apps.get_mut(&app) {
                    app.order.remove(&(accepted_at, number));
                    if slot != NONE {
                        List::All.take(&mut self.singles, app, slot, place);
                        if open {
                            List::Owed.take(&mut self.singles, app, slot, place);
                            app.inboxes.subtract_one(slot);
                        }
                    }
                }
                self.pushes_bytes -= cost;
                self.singles.remove(place);
            }
            Spot::Many(place) => {
                self.drop_log(place);
                let many = self.manies.at(place).many();
                let number = many.number;
                self.ends.remove(&(many.until, number));
                self.forgets.remove(&(many.next_at, number));
                self.due.remove(&(many.next_at, Due::Start(number)));
                self.due.remove(&(many.next_at, Due::Zone(number)));
                for &until in many.waiting.keys() {
                    self.due.remove(&(until, Due::Release(number)));
                }
                if let Some(app) = self.apps.get_mut(&many.app) {
                    app.slot_owners.forget(number);
                    app.order.remove(&(many.accepted_at, number));
                    app.open.remove(&(9 - many.push.options.priority, number, place));
                    many.started_at.map(|at| app.started.remove(&(at, place)));
                    let owed = many.owed();
                    if !owed.is_empty() {
                        app.inboxes.subtract(&owed);
                    }
                }
                self.paced.remove(&number);
                self.pushes_bytes -= cost(many);
                self.many_bytes -= many.held_bytes;
                self.manies.remove(place);
            }
        }
    }

    /// What happened to whom is known no more; the counts are.
    pub(crate) fn drop_log(&mut self, place: u32) {
        if self.many(place).log.is_empty() {
            return;
        }
        let many = self.manies.at_mut(place).many_mut();
        let pieces = std::mem::take(&mut many.log);
        self.pushes_bytes -= std::mem::take(&mut many.log_bytes);
        self.logged.remove(&many.number);
        for piece in pieces {
            self.logs.remove(piece);
        }
    }

    /// Whether a device exists that has this slot.
    pub(crate) fn has_slot(&self, app: u32, slot: u32) -> bool {
        self.apps.get(&app).is_some_and(|app| app.registry.id(Slot(slot)).is_some())
    }
}
