//! Locations of devices, as a service that follows them reports them.
//!
//! A location has a timestamp: a location older than the stored one changes nothing. A location
//! that [`Changes`](crate::Changes) set has the time at which they were applied.

use crate::circle::Round;
use crate::packed::{TIMESTAMP_MAX, write_sighting};
use crate::registry::spot;
use crate::{Circle, Location, Registry, Slot, Time};

/// What a sighting would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sighted {
    /// The device is there from now on.
    Moved,
    /// It is where it was, or so near that it does not matter.
    Unmoved,
    /// Something newer is known.
    Older,
}

impl Registry {
    /// The effect of a sighting of a device there at that time. Moves of fewer metres than
    /// `metres_min` do not matter.
    pub fn sighted(&self, slot: Slot, at: Time, location: Location, metres_min: u32) -> Sighted {
        let Some(packed) = self.packed(slot) else { return Sighted::Unmoved };
        let Some(known) = packed.location() else { return Sighted::Moved };
        if packed.located().is_some_and(|located| at.0 < located) {
            return Sighted::Older;
        }
        let near = || Round::new(&Circle { centre: known, radius_m: metres_min }).contains(location);
        if known == location || metres_min > 0 && near() { Sighted::Unmoved } else { Sighted::Moved }
    }

    /// The device was seen there then. Allocates nothing for one that was seen before.
    pub fn locate(&mut self, slot: Slot, at: Time, location: Location) {
        let Some(packed) = self.packed(slot) else { return };
        match packed.place_of_sighting() {
            Some(place) => {
                let stored = self.devices.at_mut(slot.0);
                write_sighting(&mut stored.packed, place, location, at.0);
            }
            None => {
                let (id, mut parts) = (packed.id().to_owned(), packed.unpack());
                parts.location = Some(location);
                parts.located = Some(at.0.min(TIMESTAMP_MAX));
                self.store(slot.0, &id, &parts);
            }
        }
        self.locations.set(slot.0, spot(location));
    }
}

impl Location {
    /// As the eight bytes of a record.
    pub fn to_bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.latitude.to_le_bytes());
        bytes[4..].copy_from_slice(&self.longitude.to_le_bytes());
        bytes
    }

    /// From the eight bytes of a record; none where they are no place on Earth.
    pub fn from_bytes(bytes: [u8; 8]) -> Option<Self> {
        let [a, b, c, d, e, f, g, h] = bytes;
        let location =
            Self { latitude: i32::from_le_bytes([a, b, c, d]), longitude: i32::from_le_bytes([e, f, g, h]) };
        location.is_on_earth().then_some(location)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Changes, DeviceId, Limits, Selector};

    const NOW: Time = Time(1_800_000_000_000);

    fn place(latitude: f64, longitude: f64) -> Location {
        Location::new(latitude, longitude).expect("a place")
    }

    fn id(device: &str) -> DeviceId {
        DeviceId::new(device).expect("a name")
    }

    #[test]
    fn an_older_or_hardly_different_sighting_changes_nothing() {
        let mut registry = Registry::new(Limits::default(), 7);
        let slot = registry.apply(NOW, &id("phone"), &Changes::default());
        let (here, near, far) = (place(52.52, 13.405), place(52.520_05, 13.405), place(52.53, 13.405));
        assert_eq!(registry.sighted(slot, Time(5), here, 10), Sighted::Moved, "nothing is known of it");
        registry.locate(slot, Time(5), here);
        for (at, location, metres_min, expected) in [
            (4, far, 0, Sighted::Older),
            (5, here, 0, Sighted::Unmoved),
            (5, far, 0, Sighted::Moved),
            (9, here, 0, Sighted::Unmoved),
            (9, near, 10, Sighted::Unmoved),
            (9, near, 5, Sighted::Moved),
            (9, near, 0, Sighted::Moved),
            (9, far, 10, Sighted::Moved),
        ] {
            assert_eq!(registry.sighted(slot, Time(at), location, metres_min), expected, "{at} {metres_min}");
        }
    }

    #[test]
    fn a_location_from_the_api_has_the_time_at_which_it_was_set() {
        let mut registry = Registry::new(Limits::default(), 7);
        let changes = |location| Changes { location: Some(location), ..Changes::default() };
        let (here, there) = (place(1.0, 2.0), place(3.0, 4.0));
        let slot = registry.apply(NOW, &id("phone"), &changes(Some(here)));
        assert_eq!(registry.sighted(slot, Time(NOW.0 - 1), there, 0), Sighted::Older);
        assert_eq!(registry.sighted(slot, NOW, there, 0), Sighted::Moved);
        registry.apply(NOW, &id("phone"), &changes(None));
        assert_eq!(registry.device(slot).expect("it is there").located_at, None);
        assert_eq!(registry.sighted(slot, Time(1), there, 0), Sighted::Moved);
    }

    #[test]
    fn a_device_that_is_seen_elsewhere_leaves_the_circle_also_after_a_restore() {
        let mut registry = Registry::new(Limits::default(), 7);
        let changes =
            Changes::parse(&json!({"named_user": "ada", "tags": ["vip"], "attributes": {"n": 1.5}}));
        let slot = registry.apply(NOW, &id("phone"), &changes.expect("changes"));
        let circle = json!({"location": {"latitude": 52.52, "longitude": 13.405, "radius_m": 500}});
        let circle = Selector::parse(&circle).expect("a selector");
        let within = |registry: &Registry| registry.evaluate(&circle, NOW).contains(slot.0);
        assert!(!within(&registry));
        let mut expected = registry.device(slot).expect("it is there");
        for (at, location, is_within) in [(5, place(52.521, 13.405), true), (6, place(53.0, 13.405), false)] {
            registry.locate(slot, Time(at), location);
            (expected.location, expected.located_at) = (Some(location), Some(Time(at)));
            assert_eq!(registry.device(slot).expect("it is there"), expected, "nothing else changes");
            assert_eq!(within(&registry), is_within);
        }
        let mut restored = Registry::new(Limits::default(), 8);
        registry.checkpoint_begin();
        loop {
            let mut slice = Vec::new();
            let more = registry.checkpoint_next(&mut slice, 1 << 16);
            restored.restore(&slice).expect("a slice");
            if !more {
                break;
            }
        }
        restored.restore_finish().expect("a checkpoint");
        assert_eq!(restored.device(slot), Some(expected));
        assert!(!within(&restored));
        restored.locate(slot, Time(7), place(52.521, 13.405));
        assert!(within(&restored));
    }

    #[test]
    fn places_come_back_from_their_bytes() {
        for location in [place(-90.0, 180.0), place(52.52, -13.405)] {
            assert_eq!(Location::from_bytes(location.to_bytes()), Some(location));
        }
        assert_eq!(Location::from_bytes([0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0]), None);
    }
}
