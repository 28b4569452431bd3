//! Changing devices: the bytes, and everything that finds them.
//!
//! The same changes in the same order make the same registry, slots included; a restored registry goes on as the saved one would have.

use std::hash::BuildHasher as _;

use crate::columns::Cell as _;
use crate::labels::Kind;
use crate::packed::{Cell, NONE, Parts, TIMESTAMP_MAX};
use crate::registry::{Columns, Name, Stored, Text, find_name, find_text, seconds, spot};
use crate::{Changes, DeviceId, Registry, Slot, Tag, Time, Value};

impl Registry {
    /// Changes a device, which is registered where it is new. The caller has checked.
    pub fn apply(&mut self, at: Time, device: &DeviceId, changes: &Changes) -> Slot {
        let slot = self.find_bytes(device.as_str().as_bytes()).unwrap_or_else(|| self.register(at, device));
        let before = self.at(slot).unpack();
        let mut parts = before.clone();
        self.apply_fields(at, slot, &mut parts, changes);
        self.apply_tags(slot, &mut parts, changes);
        self.apply_attributes(slot, &mut parts, changes);
        if parts != before {
            self.store(slot, device.as_str(), &parts);
        }
        // An audience finds a device by its user through its bytes, so these come first.
        if parts.user != before.user {
            if let Some(user) = &before.user {
                self.by_user.remove(self.hash.hash_one(user.as_str().as_bytes()), slot);
            }
            if parts.user.is_some() {
                self.index_user(slot);
            }
        }
        Slot(slot)
    }

    fn register(&mut self, at: Time, device: &DeviceId) -> u32 {
        let stored = Stored { packed: Box::default(), seen: 0, registered: seconds(at) };
        let slot = match self.free.min() {
            Some(slot) => {
                self.free.remove(slot);
                *self.devices.at_mut(slot) = stored;
                slot
            }
            None => self.devices.insert(stored),
        };
        self.store(slot, device.as_str(), &Parts::default());
        self.all.insert(slot);
        self.opted_in.insert(slot);
        self.index_id(slot);
        let (devices, id) = (&self.devices, device.as_str().as_bytes());
        self.order
            .insert(slot, |other| crate::packed::Packed::new(&devices.at(other).packed).id_bytes().cmp(id));
        slot
    }

    pub(crate) fn store(&mut self, slot: u32, id: &str, parts: &Parts) {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        parts.pack(id, &mut bytes);
        let device = self.devices.at_mut(slot);
        self.packed_bytes += bytes.len();
        self.packed_bytes -= device.packed.len();
        device.packed = bytes.as_slice().into();
        self.scratch = bytes;
    }

    pub(crate) fn index_id(&mut self, slot: u32) {
        let (devices, hash) = (&self.devices, &self.hash);
        let hash_of =
            |slot: u32| hash.hash_one(crate::packed::Packed::new(&devices.at(slot).packed).id_bytes());
        self.by_id.insert(hash_of(slot), slot, hash_of);
    }

    pub(crate) fn index_user(&mut self, slot: u32) {
        let (devices, hash) = (&self.devices, &self.hash);
        let hash_of = |slot: u32| {
            let user = crate::packed::Packed::new(&devices.at(slot).packed).user();
            hash.hash_one(user.expect("only devices with a user are there").as_bytes())
        };
        self.by_user.insert(hash_of(slot), slot, hash_of);
    }

    fn apply_fields(&mut self, at: Time, slot: u32, parts: &mut Parts, changes: &Changes) {
        let quiet = changes.quiet_hours.map(|hours| hours.map(|hours| hours.to_string()));
        let fields = [
            (Kind::Platform, text_of(&changes.platform)),
            (Kind::Version, text_of(&changes.app_version)),
            (Kind::Language, text_of(&changes.language)),
            (Kind::Country, text_of(&changes.country)),
            (Kind::Zone, text_of(&changes.time_zone)),
            (Kind::Quiet, quiet.as_ref().map(Option::as_deref)),
        ];
        for (kind, change) in fields {
            let Some(text) = change else { continue };
            let new = text.map_or(NONE, |text| self.labels.intern(kind, "", text));
            let old = std::mem::replace(&mut parts.fields[kind as usize], new);
            if new == old {
                continue;
            }
            if new != NONE {
                self.labels.join(new, slot);
            }
            if old != NONE {
                self.labels.leave(old, slot);
            }
            if kind == Kind::Zone {
                if new == NONE {
                    self.zoned.remove(slot)
                } else {
                    self.zoned.insert(slot)
                };
            }
        }
        if let Some(user) = &changes.user {
            parts.user.clone_from(user);
        }
        if let Some(opt_in) = changes.opt_in {
            parts.opted_out = !opt_in;
            if opt_in {
                self.opted_in.insert(slot)
            } else {
                self.opted_in.remove(slot)
            };
        }
        if let Some(revoked) = changes.revoked {
            parts.revoked = revoked;
            if revoked {
                self.revoked.insert(slot)
            } else {
                self.revoked.remove(slot)
            };
        }
        if let Some(location) = changes.location {
            parts.location = location;
            parts.located = location.map(|_| at.0.min(TIMESTAMP_MAX));
            self.locations.set(slot, location.map_or(i64::ABSENT, spot));
        }
        if let Some(credential) = changes.credential {
            parts.credential = credential;
        }
    }

    fn apply_tags(&mut self, slot: u32, parts: &mut Parts, changes: &Changes) {
        if let Some(set) = &changes.tags_set {
            let leaving: Vec<u32> = parts
                .tags
                .iter()
                .copied()
                .filter(|&label| {
                    let known = self.labels.at(label);
                    let stays = |tag: &Tag| tag.group() == known.group && tag.name.as_str() == known.text;
                    !self.labels.is_list(label) && !set.iter().any(stays)
                })
                .collect();
            leaving.into_iter().for_each(|label| self.take_tag(slot, parts, label));
            set.iter().for_each(|tag| self.give_tag(slot, parts, tag));
        }
        for tag in &changes.tags_removed {
            if let Some(label) = self.labels.find_tag(tag) {
                self.take_tag(slot, parts, label);
            }
        }
        changes.tags_added.iter().for_each(|tag| self.give_tag(slot, parts, tag));
    }

    fn give_tag(&mut self, slot: u32, parts: &mut Parts, tag: &Tag) {
        let label = self.labels.intern(Kind::Tag, tag.group(), tag.name.as_str());
        if let Err(at) = parts.tags.binary_search(&label) {
            parts.tags.insert(at, label);
            self.labels.join(label, slot);
        }
    }

    fn take_tag(&mut self, slot: u32, parts: &mut Parts, label: u32) {
        if let Ok(at) = parts.tags.binary_search(&label) {
            parts.tags.remove(at);
            self.labels.leave(label, slot);
        }
    }

    fn apply_attributes(&mut self, slot: u32, parts: &mut Parts, changes: &Changes) {
        for (name, value) in &changes.attributes {
            let known = find_name(&self.names, name.as_str());
            let found = known.map(|name| parts.attributes.binary_search_by_key(&name, |&(name, _)| name));
            match (value, known, found) {
                (Some(value), Some(name), Some(Ok(at))) => {
                    let new = self.cell(value);
                    let old = std::mem::replace(&mut parts.attributes[at].1, new);
                    // The new one's text is counted before the old one's goes: they may be the same.
                    self.join_cell(slot, name, new);
                    self.leave_cell(slot, name, old, Some(new));
                }
                (Some(value), _, _) => {
                    let name = known.unwrap_or_else(|| self.add_name(name.as_str()));
                    let new = self.cell(value);
                    let at = parts.attributes.partition_point(|&(other, _)| other < name);
                    parts.attributes.insert(at, (name, new));
                    self.names.used(name);
                    self.join_cell(slot, name, new);
                }
                (None, Some(name), Some(Ok(at))) => {
                    let (_, old) = parts.attributes.remove(at);
                    self.leave_cell(slot, name, old, None);
                    self.leave_name(name);
                }
                (None, _, _) => {}
            }
        }
    }

    fn add_name(&mut self, name: &str) -> u32 {
        let number = self.names.add(Name(name.into()));
        self.reach_columns(number);
        number
    }

    pub(crate) fn reach_columns(&mut self, name: u32) {
        self.columns.reach(name);
    }

    fn leave_name(&mut self, name: u32) {
        if self.names.unused(name) {
            self.columns[name] = Columns::default();
        }
    }

    /// The value with its text's number; a text that is new must be used.
    fn cell(&mut self, value: &Value) -> Cell {
        match value {
            Value::Number(number) => Cell::Number(number + 0.0),
            Value::Date(at) => Cell::Date(*at),
            Value::Text(text) => Cell::Text(find_text(&self.texts, text).unwrap_or_else(|| {
                self.text_bytes += heap_bytes(text);
                self.texts.add(Text(text.clone()))
            })),
        }
    }

    pub(crate) fn join_cell(&mut self, slot: u32, name: u32, cell: Cell) {
        let columns = &mut self.columns[name];
        match cell {
            Cell::Number(number) => columns.numbers.set(slot, number),
            Cell::Date(at) => columns.dates.set(slot, at),
            Cell::Text(text) => {
                columns.texts.set(slot, text);
                self.texts.used(text);
            }
        }
    }

    /// The value goes, for another one or none. A column keeps what was put there after it.
    fn leave_cell(&mut self, slot: u32, name: u32, old: Cell, new: Option<Cell>) {
        let columns = &mut self.columns[name];
        match (old, new) {
            (Cell::Number(_), Some(Cell::Number(_))) | (Cell::Date(_), Some(Cell::Date(_))) => {}
            (Cell::Number(_), _) => columns.numbers.set(slot, f64::ABSENT),
            (Cell::Date(_), _) => columns.dates.set(slot, i64::ABSENT),
            (Cell::Text(text), new) => {
                if !matches!(new, Some(Cell::Text(_))) {
                    columns.texts.set(slot, u32::ABSENT);
                }
                let bytes = heap_bytes(&self.texts.at(text).0);
                if self.texts.unused(text) {
                    self.text_bytes -= bytes;
                }
            }
        }
    }

    /// Forgets a device, and returns its slot, which will be another one's.
    pub fn remove(&mut self, device: &DeviceId) -> Option<Slot> {
        let id = device.as_str().as_bytes();
        let slot = self.find_bytes(id)?;
        let parts = self.at(slot).unpack();
        for &label in parts.fields.iter().filter(|&&label| label != NONE).chain(&parts.tags) {
            self.labels.leave(label, slot);
        }
        for &(name, cell) in &parts.attributes {
            self.leave_cell(slot, name, cell, None);
            self.leave_name(name);
        }
        if parts.location.is_some() {
            self.locations.set(slot, i64::ABSENT);
        }
        if let Some(user) = &parts.user {
            self.by_user.remove(self.hash.hash_one(user.as_str().as_bytes()), slot);
        }
        self.by_id.remove(self.hash.hash_one(id), slot);
        let devices = &self.devices;
        self.order.remove(|other| crate::packed::Packed::new(&devices.at(other).packed).id_bytes().cmp(id));
        for bitmap in [&mut self.all, &mut self.opted_in, &mut self.revoked, &mut self.zoned] {
            bitmap.remove(slot);
        }
        let stored = self.devices.at_mut(slot);
        self.packed_bytes -= stored.packed.len();
        *stored = Stored { packed: Box::default(), seen: 0, registered: 0 };
        self.free.insert(slot);
        Some(Slot(slot))
    }
}

/// What a text takes outside its entry.
///
/// By its length: two equal texts may have different capacities, and one is counted when it comes,
/// the other one when it goes.
pub(crate) fn heap_bytes(text: &compact_str::CompactString) -> usize {
    if text.len() > size_of::<compact_str::CompactString>() { text.len() } else { 0 }
}

fn text_of<T: AsRef<str>>(change: &Option<Option<T>>) -> Option<Option<&str>> {
    change.as_ref().map(|text| text.as_ref().map(AsRef::as_ref))
}
