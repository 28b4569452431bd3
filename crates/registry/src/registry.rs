//! The devices of one app on one shard, and what finds them.
//!
//! The truth is in three dictionaries and the table of devices, which a checkpoint saves. Everything else, bitmaps, columns, indexes and
//! the order of ids, follows from it and is built anew after a restore.

use std::hash::BuildHasher as _;

use compact_str::CompactString;
use foldhash::fast::FixedState;
use roaring::RoaringBitmap;
use stadium_state_machine::encoding::{Reader, number, text};
use stadium_table::{Damaged, Entry, Order, Paged, Table, take};

use crate::checkpoint::Progress;
use crate::columns::Column;
use crate::dictionary::{Dictionary, HashedContent};
use crate::labels::{Kind, Labels};
use crate::numbers::Numbers;
use crate::packed::Packed;
use crate::{AttributeName, DeviceId, Limits, Location, Time, UserName};

/// A device's place in its registry. Given out again after the device was removed, the lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// Devices of an app on this shard, and what finds them.
pub struct Registry {
    pub(crate) limits: Limits,
    pub(crate) hash: FixedState,
    /// Devices by slot. The place of one that was removed stays, empty, so that the next slot follows from the slots that are taken.
    pub(crate) devices: Table<Stored>,
    /// Rebuilt: places without a device.
    pub(crate) free: RoaringBitmap,
    pub(crate) all: RoaringBitmap,
    pub(crate) opted_in: RoaringBitmap,
    pub(crate) revoked: RoaringBitmap,
    /// Rebuilt: devices with a time zone.
    pub(crate) zoned: RoaringBitmap,
    pub(crate) by_id: Numbers,
    pub(crate) by_user: Numbers,
    pub(crate) order: Order,
    pub(crate) labels: Labels,
    pub(crate) names: Dictionary<Name>,
    /// Rebuilt: what devices have of each attribute, by its name's number.
    pub(crate) columns: Paged<Columns>,
    pub(crate) texts: Dictionary<Text>,
    pub(crate) locations: Column<i64>,
    /// Rebuilt: bytes of all devices' allocations.
    pub(crate) packed_bytes: usize,
    /// Rebuilt: bytes of all attributes' texts.
    pub(crate) text_bytes: usize,
    pub(crate) scratch: Vec<u8>,
    pub(crate) nobody: RoaringBitmap,
    pub(crate) checkpoint: Progress,
}

/// A device in the table.
pub(crate) struct Stored {
    /// See [`crate::packed`]. Empty where the device was removed.
    pub(crate) packed: Box<[u8]>,
    /// When it was connected last, in seconds since 1970; 0 for never.
    pub(crate) seen: u32,
    /// When it was registered, in seconds since 1970.
    pub(crate) registered: u32,
}

impl Stored {
    pub(crate) fn is_free(&self) -> bool {
        self.packed.is_empty()
    }
}

impl Entry for Stored {
    fn vacant() -> Self {
        Stored { packed: Box::default(), seen: 0, registered: 0 }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        number(out, self.packed.len() as u64);
        out.extend_from_slice(&self.packed);
        out.extend_from_slice(&self.seen.to_le_bytes());
        out.extend_from_slice(&self.registered.to_le_bytes());
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        let mut reader = Reader::new(input);
        let packed = reader
            .small()
            .and_then(|bytes| reader.take(bytes))
            .map_err(|_| Damaged("a device is cut short"))?
            .into();
        *input = &input[reader.position()..];
        Ok(Stored {
            packed,
            seen: u32::from_le_bytes(take(input)?),
            registered: u32::from_le_bytes(take(input)?),
        })
    }
}

/// What devices have of an attribute, a column for each type.
pub(crate) struct Columns {
    pub(crate) numbers: Column<f64>,
    pub(crate) dates: Column<i64>,
    pub(crate) texts: Column<u32>,
}

impl Default for Columns {
    fn default() -> Self {
        Self { numbers: Column::new(), dates: Column::new(), texts: Column::new() }
    }
}

/// Entries of dictionaries that are only a text.
macro_rules! only_text {
    ($(#[$docs:meta])* $name:ident, $fits:expr) => {
        $(#[$docs])*
        #[derive(PartialEq)]
        pub(crate) struct $name(pub(crate) CompactString);

        impl Entry for $name {
            fn vacant() -> Self {
                Self(CompactString::const_new(""))
            }

            fn encode(&self, out: &mut Vec<u8>) {
                text(out, &self.0);
            }

            fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
                let mut reader = Reader::new(input);
                let text = reader.text().map_err(|_| Damaged("a text is none"))?;
                let fits: fn(&str) -> bool = $fits;
                if !fits(text) {
                    return Err(Damaged("a name of an attribute is none"));
                }
                let entry = Self(text.into());
                *input = &input[reader.position()..];
                Ok(entry)
            }
        }

        impl HashedContent for $name {
            fn hash(&self, state: &FixedState) -> u64 {
                state.hash_one(self.0.as_bytes())
            }
        }
    };
}

only_text!(
    /// The name of an attribute.
    Name,
    |text| AttributeName::new(text).is_ok()
);
only_text!(
    /// A text that attributes have.
    Text,
    |_| true
);

/// The number of a text in its dictionary.
pub(crate) fn find_text(texts: &Dictionary<Text>, text: &str) -> Option<u32> {
    texts.find(texts.state().hash_one(text.as_bytes()), |other| other.0 == text)
}

/// The number of an attribute's name in its dictionary.
pub(crate) fn find_name(names: &Dictionary<Name>, name: &str) -> Option<u32> {
    names.find(names.state().hash_one(name.as_bytes()), |other| other.0 == name)
}

/// A location in its column.
pub(crate) fn spot(location: Location) -> i64 {
    i64::from(location.latitude) << 32 | i64::from(location.longitude as u32)
}

/// A location from its column.
pub(crate) fn from_spot(spot: i64) -> Location {
    Location { latitude: (spot >> 32) as i32, longitude: spot as i32 }
}

/// Whole seconds, as the registry keeps times.
pub(crate) fn seconds(at: Time) -> u32 {
    u32::try_from(at.0 / 1_000).unwrap_or(u32::MAX)
}

impl Registry {
    /// An empty one. The seed keeps who chooses ids from choosing them so that they collide; it may differ at each start.
    pub fn new(limits: Limits, hash_seed: u64) -> Self {
        Self {
            limits,
            hash: FixedState::with_seed(hash_seed),
            devices: Table::new(),
            free: RoaringBitmap::new(),
            all: RoaringBitmap::new(),
            opted_in: RoaringBitmap::new(),
            revoked: RoaringBitmap::new(),
            zoned: RoaringBitmap::new(),
            by_id: Numbers::new(),
            by_user: Numbers::new(),
            order: Order::new(),
            labels: Labels::new(hash_seed),
            names: Dictionary::new(hash_seed),
            columns: Paged::new(),
            texts: Dictionary::new(hash_seed),
            locations: Column::new(),
            packed_bytes: 0,
            text_bytes: 0,
            scratch: Vec::new(),
            nobody: RoaringBitmap::new(),
            checkpoint: Progress::default(),
        }
    }

    /// The bounds that it keeps.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Other bounds from now on. Present devices stay.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Where a device is.
    pub fn find(&self, device: &DeviceId) -> Option<Slot> {
        self.find_bytes(device.as_str().as_bytes()).map(Slot)
    }

    pub(crate) fn find_bytes(&self, id: &[u8]) -> Option<u32> {
        self.by_id.find(self.hash.hash_one(id), |slot| self.at(slot).id_bytes() == id)
    }

    /// A device's bytes, where it is known that there is one.
    #[inline]
    pub(crate) fn at(&self, slot: u32) -> Packed<'_> {
        Packed::new(&self.devices.at(slot).packed)
    }

    #[inline]
    pub(crate) fn stored(&self, slot: Slot) -> Option<&Stored> {
        self.devices.get(slot.0).filter(|device| !device.is_free())
    }

    #[inline]
    pub(crate) fn packed(&self, slot: Slot) -> Option<Packed<'_>> {
        self.stored(slot).map(|device| Packed::new(&device.packed))
    }

    /// The device was connected then.
    pub fn seen(&mut self, slot: Slot, at: Time) {
        let seen = seconds(at);
        if self.stored(slot).is_some_and(|device| device.seen != seen) {
            self.devices.at_mut(slot.0).seen = seen;
        }
    }

    /// Slots of a user's devices.
    pub(crate) fn slots_of(&self, user: &str, mut each: impl FnMut(u32)) {
        self.by_user.find(self.hash.hash_one(user.as_bytes()), |slot| {
            if self.at(slot).user() == Some(user) {
                each(slot);
            }
            false
        });
    }

    /// Devices of a user.
    pub fn devices_of(&self, user: &UserName) -> RoaringBitmap {
        let mut slots = Vec::new();
        self.slots_of(user.as_str(), |slot| slots.push(slot));
        slots.into_iter().collect()
    }

    /// All devices.
    pub fn devices(&self) -> &RoaringBitmap {
        &self.all
    }

    /// Those that want pushes.
    pub fn opted_in(&self) -> &RoaringBitmap {
        &self.opted_in
    }

    /// Those that may not connect.
    pub fn revoked(&self) -> &RoaringBitmap {
        &self.revoked
    }

    /// Devices.
    pub fn len(&self) -> usize {
        self.devices.len() - self.free.len() as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that it takes, to about a tenth. Cheap: nothing is walked but the attributes.
    pub fn bytes(&self) -> usize {
        let columns: usize = self
            .names
            .table
            .iter()
            .map(|(name, _)| {
                let columns = &self.columns[name];
                columns.numbers.bytes() + columns.dates.bytes() + columns.texts.bytes()
            })
            .sum();
        let devices = self.all.len();
        size_of::<Self>()
            + self.devices.bytes()
            + self.packed_bytes
            + self.text_bytes
            + self.by_id.bytes()
            + self.by_user.bytes()
            + self.order.bytes()
            + self.labels.bytes(devices)
            + self.names.bytes()
            + self.texts.bytes()
            + self.locations.bytes()
            + columns
            + self.columns.bytes()
            + (devices / 8 * 4) as usize
    }

    /// How many labels of a kind there are, for the bounds.
    pub(crate) fn is_full_of(&self, kind: Kind) -> bool {
        self.labels.count(kind) >= u64::from(self.limits.field_values_max)
    }
}
