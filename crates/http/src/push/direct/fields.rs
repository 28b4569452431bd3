//! The body of `POST /api/push`, read strictly.
//!
//! An unknown or mistaken field is refused with its path, and nothing has happened.

use bytes::Bytes;
use compact_str::CompactString;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use stadium_push::live::{Away, ChannelName, ClientId, LiveAudience, LivePush, Message, Qos, TopicPush};
use stadium_push::{AppName, PushId};
use utoipa::ToSchema;

use crate::config::PushBounds;
use crate::request::body::parse;
use crate::request::problem::{FIELD_WRONG, Problem, TOO_LARGE};
use crate::spelling::{bytes_of, field};

/// The queue whose jobs are pushes to be made: each payload is a body of `POST /api/push`.
pub const PUSHES_QUEUE: &str = "stadium.pushes";

/// Bytes of a content type: longer than any registered one.
pub(crate) const CONTENT_TYPE_BYTES_MAX: usize = 256;

/// User properties of a push. They are repeated to every device.
const USER_PROPERTIES_MAX: usize = 32;

/// Bytes of a user property's name, and of its value.
const USER_PROPERTY_BYTES_MAX: usize = 1_024;

/// A push to hand over. Exactly one of `message` and `message_base64` is given.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PushRequest {
    /// Who gets it.
    to: To,
    /// The message. A string is sent as its UTF-8 text; anything else as the JSON text given, with
    /// the content type `application/json` unless another is named.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>, example = "Doors open at eight")]
    message: Option<Box<RawValue>>,
    /// The message as base64, for bytes that are not text.
    #[serde(default)]
    message_base64: Option<String>,
    /// 0: at most once. 1: at least once, acknowledged by each device; the default.
    #[serde(default)]
    #[schema(value_type = Option<u8>, minimum = 0, maximum = 1, default = 1)]
    qos: QosField,
    /// Seconds after which a device that was away does not get it any more. Without it, it never
    /// expires.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1, example = 3600)]
    expiry_s: Option<ExpiryField>,
    /// The MIME type, sent to MQTT 5 devices.
    #[serde(default)]
    content_type: Option<String>,
    /// Names and values sent to MQTT 5 devices, at most 32.
    #[serde(default)]
    user_properties: Vec<PropertyField>,
}

/// Who gets a push: `{"device": "d1"}`, `{"devices": ["d1", "d2"]}`, `{"channel": "news"}`, or
/// `"everybody"`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum To {
    /// One device's inbox.
    Device(DeviceField),
    /// Several devices' inboxes.
    Devices(Vec<DeviceField>),
    /// Whoever subscribes to the channel.
    Channel(ChannelField),
    /// Whoever subscribes to the channel `everybody`.
    Everybody,
}

/// A device id that has an inbox: no `+`, no `#`.
#[derive(ToSchema)]
#[schema(value_type = String, example = "seat-0042")]
pub(crate) struct DeviceField(ClientId);

impl<'de> Deserialize<'de> for DeviceField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let id = ClientId::new(String::deserialize(from)?);
        let id = id.map_err(|error| D::Error::custom(format!("a device id {error}")))?;
        if id.has_inbox() {
            Ok(Self(id))
        } else {
            Err(D::Error::custom(
                "a device id with `+` or `#` has no inbox, since its topic would be a filter",
            ))
        }
    }
}

/// A channel's name: at most 1,024 bytes, no `+`, no `#`.
#[derive(ToSchema)]
#[schema(value_type = String, example = "news")]
pub(crate) struct ChannelField(ChannelName);

impl<'de> Deserialize<'de> for ChannelField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = ChannelName::new(String::deserialize(from)?);
        name.map(Self).map_err(|error| D::Error::custom(format!("a channel's name {error}")))
    }
}

/// 0 or 1.
pub(crate) struct QosField(Qos);

impl QosField {
    /// The level.
    pub(crate) fn level(&self) -> Qos {
        self.0
    }
}

impl Default for QosField {
    fn default() -> Self {
        Self(Qos::AtLeastOnce)
    }
}

impl<'de> Deserialize<'de> for QosField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match u8::deserialize(from)? {
            0 => Ok(Self(Qos::AtMostOnce)),
            1 => Ok(Self(Qos::AtLeastOnce)),
            other => Err(D::Error::custom(format!("qos is 0 or 1, not {other}"))),
        }
    }
}

/// Whole seconds, at least one: what an MQTT message expiry interval holds (MQTT 5.0, 3.3.2.3.3).
pub(crate) struct ExpiryField(u32);

impl ExpiryField {
    /// The seconds.
    pub(crate) fn seconds(self) -> u32 {
        self.0
    }
}

impl<'de> Deserialize<'de> for ExpiryField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match u32::deserialize(from)? {
            0 => Err(D::Error::custom("an expiry is at least 1 second; leave it out for none")),
            seconds => Ok(Self(seconds)),
        }
    }
}

/// A user property.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PropertyField {
    /// The name.
    name: String,
    /// The value.
    value: String,
}

/// Reads the body of a `POST /api/push`, wherever it comes from: jobs of the queue [`PUSHES_QUEUE`]
/// hold one.
///
/// # Errors
/// What is wrong with which field, in words.
pub fn read_push(body: &[u8], id: PushId, bounds: PushBounds) -> Result<TopicPush, String> {
    let request: PushRequest = parse(body).map_err(|problem| problem.in_words())?;
    request.check(id, bounds).map_err(|problem| problem.in_words())
}

impl PushRequest {
    /// The live push, of the app `default` and under this id.
    pub(crate) fn check(self, id: PushId, bounds: PushBounds) -> Result<TopicPush, Problem> {
        let (payload, is_json) = self.payload()?;
        check_message(payload.len(), bounds)?;
        let content_type = match self.content_type {
            Some(named) => Some(text("content_type", named, CONTENT_TYPE_BYTES_MAX)?.into()),
            None => is_json.then(|| "application/json".into()),
        };
        let properties = properties(self.user_properties)?;
        let expiry = self.expiry_s.map(|ExpiryField(seconds)| u64::from(seconds) * 1_000);
        Ok(TopicPush {
            push: LivePush {
                app: AppName::default(),
                id,
                to: audience(self.to, bounds.audience_devices_max)?,
                qos: self.qos.0,
                payload_bytes: payload.len() as u64,
                title: None,
            },
            message: Message { payload, content_type, properties },
            away: Away::Queue(expiry),
        })
    }

    /// The message's bytes, and whether they are JSON text of our caller's.
    fn payload(&self) -> Result<(Bytes, bool), Problem> {
        let json = self.message.as_deref();
        let bytes = bytes_of("", "message", json, self.message_base64.as_deref())?;
        let bytes = bytes.ok_or_else(|| field("message", "give `message` or `message_base64`"))?;
        Ok((bytes, json.is_some_and(|json| !json.get().starts_with('"'))))
    }
}

/// Checks the bytes of a message to a topic.
pub(crate) fn check_message(bytes: usize, bounds: PushBounds) -> Result<(), Problem> {
    let max = bounds.message_bytes_max;
    if bytes > max {
        let detail = format!("the message has {bytes} bytes; message_bytes_max allows {max}");
        return Err(Problem::new(TOO_LARGE, detail).at("message"));
    }
    Ok(())
}

fn audience(to: To, devices_max: usize) -> Result<LiveAudience, Problem> {
    let wrong = |detail: String| Err(Problem::new(FIELD_WRONG, detail).at("to.devices"));
    Ok(match to {
        To::Device(DeviceField(id)) => LiveAudience::Clients(vec![id]),
        To::Channel(ChannelField(name)) => LiveAudience::Channel(name),
        To::Everybody => LiveAudience::Channel(ChannelName::everybody()),
        To::Devices(devices) if devices.is_empty() => return wrong("the list names nobody".to_owned()),
        To::Devices(devices) if devices.len() > devices_max => {
            let named = devices.len();
            return wrong(format!("it names {named} devices; audience_devices_max allows {devices_max}"));
        }
        To::Devices(devices) => {
            let mut seen = std::collections::HashSet::with_capacity(devices.len());
            let first = |id: &ClientId| seen.insert(id.clone());
            LiveAudience::Clients(devices.into_iter().map(|DeviceField(id)| id).filter(first).collect())
        }
    })
}

/// The user properties of a body, bounded.
pub(crate) fn properties(fields: Vec<PropertyField>) -> Result<Vec<(CompactString, CompactString)>, Problem> {
    if fields.len() > USER_PROPERTIES_MAX {
        let detail = format!("a push has at most {USER_PROPERTIES_MAX} user properties");
        return Err(Problem::new(FIELD_WRONG, detail).at("user_properties"));
    }
    let mut user_properties = Vec::with_capacity(fields.len());
    for (index, PropertyField { name, value }) in fields.into_iter().enumerate() {
        let name = text(&format!("user_properties[{index}].name"), name, USER_PROPERTY_BYTES_MAX)?;
        let value = text(&format!("user_properties[{index}].value"), value, USER_PROPERTY_BYTES_MAX)?;
        user_properties.push((name.into(), value.into()));
    }
    Ok(user_properties)
}

/// Text that is there, within its bound.
pub(crate) fn text(path: &str, text: String, bytes_max: usize) -> Result<String, Problem> {
    if text.is_empty() || text.len() > bytes_max || text.contains('\0') {
        let detail = format!("it has 1 to {bytes_max} bytes of text without U+0000");
        return Err(Problem::new(FIELD_WRONG, detail).at(path));
    }
    Ok(text)
}
