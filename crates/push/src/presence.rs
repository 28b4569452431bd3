//! Devices come and go.
//!
//! That they were seen, and that new ones are registered, is durable: one event for a batch. Where they are connected is not.

use std::borrow::Cow;
use std::collections::BTreeMap;

use roaring::RoaringBitmap;
use stadium_machine::Record;
use stadium_registry::{Changes, Slot};

use crate::app::Connection;
use crate::events::Event;
use crate::feed::Kind;
use crate::lists;
use crate::platform::Platform;
use crate::{Arrival, Departure, Time, ToEdge};

impl Platform {
    /// Takes in who came and who went. What is no device of ours is passed over.
    pub(crate) fn presence(
        &mut self,
        now: Time,
        arrived: &[Arrival],
        left: &[Departure],
        record: &mut Record,
    ) {
        let mut seen = BTreeMap::<u32, Vec<(u32, Time)>>::new();
        let mut gone = BTreeMap::<u32, RoaringBitmap>::new();
        for departure in left {
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
            }
        }
        let mut here = Vec::with_capacity(arrived.len());
        for arrival in arrived {
            let Some((app_number, slot)) = self.register_at_connect(now, arrival, record) else { continue };
            let app = self.apps.get_mut(&app_number).expect("it was there just now");
            if let Some(connection) = app.connections.remove(&slot) {
                app.reading.remove(slot);
                self.counted.in_flight -= u64::from(connection.in_flight);
                gone.entry(app_number).or_default().insert(slot);
            }
            here.push((app_number, slot, arrival.connection));
            seen.entry(app_number).or_default().push((slot, arrival.at.min(now)));
            self.note(app_number, Kind::Connected, slot, None, arrival.at);
        }
        for (app, slots) in seen {
            self.emit(now, record, &Event::Seen { app, slots: Cow::Owned(slots) });
        }
        for (app, slots) in gone {
            self.come_down(app, &slots);
        }
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
                self.to_edge.push(ToEdge::Cut { app: arrival.app.clone(), device: arrival.device.clone() });
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

    /// What was on its way to these devices is not any more: they are owed it still.
    pub(crate) fn come_down(&mut self, app_number: u32, slots: &RoaringBitmap) {
        let Some(app) = self.apps.get(&app_number) else { return };
        let flying: Vec<u32> = app
            .open
            .iter()
            .map(|&(_, _, place)| place)
            .filter(|&place| !self.many(place).in_flight.is_disjoint(slots))
            .collect();
        let singles: Vec<u32> = (&app.owing & slots)
            .iter()
            .flat_map(|slot| lists::owed(&self.singles, app, slot))
            .filter(|&place| self.singles.at(place).in_flight)
            .collect();
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
        self.to_edge.push(ToEdge::Cut { app, device: device.clone() });
    }
}
