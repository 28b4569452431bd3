//! The body of a publish, read strictly.
//!
//! An unknown or mistaken field is refused with its path, and nothing has happened. Whether a topic
//! can be published to is the fleet's to say.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::config::PushBounds;
use crate::fleet::TopicMessage;
use crate::push::direct::fields::{
    CONTENT_TYPE_BYTES_MAX, ExpiryField, PropertyField, QosField, check_message, properties, text,
};
use crate::request::problem::Problem;
use crate::spelling::{bytes_of, field};

/// Bytes of a topic name (MQTT 5.0, 1.5.4).
pub(crate) const TOPIC_BYTES_MAX: usize = 65_535;

/// Bytes of correlation data: an id, or a small state.
const CORRELATION_BYTES_MAX: usize = 1_024;

/// A topic name. Topics that begin with `$`, `me/` or `rpc/` are the server's own.
#[derive(Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, example = "chat/lobby")]
pub(crate) struct TopicField(String);

/// A message to publish. At most one of `payload` and `payload_base64` is given; without either the
/// payload is empty.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublishRequest {
    /// Where to.
    topic: TopicField,
    /// The payload. A string is sent as its UTF-8 text; anything else as the JSON text given, with
    /// the content type `application/json` unless another is named.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>, example = "hello")]
    payload: Option<Box<RawValue>>,
    /// The payload as base64, for bytes that are not text.
    #[serde(default)]
    payload_base64: Option<String>,
    /// 0: at most once. 1: at least once, and the answer waits until it is durable for subscribers
    /// whose sessions persist; the default.
    #[serde(default)]
    #[schema(value_type = Option<u8>, minimum = 0, maximum = 1, default = 1)]
    qos: QosField,
    /// `true`: it becomes the topic's retained message; with an empty payload it removes that.
    #[serde(default)]
    retain: bool,
    /// Seconds after which nobody is sent it any more. Without it, it never expires.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1, example = 3600)]
    expiry_s: Option<ExpiryField>,
    /// The MIME type, for MQTT 5 subscribers.
    #[serde(default)]
    content_type: Option<String>,
    /// The topic on which an answer is expected, for MQTT 5 subscribers.
    #[serde(default)]
    response_topic: Option<TopicField>,
    /// The correlation data that an answer is to repeat, as base64, for MQTT 5 subscribers.
    #[serde(default)]
    correlation_data_base64: Option<String>,
    /// Names and values for MQTT 5 subscribers, at most 32.
    #[serde(default)]
    user_properties: Vec<PropertyField>,
}

/// Messages to publish, in order.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublishBatchRequest {
    /// 1 to 100 messages.
    #[schema(min_items = 1, max_items = 100)]
    pub(crate) messages: Vec<PublishRequest>,
}

impl PublishRequest {
    /// The message; `at` is the message's place in the body.
    pub(crate) fn check(self, at: &str, bounds: PushBounds) -> Result<TopicMessage, Problem> {
        self.read(bounds).map_err(|problem| problem.within(at))
    }

    fn read(self, bounds: PushBounds) -> Result<TopicMessage, Problem> {
        let json = self.payload.as_deref();
        let is_json = json.is_some_and(|json| !json.get().starts_with('"'));
        let is_text = json.is_some();
        let payload = bytes_of("", "payload", json, self.payload_base64.as_deref())?.unwrap_or_default();
        check_message(payload.len(), bounds).map_err(|problem| problem.at("payload"))?;
        let content_type = match self.content_type {
            Some(named) => Some(text("content_type", named, CONTENT_TYPE_BYTES_MAX)?.into()),
            None => is_json.then(|| "application/json".into()),
        };
        Ok(TopicMessage {
            topic: topic("topic", self.topic.0)?,
            payload,
            qos: self.qos.level(),
            retain: self.retain,
            expiry_s: self.expiry_s.map(ExpiryField::seconds),
            is_text,
            content_type,
            response_topic: self.response_topic.map(response_topic).transpose()?,
            correlation_data: self.correlation_data_base64.as_deref().map(correlation_data).transpose()?,
            user_properties: properties(self.user_properties)?,
        })
    }
}

/// A topic within the bounds of a string of MQTT.
pub(crate) fn topic(path: &str, topic: String) -> Result<String, Problem> {
    text(path, topic, TOPIC_BYTES_MAX)
}

fn response_topic(TopicField(name): TopicField) -> Result<String, Problem> {
    if name.contains(['+', '#']) {
        return Err(field("response_topic", "a topic name holds no + and no #"));
    }
    topic("response_topic", name)
}

fn correlation_data(base64: &str) -> Result<Bytes, Problem> {
    let wrong = |why: &str| field("correlation_data_base64", why);
    let bytes = STANDARD
        .decode(base64)
        .map_err(|error| wrong(&format!("it is not padded standard base64: {error}")))?;
    match bytes.len() {
        1..=CORRELATION_BYTES_MAX => Ok(bytes.into()),
        _ => Err(wrong(&format!("it has 1 to {CORRELATION_BYTES_MAX} bytes"))),
    }
}
