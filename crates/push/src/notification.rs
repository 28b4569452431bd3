//! The content of a push, and its form: a notification with its variants, or bytes that are sent
//! unchanged.
//!
//! Requests stand here as they were made; `crate::validate` checks what is allowed.

use bytes::Bytes;
use compact_str::CompactString;
use stadium_registry::{AppName, DeviceId, Selector};
use stadium_state_machine::TraceContext;

use crate::{AudienceName, CollapseKey, Milliseconds, PushId, ScheduleName, Time};

/// A push that an application wants made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPush {
    /// Whose.
    pub app: AppName,
    /// Client-made, or made of the request's idempotency key.
    pub id: PushId,
    /// Whom it is for.
    pub audience: Audience,
    /// The content.
    pub content: Content,
    /// How.
    pub options: Options,
    /// When it starts.
    pub when: When,
}

/// Whom a push is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Audience {
    /// One device, opted in or not.
    Device(DeviceId),
    /// Opted-in devices that match when it starts.
    Selector(Selector),
    /// A saved audience, as it is when the push starts.
    Saved(AudienceName),
}

/// The content of a push.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Made of these words for each device, as JSON: docs/push.md.
    Notification(Box<Notification>),
    /// Sent unchanged.
    Raw {
        /// What the device gets.
        payload: Bytes,
        /// Sent to MQTT 5 devices.
        content_type: Option<CompactString>,
        /// Sent to MQTT 5 devices as user properties.
        properties: Vec<(CompactString, CompactString)>,
    },
}

/// A message to people. Each text may hold `{{name}}` and `{{name|text without it}}`, a device's
/// attribute or built-in field. A device without the value and without that text is left out: the
/// push's trace has the reason.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Notification {
    /// The text for every device unless a variant replaces it.
    pub words: Words,
    /// For devices of a platform; before those for a language.
    pub platforms: Vec<(CompactString, Words)>,
    /// For devices of a language: `de` is also for `de-AT`, the longest one wins.
    pub languages: Vec<(CompactString, Words)>,
}

/// The texts of a notification; what a variant leaves out is as for everybody.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Words {
    /// The first line.
    pub title: Option<String>,
    /// What follows.
    pub body: Option<String>,
    /// For the application: one JSON value, whose strings are templates too.
    pub data: Option<String>,
}

/// How a push is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// From its start: a device that comes later does not get it. None: as in the app's settings.
    pub expiry: Option<Milliseconds>,
    /// 0 to 9, 4 by default: of the pushes that a device is owed the highest comes first, and stays
    /// longest where an inbox is full.
    pub priority: u8,
    /// A newer push with the same key takes the place of an older one that a device has not got yet.
    pub collapse: Option<CollapseKey>,
    /// How fast it goes out.
    pub pace: Pace,
    /// Devices that had so many pushes in that time are left out. None: as in the app's settings.
    pub cap: Option<Cap>,
    /// What quiet hours mean to it.
    pub quiet_hours: QuietHours,
    /// 0: at most once, to devices that are connected. 1: at least once, kept until it expires.
    pub qos: u8,
    /// Per cent of the audience that is left out on purpose, always the same devices for the same push id: 0 to 90.
    pub holdout: u8,
    /// The sampled trace of the request that made it: goes with its deliveries. Pushes that differ
    /// only by it are the same.
    pub trace: Option<TraceContext>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            expiry: None,
            priority: 4,
            collapse: None,
            pace: Pace::AtOnce,
            cap: None,
            quiet_hours: QuietHours::Wait,
            qos: 1,
            holdout: 0,
            trace: None,
        }
    }
}

/// How fast a push goes out to connected devices, all shards together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// As fast as it can.
    AtOnce,
    /// So many devices a second.
    PerSecond(u32),
    /// Evenly over this time.
    Over(Milliseconds),
}

/// At most so many pushes for a device in a time that slides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cap {
    /// So many, at least 1.
    pub pushes: u16,
    /// In this time.
    pub within: Milliseconds,
}

/// What a push does about devices in their quiet hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuietHours {
    /// It waits until they are over.
    Wait,
    /// It leaves them out.
    Skip,
    /// It does not care.
    Ignore,
}

/// When a push starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At once.
    Now,
    /// At this time; at once where it is past.
    At(Time),
    /// When clocks show this in each device's time zone (UTC where it has none); where it is past in a zone already, at once there.
    /// A time that the clocks skip is the first one after it; one that they show twice is the first.
    Local(Civil),
}

/// What a clock and a calendar show: seconds since 1970-01-01T00:00:00 without a time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Civil(pub i64);

/// A push at certain times.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSchedule {
    /// Under which name.
    pub name: ScheduleName,
    /// Cron: minute, hour, day of month, month, day of week; also `@daily` and the like.
    pub cron: CompactString,
    /// Whose clocks it means.
    pub zone: Zone,
    /// The treatment of an occurrence whose time passed while the server was down.
    pub missed: Missed,
    /// What is made; its id is the first part of those of the pushes that come of it, and its `when` is of no matter.
    pub push: NewPush,
}

/// Whose clocks a schedule means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Zone {
    /// Those of an IANA time zone.
    Named(CompactString),
    /// Each device's own.
    Local,
}

/// The treatment of a missed occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// Nothing.
    Skip,
    /// The newest one is sent late, where it is not older than this.
    Late(Milliseconds),
}

impl NewPush {
    /// Whether the other one asks for the same, in whatever trace.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let without = |push: &Self| Options { trace: None, ..push.options.clone() };
        let Self { app, id, audience, content, options: _, when } = self;
        (app, id, audience, content, when)
            == (&other.app, &other.id, &other.audience, &other.content, &other.when)
            && without(self) == without(other)
    }

    /// About how many bytes of memory it holds outside itself.
    pub fn bytes(&self) -> usize {
        let audience = match &self.audience {
            Audience::Device(device) => device.as_str().len(),
            Audience::Saved(name) => name.as_str().len(),
            // A selector is small unless it names many devices.
            Audience::Selector(Selector::Devices(devices)) => devices.len() * 40,
            Audience::Selector(_) => 256,
        };
        audience + self.content.bytes()
    }
}

impl Content {
    /// Bytes of its texts, all variants together.
    pub fn bytes(&self) -> usize {
        match self {
            Content::Raw { payload, content_type, properties } => {
                let properties: usize = properties.iter().map(|(name, value)| name.len() + value.len()).sum();
                payload.len() + content_type.as_ref().map_or(0, |text| text.len()) + properties
            }
            Content::Notification(notification) => {
                let variants = notification.platforms.iter().chain(&notification.languages);
                let variants: usize = variants.map(|(name, words)| name.len() + words.bytes()).sum();
                notification.words.bytes() + variants
            }
        }
    }
}

impl Words {
    /// Bytes of its texts.
    pub fn bytes(&self) -> usize {
        [&self.title, &self.body, &self.data].into_iter().flatten().map(String::len).sum()
    }
}
