//! A push's life on a shard: accepted, started, ended for one device after the other, settled, forgotten.
//!
//! Everything here follows from the state and the record's time, so that replaying the records gives the same state. Who leaves an inbox passes through
//! [`Platform::end_single`] or [`Platform::end_many`]: they keep the counts, the lists and the timers.

use std::sync::Arc;

use roaring::RoaringBitmap;
use stadium_machine::encoding::corrupt;
use stadium_registry::Slot;

use crate::clock::{AHEAD_MAX, moment};
use crate::fate::Fate;
use crate::lists::{self, List};
use crate::many::{Kept, Many, Zones};
use crate::platform::{Due, Platform, Spot};
use crate::single::{NONE, Single};
use crate::{Audience, Corrupt, NewPush, ScheduleName, Time, When};
use stadium_table::Entry as _;

/// Who made a push start on this shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was accepted here.
    Here,
    /// Its app's home wrote that it starts now.
    Letter,
}

/// A push of QoS 0 is over so long after its start, whatever became of it.
pub(crate) const QOS_0_SPAN: u64 = 60_000;

impl Platform {
    /// A push was accepted: it starts now, or waits for its time.
    #[allow(clippy::too_many_arguments, reason = "each is of a type of its own")]
    pub(crate) fn accepted(
        &mut self,
        now: Time,
        app: u32,
        push: &NewPush,
        body: &[u8],
        accepted_at: Time,
        schedule: Option<ScheduleName>,
        origin: Origin,
    ) {
        let number = self.number_next;
        self.number_next += 1;
        self.counted.accepted += 1;
        self.apps.get_mut(&app).expect("the caller has looked").order.insert((accepted_at, number));
        if let Audience::Device(_) = push.audience {
            let mut single = Single::vacant();
            single.number = number;
            single.app = app;
            single.id = push.id;
            single.accepted_at = accepted_at;
            single.priority = push.options.priority;
            single.qos = push.options.qos;
            single.collapse = push.options.collapse.clone().map(Box::new);
            single.schedule = schedule.map(Box::new);
            single.body = body.into();
            self.pushes_bytes += single.cost();
            let place = self.singles.insert(single);
            self.index(Spot::Single(place));
            self.plan_single(now, place, push);
        } else {
            let mut many = Many::new(number, app, Arc::new(push.clone()), accepted_at, body.len() as u64);
            many.schedule = schedule;
            self.pushes_bytes += cost(&many);
            let place = self.manies.insert(Kept(Some(Box::new(many))));
            self.index(Spot::Many(place));
            self.plan_many(now, place, origin);
        }
    }

    fn plan_single(&mut self, now: Time, place: u32, push: &NewPush) {
        let single = self.singles.at(place);
        let number = single.number;
        let at = match push.when {
            When::Now => now,
            When::At(at) => at,
            When::Local(civil) => {
                let registry = &self.apps[&single.app].registry;
                let Audience::Device(device) = &push.audience else { return };
                let device = registry.find(device).and_then(|slot| registry.device(slot));
                let zone = device.and_then(|device| device.time_zone);
                moment(civil, zone.as_ref().map_or("", |zone| zone.as_str())).unwrap_or(now)
            }
        };
        if at > now {
            self.singles.at_mut(place).next_at = at;
            self.due.insert((at, Due::Start(number)));
        } else {
            self.start_single(now, place, push);
        }
    }

    fn plan_many(&mut self, now: Time, place: u32, origin: Origin) {
        let many = self.many(place);
        let at = match many.push.when {
            _ if origin == Origin::Letter => now,
            When::Now => now,
            When::At(at) => at,
            // Where the day begins first.
            When::Local(civil) => civil.as_utc().map_or(now, |utc| Time(utc.0.saturating_sub(AHEAD_MAX))),
        };
        if at > now {
            let number = many.number;
            self.many_mut(place).next_at = at;
            self.due.insert((at, Due::Start(number)));
        } else {
            self.start_many(now, place);
        }
    }

    /// The time of a push has come.
    pub(crate) fn started(&mut self, now: Time, spot: Spot) -> Result<(), Corrupt> {
        match spot {
            Spot::Single(place) => {
                let single = self.singles.at(place);
                if !single.is_scheduled() || single.cancelled {
                    return Err(corrupt(format!("push {} starts twice", single.number)));
                }
                self.due.remove(&(single.next_at, Due::Start(single.number)));
                let push = single.push();
                self.start_single(now, place, &push);
            }
            Spot::Many(place) => {
                let many = self.many(place);
                if many.started_at.is_some() || many.cancelled_at.is_some() {
                    return Err(corrupt(format!("push {} starts twice", many.number)));
                }
                self.due.remove(&(many.next_at, Due::Start(many.number)));
                self.start_many(now, place);
            }
        }
        Ok(())
    }

    /// A push that has not started says something else, at another time.
    pub(crate) fn edited(
        &mut self,
        now: Time,
        spot: Spot,
        new: &NewPush,
        body: &[u8],
    ) -> Result<(), Corrupt> {
        match spot {
            Spot::Single(place) => {
                let single = self.singles.at_mut(place);
                if !single.is_scheduled() || single.cancelled {
                    return Err(corrupt(format!("push {} was changed after it started", single.number)));
                }
                let due = (single.next_at, Due::Start(single.number));
                self.pushes_bytes -= single.cost();
                single.priority = new.options.priority;
                single.qos = new.options.qos;
                single.collapse = new.options.collapse.clone().map(Box::new);
                single.body = body.into();
                self.pushes_bytes += single.cost();
                self.due.remove(&due);
                self.plan_single(now, place, new);
            }
            Spot::Many(place) => {
                let many = self.manies.at_mut(place).many_mut();
                if many.started_at.is_some() || many.cancelled_at.is_some() {
                    return Err(corrupt(format!("push {} was changed after it started", many.number)));
                }
                let due = (many.next_at, Due::Start(many.number));
                self.pushes_bytes -= cost(many);
                many.push = Arc::new(new.clone());
                many.body_bytes = body.len() as u64;
                self.pushes_bytes += cost(many);
                self.due.remove(&due);
                self.plan_many(now, place, Origin::Here);
            }
        }
        Ok(())
    }

    fn start_single(&mut self, now: Time, place: u32, push: &NewPush) {
        let Audience::Device(device) = &push.audience else { return };
        let app_number = self.singles.at(place).app;
        let app = &self.apps[&app_number];
        let slot = app.registry.find(device).map(|slot| slot.0);
        let (fate, next_at) = match slot {
            None => (Fate::NotRegistered, Time(0)),
            Some(slot) => self.fate_of_one(now, app, slot, push),
        };
        let expiry = push.options.expiry.unwrap_or(app.settings.expiry);
        let remember = app.settings.remember;
        let app = self.apps.get_mut(&app_number).expect("it was there just now");
        let single = self.singles.at_mut(place);
        let number = single.number;
        single.slot = slot.unwrap_or(NONE);
        single.started_at = now;
        single.fate = fate;
        single.until = now.after(if single.qos == 0 { QOS_0_SPAN } else { expiry });
        single.next_at = if fate.is_open() { next_at } else { now.after(remember) };
        let (until, forgotten_at) = (single.until, single.next_at);
        if let Some(slot) = slot {
            List::All.append(&mut self.singles, app, slot, place);
        }
        let Some(slot) = slot.filter(|_| fate.is_open()) else {
            self.forgets.insert((forgotten_at, number));
            return;
        };
        List::Owed.append(&mut self.singles, app, slot, place);
        app.inboxes.add_one(slot);
        self.counted.targeted += 1;
        self.ends.insert((until, number));
        if fate == Fate::Waiting {
            self.due.insert((next_at, Due::Release(number)));
        } else {
            self.touched.push(number);
        }
        if push.options.collapse.is_some() {
            self.collapse(now, app_number, push, &RoaringBitmap::from_iter([slot]), number);
        }
        self.crowd_out_one(now, app_number, slot);
    }

    /// A push to many starts: everywhere at once, or zone by zone.
    fn start_many(&mut self, now: Time, place: u32) {
        let many = self.manies.at(place).many();
        let app = &self.apps[&many.app];
        let devices = app.registry.len() as u64;
        let resolved = match &many.push.audience {
            Audience::Saved(name) => app.audiences.get(name).cloned().map(Arc::new),
            _ => None,
        };
        let many = self.manies.at_mut(place).many_mut();
        many.started_at = Some(now);
        many.devices = devices;
        if resolved.is_some() {
            many.resolved = resolved;
        }
        if let When::Local(civil) = many.push.when {
            let over_at = civil.as_utc().map_or(now, |utc| utc.after(AHEAD_MAX)).max(now);
            many.zones = Some(Zones { over_at, ..Zones::default() });
            self.due.insert((now, Due::Zone(many.number)));
            many.next_at = now;
        }
        let (zoned, app) = (many.zones.is_some(), many.app);
        if let Some(app) = self.apps.get_mut(&app) {
            app.started.insert((now, place));
        }
        self.spread(place);
        if !zoned {
            self.reach(now, place, None);
        }
        self.settle(now, place);
    }

    /// The civil time of a push has come in a zone; devices without one have the empty name.
    pub(crate) fn start_zone(&mut self, now: Time, place: u32, zone: &str) -> Result<(), Corrupt> {
        let many = self.manies.at_mut(place).many_mut();
        let Some(zones) = &mut many.zones else { return Err(corrupt("a push that knows no zones")) };
        if zones.over || !zones.fired.insert(zone.into()) {
            return Err(corrupt(format!("push {} starts twice in {zone:?}", many.number)));
        }
        self.reach(now, place, Some(zone));
        Ok(())
    }

    /// No zone is left.
    pub(crate) fn zones_over(&mut self, now: Time, place: u32) {
        let many = self.manies.at_mut(place).many_mut();
        self.due.remove(&(many.next_at, Due::Zone(many.number)));
        if let Some(zones) = &mut many.zones {
            zones.over = true;
        }
        self.settle(now, place);
    }

    /// Finds whom a push reaches, of a zone or of all, and has them owed it.
    fn reach(&mut self, now: Time, place: u32, zone: Option<&str>) {
        let many = self.manies.at(place).many();
        let (app_number, number) = (many.app, many.number);
        let app = &self.apps[&app_number];
        let registry = &app.registry;
        let mut matched =
            many.selector().map(|selector| registry.evaluate(selector, now)).unwrap_or_default();
        if let Some(zone) = zone {
            if zone.is_empty() {
                matched &= registry.without_time_zone();
            } else {
                let of_zone = registry.time_zones().find(|&(name, _)| name == zone);
                matched &= of_zone.map_or_else(RoaringBitmap::new, |(_, devices)| devices.clone());
            }
            // Who has moved was reached in the zone before.
            matched -= many.matched();
        }
        let push = many.push.clone();
        let split = self.split(now, app, &push, matched);
        let expiry = push.options.expiry.unwrap_or(app.settings.expiry);
        let until = now.after(if push.options.qos == 0 { QOS_0_SPAN } else { expiry });
        let many = self.manies.at_mut(place).many_mut();
        for (fate, slots) in split.left_out {
            many.sets[fate] |= slots;
        }
        let mut targeted = split.owed.clone();
        self.many_bytes -= many.held_bytes;
        many.sets[Fate::Owed] |= split.owed;
        for (until, slots) in split.waiting {
            targeted |= &slots;
            *many.waiting.entry(until).or_default() |= slots;
            self.due.insert((until, Due::Release(number)));
        }
        many.held_bytes = many.bytes();
        self.many_bytes += many.held_bytes;
        if targeted.is_empty() {
            return;
        }
        self.ends.remove(&(many.until, number));
        many.until = until;
        self.ends.insert((until, number));
        let app = self.apps.get_mut(&app_number).expect("it was there just now");
        app.inboxes.add(&targeted);
        self.counted.targeted += targeted.len();
        app.open.insert((9 - push.options.priority, number, place));
        self.touched.push(number);
        if push.options.collapse.is_some() {
            self.collapse(now, app_number, &push, &targeted, number);
        }
        self.crowd_out(now, app_number, &targeted);
    }

    /// A push of QoS 0 goes to those who are there; for all others it has expired.
    pub(crate) fn reaches(&mut self, now: Time, spot: Spot, slots: &RoaringBitmap) {
        match spot {
            Spot::Single(place) => {
                let single = self.singles.at(place);
                if single.fate.is_open() && !slots.contains(single.slot) {
                    self.end_single(now, place, Fate::Expired);
                }
            }
            Spot::Many(place) => {
                let missed = self.many(place).owed() - slots;
                self.end_many(now, place, &missed, Fate::Expired);
            }
        }
    }

    /// Quiet hours are over.
    pub(crate) fn release(&mut self, spot: Spot, until: Time) {
        let number = self.number_at(spot);
        self.due.remove(&(until, Due::Release(number)));
        match spot {
            Spot::Single(place) => {
                let single = self.singles.at_mut(place);
                if single.fate == Fate::Waiting {
                    single.fate = Fate::Owed;
                }
            }
            Spot::Many(place) => {
                let many = self.manies.at_mut(place).many_mut();
                if let Some(slots) = many.waiting.remove(&until) {
                    many.sets[Fate::Owed] |= slots;
                }
            }
        }
        self.touched.push(number);
    }

    /// What is not delivered never is.
    pub(crate) fn cancel(&mut self, now: Time, spot: Spot) {
        match spot {
            Spot::Single(place) => {
                let single = self.singles.at_mut(place);
                if single.is_scheduled() && !single.cancelled {
                    let number = single.number;
                    let due = (single.next_at, Due::Start(number));
                    let remember = self.apps[&single.app].settings.remember;
                    single.cancelled = true;
                    single.fate = Fate::Cancelled;
                    single.started_at = now;
                    single.next_at = now.after(remember);
                    self.forgets.insert((single.next_at, number));
                    self.due.remove(&due);
                } else if single.fate.is_open() {
                    single.cancelled = true;
                    self.end_single(now, place, Fate::Cancelled);
                }
            }
            Spot::Many(place) => {
                let many = self.manies.at_mut(place).many_mut();
                if many.settled || many.cancelled_at.is_some() {
                    return;
                }
                many.cancelled_at = Some(now);
                let due =
                    if many.started_at.is_none() { Due::Start(many.number) } else { Due::Zone(many.number) };
                self.due.remove(&(many.next_at, due));
                if let Some(zones) = &mut many.zones {
                    zones.over = true;
                }
                let owed = many.owed();
                self.end_many(now, place, &owed, Fate::Cancelled);
                self.settle(now, place);
            }
        }
    }

    /// Its time is over for whoever has not got it.
    pub(crate) fn expire(&mut self, now: Time, spot: Spot) {
        match spot {
            Spot::Single(place) => {
                if self.singles.at(place).fate.is_open() {
                    self.end_single(now, place, Fate::Expired);
                }
            }
            Spot::Many(place) => {
                let many = self.many(place);
                let (owed, due) = (many.owed(), (many.until, many.number));
                self.ends.remove(&due);
                self.end_many(now, place, &owed, Fate::Expired);
            }
        }
    }
}

/// Ends.
impl Platform {
    /// A push to one device, which it is owed, ends so.
    pub(crate) fn end_single(&mut self, now: Time, place: u32, fate: Fate) {
        let single = self.singles.at_mut(place);
        debug_assert!(single.fate.is_open(), "only what is owed can end");
        let (number, app, slot, until) = (single.number, single.app, single.slot, single.until);
        if single.fate == Fate::Waiting {
            self.due.remove(&(single.next_at, Due::Release(number)));
        }
        let app_number = app;
        let app = self.apps.get_mut(&app_number).expect("an app's pushes go before it does");
        single.fate = fate;
        single.ended_after = single.after(now);
        single.next_at = now.after(app.settings.remember);
        let flew = std::mem::take(&mut single.in_flight);
        self.ends.remove(&(until, number));
        self.forgets.insert((single.next_at, number));
        app.inboxes.subtract_one(slot);
        List::Owed.take(&mut self.singles, app, slot, place);
        if flew {
            self.landed(app_number, slot);
        }
        self.count_ended(fate, 1);
    }

    /// For these devices, which are owed a push, it ends so.
    pub(crate) fn end_many(&mut self, now: Time, place: u32, slots: &RoaringBitmap, fate: Fate) {
        if slots.is_empty() {
            return;
        }
        let many = self.manies.at_mut(place).many_mut();
        many.end(slots, fate);
        let flew = &many.in_flight & slots;
        many.in_flight -= slots;
        let app_number = many.app;
        let app = self.apps.get_mut(&app_number).expect("an app's pushes go before it does");
        app.inboxes.subtract(slots);
        flew.iter().for_each(|slot| self.landed(app_number, slot));
        self.count_ended(fate, slots.len());
        self.settle(now, place);
    }

    /// The same for one device. Says whether it was owed it.
    pub(crate) fn end_one(&mut self, now: Time, place: u32, slot: u32, fate: Fate) -> bool {
        let many = self.manies.at_mut(place).many_mut();
        if !many.end_one(slot, fate) {
            return false;
        }
        let flew = many.in_flight.remove(slot);
        let app_number = many.app;
        let app = self.apps.get_mut(&app_number).expect("an app's pushes go before it does");
        app.inboxes.subtract_one(slot);
        if flew {
            self.landed(app_number, slot);
        }
        self.count_ended(fate, 1);
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
    fn collapse(&mut self, now: Time, app_number: u32, push: &NewPush, targeted: &RoaringBitmap, newer: u64) {
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
            let taken = self.many(place).owed() & targeted;
            self.end_many(now, place, &taken, Fate::Collapsed);
        }
        singles.into_iter().for_each(|place| self.end_single(now, place, Fate::Collapsed));
    }

    /// Where inboxes hold more than they may, the oldest of the lowest priority goes.
    fn crowd_out(&mut self, now: Time, app_number: u32, targeted: &RoaringBitmap) {
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
                let crowded = self.many(place).owed() & &full;
                full -= &crowded;
                self.end_many(now, place, &crowded, Fate::CrowdedOut);
            }
            debug_assert!(full.is_empty(), "what is counted is owed");
            for slot in by_one {
                self.crowd_out_one(now, app_number, slot);
            }
        }
    }

    fn crowd_out_one(&mut self, now: Time, app_number: u32, slot: u32) {
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
                Some((_, _, Spot::Single(place))) => self.end_single(now, place, Fate::CrowdedOut),
                Some((_, _, Spot::Many(place))) => {
                    self.end_one(now, place, slot, Fate::CrowdedOut);
                }
                None => {
                    debug_assert!(false, "what is counted is owed");
                    return;
                }
            }
        }
    }

    /// A device goes: what it is owed goes with it, and its slot may be another one's.
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
            self.end_one(now, place, slot, Fate::Cancelled);
        }
        for place in owed {
            self.end_single(now, place, Fate::Cancelled);
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
    }

    /// A push is remembered no more.
    pub(crate) fn forget(&mut self, spot: Spot) {
        self.unindex(spot);
        match spot {
            Spot::Single(place) => {
                let single = self.singles.at(place);
                let (number, slot, cost) = (single.number, single.slot, single.cost());
                let (accepted_at, app, open) = (single.accepted_at, single.app, single.fate.is_open());
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

/// Bytes that a push to many counts for, its log aside.
pub(crate) fn cost(many: &Many) -> u64 {
    1_024 + many.body_bytes
}
