//! Apps: their settings in requests and in answers.
//!
//! A request names the fields that change; other fields are as the app has them, or as a new one
//! does.

use serde::{Deserialize, Deserializer, Serialize};
use stadium_push::{AppSettings, AppView, Cap, DeviceWritable};
use utoipa::ToSchema;

use crate::apps::feeds;
use crate::apps::feeds::{FeedFields, FeedReport};
use crate::request::problem::Problem;
use crate::spelling::field;

/// At most so many pushes for a device in a time that slides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CapFields {
    /// So many, at least 1.
    #[schema(minimum = 1, example = 3)]
    pub(crate) pushes: u16,
    /// In so many seconds.
    #[schema(minimum = 1, example = 86400)]
    pub(crate) within_s: u64,
}

impl CapFields {
    /// The cap that stands at `at` in the body.
    pub(crate) fn check(self, at: &str) -> Result<Cap, Problem> {
        if self.pushes == 0 {
            return Err(field(&format!("{at}.pushes"), "a cap is at least 1"));
        }
        Ok(Cap { pushes: self.pushes, within: milliseconds(&format!("{at}.within_s"), self.within_s)? })
    }

    pub(crate) fn of(cap: Cap) -> Self {
        Self { pushes: cap.pushes, within_s: cap.within / 1_000 }
    }
}

/// Whole seconds, 1 to a year and a day, as the platform counts them.
pub(crate) fn milliseconds(path: &str, seconds: u64) -> Result<u64, Problem> {
    let most = stadium_push::Command::SPAN_MAX / 1_000;
    if (1..=most).contains(&seconds) {
        Ok(seconds * 1_000)
    } else {
        Err(field(path, &format!("it is 1 to {most} seconds, not {seconds}")))
    }
}

/// Tags and attributes that the app's devices may change by themselves. A pattern is a name, or the
/// beginning of names and `*`; that of a tag is written `NAME` or `GROUP:NAME`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeviceWritableFields {
    /// Patterns of tags, at most 64.
    #[serde(default)]
    #[schema(example = json!(["news-*"]))]
    tags: Vec<String>,
    /// Patterns of attributes, at most 64.
    #[serde(default)]
    #[schema(example = json!(["language"]))]
    attributes: Vec<String>,
}

impl DeviceWritableFields {
    fn check(self) -> Result<DeviceWritable, Problem> {
        let patterns = |texts: Vec<String>| texts.into_iter().map(Into::into).collect();
        let writable = DeviceWritable { tags: patterns(self.tags), attributes: patterns(self.attributes) };
        writable.check().map_err(|reason| field("device_writable", &reason))?;
        Ok(writable)
    }

    fn of(writable: &DeviceWritable) -> Self {
        let texts = |patterns: &[_]| patterns.iter().map(ToString::to_string).collect();
        Self { tags: texts(&writable.tags), attributes: texts(&writable.attributes) }
    }
}

/// An app's settings. Fields that are left out stay; a new app has the defaults.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AppFields {
    /// Whether a device that connects and is not registered is registered then; `true` by default.
    #[serde(default)]
    register_at_connect: Option<bool>,
    /// Whether a new device is opted in where its registration leaves that out; `true` by default.
    #[serde(default)]
    opted_in: Option<bool>,
    /// Seconds after which a push that names no expiry expires; 28 days by default.
    #[serde(default)]
    #[schema(minimum = 1, example = 86400)]
    expiry_s: Option<u64>,
    /// Of pushes that name none; `null`: none.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<CapFields>)]
    cap: Option<Option<CapFields>>,
    /// Deliveries that a device may be owed: for one more, the oldest of the lowest priority goes.
    /// 1 to 1,000; 100 by default.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000)]
    inbox_max: Option<u16>,
    /// Seconds that a push is remembered after it settled; 7 days by default.
    #[serde(default)]
    #[schema(minimum = 1)]
    remember_s: Option<u64>,
    /// All of its feeds of events: jobs of the queues `events.APP.FEED`. At most 16; none by
    /// default.
    #[serde(default)]
    feeds: Option<Vec<FeedFields>>,
    /// All that its devices may change by themselves; nothing by default.
    #[serde(default)]
    device_writable: Option<DeviceWritableFields>,
}

/// Distinguishes a field that is `null` from one that is left out.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<CapFields>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl AppFields {
    /// The settings that result.
    pub(crate) fn check(self, known: AppSettings) -> Result<AppSettings, Problem> {
        let seconds = |name: &str, given: Option<u64>, known| match given {
            Some(seconds) => milliseconds(name, seconds),
            None => Ok(known),
        };
        let inbox_max = self.inbox_max.unwrap_or(known.inbox_max);
        if !(1..=1_000).contains(&inbox_max) {
            return Err(field("inbox_max", &format!("it is 1 to 1,000, not {inbox_max}")));
        }
        Ok(AppSettings {
            register_at_connect: self.register_at_connect.unwrap_or(known.register_at_connect),
            opted_in: self.opted_in.unwrap_or(known.opted_in),
            expiry: seconds("expiry_s", self.expiry_s, known.expiry)?,
            cap: match self.cap {
                None => known.cap,
                Some(None) => None,
                Some(Some(cap)) => Some(cap.check("cap")?),
            },
            inbox_max,
            remember: seconds("remember_s", self.remember_s, known.remember)?,
            feeds: match self.feeds {
                None => known.feeds,
                Some(feeds) => feeds::check(feeds, &known.feeds)?,
            },
            device_writable: match self.device_writable {
                None => known.device_writable,
                Some(writable) => writable.check()?,
            },
        })
    }
}

/// An app: its settings and its figures.
#[derive(Serialize, ToSchema)]
pub(crate) struct AppReport {
    /// Its name.
    #[schema(example = "default")]
    app: String,
    /// How it behaves.
    settings: AppSettingsReport,
    /// Registered devices.
    devices: u64,
    /// Of those, connected.
    connected: u64,
    /// Of those, opted in.
    opted_in: u64,
    /// Pushes that are remembered; one to several devices counts once for each shard.
    pushes: u64,
    /// Deliveries that devices are owed.
    owed: u64,
    /// Bytes of memory.
    bytes: u64,
}

/// How an app behaves.
#[derive(Serialize, ToSchema)]
pub(crate) struct AppSettingsReport {
    register_at_connect: bool,
    opted_in: bool,
    expiry_s: u64,
    cap: Option<CapFields>,
    inbox_max: u16,
    remember_s: u64,
    feeds: Vec<FeedReport>,
    device_writable: DeviceWritableFields,
}

impl AppReport {
    pub(crate) fn of(view: &AppView) -> Self {
        let settings = view.settings.clone().unwrap_or_default();
        Self {
            app: view.app.to_string(),
            settings: AppSettingsReport {
                register_at_connect: settings.register_at_connect,
                opted_in: settings.opted_in,
                expiry_s: settings.expiry / 1_000,
                cap: settings.cap.map(CapFields::of),
                inbox_max: settings.inbox_max,
                remember_s: settings.remember / 1_000,
                feeds: settings.feeds.iter().map(FeedReport::of).collect(),
                device_writable: DeviceWritableFields::of(&settings.device_writable),
            },
            devices: view.devices,
            connected: view.connected,
            opted_in: view.opted_in,
            pushes: view.pushes,
            owed: view.owed,
            bytes: view.bytes,
        }
    }
}

/// A page of the apps, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct AppPage {
    pub(crate) apps: Vec<AppReport>,
    /// `after` of the next page; none on the last one.
    pub(crate) next: Option<String>,
}
