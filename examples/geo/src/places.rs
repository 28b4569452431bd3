//! The last location of each device, in memory, shared by the service's loops.
//!
//! Loops meet here only when they touch devices of one shard at once, and hold its lock for one look-up. A device
//! that is known costs no allocation to update once the lists are warm. An event never replaces a younger one. What
//! changes is sent to watchers by [`crate::watch`].

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::position::Position;
use crate::proto::GeoEvent;
use crate::proto::geo_event::Significance;
use crate::watch::{Cursor, Watchers};

/// Locks that the devices are spread over: enough that two loops rarely meet.
pub(crate) const SHARDS: usize = 64;

/// Changes that a shard remembers beyond two for each device before it forgets those that were overtaken.
const CHANGES_SLACK: usize = 64;

/// Where a device was, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sighting {
    /// By the device's clock.
    pub timestamp_ms: u64,
    /// Where.
    pub position: Position,
    /// How much of a change it was.
    pub significance: Significance,
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It is the last location now.
    Kept,
    /// The device was seen later than that: nothing changed.
    Older,
    /// The device is new, and there is no room for new ones.
    Full,
}

/// Last locations by device.
#[derive(Debug)]
pub struct Places {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    devices: AtomicUsize,
    devices_max: usize,
    watchers: Watchers,
}

#[derive(Debug, Default)]
struct Shard {
    by_device: HashMap<Arc<str>, Known>,
    /// The changes, oldest first, by their number. One whose device changed again since is skipped.
    changes: VecDeque<(u64, Arc<str>)>,
    changed: u64,
}

#[derive(Debug)]
struct Known {
    sighting: Sighting,
    /// The number of its last change.
    change: u64,
}

impl Shard {
    /// Notes that a device changed.
    fn note(&mut self, device: Arc<str>) {
        self.changes.push_back((self.changed, device));
        if self.changes.len() > 2 * self.by_device.len() + CHANGES_SLACK {
            let Self { by_device, changes, .. } = self;
            changes.retain(|(change, device)| {
                by_device.get(device).is_some_and(|known| known.change == *change)
            });
        }
    }
}

impl Places {
    /// No devices yet. A device beyond `devices_max` is not taken; those that are known still move.
    #[must_use]
    pub fn new(devices_max: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            devices: AtomicUsize::new(0),
            devices_max,
            watchers: Watchers::default(),
        }
    }

    /// Keeps the sighting unless a younger one is known.
    pub fn store(&self, device_id: &str, sighting: Sighting) -> Stored {
        let stored = self.keep(device_id, sighting);
        if stored == Stored::Kept {
            self.watchers.wake();
        }
        stored
    }

    fn keep(&self, device_id: &str, sighting: Sighting) -> Stored {
        let mut shard = self.shard(device_id).lock();
        let change = shard.changed + 1;
        if let Some((device, _)) = shard.by_device.get_key_value(device_id) {
            let device = Arc::clone(device);
            let known = shard.by_device.get_mut(device_id).expect("it was there just now");
            if sighting.timestamp_ms < known.sighting.timestamp_ms {
                return Stored::Older;
            }
            if sighting != known.sighting {
                *known = Known { sighting, change };
                shard.changed = change;
                shard.note(device);
            }
            return Stored::Kept;
        }
        if self.devices.fetch_add(1, Ordering::Relaxed) >= self.devices_max {
            self.devices.fetch_sub(1, Ordering::Relaxed);
            return Stored::Full;
        }
        let device: Arc<str> = device_id.into();
        shard.by_device.insert(Arc::clone(&device), Known { sighting, change });
        shard.changed = change;
        shard.note(device);
        Stored::Kept
    }

    /// What changed since, at most so much; the cursor moves behind it. Of each device the newest sighting.
    pub(crate) fn newer(&self, cursor: &mut Cursor, at_most: usize) -> Vec<GeoEvent> {
        let mut newer = Vec::new();
        for _ in 0..SHARDS {
            let (at, behind) = cursor.here();
            let shard = self.shards[at].lock();
            let first = shard.changes.partition_point(|&(change, _)| change <= *behind);
            for (change, device) in shard.changes.range(first..) {
                if newer.len() >= at_most {
                    return newer;
                }
                *behind = *change;
                if let Some(known) = shard.by_device.get(device).filter(|known| known.change == *change) {
                    newer.push(known.sighting.to_event(device));
                }
            }
            drop(shard);
            cursor.next();
        }
        newer
    }

    /// How far each shard is now.
    pub(crate) fn changed(&self) -> impl Iterator<Item = u64> + '_ {
        self.shards.iter().map(|shard| shard.lock().changed)
    }

    /// Changes that are remembered.
    #[cfg(test)]
    pub(crate) fn changes(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().changes.len()).sum()
    }

    /// Those who wait for a change.
    pub(crate) fn watchers(&self) -> &Watchers {
        &self.watchers
    }

    /// Ends all watches, those that begin later too: the instance leaves.
    pub fn close(&self) {
        self.watchers.close();
    }

    /// Where the device was last seen.
    #[must_use]
    pub fn last(&self, device_id: &str) -> Option<Sighting> {
        self.shard(device_id).lock().by_device.get(device_id).map(|known| known.sighting)
    }

    /// Devices that are known.
    #[must_use]
    pub fn devices(&self) -> usize {
        self.devices.load(Ordering::Relaxed)
    }

    /// The devices around a place, in portions: one lock is held at a time, and none between two portions.
    pub fn near(&self, center: Position, radius_m: f64) -> impl Iterator<Item = Vec<GeoEvent>> + '_ {
        self.shards.iter().map(move |shard| {
            let shard = shard.lock();
            let sightings = shard.by_device.iter().map(|(device_id, known)| (device_id, known.sighting));
            let near = sightings.filter(|(_, sighting)| sighting.position.distance_m(center) <= radius_m);
            near.map(|(device_id, sighting)| sighting.to_event(device_id)).collect()
        })
    }

    fn shard(&self, device_id: &str) -> &Mutex<Shard> {
        let hash = self.hasher.hash_one(device_id) as usize;
        &self.shards[hash % SHARDS]
    }
}

impl Sighting {
    /// As in the contract.
    #[must_use]
    pub fn to_event(self, device_id: &str) -> GeoEvent {
        let mut event = GeoEvent::default();
        self.describe(device_id, &mut event);
        event
    }

    /// The same into a message that is there already, whose memory is used again.
    pub fn describe(self, device_id: &str, event: &mut GeoEvent) {
        event.device_id.clear();
        event.device_id.push_str(device_id);
        event.timestamp_ms = self.timestamp_ms;
        event.latitude = self.position.latitude();
        event.longitude = self.position.longitude();
        event.set_significance(self.significance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(timestamp_ms: u64, latitude: f64) -> Sighting {
        let position = Position::new(latitude, 20.0).expect("a place on earth");
        Sighting { timestamp_ms, position, significance: Significance::Minor }
    }

    #[test]
    fn the_youngest_sighting_stays() {
        let places = Places::new(10);
        assert_eq!(places.store("a", seen(2, 1.0)), Stored::Kept);
        assert_eq!(places.store("a", seen(1, 2.0)), Stored::Older);
        assert_eq!(places.last("a"), Some(seen(2, 1.0)));
        assert_eq!(places.store("a", seen(2, 3.0)), Stored::Kept, "the same event again changes nothing");
        assert_eq!(places.last("b"), None);
    }

    #[test]
    fn a_full_store_takes_no_new_device_and_moves_those_it_knows() {
        let places = Places::new(1);
        assert_eq!(places.store("a", seen(1, 1.0)), Stored::Kept);
        assert_eq!(places.store("b", seen(1, 1.0)), Stored::Full);
        assert_eq!(places.store("a", seen(2, 2.0)), Stored::Kept);
        assert_eq!(places.devices(), 1);
    }

    #[test]
    fn near_finds_the_devices_inside_the_circle() {
        let places = Places::new(10);
        places.store("here", seen(1, 40.0));
        places.store("there", seen(1, 41.0));
        let center = Position::new(40.01, 20.0).expect("a place on earth");
        let near: Vec<String> = places.near(center, 5_000.0).flatten().map(|event| event.device_id).collect();
        assert_eq!(near, ["here"]);
    }
}
