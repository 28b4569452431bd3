//! What is known about devices, one by one and in pages.
//!
//! Pages go by id, so that one may go on behind a device that has gone meanwhile, and pages of several shards can be merged.

use std::borrow::Cow;

use compact_str::CompactString;
use roaring::RoaringBitmap;

use crate::labels::Kind;
use crate::packed::{Cell, Packed};
use crate::registry::find_name;
use crate::value::date_text;
use crate::{
    AppVersion, AttributeName, Country, Device, DeviceId, Language, Platform, Registry, Slot, Tag, Time,
    UserName, Value, ZoneName,
};

/// Which devices a page lists. All conditions must hold.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Whose id begins so.
    pub prefix: String,
    /// Of this user.
    pub user: Option<UserName>,
    /// With this tag.
    pub tag: Option<Tag>,
}

/// Devices that are sorted for a page rather than looked for in the order of all.
const SORTED_MAX: u64 = 4_096;

const WAS_ONE: &str = "it was one when it was stored";

impl Registry {
    /// Whose slot it is.
    pub fn id(&self, slot: Slot) -> Option<&str> {
        self.packed(slot).map(Packed::id)
    }

    fn field(&self, packed: Packed<'_>, kind: Kind) -> Option<&str> {
        packed.field(kind).map(|label| self.labels.text(label))
    }

    /// All that is known about a device.
    pub fn device(&self, slot: Slot) -> Option<Device> {
        let stored = self.stored(slot)?;
        let packed = Packed::new(&stored.packed);
        let mut tags: Vec<Tag> = packed.tags().map(|label| self.labels.tag(label)).collect();
        tags.sort_unstable();
        let mut attributes: Vec<(AttributeName, Value)> = packed
            .attributes()
            .map(|(name, cell)| {
                let name = AttributeName::new(&self.names.at(name).0).expect(WAS_ONE);
                (name, self.cell_value(cell))
            })
            .collect();
        attributes.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let field = |kind| self.field(packed, kind);
        Some(Device {
            id: DeviceId::new(packed.id()).expect(WAS_ONE),
            platform: field(Kind::Platform).map(|text| Platform::new(text).expect(WAS_ONE)),
            app_version: field(Kind::Version).map(|text| AppVersion::new(text).expect(WAS_ONE)),
            language: field(Kind::Language).map(|text| Language::new(text).expect(WAS_ONE)),
            country: field(Kind::Country).map(|text| Country::new(text).expect(WAS_ONE)),
            time_zone: field(Kind::Zone).map(|text| ZoneName::recorded(text).expect(WAS_ONE)),
            user: packed.user().map(|text| UserName::new(text).expect(WAS_ONE)),
            opt_in: !packed.opted_out(),
            quiet_hours: field(Kind::Quiet).map(|text| crate::quiet::parse(text).expect(WAS_ONE)),
            location: packed.location(),
            located_at: packed.located().map(Time),
            tags,
            attributes,
            credential: packed.credential().copied(),
            revoked: packed.revoked(),
            registered_at: Time(u64::from(stored.registered) * 1_000),
            last_seen: (stored.seen != 0).then(|| Time(u64::from(stored.seen) * 1_000)),
        })
    }

    fn cell_value(&self, cell: Cell) -> Value {
        match cell {
            Cell::Text(text) => Value::Text(self.texts.at(text).0.clone()),
            Cell::Number(number) => Value::Number(number),
            Cell::Date(at) => Value::Date(at),
        }
    }

    /// An attribute of a device.
    pub(crate) fn attribute(&self, packed: Packed<'_>, name: &str) -> Option<Value> {
        let name = find_name(&self.names, name)?;
        packed.attribute(name).map(|cell| self.cell_value(cell))
    }

    /// An attribute, or where there is none of that name a field (`device`, `platform`, `app_version`, `language`, `country`,
    /// `time_zone`, `named_user`), as text.
    pub fn value(&self, slot: Slot, name: &str) -> Option<Cow<'_, str>> {
        let packed = self.packed(slot)?;
        let cell = find_name(&self.names, name).and_then(|name| packed.attribute(name));
        if let Some(cell) = cell {
            return Some(match cell {
                Cell::Text(text) => Cow::Borrowed(self.texts.at(text).0.as_str()),
                Cell::Number(number) => Cow::Owned(number.to_string()),
                Cell::Date(at) => Cow::Owned(date_text(at)),
            });
        }
        match name {
            "device" => Some(packed.id()),
            "platform" => self.field(packed, Kind::Platform),
            "app_version" => self.field(packed, Kind::Version),
            "language" => self.field(packed, Kind::Language),
            "country" => self.field(packed, Kind::Country),
            "time_zone" => self.field(packed, Kind::Zone),
            "named_user" => packed.user(),
            _ => None,
        }
        .map(Cow::Borrowed)
    }

    /// A device's platform; empty where it has none.
    pub fn platform(&self, slot: Slot) -> &str {
        self.packed(slot).and_then(|packed| self.field(packed, Kind::Platform)).unwrap_or("")
    }

    /// A device's language; empty where it has none.
    pub fn language(&self, slot: Slot) -> &str {
        self.packed(slot).and_then(|packed| self.field(packed, Kind::Language)).unwrap_or("")
    }

    /// A device's named user; empty where it has none.
    pub fn user(&self, slot: Slot) -> &str {
        self.packed(slot).and_then(Packed::user).unwrap_or("")
    }

    /// Whether a device may not connect.
    pub fn is_revoked(&self, slot: Slot) -> bool {
        self.packed(slot).is_some_and(Packed::revoked)
    }

    /// Whether the secret with this SHA-256 is the device's. None where it has none. The time that
    /// it takes reveals nothing.
    pub fn credential_fits(&self, slot: Slot, hash: &[u8; 32]) -> Option<bool> {
        let credential = self.packed(slot)?.credential()?;
        let different =
            credential.iter().zip(hash).fold(0, |different, (one, other)| different | (one ^ other));
        Some(std::hint::black_box(different) == 0)
    }

    /// A page of devices in the order of their ids, behind `after`.
    pub fn list(&self, filter: &Filter, after: Option<&DeviceId>, at_most: usize) -> Vec<Device> {
        let prefix = filter.prefix.as_bytes();
        let is_wanted = |slot: u32| self.at(slot).id_bytes().starts_with(prefix);
        let is_before = |slot: u32| {
            let id = self.at(slot).id_bytes();
            id < prefix || after.is_some_and(|after| id <= after.as_str().as_bytes())
        };
        let device = |slot| self.device(Slot(slot)).expect("indexes hold devices only");
        let in_order = self.order.from(is_before).take_while(|&slot| is_wanted(slot));
        let Some(among) = self.among(filter) else { return in_order.take(at_most).map(device).collect() };
        if among.len() > SORTED_MAX {
            return in_order.filter(|&slot| among.contains(slot)).take(at_most).map(device).collect();
        }
        let mut slots: Vec<u32> = among.iter().filter(|&slot| is_wanted(slot) && !is_before(slot)).collect();
        slots.sort_unstable_by_key(|&slot| self.at(slot).id_bytes());
        slots.into_iter().take(at_most).map(device).collect()
    }

    /// Devices that a filter means by their tag and user; none where it asks for neither.
    fn among(&self, filter: &Filter) -> Option<Cow<'_, RoaringBitmap>> {
        let tagged = filter
            .tag
            .as_ref()
            .map(|tag| self.labels.find_tag(tag).map_or(&self.nobody, |label| self.labels.devices(label)));
        match (tagged, &filter.user) {
            (tagged, None) => tagged.map(Cow::Borrowed),
            (None, Some(user)) => Some(Cow::Owned(self.devices_of(user))),
            (Some(tagged), Some(user)) => Some(Cow::Owned(self.devices_of(user) & tagged)),
        }
    }

    /// Different tags in their order behind `after`, lists included, with how many devices carry each.
    pub fn tags(&self, after: Option<&Tag>, at_most: usize) -> Vec<(Tag, u64)> {
        let after = after.map(|tag| (tag.group(), tag.name.as_str()));
        let mut tags: Vec<_> = self
            .labels
            .of_kind(Kind::Tag)
            .map(|(label, text, devices)| ((self.labels.at(label).group.as_str(), text), devices))
            .filter(|&(key, _)| after.is_none_or(|after| key > after))
            .collect();
        tags.sort_unstable_by_key(|&(key, _)| key);
        tags.truncate(at_most);
        let tag = |(group, text): (&str, &str)| Tag::new(group, text).expect(WAS_ONE);
        tags.into_iter().map(|(key, devices)| (tag(key), devices.len())).collect()
    }

    /// How many devices there are of each platform, app version, language, country or time zone, the most first.
    pub fn counts(&self, field: Field) -> Vec<(CompactString, u64)> {
        let mut counts: Vec<(CompactString, u64)> = self
            .labels
            .of_kind(field.kind())
            .map(|(_, text, devices)| (text.into(), devices.len()))
            .collect();
        counts.sort_unstable_by(|(one, ones), (other, others)| others.cmp(ones).then_with(|| one.cmp(other)));
        counts
    }
}

/// A field whose values devices share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The platform.
    Platform,
    /// The version of the app.
    AppVersion,
    /// The language.
    Language,
    /// The country.
    Country,
    /// The time zone.
    TimeZone,
}

impl Field {
    fn kind(self) -> Kind {
        match self {
            Field::Platform => Kind::Platform,
            Field::AppVersion => Kind::Version,
            Field::Language => Kind::Language,
            Field::Country => Kind::Country,
            Field::TimeZone => Kind::Zone,
        }
    }
}
