//! A push's life on a shard: accepted, started, ended for one device after the other, settled, forgotten.
//!
//! Everything here follows from the state and the record's time, so that replaying the records
//! gives the same state. A push that leaves an inbox passes through [`Platform::end_single`] or
//! [`Platform::end_many`] ([`crate::ends`]).

use std::sync::Arc;

use roaring::RoaringBitmap;
use stadium_state_machine::encoding::corrupt;

use crate::clock::{AHEAD_MAX, time_in_zone};
use crate::lists::List;
use crate::many::{Kept, Many, Zones};
use crate::outcome::Outcome;
use crate::platform::{Due, Platform, Spot};
use crate::single::{NONE, Single};
use crate::{Audience, Corrupt, NewPush, ScheduleName, Time, When};
use stadium_table::Entry as _;

/// Who made a push start on this shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was accepted here.
    Here,
    /// Its app's home wrote that it starts now; where that message is withdrawn, it was cancelled
    /// before it came.
    ShardMessage { number: u64, is_withdrawn: bool },
}

/// A push of QoS 0 is over so long after its start at the latest, whatever became of it.
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
            match origin {
                Origin::ShardMessage { is_withdrawn: true, .. } => self.cancel(now, Spot::Single(place)),
                Origin::ShardMessage { .. } | Origin::Here => self.plan_single(now, place, push),
            }
        } else {
            let mut many = Many::new(number, app, Arc::new(push.clone()), accepted_at, body.len() as u64);
            many.schedule = schedule;
            if let Origin::ShardMessage { number, .. } = origin {
                many.message = Some(number);
            }
            self.pushes_bytes += cost(&many);
            let place = self.manies.insert(Kept(Some(Box::new(many))));
            self.index(Spot::Many(place));
            match origin {
                Origin::ShardMessage { is_withdrawn: true, .. } => self.cancel(now, Spot::Many(place)),
                Origin::ShardMessage { .. } => self.start_many(now, place),
                Origin::Here => self.plan_many(now, place),
            }
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
                time_in_zone(civil, zone.as_ref().map_or("", |zone| zone.as_str())).unwrap_or(now)
            }
        };
        if at > now {
            self.singles.at_mut(place).next_at = at;
            self.due.insert((at, Due::Start(number)));
        } else {
            self.start_single(now, place, push);
        }
    }

    fn plan_many(&mut self, now: Time, place: u32) {
        let many = self.many(place);
        let at = match many.push.when {
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

    /// A push that has not started has another content, at another time.
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
                self.plan_many(now, place);
            }
        }
        Ok(())
    }

    fn start_single(&mut self, now: Time, place: u32, push: &NewPush) {
        let Audience::Device(device) = &push.audience else { return };
        let app_number = self.singles.at(place).app;
        let app = &self.apps[&app_number];
        let slot = app.registry.find(device).map(|slot| slot.0);
        let (outcome, next_at) = match slot {
            None => (Outcome::NotRegistered, Time(0)),
            Some(slot) => self.outcome_of_one(now, app, slot, push),
        };
        let expiry = push.options.expiry.unwrap_or(app.settings.expiry);
        let remember = app.settings.remember;
        let app = self.apps.get_mut(&app_number).expect("it was there just now");
        let single = self.singles.at_mut(place);
        let number = single.number;
        single.slot = slot.unwrap_or(NONE);
        single.started_at = now;
        single.outcome = outcome;
        single.until = now.after(if single.qos == 0 { expiry.min(QOS_0_SPAN) } else { expiry });
        single.next_at = if outcome.is_open() { next_at } else { now.after(remember) };
        let (until, forgotten_at) = (single.until, single.next_at);
        if let Some(slot) = slot {
            List::All.append(&mut self.singles, app, slot, place);
        }
        let Some(slot) = slot.filter(|_| outcome.is_open()) else {
            self.forgets.insert((forgotten_at, number));
            return;
        };
        List::Owed.append(&mut self.singles, app, slot, place);
        app.inboxes.add_one(slot);
        self.counted.targeted += 1;
        self.ends.insert((until, number));
        if outcome == Outcome::Waiting {
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
            // A device that has moved was reached in the zone before.
            matched -= many.matched();
        }
        self.apps
            .get_mut(&app_number)
            .expect("an app's pushes go before it does")
            .slot_owners
            .reached(number, &matched);
        let (app, many) = (&self.apps[&app_number], self.manies.at(place).many());
        let push = many.push.clone();
        let split = self.split(now, app, &push, matched);
        let expiry = push.options.expiry.unwrap_or(app.settings.expiry);
        let until = now.after(if push.options.qos == 0 { expiry.min(QOS_0_SPAN) } else { expiry });
        let many = self.manies.at_mut(place).many_mut();
        for (outcome, slots) in split.left_out {
            many.sets[outcome] |= slots;
        }
        let mut targeted = split.owed.clone();
        self.many_bytes -= many.held_bytes;
        many.sets[Outcome::Owed] |= split.owed;
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
                if single.outcome.is_open() && !slots.contains(single.slot) {
                    self.end_single(now, place, Outcome::Expired);
                }
            }
            Spot::Many(place) => {
                let missed = self.many(place).owed() - slots;
                self.end_many(now, place, &missed, Outcome::Expired);
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
                if single.outcome == Outcome::Waiting {
                    single.outcome = Outcome::Owed;
                }
            }
            Spot::Many(place) => {
                let many = self.manies.at_mut(place).many_mut();
                if let Some(slots) = many.waiting.remove(&until) {
                    many.sets[Outcome::Owed] |= slots;
                }
            }
        }
        self.touched.push(number);
    }

    /// Owed deliveries are never made.
    pub(crate) fn cancel(&mut self, now: Time, spot: Spot) {
        match spot {
            Spot::Single(place) => {
                let single = self.singles.at_mut(place);
                if single.is_scheduled() && !single.cancelled {
                    let number = single.number;
                    let due = (single.next_at, Due::Start(number));
                    let remember = self.apps[&single.app].settings.remember;
                    single.cancelled = true;
                    single.outcome = Outcome::Cancelled;
                    single.started_at = now;
                    single.next_at = now.after(remember);
                    self.forgets.insert((single.next_at, number));
                    self.due.remove(&due);
                } else if single.outcome.is_open() {
                    single.cancelled = true;
                    self.end_single(now, place, Outcome::Cancelled);
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
                self.end_many(now, place, &owed, Outcome::Cancelled);
                self.settle(now, place);
            }
        }
    }

    /// Its time is over for every device that has not got it.
    pub(crate) fn expire(&mut self, now: Time, spot: Spot) {
        match spot {
            Spot::Single(place) => {
                if self.singles.at(place).outcome.is_open() {
                    self.end_single(now, place, Outcome::Expired);
                }
            }
            Spot::Many(place) => {
                let many = self.many(place);
                let (owed, due) = (many.owed(), (many.until, many.number));
                self.ends.remove(&due);
                self.end_many(now, place, &owed, Outcome::Expired);
            }
        }
    }
}

/// Bytes that a push to many counts for, its log aside.
pub(crate) fn cost(many: &Many) -> u64 {
    1_024 + many.body_bytes
}
