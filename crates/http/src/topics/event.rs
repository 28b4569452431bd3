//! Events of a stream of topics, as text (HTML, 9.2.6).
//!
//! A message is written once, however many streams it goes to.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Serialize;
use utoipa::ToSchema;

/// A message on its way to streams.
#[derive(Clone, Debug)]
pub struct TopicEvent<'a> {
    /// The place behind it; none for a retained message that is sent because a stream began.
    pub place: Option<&'a str>,
    /// Its topic.
    pub topic: &'a str,
    /// The application's bytes.
    pub payload: &'a [u8],
    /// QoS it was published with, 0 to 2.
    pub qos: u8,
    /// Whether it is the topic's retained message.
    pub retained: bool,
    /// MIME type.
    pub content_type: Option<&'a str>,
    /// The topic on which an answer is expected.
    pub response_topic: Option<&'a str>,
    /// The correlation data that an answer repeats.
    pub correlation_data: Option<&'a [u8]>,
    /// Names and values, in order.
    pub user_properties: Vec<(&'a str, &'a str)>,
}

/// A message of a stream: the data of its event. The payload is `payload` where it is UTF-8 text,
/// else `payload_base64`.
#[derive(Serialize, ToSchema)]
pub(crate) struct StreamedMessage<'a> {
    /// Its topic.
    #[schema(example = "chat/lobby")]
    topic: &'a str,
    /// The payload, where it is UTF-8 text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "hello")]
    payload: Option<&'a str>,
    /// The payload as base64, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
    /// The QoS that it was published with.
    #[schema(maximum = 2)]
    qos: u8,
    /// `true`: it is the topic's retained message, sent because the stream began.
    retained: bool,
    /// The MIME type that its publisher gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'a str>,
    /// The topic on which its publisher expects an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_topic: Option<&'a str>,
    /// The correlation data that this answer is to repeat.
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_data_base64: Option<String>,
    /// Names and values that its publisher gave.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    user_properties: Vec<StreamedProperty<'a>>,
}

/// A user property.
#[derive(Serialize, ToSchema)]
pub(crate) struct StreamedProperty<'a> {
    name: &'a str,
    value: &'a str,
}

/// The event of a message.
pub fn render(event: &TopicEvent<'_>) -> Bytes {
    let text = std::str::from_utf8(event.payload).ok();
    let properties = event.user_properties.iter();
    let message = StreamedMessage {
        topic: event.topic,
        payload: text,
        payload_base64: text.is_none().then(|| STANDARD.encode(event.payload)),
        qos: event.qos,
        retained: event.retained,
        content_type: event.content_type,
        response_topic: event.response_topic,
        correlation_data_base64: event.correlation_data.map(|bytes| STANDARD.encode(bytes)),
        user_properties: properties.map(|(name, value)| StreamedProperty { name, value }).collect(),
    };
    let mut bytes = Vec::with_capacity(128 + event.topic.len() + event.payload.len());
    if let Some(place) = event.place {
        bytes.extend_from_slice(b"id: ");
        bytes.extend_from_slice(place.as_bytes());
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(b"data: ");
    // JSON on one line: a line break in a text is written as an escape.
    serde_json::to_writer(&mut bytes, &message).expect("strings and numbers always serialise");
    bytes.extend_from_slice(b"\n\n");
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(payload: &[u8]) -> TopicEvent<'_> {
        TopicEvent {
            place: Some("e-7"),
            topic: "a/b",
            payload,
            qos: 1,
            retained: false,
            content_type: None,
            response_topic: None,
            correlation_data: None,
            user_properties: Vec::new(),
        }
    }

    #[test]
    fn a_message_is_one_event_whatever_its_bytes() {
        let text = "two\nlines \u{2028} and \"quotes\"";
        let expected = "id: e-7\ndata: {\"topic\":\"a/b\",\"payload\":\"two\\nlines \u{2028} and \\\"quotes\\\"\",\"qos\":1,\"retained\":false}\n\n";
        assert_eq!(render(&event(text.as_bytes())), expected);
        let expected =
            "id: e-7\ndata: {\"topic\":\"a/b\",\"payload_base64\":\"/wA=\",\"qos\":1,\"retained\":false}\n\n";
        assert_eq!(render(&event(&[255, 0])), expected);
    }

    #[test]
    fn properties_are_shown_where_there_are_any() {
        let whole = TopicEvent {
            place: None,
            retained: true,
            content_type: Some("text/plain"),
            response_topic: Some("answers"),
            correlation_data: Some(&[1]),
            user_properties: vec![("a", "b")],
            ..event(b"x")
        };
        let expected = "data: {\"topic\":\"a/b\",\"payload\":\"x\",\"qos\":1,\"retained\":true,\"content_type\":\"text/plain\",\
             \"response_topic\":\"answers\",\"correlation_data_base64\":\"AQ==\",\"user_properties\":[{\"name\":\"a\",\"value\":\"b\"}]}\n\n";
        assert_eq!(render(&whole), expected);
    }
}
