//! All that is known about one device.

use crate::{
    AppVersion, AttributeName, Country, DeviceId, Language, Location, Platform, QuietHours, Tag, Time,
    UserName, Value, ZoneName,
};

/// All that is known about one device.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Its id.
    pub id: DeviceId,
    /// Its platform.
    pub platform: Option<Platform>,
    /// The version of the app on it.
    pub app_version: Option<AppVersion>,
    /// Its language.
    pub language: Option<Language>,
    /// Its country.
    pub country: Option<Country>,
    /// Its time zone.
    pub time_zone: Option<ZoneName>,
    /// Whose it is.
    pub user: Option<UserName>,
    /// Whether it wants pushes.
    pub opt_in: bool,
    /// When it wants none.
    pub quiet_hours: Option<QuietHours>,
    /// Where it is.
    pub location: Option<Location>,
    /// Since when, as far as that is known: the time of the sighting, or the time at which it was
    /// set.
    pub located_at: Option<Time>,
    /// Its tags in their order, lists included.
    pub tags: Vec<Tag>,
    /// Its attributes, by name.
    pub attributes: Vec<(AttributeName, Value)>,
    /// SHA-256 of its secret. Shown to nobody.
    pub credential: Option<[u8; 32]>,
    /// Whether it may not connect.
    pub revoked: bool,
    /// When it was registered, to the second.
    pub registered_at: Time,
    /// When it was connected last, to the second.
    pub last_seen: Option<Time>,
}
