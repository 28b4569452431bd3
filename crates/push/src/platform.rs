//! The push platform of one shard: its content, and how pushes are found.
//!
//! Decisions are written as events and applied by the same functions that replay them
//! (`crate::apply`). Connections, deliveries in flight and the progress of paces are not: after a
//! start they are empty. Dispatches to the edge are decided after that, from both (`crate::send`).

use std::collections::{BTreeMap, BTreeSet};

use stadium_registry::{AppName, DeviceId, Registry, Slot};
use stadium_state_machine::{Place, Record};
use stadium_table::{Index, Table, hash_of};

use crate::app::App;
use crate::checkpoint::Progress;
use crate::events::Event;
use crate::feed::Collector;
use crate::figures::Figures;
use crate::log::Piece;
use crate::machine::Taken;
use crate::many::{Kept, Many};
use crate::outbox::Outbox;
use crate::refusal::{APP_UNKNOWN, rejected};
use crate::send::Paced;
use crate::single::Single;
use crate::unregistered::Unregistered;
use crate::{AppSettings, Bounds, PushId, Refusal, ScheduleName, Time, TransportCommand};

/// Apps, their devices, and the pushes for them, on one shard.
pub struct Platform {
    pub(crate) place: Place,
    pub(crate) bounds: Bounds,

    pub(crate) apps: BTreeMap<u32, Box<App>>,
    pub(crate) by_name: BTreeMap<AppName, u32>,
    /// The number of the next app.
    pub(crate) app_next: u32,
    /// The number of the next push.
    pub(crate) number_next: u64,
    pub(crate) singles: Table<Single>,
    pub(crate) manies: Table<Kept>,
    pub(crate) logs: Table<Piece>,
    /// Bytes that pushes and their logs count for.
    pub(crate) pushes_bytes: u64,
    /// Messages that are not confirmed.
    pub(crate) outbox: Outbox,
    /// Messages that were taken in, and may arrive again.
    pub(crate) taken: BTreeMap<u16, Taken>,
    /// As journals of version 2 have it: pushes that were cancelled before their message came, and
    /// when.
    pub(crate) cancelled: BTreeMap<(u32, PushId), Time>,

    // Built anew after a restore.
    pub(crate) by_number: Index,
    pub(crate) by_id: Index,
    /// When pushes expire.
    pub(crate) ends: BTreeSet<(Time, u64)>,
    /// When pushes that are settled are forgotten.
    pub(crate) forgets: BTreeSet<(Time, u64)>,
    pub(crate) due: BTreeSet<(Time, Due)>,
    /// Pushes to many that have a log, the oldest first.
    pub(crate) logged: BTreeSet<u64>,

    // Volatile.
    /// Pushes of which something may go out now.
    pub(crate) touched: Vec<u64>,
    /// Devices to which something may go out now.
    pub(crate) woken: Vec<(u32, u32)>,
    pub(crate) paced: BTreeMap<u64, Paced>,
    /// Devices to which nothing is sent until then, since their connection took nothing.
    pub(crate) held_back: BTreeSet<(Time, u32, u32)>,
    /// Deliveries at most once that cannot arrive any more, without an event so far: a push's
    /// number, and a slot.
    pub(crate) lost: BTreeSet<(u64, u32)>,
    /// Pushes at most once that were under way when the shard started anew: nobody knows who has got them.
    pub(crate) orphans: BTreeSet<u64>,
    /// Who is connected and not registered.
    pub(crate) unregistered: Unregistered,
    pub(crate) to_transport: Vec<TransportCommand>,
    /// Bytes that are used again.
    pub(crate) scratch: Vec<u8>,
    /// Slots below this one occur: bounds the size of a set of devices.
    pub(crate) slots_end: u32,
    /// Bytes of memory that pushes to many hold, about.
    pub(crate) many_bytes: usize,
    pub(crate) counted: Figures,
    pub(crate) collector: Collector,
    pub(crate) checkpoint: Progress,
}

/// What time brings to one push or schedule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// A push starts.
    Start(u64),
    /// Quiet hours end.
    Release(u64),
    /// The next time zone of a push starts.
    Zone(u64),
    /// An occurrence of a schedule.
    Occurrence(u32, ScheduleName),
}

/// The place of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    Single(u32),
    Many(u32),
}

impl Spot {
    fn code(self) -> u32 {
        match self {
            Spot::Single(place) => place << 1,
            Spot::Many(place) => place << 1 | 1,
        }
    }

    fn of(code: u32) -> Spot {
        if code & 1 == 0 { Spot::Single(code >> 1) } else { Spot::Many(code >> 1) }
    }
}

/// The app that is always there.
pub(crate) const DEFAULT_APP: &str = "default";

impl Platform {
    /// An empty one, which knows the app `default`.
    pub fn new(place: Place, bounds: Bounds) -> Self {
        let mut platform = Self {
            place,
            bounds,
            apps: BTreeMap::new(),
            by_name: BTreeMap::new(),
            app_next: 0,
            number_next: 1,
            singles: Table::new(),
            manies: Table::new(),
            logs: Table::new(),
            pushes_bytes: 0,
            outbox: Outbox::default(),
            taken: BTreeMap::new(),
            cancelled: BTreeMap::new(),
            by_number: Index::new(),
            by_id: Index::new(),
            ends: BTreeSet::new(),
            forgets: BTreeSet::new(),
            due: BTreeSet::new(),
            logged: BTreeSet::new(),
            touched: Vec::new(),
            woken: Vec::new(),
            paced: BTreeMap::new(),
            held_back: BTreeSet::new(),
            lost: BTreeSet::new(),
            orphans: BTreeSet::new(),
            unregistered: Unregistered::default(),
            to_transport: Vec::new(),
            scratch: Vec::new(),
            slots_end: 0,
            many_bytes: 0,
            counted: Figures::default(),
            collector: Collector::default(),
            checkpoint: Progress::default(),
        };
        let name = AppName::new(DEFAULT_APP).expect("it is a name");
        platform.add_app(0, name, 0, AppSettings::default());
        platform
    }

    /// Takes what the last execute, tick or receive decided to send to the edge. It goes when the record is durable.
    pub fn take_transport_commands(&mut self, out: &mut Vec<TransportCommand>) {
        out.append(&mut self.to_transport);
    }

    /// The device in a place of its app's registry, as dispatches and steps name it.
    pub fn device_at(&self, app: &AppName, slot: u32) -> Option<stadium_registry::DeviceId> {
        self.app(app).ok()?.device_id(slot)
    }

    pub(crate) fn add_app(&mut self, number: u32, name: AppName, version: u64, settings: AppSettings) {
        let registry = Registry::new(self.bounds.devices, self.place.hash_seed ^ u64::from(number));
        self.by_name.insert(name.clone(), number);
        self.apps.insert(number, Box::new(App::new(name, version, settings, registry)));
        self.app_next = self.app_next.max(number + 1);
    }

    /// Writes an event, and lets it happen.
    pub(crate) fn emit(&mut self, now: Time, record: &mut Record, event: &Event<'_>) {
        event.encode(record.events_mut(), now);
        self.apply_event(now, event).expect("it was decided just now");
    }

    /// The number of an app.
    pub(crate) fn app_number(&self, name: &AppName) -> Result<u32, Refusal> {
        self.by_name.get(name).copied().ok_or_else(|| {
            rejected(
                APP_UNKNOWN,
                format!("there is no app {:?}: declare it first, or look for a misspelt name", name.as_str()),
            )
        })
    }

    /// Whether a device of the app `default` has the name of an app. Its topics would contain those
    /// of the app's devices: `uplink/shop/#` has all of `uplink/shop/phone-1/#`.
    pub(crate) fn is_named_as_app(&self, app: &AppName, device: &DeviceId) -> bool {
        *app == AppName::default()
            && AppName::new(device.as_str()).is_ok_and(|name| self.by_name.contains_key(&name))
    }

    pub(crate) fn app(&self, name: &AppName) -> Result<&App, Refusal> {
        Ok(&self.apps[&self.app_number(name)?])
    }

    /// Whether this shard is the home of that app.
    pub(crate) fn is_home(&self, name: &AppName) -> bool {
        crate::app_home(name, self.place.shards) == self.place.shard
    }

    /// The slot of a device that was just registered or changed.
    pub(crate) fn note_slot(&mut self, slot: Slot) {
        self.slots_end = self.slots_end.max(slot.0 + 1);
    }

    /// The most bytes that a set of devices takes in a record.
    pub(crate) fn set_bytes_max(&self) -> usize {
        // Each 65,536 slots are at most 8 KiB as bits, and a few bytes in the head.
        (self.slots_end as usize / 65_536 + 1) * 8_208 + 64
    }
}

/// Finding pushes.
impl Platform {
    pub(crate) fn index(&mut self, spot: Spot) {
        let seed = self.place.hash_seed;
        let Self { by_id, by_number, singles, manies, .. } = self;
        let (app, id) = name_of(singles, manies, spot);
        by_id.insert(id_hash(seed, app, id), spot.code(), |code| {
            let (app, id) = name_of(singles, manies, Spot::of(code));
            id_hash(seed, app, id)
        });
        let number = number_of(singles, manies, spot);
        by_number
            .insert(hash_of(number), spot.code(), |code| hash_of(number_of(singles, manies, Spot::of(code))));
    }

    pub(crate) fn unindex(&mut self, spot: Spot) {
        let (app, id) = self.name_at(spot);
        self.by_id.remove(id_hash(self.place.hash_seed, app, id), spot.code());
        self.by_number.remove(hash_of(self.number_at(spot)), spot.code());
    }

    pub(crate) fn number_at(&self, spot: Spot) -> u64 {
        number_of(&self.singles, &self.manies, spot)
    }

    pub(crate) fn name_at(&self, spot: Spot) -> (u32, PushId) {
        name_of(&self.singles, &self.manies, spot)
    }

    pub(crate) fn find_number(&self, number: u64) -> Option<Spot> {
        let found = self.by_number.find(hash_of(number), |code| self.number_at(Spot::of(code)) == number);
        found.map(Spot::of)
    }

    pub(crate) fn find_id(&self, app: u32, id: PushId) -> Option<Spot> {
        let hash = id_hash(self.place.hash_seed, app, id);
        self.by_id.find(hash, |code| self.name_at(Spot::of(code)) == (app, id)).map(Spot::of)
    }

    pub(crate) fn many(&self, place: u32) -> &Many {
        self.manies.at(place).many()
    }

    pub(crate) fn many_mut(&mut self, place: u32) -> &mut Many {
        self.manies.at_mut(place).many_mut()
    }
}

/// Ids are chosen by clients; the seed keeps them from choosing those that collide.
fn id_hash(seed: u64, app: u32, id: PushId) -> u64 {
    hash_of(hash_of(id.0 as u64 ^ seed) ^ (id.0 >> 64) as u64 ^ u64::from(app) << 32)
}

fn number_of(singles: &Table<Single>, manies: &Table<Kept>, spot: Spot) -> u64 {
    match spot {
        Spot::Single(place) => singles.at(place).number,
        Spot::Many(place) => manies.at(place).many().number,
    }
}

fn name_of(singles: &Table<Single>, manies: &Table<Kept>, spot: Spot) -> (u32, PushId) {
    match spot {
        Spot::Single(place) => {
            let single = singles.at(place);
            (single.app, single.id)
        }
        Spot::Many(place) => {
            let many = manies.at(place).many();
            (many.app, many.push.id)
        }
    }
}
