//! What time brings: pushes start, quiet hours end, schedules come, pushes expire and are forgotten, paces go on.
//!
//! Durable results are events, and so happen once. The others (paces, connections that were left
//! alone) only lead to dispatches.

use std::borrow::Cow;

use stadium_state_machine::Record;

use crate::clock::{ZONE_STEP, time_in_zone};
use crate::events::Event;
use crate::feed::Kind;
use crate::platform::{Due, Platform, Spot};
use crate::{Time, When};

/// Numbers of pushes in one event.
const PUSHES_AT_ONCE: usize = 256;
/// Deliveries that were lost, in one event: no more bytes than the numbers of pushes take.
const LOST_AT_ONCE: usize = 90;

impl Platform {
    /// Does so many events' worth of the due work. Returns whether there is more.
    pub(crate) fn advance(&mut self, now: Time, record: &mut Record, events_max: u32) -> bool {
        let mut events = 0;
        while events < events_max && self.next_loss(now, record) {
            events += 1;
        }
        // Before anything goes out again.
        if self.has_losses() {
            return true;
        }
        self.let_go(now);
        while events < events_max {
            if !self.next_event(now, record) {
                break;
            }
            events += 1;
            // A push that goes at most once lists the devices that it reaches. That event may be
            // large, so the turn ends.
            if self.write_reach(now, record) {
                break;
            }
        }
        self.send(now);
        self.is_due(now)
    }

    /// Whether pushes at most once have expired without an event so far.
    fn has_losses(&self) -> bool {
        !self.lost.is_empty() || !self.orphans.is_empty()
    }

    /// Writes that pushes at most once have expired: all that were under way when the shard started anew, and what was lost with its connection.
    fn next_loss(&mut self, now: Time, record: &mut Record) -> bool {
        let mut expired = Vec::new();
        while expired.len() < PUSHES_AT_ONCE
            && let Some(push) = self.orphans.pop_first()
        {
            if self.is_open_at_most_once(push) {
                expired.push(push);
            }
        }
        if expired.is_empty() {
            return self.write_lost(now, record, LOST_AT_ONCE);
        }
        expired.iter().for_each(|&push| self.note_expired(now, push));
        self.emit(now, record, &Event::Expired { pushes: Cow::Owned(expired) });
        true
    }

    /// Connections that were left alone for a while, and paces.
    fn let_go(&mut self, now: Time) {
        while let Some(&(at, app_number, slot)) = self.held_back.first() {
            if at > now {
                break;
            }
            self.held_back.pop_first();
            let Some(app) = self.apps.get_mut(&app_number) else { continue };
            if app.connections.contains_key(&slot) {
                app.reading.insert(slot);
                self.woken.push((app_number, slot));
            }
        }
        let paced: Vec<u64> =
            self.paced.iter().filter(|(_, paced)| paced.next <= now).map(|(&number, _)| number).collect();
        paced.into_iter().for_each(|number| self.send_slice(now, number));
    }

    /// Of pushes at most once that have just started: the devices that are there. Returns whether
    /// there was one.
    pub(crate) fn write_reach(&mut self, now: Time, record: &mut Record) -> bool {
        let mut has_written = false;
        for place in 0..self.touched.len() {
            let push = self.touched[place];
            if let Some(slots) = self.reached_at_once(push) {
                self.emit(now, record, &Event::Reaches { push, slots });
                has_written = true;
            }
        }
        has_written
    }

    fn is_due(&self, now: Time) -> bool {
        let has_come = |at: Option<Time>| at.is_some_and(|at| at <= now);
        has_come(self.due.first().map(|due| due.0))
            || has_come(self.ends.first().map(|end| end.0))
            || has_come(self.forgets.first().map(|forget| forget.0))
    }

    fn next_event(&mut self, now: Time, record: &mut Record) -> bool {
        if let Some((at, due)) = self.due.first().cloned()
            && at <= now
        {
            match due {
                // The deliveries that it held have all ended, and the push was forgotten since.
                Due::Release(push) if self.find_number(push).is_none() => {
                    self.due.remove(&(at, due));
                }
                Due::Start(push) => self.emit(now, record, &Event::Started { push }),
                Due::Release(push) => self.emit(now, record, &Event::Released { push, until: at }),
                Due::Zone(push) => self.next_zone(now, at, push, record),
                Due::Occurrence(app, name) => self.occur(now, app, &name, record),
            }
            return true;
        }
        let expired = numbers_until(&self.ends, now);
        if !expired.is_empty() {
            expired.iter().for_each(|&push| self.note_expired(now, push));
            self.emit(now, record, &Event::Expired { pushes: Cow::Owned(expired) });
            return true;
        }
        let forgotten = numbers_until(&self.forgets, now);
        if !forgotten.is_empty() {
            self.emit(now, record, &Event::Forgotten { pushes: Cow::Owned(forgotten) });
            return true;
        }
        false
    }

    /// Notifies feeds of devices that did not get a push in time.
    fn note_expired(&mut self, now: Time, push: u64) {
        let Some(spot) = self.find_number(push) else { return };
        let (app, id) = self.name_at(spot);
        if self.apps.get(&app).is_none_or(|app| app.settings.feeds.is_empty()) {
            return;
        }
        match spot {
            Spot::Single(place) => {
                let slot = self.singles.at(place).slot;
                self.note(app, Kind::Expired, slot, Some(id), now);
            }
            Spot::Many(place) => {
                let owed = self.many(place).owed();
                owed.iter().for_each(|slot| self.note(app, Kind::Expired, slot, Some(id), now));
            }
        }
    }

    /// Starts a push in the next zone whose time has come; where there is none, returns when to
    /// look again.
    fn next_zone(&mut self, now: Time, at: Time, push: u64, record: &mut Record) {
        let Some(Spot::Many(place)) = self.find_number(push) else {
            self.due.remove(&(at, Due::Zone(push)));
            return;
        };
        let many = self.many(place);
        let (Some(zones), When::Local(civil)) = (&many.zones, many.push.when) else {
            self.due.remove(&(at, Due::Zone(push)));
            return;
        };
        let over_at = zones.over_at;
        let registry = &self.apps[&many.app].registry;
        let named = registry.time_zones().filter(|(_, devices)| !devices.is_empty()).map(|(zone, _)| zone);
        // Devices without a zone are there or will be: the empty name stands for them.
        let mut next: Option<(Time, &str)> = None;
        for zone in std::iter::once("").chain(named) {
            if zones.fired.contains(zone) {
                continue;
            }
            let Some(starts) = time_in_zone(civil, zone) else { continue };
            if next.is_none_or(|next| (starts, zone) < next) {
                next = Some((starts, zone));
            }
        }
        match next {
            Some((starts, zone)) if starts <= now => {
                let zone = zone.to_owned();
                self.emit(now, record, &Event::Zone { push, zone: Cow::Owned(zone) });
            }
            _ if over_at <= now => self.emit(now, record, &Event::ZonesOver { push }),
            next => {
                // Devices may come to zones that had none: look from time to time.
                let again = now.after(ZONE_STEP).min(over_at);
                let again = next.map_or(again, |(starts, _)| again.min(starts));
                self.due.remove(&(at, Due::Zone(push)));
                self.due.insert((again, Due::Zone(push)));
                self.many_mut(place).next_at = again;
            }
        }
    }

    /// When time brings something next.
    pub(crate) fn deadline(&self) -> Option<Time> {
        [
            self.has_losses().then_some(Time(0)),
            self.due.first().map(|due| due.0),
            self.ends.first().map(|end| end.0),
            self.forgets.first().map(|forget| forget.0),
            self.held_back.first().map(|held| held.0),
            self.next_slice(),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}

/// The numbers whose time has come, the oldest first.
fn numbers_until(of: &std::collections::BTreeSet<(Time, u64)>, now: Time) -> Vec<u64> {
    of.iter().take_while(|&&(at, _)| at <= now).take(PUSHES_AT_ONCE).map(|&(_, number)| number).collect()
}

/// Bytes of an event that names pushes.
pub(crate) const NUMBERS_BYTES: usize = 16 + PUSHES_AT_ONCE * 10;
