//! What events do to the state.
//!
//! The same functions serve the deciding side, which has just written the event, and a replay, which has read it back. They look at what is durable and at
//! the record's time only, never at who is connected. Where an event cannot follow the state, it is corrupt.

use std::sync::Arc;

use stadium_registry::{AppName, Slot};
use stadium_state_machine::encoding::{Reader, corrupt};

use crate::app::App;
use crate::events::{Event, From};
use crate::figures::Figures;
use crate::life::Origin;
use crate::platform::{Due, Platform, Spot};
use crate::{AppSettings, Corrupt, ShardMessage, Time, device_home};

/// Pushes that a journal of version 2 shows as cancelled before their message has come; of more the
/// oldest is forgotten, as when it was written.
const CANCELLED_MAX: usize = 10_000;

fn unknown_push(number: u64) -> Corrupt {
    corrupt(format!("push {number} is not there"))
}

impl Platform {
    /// Applies the events of a record that was read back.
    pub(crate) fn replay(&mut self, at: u64, time: Time, events: &[u8]) -> Result<(), Corrupt> {
        let mut input = Reader::new(events);
        let place = |error: Corrupt| corrupt(format!("record {at}: {}", error.reason));
        while !input.is_empty() {
            let event = Event::decode(&mut input, time).map_err(place)?;
            self.apply_event(time, &event).map_err(place)?;
        }
        // Nobody is connected yet.
        for push in std::mem::take(&mut self.touched) {
            if self.is_open_at_most_once(push) {
                self.orphans.insert(push);
            }
        }
        self.woken.clear();
        self.to_transport.clear();
        self.counted = Figures::default();
        Ok(())
    }

    pub(crate) fn app_at(&self, app: u32) -> Result<&App, Corrupt> {
        self.apps.get(&app).map(|app| &**app).ok_or_else(|| corrupt(format!("app {app} is not there")))
    }

    pub(crate) fn app_at_mut(&mut self, app: u32) -> Result<&mut App, Corrupt> {
        self.apps
            .get_mut(&app)
            .map(|app| &mut **app)
            .ok_or_else(|| corrupt(format!("app {app} is not there")))
    }

    pub(crate) fn apply_event(&mut self, now: Time, event: &Event<'_>) -> Result<(), Corrupt> {
        match event {
            Event::App { app, name, version, settings } => self.apply_app(*app, name, *version, settings)?,
            Event::AppDropped { app } => self.apply_app_dropped(*app)?,
            Event::Device { app, device, changes } => {
                let slot = self.app_at_mut(*app)?.registry.apply(now, device, changes);
                self.note_slot(slot);
            }
            Event::Removed { app, device } => {
                let slot = self.app_at(*app)?.registry.find(device);
                if let Some(Slot(slot)) = slot {
                    self.forget_device(now, *app, slot);
                    self.app_at_mut(*app)?.registry.remove(device);
                }
            }
            Event::Seen { app, slots } => {
                let registry = &mut self.app_at_mut(*app)?.registry;
                for &(slot, at) in slots.iter() {
                    if registry.id(Slot(slot)).is_none() {
                        return Err(corrupt(format!("device {slot} is not there")));
                    }
                    registry.seen(Slot(slot), at);
                }
            }
            Event::Located { app, spots } => {
                let registry = &mut self.app_at_mut(*app)?.registry;
                for &(slot, at, location) in spots.iter() {
                    if registry.id(Slot(slot)).is_none() {
                        return Err(corrupt(format!("device {slot} is not there")));
                    }
                    registry.locate(Slot(slot), at, location);
                }
            }
            Event::Audience { app, name, selector } => {
                let selector = selector.clone().into_owned();
                self.app_at_mut(*app)?.audiences.insert(name.clone(), selector);
            }
            Event::AudienceDropped { app, name } => {
                self.app_at_mut(*app)?.audiences.remove(name);
            }
            Event::Accepted { app, push, body } => {
                self.app_at(*app)?;
                if self.find_id(*app, push.id).is_some() {
                    return Err(corrupt(format!("push {} is accepted twice", push.id)));
                }
                self.accepted(now, *app, push, body, now, None, Origin::Here);
            }
            Event::Edited { push, new, body } => {
                let spot = self.find_number(*push).ok_or_else(|| unknown_push(*push))?;
                self.edited(now, spot, new, body)?;
            }
            Event::Cancelled { app, push } => {
                self.app_at(*app)?;
                match self.find_id(*app, *push) {
                    Some(spot) => self.cancel(now, spot),
                    None => {
                        self.cancelled.insert((*app, *push), now);
                        if self.cancelled.len() > CANCELLED_MAX {
                            let oldest = self
                                .cancelled
                                .iter()
                                .min_by_key(|&(key, &at)| (at, *key))
                                .map(|(key, _)| *key);
                            oldest.and_then(|key| self.cancelled.remove(&key));
                        }
                    }
                }
            }
            Event::Started { push } => {
                let spot = self.find_number(*push).ok_or_else(|| unknown_push(*push))?;
                self.started(now, spot)?;
            }
            Event::Reaches { push, slots } => {
                let spot = self.find_number(*push).ok_or_else(|| unknown_push(*push))?;
                self.reaches(now, spot, slots);
            }
            Event::Steps(steps) => steps.iter().for_each(|step| self.take_step(now, step)),
            Event::Expired { pushes } => {
                for &push in pushes.iter() {
                    let spot = self.find_number(push).ok_or_else(|| unknown_push(push))?;
                    self.expire(now, spot);
                }
            }
            Event::Forgotten { pushes } => {
                for &push in pushes.iter() {
                    let spot = self.find_number(push).ok_or_else(|| unknown_push(push))?;
                    self.forget(spot);
                }
            }
            Event::LogDropped { push } => match self.find_number(*push) {
                Some(Spot::Many(place)) => self.drop_log(place),
                _ => return Err(unknown_push(*push)),
            },
            Event::Released { push, until } => {
                let spot = self.find_number(*push).ok_or_else(|| unknown_push(*push))?;
                self.release(spot, *until);
            }
            Event::Zone { push, zone } => {
                let Some(Spot::Many(place)) = self.find_number(*push) else {
                    return Err(unknown_push(*push));
                };
                self.start_zone(now, place, zone)?;
            }
            Event::ZonesOver { push } => {
                let Some(Spot::Many(place)) = self.find_number(*push) else {
                    return Err(unknown_push(*push));
                };
                self.zones_over(now, place);
            }
            Event::Schedule { .. }
            | Event::Held { .. }
            | Event::Unscheduled { .. }
            | Event::Occurred { .. }
            | Event::Missed { .. } => self.apply_schedule(now, event)?,
            Event::ShardMessage { from, message } => self.apply_message(now, *from, message)?,
            Event::Confirmed { message } => {
                self.outbox.remove(*message);
            }
            Event::Withdrawn { shard, message } => {
                self.taken.entry(*shard).or_default().withdrawn.insert(*message);
            }
        }
        Ok(())
    }

    fn apply_app(
        &mut self,
        app: u32,
        name: &AppName,
        version: u64,
        settings: &AppSettings,
    ) -> Result<(), Corrupt> {
        match self.apps.get_mut(&app) {
            None if self.by_name.contains_key(name) || app < self.app_next => {
                return Err(corrupt(format!("app {app} is there twice")));
            }
            None => self.add_app(app, name.clone(), version, settings.clone()),
            Some(known) if known.name != *name => return Err(corrupt(format!("app {app} has two names"))),
            Some(known) => {
                known.settings = settings.clone();
                known.version = version;
            }
        }
        if self.is_home(name) {
            let message = ShardMessage::Settings { app: name.clone(), version, settings: settings.clone() };
            self.write_to_others(&message);
        }
        Ok(())
    }

    fn apply_app_dropped(&mut self, app: u32) -> Result<(), Corrupt> {
        let name = self.app_at(app)?.name.clone();
        let pushes: Vec<u64> = self.app_at(app)?.order.iter().map(|&(_, number)| number).collect();
        for number in pushes {
            if let Some(spot) = self.find_number(number) {
                self.forget(spot);
            }
        }
        self.outbox.drop_app(&name);
        self.cancelled.retain(|&(of, _), _| of != app);
        self.due.retain(|(_, due)| !matches!(due, Due::Occurrence(of, _) if *of == app));
        self.held_back.retain(|&(_, of, _)| of != app);
        self.by_name.remove(&name);
        if let Some(dropped) = self.apps.remove(&app) {
            self.checkpoint.keep_dropped(app, dropped);
        }
        Ok(())
    }

    /// Writes a message to all other shards.
    pub(crate) fn write_to_others(&mut self, message: &ShardMessage) {
        for shard in 0..self.place.shards {
            if shard != self.place.shard {
                self.outbox.write(shard, message.clone());
            }
        }
    }

    fn apply_message(&mut self, now: Time, from: From, message: &ShardMessage) -> Result<(), Corrupt> {
        let taken = self.taken.entry(from.shard).or_default();
        if !taken.note(from.number, from.confirmed_below) {
            return Err(corrupt(format!(
                "message {} of shard {} was taken in twice",
                from.number, from.shard
            )));
        }
        let is_withdrawn = taken.withdrawn.remove(&from.number);
        match message {
            ShardMessage::Settings { app, version, settings } => match self.by_name.get(app) {
                None => {
                    let number = self.app_next;
                    self.add_app(number, app.clone(), *version, settings.clone());
                }
                Some(number) => {
                    let app = self.apps.get_mut(number).expect("an app that has a name is there");
                    if app.version < *version {
                        app.version = *version;
                        app.settings = settings.clone();
                    }
                }
            },
            ShardMessage::Start { push, accepted_at, schedule } => {
                let Some(&app) = self.by_name.get(&push.app) else {
                    return Err(corrupt("a push of an app that is not there"));
                };
                let late = self.cancelled.get(&(app, push.id)).is_some_and(|at| at >= accepted_at);
                if !late && self.find_id(app, push.id).is_none() {
                    let origin = Origin::ShardMessage { number: from.number, is_withdrawn };
                    let mut body = std::mem::take(&mut self.scratch);
                    body.clear();
                    push.encode(&mut body);
                    self.accepted(now, app, push, &body, *accepted_at, schedule.clone(), origin);
                    self.scratch = body;
                }
            }
        }
        Ok(())
    }

    /// A push that was made by its app's home starts: on this shard, and by messages elsewhere.
    pub(crate) fn spread(&mut self, place: u32) {
        if self.place.shards == 1 {
            return;
        }
        let many = self.many(place);
        if !self.is_home(&many.push.app) {
            return;
        }
        let push = match &many.resolved {
            None => many.push.clone(),
            Some(selector) => {
                let mut push = (*many.push).clone();
                push.audience = crate::Audience::Selector((**selector).clone());
                Arc::new(push)
            }
        };
        let message =
            ShardMessage::Start { push, accepted_at: many.accepted_at, schedule: many.schedule.clone() };
        self.write_to_others(&message);
    }

    /// The shard of a device of that app.
    pub(crate) fn home_of(&self, app: &AppName, device: &stadium_registry::DeviceId) -> u16 {
        device_home(app, device, self.place.shards)
    }
}
