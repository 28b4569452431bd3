//! A service's event about one device, checked.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost::Message as _;
use stadium_push::{AppName, DeviceId, Time};
use stadium_registry::Location;

use stadium_rpc_api::proto::LocationEvent;
use stadium_rpc_api::proto::location_event::Significance;

/// How far a device's clock may be ahead of ours. An event further ahead would hide all later ones.
const AHEAD_MAX: Duration = Duration::from_secs(60);

/// Where a device was seen.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) app: AppName,
    pub(super) device: DeviceId,
    pub(super) at: Time,
    pub(super) location: Location,
    pub(super) significance: Significance,
}

impl Seen {
    /// Reads an event; in words what is wrong with it.
    pub(super) fn read(bytes: &[u8], now: SystemTime) -> Result<Self, String> {
        let event = LocationEvent::decode(bytes).map_err(|error| error.to_string())?;
        let significance = event.significance();
        let LocationEvent { device_id, timestamp_ms, latitude, longitude, .. } = event;
        let wrong = |what: String| format!("device {device_id:?}: {what}");
        let (app, device) = device_id.split_once('/').unwrap_or((AppName::DEFAULT, &device_id));
        let app = AppName::new(app).map_err(|error| wrong(error.to_string()))?;
        let device = DeviceId::new(device).map_err(|error| wrong(error.to_string()))?;
        let location = Location::new(latitude, longitude)
            .ok_or_else(|| wrong(format!("{latitude}, {longitude} is not on Earth")))?;
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        if Duration::from_millis(timestamp_ms) > now + AHEAD_MAX {
            return Err(wrong(format!("{timestamp_ms} ms is more than a minute ahead")));
        }
        Ok(Self { app, device, at: Time(timestamp_ms), location, significance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: u64 = 1_800_000_000_000;

    fn read(device_id: &str, timestamp_ms: u64, latitude: f64) -> Result<Seen, String> {
        let event = LocationEvent {
            device_id: device_id.to_owned(),
            timestamp_ms,
            latitude,
            longitude: 2.0,
            significance: Significance::Significant.into(),
        };
        Seen::read(&event.encode_to_vec(), UNIX_EPOCH + Duration::from_millis(NOW_MS))
    }

    #[test]
    fn an_event_is_of_the_device_that_its_client_id_names() {
        for (client_id, expected) in [
            ("phone", ("default", "phone")),
            ("shop/phone", ("shop", "phone")),
            ("default/a", ("default", "a")),
        ] {
            let seen = read(client_id, NOW_MS, 1.0).expect("it is one");
            assert_eq!((seen.app.as_str(), seen.device.as_str()), expected);
            assert_eq!((seen.at, seen.significance), (Time(NOW_MS), Significance::Significant));
            assert_eq!(Some(seen.location), Location::new(1.0, 2.0));
        }
    }

    #[test]
    fn impossible_events_are_refused_in_words() {
        for (client_id, timestamp_ms, latitude, reason) in [
            ("", NOW_MS, 1.0, "empty"),
            ("Shop/phone", NOW_MS, 1.0, "'S'"),
            ("shop/a/b", NOW_MS, 1.0, "'/'"),
            ("phone", NOW_MS, 90.5, "not on Earth"),
            ("phone", NOW_MS, f64::NAN, "not on Earth"),
            ("phone", NOW_MS + 60_001, 1.0, "ahead"),
        ] {
            let wrong = read(client_id, timestamp_ms, latitude).expect_err(reason);
            assert!(wrong.contains(reason), "{wrong}");
        }
        assert!(read("phone", NOW_MS + 60_000, 1.0).is_ok());
        assert!(Seen::read(&[0xff], SystemTime::now()).is_err());
    }
}
