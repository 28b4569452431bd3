//! Fleets: swarms of MQTT devices that are there beside the sessions.
//!
//! Only read here; how devices behave is the business of the crate that runs them.

use super::Builder;
use super::reader::{Fields, Item};
use super::shape;
use super::target::is_mqtt;
use crate::program::{Fleet, Traffic};

impl<'a> Builder<'a, '_> {
    pub(super) fn fleets(&mut self, fields: &Fields<'a>) -> Vec<Fleet> {
        let Some(item) = fields.item("fleets") else {
            return Vec::new();
        };
        let items = self.reader.list(item);
        let mut fleets: Vec<Fleet> = Vec::new();
        for item in items {
            let Some(fields) = self.reader.fields(item, &shape::FLEET) else {
                continue;
            };
            if let Some(fleet) = self.fleet(&fields) {
                if fleets.iter().any(|other| other.name == fleet.name) {
                    self.reader.problem(fields.at.clone(), format!("two fleets are called `{}`", fleet.name));
                }
                fleets.push(fleet);
            }
        }
        fleets
    }

    fn fleet(&mut self, fields: &Fields<'a>) -> Option<Fleet> {
        let target = self.target_for("MQTT", is_mqtt, fields.item("target"), None, fields.at.clone());
        let name = self.reader.text(fields.item("name")?)?.to_owned();
        let devices = self.whole_u32(fields.item("devices")?, 1..=100_000_000)?;
        let text = |builder: &mut Self, key: &str| {
            fields.item(key).and_then(|item| builder.reader.text(item)).map(str::to_owned)
        };
        let duration =
            |builder: &mut Self, key: &str| fields.item(key).and_then(|item| builder.reader.duration(item));
        let subscriptions = fields.item("subscriptions").map_or(&[][..], |item| self.reader.list(item));
        let subscriptions: Vec<String> =
            subscriptions.iter().filter_map(|item| self.reader.text(item)).map(str::to_owned).collect();
        let profiles: Vec<(&str, &str)> =
            shape::PROFILES.iter().map(|profile| (*profile, *profile)).collect();
        let credentials = match (text(self, "user_name"), text(self, "password")) {
            (None, None) => None,
            (user, password) => Some((user.unwrap_or_default(), password.unwrap_or_default())),
        };
        Some(Fleet {
            target: target?,
            devices,
            connects_per_second: fields
                .item("connects_per_second")
                .and_then(|item| self.reader.number(item, 0.001..=1e7))
                .unwrap_or(1_000.0),
            start_ns: duration(self, "start").unwrap_or(0),
            id_prefix: text(self, "id_prefix").unwrap_or_else(|| format!("{name}-")),
            subscriptions,
            qos: self.qos(fields),
            keep_alive_s: self.seconds(fields, "keep_alive", 60),
            credentials,
            profile: fields
                .item("profile")
                .and_then(|item| self.reader.word(item, &profiles))
                .unwrap_or("steady")
                .to_owned(),
            processes: fields.item("processes").and_then(|item| self.whole_u32(item, 0..=1024)).unwrap_or(0),
            broadcast: fields.item("broadcast").and_then(|item| self.traffic(item)),
            uplink: fields.item("uplink").and_then(|item| self.traffic(item)),
            storm_ns: duration(self, "storm"),
            name,
        })
    }

    fn traffic(&mut self, item: &'a Item<'a>) -> Option<Traffic> {
        let fields = self.reader.fields(item, &shape::TRAFFIC)?;
        let rate = fields.item("rate").and_then(|item| self.reader.number(item, 0.0..=1e7));
        let topic = fields.item("topic").and_then(|item| self.reader.text(item));
        let bytes = fields.item("bytes").and_then(|item| self.whole_u32(item, 0..=268_435_455));
        let qos = self.qos(&fields);
        Some(Traffic { rate: rate?, topic: topic?.to_owned(), bytes: bytes.unwrap_or(100), qos })
    }

    pub(super) fn whole_u32(
        &mut self,
        item: &'a Item<'a>,
        bounds: std::ops::RangeInclusive<u64>,
    ) -> Option<u32> {
        self.reader.whole(item, bounds).and_then(|number| u32::try_from(number).ok())
    }

    pub(super) fn qos(&mut self, fields: &Fields<'a>) -> u8 {
        let qos = fields.item("qos").and_then(|item| self.reader.whole(item, 0..=2));
        qos.and_then(|qos| u8::try_from(qos).ok()).unwrap_or(0)
    }

    /// A time in whole seconds that fits MQTT's two bytes.
    pub(super) fn seconds(&mut self, fields: &Fields<'a>, key: &str, default: u16) -> u16 {
        let Some(item) = fields.item(key) else {
            return default;
        };
        let Some(ns) = self.reader.duration(item) else {
            return default;
        };
        u16::try_from(ns.div_ceil(1_000_000_000)).unwrap_or_else(|_| {
            self.reader.problem(item.span(), "MQTT has room for 65535 seconds");
            default
        })
    }
}
