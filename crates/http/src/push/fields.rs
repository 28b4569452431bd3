//! Pushes in requests: audience, content, options, and time.
//!
//! An unknown or mistaken field is refused with its path, and nothing has happened. Further rules
//! about values, such as the length of a text or the names in a template, are checked by the
//! platform.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use stadium_push::live::{Away, ChannelName, LiveAudience, LivePush, Message, Qos, TopicPush};
use stadium_push::{
    Civil, CollapseKey, Content, NewPush, Notification, Options, Pace, PushId, QuietHours, When, Words,
};
use stadium_registry::AppName;
use utoipa::ToSchema;

use crate::apps::views::{CapFields, milliseconds};
use crate::audiences::fields::{PaceField, audience as audience_of};
use crate::config::PushBounds;
use crate::push::direct::fields::{CONTENT_TYPE_BYTES_MAX, PropertyField, check_message, properties, text};
use crate::request::problem::Problem;
use crate::rfc3339;
use crate::spelling::{bytes_of, field, named, parse_timestamp, spelled, timestamp};

/// A push to be made: `audience`, and a `notification` or a `message` that is forwarded as it is.
/// Of an edit: the fields that change; fields that are left out stay.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PushFields {
    /// Any 128 bits, as 32 hexadecimal digits or a UUID. The same id with the same content again gets the first answer. Made of the
    /// header `Idempotency-Key` where it is left out; a new one where that is left out too.
    #[serde(default)]
    #[schema(example = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b")]
    pub(crate) id: Option<String>,
    /// `{"device": "phone-7"}`, `{"saved": "vips"}`, or a selector such as `"all"`, `{"tag": "vip"}`, `{"and": [..]}`: docs/push-api.md.
    #[serde(default)]
    #[schema(example = json!({"and": [{"tag": "vip"}, {"platform": "ios"}]}))]
    audience: Option<Value>,
    /// A message to people, with variants.
    #[serde(default)]
    notification: Option<NotificationFields>,
    /// Forwarded as it is. A string is sent as its UTF-8 text; anything else as the JSON text
    /// given, with the content type `application/json` unless another is named.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    message: Option<Box<RawValue>>,
    /// The message as base64, for bytes that are not text.
    #[serde(default)]
    message_base64: Option<String>,
    /// The message's MIME type, sent to MQTT 5 devices.
    #[serde(default)]
    content_type: Option<String>,
    /// Names and values sent to MQTT 5 devices with a message, at most 32.
    #[serde(default)]
    user_properties: Vec<PropertyField>,
    /// How.
    #[serde(default)]
    options: OptionsFields,
    /// `"now"` (unless said otherwise), `{"at": "2030-01-01T20:00:00Z"}`, or `{"local": "2030-01-01T20:00"}`: when each device's own clock
    /// shows that.
    #[serde(default)]
    when: Option<WhenField>,
    /// `true`: a live push, to devices that are connected now. Nothing of it is on disk, and nobody
    /// gets it later. The `audience` may then also be `{"channel": "news"}`: subscribers of a
    /// channel.
    #[serde(default)]
    pub(crate) live: bool,
}

/// A live push as a request names it.
pub(crate) enum LiveFields {
    /// To registered devices.
    Registered(Box<NewPush>),
    /// To the subscribers of a channel.
    Channel(Box<TopicPush>),
}

/// A message to people. Texts may hold `{{name}}` and `{{name|text without a value}}`: a device's
/// attribute or built-in field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NotificationFields {
    /// The first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "{{first_name|Hello}}, doors open at eight")]
    title: Option<String>,
    /// What follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// For the application: any JSON, whose strings are templates too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = json!({"gate": "{{gate}}"}))]
    data: Option<Value>,
    /// What is different for devices of a platform; goes before languages.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    platforms: BTreeMap<String, WordsFields>,
    /// What is different for devices of a language: `de` is also for `de-AT`, the longest one wins.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    languages: BTreeMap<String, WordsFields>,
}

/// The texts of a variant; fields that it leaves out are as for everybody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WordsFields {
    /// The first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// What follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// For the application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl WordsFields {
    fn words(self) -> Words {
        Words { title: self.title, body: self.body, data: self.data.map(|json| json.to_string()) }
    }

    fn of(words: &Words) -> Self {
        let data =
            words.data.as_deref().map(|json| serde_json::from_str(json).unwrap_or_else(|_| json.into()));
        Self { title: words.title.clone(), body: words.body.clone(), data }
    }
}

impl NotificationFields {
    /// The notification that stands at `at`.
    fn check(self, at: &str) -> Result<Notification, Problem> {
        let Self { title, body, data, platforms, languages } = self;
        let words = WordsFields { title, body, data }.words();
        if words == Words::default() && platforms.is_empty() && languages.is_empty() {
            return Err(field(at, "a notification says at least one of `title`, `body` and `data`"));
        }
        let variants = |of: BTreeMap<String, WordsFields>, name: &str| {
            let one = |(key, words): (String, WordsFields)| {
                let words = words.words();
                if words == Words::default() {
                    return Err(field(&format!("{at}.{name}.{key}"), "a variant says something different"));
                }
                Ok((key.into(), words))
            };
            of.into_iter().map(one).collect::<Result<Vec<_>, Problem>>()
        };
        Ok(Notification {
            words,
            platforms: variants(platforms, "platforms")?,
            languages: variants(languages, "languages")?,
        })
    }

    fn of(notification: &Notification) -> Self {
        let WordsFields { title, body, data } = WordsFields::of(&notification.words);
        Self {
            title,
            body,
            data,
            platforms: variants(&notification.platforms),
            languages: variants(&notification.languages),
        }
    }
}

fn variants(of: &[(impl ToString, Words)]) -> BTreeMap<String, WordsFields> {
    of.iter().map(|(key, words)| (key.to_string(), WordsFields::of(words))).collect()
}

/// How a push is made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OptionsFields {
    /// Seconds from its start: a device that comes later does not get it. By default as in the
    /// app's settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, example = 3600)]
    expiry_s: Option<u64>,
    /// 0 to 9, 4 by default: of what a device is owed the highest comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 9)]
    priority: Option<u8>,
    /// A newer push with the same key takes the place of an older one that a device has not got yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64, example = "score")]
    collapse_key: Option<String>,
    /// How fast it goes out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pace: Option<PaceField>,
    /// Devices that had so many pushes in that time are left out. By default as in the app's
    /// settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cap: Option<CapFields>,
    /// Handling of devices in their quiet hours; `wait` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quiet_hours: Option<QuietField>,
    /// 0: at most once, to devices that are connected. 1: at least once, kept until it expires; the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1)]
    qos: Option<u8>,
    /// Per cent of the audience that is left out on purpose: 0 to 90.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 90)]
    holdout_percent: Option<u8>,
}

/// What becomes of devices in their quiet hours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum QuietField {
    /// They get it when the hours are over.
    Wait,
    /// They are left out.
    Skip,
    /// They get it all the same.
    Ignore,
}

impl OptionsFields {
    /// What these options make of those that are known.
    fn check(self, known: Options) -> Result<Options, Problem> {
        let within = |path: &str, given: Option<u8>, known: u8, most: u8| match given {
            Some(value) if value > most => Err(field(path, &format!("it is 0 to {most}, not {value}"))),
            given => Ok(given.unwrap_or(known)),
        };
        let expiry = self.expiry_s.map(|seconds| milliseconds("options.expiry_s", seconds)).transpose()?;
        let collapse = self.collapse_key.map(|key| named("options.collapse_key", CollapseKey::new(&key)));
        let cap = self.cap.map(|cap| cap.check("options.cap")).transpose()?;
        Ok(Options {
            expiry: expiry.or(known.expiry),
            priority: within("options.priority", self.priority, known.priority, 9)?,
            collapse: collapse.transpose()?.or(known.collapse),
            pace: self.pace.map_or(Ok(known.pace), |pace| pace.check("options.pace"))?,
            cap: cap.or(known.cap),
            quiet_hours: match self.quiet_hours {
                None => known.quiet_hours,
                Some(QuietField::Wait) => QuietHours::Wait,
                Some(QuietField::Skip) => QuietHours::Skip,
                Some(QuietField::Ignore) => QuietHours::Ignore,
            },
            qos: within("options.qos", self.qos, known.qos, 1)?,
            holdout: within("options.holdout_percent", self.holdout_percent, known.holdout, 90)?,
            trace: None,
        })
    }

    /// Those of a live push, as they are shown.
    pub(crate) fn of_live(qos: u8) -> Self {
        Self { qos: Some(qos), ..Self::default() }
    }

    /// All of them, as they are shown.
    pub(crate) fn of(options: &Options) -> Self {
        Self {
            expiry_s: options.expiry.map(|expiry| expiry / 1_000),
            priority: Some(options.priority),
            collapse_key: options.collapse.as_ref().map(ToString::to_string),
            pace: Some(match options.pace {
                Pace::AtOnce => PaceField::AtOnce,
                Pace::PerSecond(devices) => PaceField::PerSecond(devices),
                Pace::Over(time) => PaceField::OverS(time / 1_000),
            }),
            cap: options.cap.map(CapFields::of),
            quiet_hours: Some(match options.quiet_hours {
                QuietHours::Wait => QuietField::Wait,
                QuietHours::Skip => QuietField::Skip,
                QuietHours::Ignore => QuietField::Ignore,
            }),
            qos: Some(options.qos),
            holdout_percent: Some(options.holdout),
        }
    }
}

/// When a push starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WhenField {
    /// At once.
    Now,
    /// At a timestamp (RFC 3339).
    #[schema(example = "2030-01-01T20:00:00Z")]
    At(String),
    /// When each device's own clock shows this, UTC's where it has no time zone.
    #[schema(example = "2030-01-01T20:00")]
    Local(String),
}

impl WhenField {
    fn check(&self) -> Result<When, Problem> {
        match self {
            Self::Now => Ok(When::Now),
            Self::At(text) => parse_timestamp(text).map(When::At).map_err(|detail| field("when.at", &detail)),
            Self::Local(text) => civil(text).map(When::Local).ok_or_else(|| {
                field(
                    "when.local",
                    &format!("{text:?} is no date and time as in 2030-01-01T20:00, without a time zone"),
                )
            }),
        }
    }

    pub(crate) fn of(when: When) -> Self {
        match when {
            When::Now => Self::Now,
            When::At(at) => Self::At(timestamp(at)),
            When::Local(Civil(seconds)) => {
                let at =
                    std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds.max(0).unsigned_abs());
                let text = rfc3339::format(at);
                Self::Local(text.split('.').next().unwrap_or(&text).to_owned())
            }
        }
    }
}

/// What a clock and a calendar show, to the minute or to the second.
fn civil(text: &str) -> Option<Civil> {
    let seconds = if text.len() == 16 { ":00Z" } else { "Z" };
    let at = rfc3339::parse(&format!("{text}{seconds}"))?;
    i64::try_from(at / 1_000).ok().map(Civil)
}

impl PushFields {
    /// Whether they have a time.
    pub(crate) fn has_when(&self) -> bool {
        self.when.is_some()
    }

    /// A live push that is new.
    pub(crate) fn live(
        mut self,
        app: AppName,
        id: PushId,
        bounds: PushBounds,
    ) -> Result<LiveFields, Problem> {
        self.live = false;
        let channel = match &self.audience {
            Some(Value::Object(fields)) if fields.len() == 1 => fields.get("channel").cloned(),
            _ => None,
        };
        let Some(channel) = channel else {
            let push = Box::new(self.check("", app, id)?);
            stadium_push::live::check(&push)?;
            return Ok(LiveFields::Registered(push));
        };
        let name = channel.as_str().ok_or_else(|| field("audience.channel", "a channel's name is text"))?;
        let name = ChannelName::new(name)
            .map_err(|error| field("audience.channel", &format!("a channel's name {error}")))?;
        // The other fields are read as of a push to all, whose audience nothing looks at.
        self.audience = Some("all".into());
        let push = self.check("", app, id)?;
        stadium_push::live::check(&push)?;
        let NewPush { app, id, content, options, .. } = push;
        let Content::Raw { payload, content_type, properties } = content else {
            let detail = "texts of a notification are for registered devices; give a channel a `message`";
            return Err(field("notification", detail));
        };
        for (option, given) in [
            ("options.cap", options.cap.is_some()),
            ("options.holdout_percent", options.holdout > 0),
            ("options.quiet_hours", options.quiet_hours != QuietHours::Wait),
        ] {
            if given {
                return Err(field(option, "it needs registered devices; a channel has subscribers"));
            }
        }
        check_message(payload.len(), bounds)?;
        Ok(LiveFields::Channel(Box::new(TopicPush {
            push: LivePush {
                app,
                id,
                to: LiveAudience::Channel(name),
                qos: Qos::of(options.qos),
                payload_bytes: payload.len() as u64,
                title: None,
            },
            message: Message { payload, content_type, properties },
            away: Away::Skip,
        })))
    }

    /// A push that is new. `at` is where the fields are in the body: empty, or as in `push.`.
    pub(crate) fn check(self, at: &str, app: AppName, id: PushId) -> Result<NewPush, Problem> {
        let Some(audience) = &self.audience else {
            return Err(field("audience", "say whom it is for; `\"all\"` is everybody").within(at));
        };
        let known = NewPush {
            app,
            id,
            audience: audience_of("audience", audience).map_err(|problem| problem.within(at))?,
            content: Content::Notification(Box::default()),
            options: Options::default(),
            when: When::Now,
        };
        if self.notification.is_none() && self.message.is_none() && self.message_base64.is_none() {
            let detail = "give a `notification`, a `message` or a `message_base64`";
            return Err(field("notification", detail).within(at));
        }
        self.edit(known).map_err(|problem| problem.within(at))
    }

    /// What these fields make of a push that is known.
    pub(crate) fn edit(self, mut push: NewPush) -> Result<NewPush, Problem> {
        let Self {
            id,
            audience,
            notification,
            message,
            message_base64,
            content_type,
            user_properties,
            options,
            when,
            live,
        } = self;
        if live {
            let detail = "a push is live or durable from its beginning; `live` goes with POST /api/apps/APP/pushes alone";
            return Err(field("live", detail));
        }
        if let Some(id) = id
            && named("id", id.parse::<PushId>())? != push.id
        {
            return Err(field("id", "that is another push than the one that is asked for"));
        }
        if let Some(audience) = audience {
            push.audience = audience_of("audience", &audience)?;
        }
        let payload = bytes_of("", "message", message.as_deref(), message_base64.as_deref())?;
        let is_json = message.as_deref().is_some_and(|json| !json.get().starts_with('"'));
        let raw_only = |name: &str| field(name, "that goes with a `message`; a notification is JSON");
        let is_raw = payload.is_some();
        if !is_raw && content_type.is_some() {
            return Err(raw_only("content_type"));
        }
        if !is_raw && !user_properties.is_empty() {
            return Err(raw_only("user_properties"));
        }
        match (notification, payload) {
            (Some(_), Some(_)) => {
                let detail = "give a `notification` or a `message`, not both";
                return Err(field("message", detail));
            }
            (Some(notification), None) => {
                push.content = Content::Notification(Box::new(notification.check("notification")?));
            }
            (None, Some(payload)) => {
                let content_type = match content_type {
                    Some(named) => Some(text("content_type", named, CONTENT_TYPE_BYTES_MAX)?.into()),
                    None => is_json.then(|| "application/json".into()),
                };
                let properties = properties(user_properties)?;
                push.content = Content::Raw { payload, content_type, properties };
            }
            (None, None) => {}
        }
        push.options = options.check(push.options)?;
        push.when = when.map_or(Ok(push.when), |when| when.check())?;
        Ok(push)
    }
}

/// The content of a push, as it is shown; empty to a caller that may not see it.
#[derive(Default, Serialize, ToSchema)]
pub(crate) struct ContentReport {
    /// A message to people.
    #[serde(skip_serializing_if = "Option::is_none")]
    notification: Option<NotificationFields>,
    /// The payload as it is, where it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The payload as it is, in base64, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    message_base64: Option<String>,
    /// The message's MIME type.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    /// Sent to MQTT 5 devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    user_properties: Vec<PropertyReport>,
}

/// A user property.
#[derive(Serialize, ToSchema)]
pub(crate) struct PropertyReport {
    name: String,
    value: String,
}

impl PropertyReport {
    /// Properties of a message as answers show them.
    pub(crate) fn all<T: ToString>(properties: &[(T, T)]) -> Vec<Self> {
        let report = |(name, value): &(T, T)| Self { name: name.to_string(), value: value.to_string() };
        properties.iter().map(report).collect()
    }
}

impl ContentReport {
    pub(crate) fn of(content: &Content) -> Self {
        match content {
            Content::Notification(notification) => {
                Self { notification: Some(NotificationFields::of(notification)), ..Self::default() }
            }
            Content::Raw { payload, content_type, properties } => {
                let (message, message_base64) = spelled(payload);
                let user_properties = PropertyReport::all(properties);
                let content_type = content_type.as_ref().map(ToString::to_string);
                Self { message, message_base64, content_type, user_properties, ..Self::default() }
            }
        }
    }
}
