//! The bounds of the platform, and the defaults of an app for its pushes.

use stadium_registry::Limits;

use crate::feed::Feed;
use crate::{Cap, DeviceWritable, Milliseconds};

/// What holds for an app.
#[derive(Debug, Clone, PartialEq)]
pub struct AppSettings {
    /// A device that connects and is not registered is registered then.
    pub register_at_connect: bool,
    /// The value for a device that sets none.
    pub opted_in: bool,
    /// Of a push that names none.
    pub expiry: Milliseconds,
    /// Of a push that names none.
    pub cap: Option<Cap>,
    /// Deliveries that a device may be owed; for one more the oldest of the lowest priority goes. 1 to 1,000.
    pub inbox_max: u16,
    /// A push is remembered so long after nobody is owed it any more.
    pub remember: Milliseconds,
    /// The feeds of its devices and pushes, at most 16.
    pub feeds: Vec<Feed>,
    /// Tags and attributes that its devices may change by themselves.
    pub device_writable: DeviceWritable,
}

impl Default for AppSettings {
    fn default() -> Self {
        const DAY: Milliseconds = 24 * 3_600_000;
        Self {
            register_at_connect: true,
            opted_in: true,
            expiry: 28 * DAY,
            cap: None,
            inbox_max: 100,
            remember: 7 * DAY,
            feeds: Vec::new(),
            device_writable: DeviceWritable::default(),
        }
    }
}

/// How much the push platform of one shard may hold. A command beyond a bound is answered Busy, and
/// nothing happens.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// Apps.
    pub apps_max: u32,
    /// Of each app's devices.
    pub devices: Limits,
    /// Pushes that are remembered, all apps together; of those that are settled the oldest is forgotten first.
    pub pushes_max: u32,
    /// Bytes of their contents and traces; as above.
    pub pushes_bytes_max: u64,
    /// Saved audiences, and schedules, of each app.
    pub names_max: u32,
    /// Bytes of what a device gets.
    pub payload_bytes_max: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            apps_max: 1_000,
            devices: Limits::default(),
            pushes_max: 1_000_000,
            pushes_bytes_max: 1 << 30,
            names_max: 1_000,
            payload_bytes_max: 64 << 10,
        }
    }
}
