//! What becomes different about a device.
//!
//! Every field is optional: `None` leaves what is there, `Some(None)` clears it. In journal events they are texts, never a
//! registry's own numbers, so that an event means the same on every shard and after every restart.

use crate::{
    AppVersion, AttributeName, Country, Language, Location, Platform, QuietHours, Tag, UserName, Value,
    ZoneName,
};

/// What becomes different about a device. The default changes nothing: it registers a device that is new.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Changes {
    /// Its platform.
    pub platform: Option<Option<Platform>>,
    /// The version of the app on it.
    pub app_version: Option<Option<AppVersion>>,
    /// Its language.
    pub language: Option<Option<Language>>,
    /// Its country.
    pub country: Option<Option<Country>>,
    /// Its time zone; without one its hours are UTC's.
    pub time_zone: Option<Option<ZoneName>>,
    /// Whose it is.
    pub user: Option<Option<UserName>>,
    /// Whether it wants pushes. A new device does.
    pub opt_in: Option<bool>,
    /// When it wants none.
    pub quiet_hours: Option<Option<QuietHours>>,
    /// Where it is.
    pub location: Option<Option<Location>>,
    /// All its tags from now on, except that lists stay. Comes before those that are removed and added.
    pub tags_set: Option<Vec<Tag>>,
    /// Tags that it loses.
    pub tags_removed: Vec<Tag>,
    /// Tags that it gets.
    pub tags_added: Vec<Tag>,
    /// Attributes that it gets, or loses where there is no value.
    pub attributes: Vec<(AttributeName, Option<Value>)>,
    /// SHA-256 of the secret that it connects with.
    pub credential: Option<Option<[u8; 32]>>,
    /// Whether it may not connect.
    pub revoked: Option<bool>,
}

impl Changes {
    /// Whether they change nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
