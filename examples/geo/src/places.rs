//! The last location of each device, in memory, shared by the service's loops.
//!
//! Loops meet here only when they touch devices of one shard at once, and hold its lock for one look-up. A device
//! that is known costs no allocation to update. An event never replaces a younger one.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::position::Position;
use crate::proto::GeoEvent;
use crate::proto::geo_event::Significance;

/// Locks that the devices are spread over: enough that two loops rarely meet.
const SHARDS: usize = 64;

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
    shards: Box<[Mutex<HashMap<String, Sighting>>]>,
    hasher: RandomState,
    devices: AtomicUsize,
    devices_max: usize,
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
        }
    }

    /// Keeps the sighting unless a younger one is known.
    pub fn store(&self, device_id: &str, sighting: Sighting) -> Stored {
        let mut shard = self.shard(device_id).lock();
        if let Some(known) = shard.get_mut(device_id) {
            if sighting.timestamp_ms < known.timestamp_ms {
                return Stored::Older;
            }
            *known = sighting;
            return Stored::Kept;
        }
        if self.devices.fetch_add(1, Ordering::Relaxed) >= self.devices_max {
            self.devices.fetch_sub(1, Ordering::Relaxed);
            return Stored::Full;
        }
        shard.insert(device_id.to_owned(), sighting);
        Stored::Kept
    }

    /// Where the device was last seen.
    #[must_use]
    pub fn last(&self, device_id: &str) -> Option<Sighting> {
        self.shard(device_id).lock().get(device_id).copied()
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
            let near = shard.iter().filter(|(_, sighting)| sighting.position.distance_m(center) <= radius_m);
            near.map(|(device_id, sighting)| sighting.to_event(device_id)).collect()
        })
    }

    fn shard(&self, device_id: &str) -> &Mutex<HashMap<String, Sighting>> {
        let hash = self.hasher.hash_one(device_id) as usize;
        &self.shards[hash % SHARDS]
    }
}

impl Sighting {
    /// As the contract says it.
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
    fn near_finds_who_is_inside_the_circle() {
        let places = Places::new(10);
        places.store("here", seen(1, 40.0));
        places.store("there", seen(1, 41.0));
        let center = Position::new(40.01, 20.0).expect("a place on earth");
        let near: Vec<String> = places.near(center, 5_000.0).flatten().map(|event| event.device_id).collect();
        assert_eq!(near, ["here"]);
    }
}
