//! Messages as events: what devices publish where a feed of their app asks for it.
//!
//! A feed names topic filters. Matching messages are collected into jobs like other events, as JSON
//! in the same shape. The edge matches filters as MQTT defines; here a filter is only checked to be
//! one.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use stadium_registry::AppName;

use super::{EVENTS_MAX, FeedName, Kind, PAYLOAD_BYTES_MAX, begin, write_at};
use crate::Time;

/// Topic filters of a feed.
pub const TOPICS_MAX: usize = 16;

/// Bytes of each.
pub const TOPIC_BYTES_MAX: usize = 256;

/// Bytes of a payload that an event shows; of a larger one it only shows the length.
pub const SHOWN_BYTES_MAX: usize = 64 << 10;

/// A message of a device.
#[derive(Debug, Clone, Copy)]
pub struct MessageEvent<'a> {
    /// Whose.
    pub device: &'a str,
    /// Where it was published.
    pub topic: &'a str,
    /// 0 to 2.
    pub qos: u8,
    /// The content type that the device states.
    pub content_type: Option<&'a str>,
    /// The payload.
    pub payload: &'a [u8],
    /// When it came.
    pub at: Time,
}

/// Collects the messages of one feed into jobs.
#[derive(Debug)]
pub struct MessageBatch {
    head: Box<[u8]>,
    json: Vec<u8>,
    events: u32,
}

impl MessageBatch {
    /// For a feed of an app.
    #[must_use]
    pub fn new(app: &AppName, feed: &FeedName) -> Self {
        Self { head: begin(app, feed).into(), json: Vec::new(), events: 0 }
    }

    /// Adds a message.
    pub fn note(&mut self, message: &MessageEvent<'_>) {
        if self.events == 0 {
            self.json.extend_from_slice(&self.head);
        } else {
            self.json.push(b',');
        }
        write(&mut self.json, message);
        self.events += 1;
    }

    /// Whether the next message belongs into the next job.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.events >= EVENTS_MAX || self.json.len() >= PAYLOAD_BYTES_MAX
    }

    /// The payload of the job, if there is a message in it.
    pub fn close(&mut self) -> Option<Bytes> {
        if std::mem::take(&mut self.events) == 0 {
            return None;
        }
        self.json.extend_from_slice(b"]}");
        Some(std::mem::take(&mut self.json).into())
    }
}

fn write(json: &mut Vec<u8>, message: &MessageEvent<'_>) {
    const FITS: &str = "a vector takes everything";
    let MessageEvent { device, topic, qos, content_type, payload, at } = *message;
    write!(json, "{{\"kind\":\"{}\",\"device\":", Kind::Message.word()).expect(FITS);
    serde_json::to_writer(&mut *json, device).expect(FITS);
    json.extend_from_slice(b",\"topic\":");
    serde_json::to_writer(&mut *json, topic).expect(FITS);
    write!(json, ",\"qos\":{qos}").expect(FITS);
    if let Some(content_type) = content_type {
        json.extend_from_slice(b",\"content_type\":");
        serde_json::to_writer(&mut *json, content_type).expect(FITS);
    }
    if payload.len() > SHOWN_BYTES_MAX {
        write!(json, ",\"payload_bytes\":{}", payload.len()).expect(FITS);
    } else if let Ok(text) = std::str::from_utf8(payload) {
        json.extend_from_slice(b",\"payload\":");
        serde_json::to_writer(&mut *json, text).expect(FITS);
    } else {
        write!(json, ",\"payload_base64\":\"{}\"", STANDARD.encode(payload)).expect(FITS);
    }
    write_at(json, at);
}

/// What is wrong with the topic filters of a feed of this name.
pub(super) fn check(name: &FeedName, topics: &[String], is_wanted: Wanted) -> Result<(), String> {
    match (is_wanted, topics.len()) {
        (Wanted::Yes, 0) => {
            return Err(format!(
                "feed {name} is about messages, and has no topics: name filters, such as \"up/#\""
            ));
        }
        (Wanted::No, 1..) => {
            return Err(format!("feed {name} has topics, and `message` is none of its kinds"));
        }
        (_, count) if count > TOPICS_MAX => {
            return Err(format!("feed {name} has at most {TOPICS_MAX} topics, not {count}"));
        }
        _ => {}
    }
    match topics.iter().find(|topic| !is_filter(topic)) {
        Some(topic) => Err(format!(
            "feed {name}: {topic:?} is no topic filter of 1 to {TOPIC_BYTES_MAX} bytes: + and # are whole levels, and # the last one"
        )),
        None => Ok(()),
    }
}

/// Whether a feed is about messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Yes,
    No,
}

/// Whether it is a filter of MQTT 5.0, 4.7, and no shared one.
fn is_filter(text: &str) -> bool {
    let mut levels = text.split('/').peekable();
    if !(1..=TOPIC_BYTES_MAX).contains(&text.len()) || text.contains('\0') || levels.peek() == Some(&"$share")
    {
        return false;
    }
    while let Some(level) = levels.next() {
        let is_right = match level {
            "+" => true,
            "#" => levels.peek().is_none(),
            level => !level.contains(['+', '#']),
        };
        if !is_right {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app() -> AppName {
        AppName::new("shop").expect("a name")
    }

    fn feed() -> FeedName {
        FeedName::new("up").expect("a name")
    }

    fn message<'a>(topic: &'a str, payload: &'a [u8]) -> MessageEvent<'a> {
        let at = Time(1_800_000_000_120);
        MessageEvent { device: "till-1", topic, qos: 1, content_type: None, payload, at }
    }

    fn json(bytes: &Bytes) -> serde_json::Value {
        serde_json::from_slice(bytes).expect("it is JSON")
    }

    #[test]
    fn a_payload_is_a_text_or_base64_or_only_its_size() {
        let mut batch = MessageBatch::new(&app(), &feed());
        assert_eq!(batch.close(), None);
        let large = vec![b'x'; SHOWN_BYTES_MAX + 1];
        batch.note(&MessageEvent {
            content_type: Some("text/plain"),
            ..message("up/\"a\"", "grüß\n".as_bytes())
        });
        batch.note(&message("up/b", &[0xff, 0]));
        batch.note(&message("up/c", &large));
        batch.note(&message("up/d", b""));
        let at = "2027-01-15T08:00:00.120Z";
        let event = |topic: &str| serde_json::json!({"kind": "message", "device": "till-1", "topic": topic, "qos": 1, "at": at});
        let with = |topic: &str, more: &[(&str, serde_json::Value)]| {
            let mut event = event(topic);
            more.iter().for_each(|(name, value)| event[*name] = value.clone());
            event
        };
        assert_eq!(
            json(&batch.close().expect("there are some")),
            serde_json::json!({"app": "shop", "feed": "up", "events": [
                with("up/\"a\"", &[("payload", "grüß\n".into()), ("content_type", "text/plain".into())]),
                with("up/b", &[("payload_base64", "/wA=".into())]),
                with("up/c", &[("payload_bytes", large.len().into())]),
                with("up/d", &[("payload", "".into())]),
            ]})
        );
        assert_eq!(batch.close(), None);
    }

    #[test]
    fn a_job_is_full_after_500_messages_or_60_kilobytes() {
        let mut batch = MessageBatch::new(&app(), &feed());
        let mut count = 0;
        while !batch.is_full() {
            batch.note(&message("up", b""));
            count += 1;
        }
        assert_eq!(count, EVENTS_MAX);
        batch.close();
        assert!(!batch.is_full());
        batch.note(&message("up", &vec![b'x'; SHOWN_BYTES_MAX]));
        assert!(batch.is_full());
    }

    #[test]
    fn topics_are_filters_and_stand_where_messages_are_wanted() {
        let topics = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        for good in ["#", "+", "up/#", "+/up/+", "/", "$x/+"] {
            assert_eq!(check(&feed(), &topics(&[good]), Wanted::Yes), Ok(()), "{good}");
        }
        let long = "x".repeat(TOPIC_BYTES_MAX + 1);
        for wrong in ["", "a#", "#/a", "a+/b", "$share/g/a", "a\0b", &long] {
            let reason = check(&feed(), &topics(&[wrong]), Wanted::Yes).expect_err(wrong);
            assert!(reason.contains("no topic filter"), "{reason}");
        }
        for (given, is_wanted, reason) in [
            (vec![], Wanted::Yes, "has no topics"),
            (topics(&["up"]), Wanted::No, "none of its kinds"),
            (vec!["up".to_owned(); TOPICS_MAX + 1], Wanted::Yes, "at most 16"),
        ] {
            let error = check(&feed(), &given, is_wanted).expect_err(reason);
            assert!(error.contains(reason), "{error}");
        }
        assert_eq!(check(&feed(), &[], Wanted::No), Ok(()));
    }
}
