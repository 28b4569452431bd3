//! Devices come and go.
//!
//! That they were seen, and that new ones are registered, is durable: one event for a batch. Where they are connected is not.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use roaring::RoaringBitmap;
use stadium_registry::{Changes, Slot};
use stadium_state_machine::Record;

use crate::app::Connection;
use crate::events::Event;
use crate::feed::Kind;
use crate::lists;
use crate::outcome::Outcome;
use crate::platform::Platform;
use crate::{Arrival, ConnectionName, Departure, Time, TransportCommand};

/// Deliveries for each device that went that are written as lost in the batch's own record, whose bytes were promised; time brings the others.
const LOST_EACH: usize = 8;

/// The state that a batch reports of a connection that both arrived and left in it. A batch does
/// not state which of them came last.
struct Words {
    arrived: u32,
    left: u32,
    arrived_at: Time,
    left_at: Time,
    was_there: bool,
}

impl Words {
    /// Whether the last word is that it is gone: by the clock, else by their number, since they alternate.
    fn is_gone(&self) -> bool {
        match self.left_at.cmp(&self.arrived_at) {
            Ordering::Less => false,
            Ordering::Greater => true,
            Ordering::Equal => u32::from(self.was_there) + self.arrived <= self.left,
        }
    }
}

/// Connections that arrived and left in one batch.
fn last_words(arrived: &[Arrival], left: &[Departure]) -> BTreeMap<ConnectionName, Words> {
    let mut words = BTreeMap::new();
    if arrived.is_empty() || left.is_empty() {
        return words;
    }
    for departure in left {
        let none = Words { arrived: 0, left: 0, arrived_at: Time(0), left_at: Time(0), was_there: false };
        let words = words.entry(departure.connection).or_insert(none);
        words.left += 1;
        words.left_at = words.left_at.max(departure.at);
    }
    for arrival in arrived {
        if let Some(words) = words.get_mut(&arrival.connection) {
            words.arrived += 1;
            words.arrived_at = words.arrived_at.max(arrival.at);
        }
    }
    words
}

impl Platform {
    /// All connections that are known, as ended at `at`: the notification when they are all to be
    /// forgotten.
    pub fn connected(&self, at: Time) -> Vec<Departure> {
        let registered = self.apps.values().flat_map(|app| {
            app.connections.iter().filter_map(move |(&slot, connection)| {
                let device = app.device_id(slot)?;
                Some(Departure { app: app.name.clone(), device, connection: connection.name, at })
            })
        });
        let unregistered = self.unregistered.iter().map(|(app, device, connection)| Departure {
            app: app.clone(),
            device: device.clone(),
            connection,
            at,
        });
        registered.chain(unregistered).collect()
    }

    /// Applies arrivals and departures. Devices that are not registered are left out.
    pub(crate) fn presence(
        &mut self,
        now: Time,
        arrived: &[Arrival],
        left: &[Departure],
        record: &mut Record,
    ) {
        let mut seen = BTreeMap::<u32, Vec<(u32, Time)>>::new();
        let mut gone = BTreeMap::<u32, RoaringBitmap>::new();
        let mut words = last_words(arrived, left);
        for departure in left {
            let Departure { app, device, connection, .. } = departure;
            if self.unregistered.forget(app, device, *connection)
                && let Some(words) = words.get_mut(connection)
            {
                words.was_there = true;
            }
            let Some(&app_number) = self.by_name.get(&departure.app) else { continue };
            let Some(app) = self.apps.get_mut(&app_number) else { continue };
            let Some(Slot(slot)) = app.registry.find(&departure.device) else { continue };
            if app.connections.get(&slot).is_some_and(|connection| connection.name == departure.connection) {
                let connection = app.connections.remove(&slot);
                app.reading.remove(slot);
                self.counted.in_flight -= connection.map_or(0, |connection| u64::from(connection.in_flight));
                self.note(app_number, Kind::Disconnected, slot, None, departure.at);
                gone.entry(app_number).or_default().insert(slot);
                seen.entry(app_number).or_default().push((slot, departure.at.min(now)));
                if let Some(words) = words.get_mut(&departure.connection) {
                    words.was_there = true;
                }
            }
        }
        let mut here = Vec::with_capacity(arrived.len());
        for arrival in arrived {
            let is_gone = words.get(&arrival.connection).is_some_and(Words::is_gone);
            let Some((app_number, slot)) = self.register_at_connect(now, arrival, record) else {
                if !is_gone {
                    self.unregistered.note(&arrival.app, &arrival.device, arrival.connection);
                }
                continue;
            };
            self.unregistered.take(&arrival.app, &arrival.device);
            seen.entry(app_number).or_default().push((slot, arrival.at.min(now)));
            if is_gone {
                self.note(app_number, Kind::Connected, slot, None, arrival.at);
                self.note(app_number, Kind::Disconnected, slot, None, arrival.at);
                continue;
            }
            let app = self.apps.get_mut(&app_number).expect("it was there just now");
            if app.connections.get(&slot).is_some_and(|connection| connection.name == arrival.connection) {
                // It was reported before: deliveries on their way to it stay so.
                self.woken.push((app_number, slot));
                continue;
            }
            if let Some(connection) = app.connections.remove(&slot) {
                app.reading.remove(slot);
                self.counted.in_flight -= u64::from(connection.in_flight);
                gone.entry(app_number).or_default().insert(slot);
            }
            here.push((app_number, slot, arrival.connection));
            self.note(app_number, Kind::Connected, slot, None, arrival.at);
        }
        for (app, slots) in seen {
            self.emit(now, record, &Event::Seen { app, slots: Cow::Owned(slots) });
        }
        let at_most = gone.values().map(RoaringBitmap::len).sum::<u64>() as usize * LOST_EACH;
        for (app, slots) in gone {
            self.come_down(app, &slots);
        }
        self.write_lost(now, record, at_most);
        for (app_number, slot, name) in here {
            let app = self.apps.get_mut(&app_number).expect("it was there just now");
            app.connections.insert(slot, Connection { name, in_flight: 0, more: false });
            app.reading.insert(slot);
            self.woken.push((app_number, slot));
        }
    }

    /// The app and slot of a device that connected; registered now where its app wants that.
    fn register_at_connect(
        &mut self,
        now: Time,
        arrival: &Arrival,
        record: &mut Record,
    ) -> Option<(u32, u32)> {
        let app_number = *self.by_name.get(&arrival.app)?;
        let app = self.apps.get(&app_number)?;
        if let Some(Slot(slot)) = app.registry.find(&arrival.device) {
            if app.registry.revoked().contains(slot) {
                self.to_transport.push(TransportCommand::Disconnect {
                    app: arrival.app.clone(),
                    device: arrival.device.clone(),
                });
                return None;
            }
            return Some((app_number, slot));
        }
        let changes = Changes { opt_in: Some(app.settings.opted_in), ..Changes::default() };
        if !app.settings.register_at_connect || app.registry.check(&arrival.device, &changes).is_err() {
            return None;
        }
        let event = Event::Device {
            app: app_number,
            device: Cow::Borrowed(&arrival.device),
            changes: Cow::Owned(changes),
        };
        self.emit(now, record, &event);
        self.apps[&app_number].registry.find(&arrival.device).map(|slot| (app_number, slot.0))
    }

    /// An app goes, and those of its devices that are connected stay so: they are known again when they are registered again.
    pub(crate) fn pass_over_all(&mut self, app_number: u32) {
        let Some(app) = self.apps.get_mut(&app_number) else { return };
        for (slot, connection) in std::mem::take(&mut app.connections) {
            self.counted.in_flight -= u64::from(connection.in_flight);
            if let Some(device) = app.device_id(slot) {
                self.unregistered.note(&app.name, &device, connection.name);
            }
        }
        app.reading.clear();
    }

    /// A device was registered just now: it may have been connected before.
    pub(crate) fn arrive_late(
        &mut self,
        now: Time,
        app_number: u32,
        device: &stadium_registry::DeviceId,
        record: &mut Record,
    ) {
        let Some(app) = self.apps.get_mut(&app_number) else { return };
        let Some(name) = self.unregistered.take(&app.name, device) else { return };
        let Some(Slot(slot)) = app.registry.find(device) else { return };
        if app.registry.revoked().contains(slot) {
            return;
        }
        app.connections.insert(slot, Connection { name, in_flight: 0, more: false });
        app.reading.insert(slot);
        self.woken.push((app_number, slot));
        self.emit(now, record, &Event::Seen { app: app_number, slots: Cow::Borrowed(&[(slot, now)]) });
        self.note(app_number, Kind::Connected, slot, None, now);
    }

    /// Deliveries that were on their way to these devices are not any more: the devices are owed
    /// them still, unless they go at most once.
    pub(crate) fn come_down(&mut self, app_number: u32, slots: &RoaringBitmap) {
        let Some(app) = self.apps.get(&app_number) else { return };
        let (mut flying, mut singles) = (Vec::new(), Vec::new());
        for &(_, number, place) in &app.open {
            let many = self.manies.at(place).many();
            if many.push.options.qos == 0 {
                self.lost.extend((&many.sets[Outcome::Owed] & slots).iter().map(|slot| (number, slot)));
            }
            if !many.in_flight.is_disjoint(slots) {
                flying.push(place);
            }
        }
        for slot in &app.owing & slots {
            for place in lists::owed(&self.singles, app, slot) {
                let single = self.singles.at(place);
                if single.qos == 0 {
                    self.lost.insert((single.number, slot));
                }
                if single.in_flight {
                    singles.push(place);
                }
            }
        }
        flying.into_iter().for_each(|place| self.many_mut(place).in_flight -= slots);
        singles.into_iter().for_each(|place| self.singles.at_mut(place).in_flight = false);
    }

    /// A device is cut: it may not connect any more, or is gone.
    pub(crate) fn cut(&mut self, app_number: u32, device: &stadium_registry::DeviceId) {
        let Some(app) = self.apps.get_mut(&app_number) else { return };
        if let Some(Slot(slot)) = app.registry.find(device) {
            let connection = app.connections.remove(&slot);
            app.reading.remove(slot);
            self.counted.in_flight -= connection.map_or(0, |connection| u64::from(connection.in_flight));
            self.come_down(app_number, &RoaringBitmap::from_iter([slot]));
        }
        let app = self.apps[&app_number].name.clone();
        self.to_transport.push(TransportCommand::Disconnect { app, device: device.clone() });
    }
}
