//! Connections that read the inbox of a device which nobody has registered yet: known here, so that
//! a device registered later is reached at once.
//!
//! Not saved: after a start the edge reports the connections again.

use std::collections::BTreeMap;

use stadium_registry::{AppName, DeviceId};

use crate::ConnectionName;

/// Connections of one shard that are remembered; one more is ignored until it arrives again.
const CONNECTIONS_MAX: usize = 100_000;
/// Bytes of one, about.
const EACH_BYTES: usize = 128;

/// Devices that are connected and registered nowhere.
#[derive(Debug, Default)]
pub(crate) struct Unregistered {
    of: BTreeMap<AppName, BTreeMap<DeviceId, ConnectionName>>,
    count: usize,
}

impl Unregistered {
    /// A device is connected that is not registered.
    pub(crate) fn note(&mut self, app: &AppName, device: &DeviceId, connection: ConnectionName) {
        let known = self.of.get_mut(app).and_then(|devices| devices.get_mut(device));
        if let Some(known) = known {
            *known = connection;
        } else if self.count < CONNECTIONS_MAX {
            self.of.entry(app.clone()).or_default().insert(device.clone(), connection);
            self.count += 1;
        }
    }

    /// That connection is over. Returns whether it was known.
    pub(crate) fn forget(&mut self, app: &AppName, device: &DeviceId, connection: ConnectionName) -> bool {
        let known = self.of.get(app).and_then(|devices| devices.get(device));
        known == Some(&connection) && self.take(app, device).is_some()
    }

    /// The connection of a device, which is registered now.
    pub(crate) fn take(&mut self, app: &AppName, device: &DeviceId) -> Option<ConnectionName> {
        let devices = self.of.get_mut(app)?;
        let connection = devices.remove(device)?;
        self.count -= 1;
        if devices.is_empty() {
            self.of.remove(app);
        }
        Some(connection)
    }

    /// The remembered devices, with their connections.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&AppName, &DeviceId, ConnectionName)> {
        self.of.iter().flat_map(|(app, devices)| {
            devices.iter().map(move |(device, &connection)| (app, device, connection))
        })
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.count * EACH_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_connections_are_remembered_than_the_bound() {
        let app = AppName::new("default").unwrap();
        let device = |number: usize| DeviceId::new(&format!("d{number}")).unwrap();
        let name = |number: usize| ConnectionName { connection: number as u64, ..Default::default() };
        let mut unregistered = Unregistered::default();
        (0..=CONNECTIONS_MAX).for_each(|number| unregistered.note(&app, &device(number), name(number)));
        assert_eq!(unregistered.take(&app, &device(CONNECTIONS_MAX)), None);
        // Another connection of one that is remembered takes its place, and the old one's end is none of it.
        unregistered.note(&app, &device(0), name(7));
        assert!(!unregistered.forget(&app, &device(0), name(0)));
        assert!(unregistered.forget(&app, &device(0), name(7)));
        (1..CONNECTIONS_MAX)
            .for_each(|number| assert!(unregistered.forget(&app, &device(number), name(number))));
        assert_eq!((unregistered.bytes(), unregistered.of.len()), (0, 0));
    }
}
