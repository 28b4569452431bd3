//! An app on one shard: its devices, what it calls things, and who is owed what.
//!
//! Connections are not saved and not replayed: after a start nobody is connected until the edge
//! reports it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use roaring::RoaringBitmap;
use stadium_registry::{AppName, DeviceId, Registry, Selector};

use crate::many::Many;
use crate::outcome::Outcome;
use crate::single::NONE;
use crate::sliced::Sliced;
use crate::slot_owners::SlotOwners;
use crate::{AppSettings, AudienceName, ConnectionName, Held, NewSchedule, PushId, ScheduleName, Time};

/// An app on one shard.
pub(crate) struct App {
    pub(crate) name: AppName,
    pub(crate) settings: AppSettings,
    /// Counts the changes of its settings at its home; 0 where its home has not sent them yet.
    pub(crate) version: u64,
    pub(crate) registry: Registry,
    pub(crate) audiences: BTreeMap<AudienceName, Selector>,
    pub(crate) schedules: BTreeMap<ScheduleName, Schedule>,
    pub(crate) slot_owners: SlotOwners,

    // Built anew after a restore.
    /// Its pushes, by when they were accepted.
    pub(crate) order: BTreeSet<(Time, u64)>,
    /// Pushes to many that somebody is owed: by priority, the highest first, then by number; with their places.
    pub(crate) open: BTreeSet<(u8, u64, u32)>,
    /// Pushes to many, by when they started; with their places.
    pub(crate) started: BTreeSet<(Time, u32)>,
    /// Deliveries that each device is owed.
    pub(crate) inboxes: Sliced,
    /// Pushes to one device: where each device's lists begin and end.
    pub(crate) singles: HashMap<u32, Ends, RandomState>,
    /// Devices that are owed a push to one device.
    pub(crate) owing: RoaringBitmap,

    // Volatile.
    pub(crate) connections: HashMap<u32, Connection, RandomState>,
    /// Those of whom something can be taken: connected, and not held back.
    pub(crate) reading: RoaringBitmap,
}

/// A schedule, and what it did.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Schedule {
    pub(crate) new: NewSchedule,
    pub(crate) held: Held,
    pub(crate) next: Option<Time>,
    /// The newest first.
    pub(crate) last: VecDeque<(Time, Option<PushId>)>,
    pub(crate) made: u64,
    pub(crate) skipped: u64,
}

/// Occurrences of a schedule that are remembered.
pub(crate) const LAST_MAX: usize = 20;

impl Schedule {
    pub(crate) fn remember(&mut self, at: Time, push: Option<PushId>) {
        self.last.push_front((at, push));
        self.last.truncate(LAST_MAX);
    }

    /// When the occurrence that comes next is made: one by each device's clock begins where the day begins first.
    pub(crate) fn due(&self) -> Option<Time> {
        if self.held == Held::Paused {
            return None;
        }
        let lead = if self.new.zone == crate::Zone::Local { crate::clock::AHEAD_MAX } else { 0 };
        self.next.map(|next| Time(next.0.saturating_sub(lead)))
    }
}

/// Where lists of a device begin and end.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) owed: (u32, u32),
    pub(crate) all: (u32, u32),
}

impl Ends {
    pub(crate) const EMPTY: Ends = Ends { owed: (NONE, NONE), all: (NONE, NONE) };
}

/// A device that is connected and reads its inbox.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Connection {
    pub(crate) name: ConnectionName,
    /// Deliveries on their way to it.
    pub(crate) in_flight: u16,
    /// Whether it is owed more than was dispatched.
    pub(crate) more: bool,
}

impl App {
    pub(crate) fn new(name: AppName, version: u64, settings: AppSettings, registry: Registry) -> Self {
        Self {
            name,
            settings,
            version,
            registry,
            audiences: BTreeMap::new(),
            schedules: BTreeMap::new(),
            slot_owners: SlotOwners::default(),
            order: BTreeSet::new(),
            open: BTreeSet::new(),
            started: BTreeSet::new(),
            inboxes: Sliced::default(),
            singles: HashMap::default(),
            owing: RoaringBitmap::new(),
            connections: HashMap::default(),
            reading: RoaringBitmap::new(),
        }
    }

    /// Where the device that has that slot now stands with a push: none where it was not matched.
    pub(crate) fn outcome(&self, many: &Many, slot: u32) -> Option<Outcome> {
        many.outcome(slot).filter(|_| !self.slot_owners.was_others(many.number, slot))
    }

    /// The id of the device there.
    pub(crate) fn device_id(&self, slot: u32) -> Option<DeviceId> {
        self.registry.id(stadium_registry::Slot(slot)).and_then(|id| DeviceId::new(id).ok())
    }
}
