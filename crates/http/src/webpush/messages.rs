//! A push message of RFC 8030 as the platform takes it, and its outcome in the terms of RFC 8030.
//!
//! `TTL` is the expiry, `Topic` the collapse key, `Urgency` the priority; the body and the headers that a receiver needs to decrypt
//! it are forwarded. `TTL: 0` is for a device that is connected now: it has [`AT_ONCE`] to
//! acknowledge, so that the sender still learns whether it did.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, header};
use bytes::Bytes;
use stadium_push::{
    Audience, CollapseKey, Content, Milliseconds, NewPush, Options, PushId, QuietHours, State, When,
};

use crate::request::problem::Problem;
use crate::webpush::problems::{ENCODING, HEADER, LARGE, TTL};
use crate::webpush::tokens::Subscription;

/// Bytes of a push message's body. Every push service takes so many (RFC 8030, 7.2) and senders expect no more.
pub(crate) const BODY_BYTES_MAX: usize = 4_096;

/// A message is kept so long at most; a longer `TTL` is answered with this one.
const TTL_MAX_S: u64 = 28 * 24 * 3_600;

/// What a device that is connected has to acknowledge a message with `TTL: 0`.
const AT_ONCE: Milliseconds = 1_000;

/// Characters of a `Topic` (RFC 8030, 5.4).
const TOPIC_CHARS_MAX: usize = 32;

/// Bytes of a header that is forwarded.
const PASSED_BYTES_MAX: usize = 512;

/// Encodings of RFC 8291, and of the draft that went before it, whose keys are in headers of their own.
const ENCODINGS: [&str; 2] = ["aes128gcm", "aesgcm"];

/// What a device needs to decrypt the body.
const PASSED: [&str; 3] = ["content-encoding", "encryption", "crypto-key"];

/// How a message is to be delivered: from the headers of its request.
#[derive(Debug, PartialEq)]
pub(crate) struct Asked {
    /// Seconds, as in the answer.
    pub(crate) ttl_s: u64,
    options: Options,
    content_type: String,
    properties: Vec<(&'static str, String)>,
}

impl Asked {
    /// Reads the headers of a message to a subscription.
    pub(crate) fn read(headers: &HeaderMap, subscription: &Subscription) -> Result<Self, Problem> {
        let ttl_s = ttl(headers)?.min(TTL_MAX_S);
        let (priority, quiet_hours) = urgency(headers)?;
        let options = Options {
            expiry: Some((ttl_s * 1_000).max(AT_ONCE)),
            priority,
            quiet_hours,
            collapse: topic(headers, subscription)?,
            trace: stadium_telemetry::current().and_then(|trace| trace.sampled_context()),
            ..Options::default()
        };
        let mut properties = Vec::new();
        for name in PASSED {
            if let Some(value) = passed(headers, name)? {
                properties.push((name, value));
            }
        }
        if let Some((_, encoding)) = properties.iter().find(|(name, _)| *name == "content-encoding")
            && !ENCODINGS.iter().any(|known| known.eq_ignore_ascii_case(encoding))
        {
            let detail = format!(
                "{encoding:?} is neither aes128gcm nor aesgcm; the body is encrypted for the device by RFC 8291"
            );
            return Err(Problem::new(ENCODING, detail));
        }
        properties.push(("subscription", subscription.number()));
        let content_type = passed(headers, header::CONTENT_TYPE.as_str())?;
        let content_type = content_type.unwrap_or_else(|| "application/octet-stream".to_owned());
        Ok(Self { ttl_s, options, content_type, properties })
    }

    /// The push that delivers it.
    pub(crate) fn push(self, id: PushId, subscription: &Subscription, payload: Bytes) -> NewPush {
        let mut properties: Vec<_> =
            self.properties.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        properties.push(("push".into(), id.to_string().into()));
        NewPush {
            app: subscription.app.clone(),
            id,
            audience: Audience::Device(subscription.device.clone()),
            content: Content::Raw { payload, content_type: Some(self.content_type.into()), properties },
            options: self.options,
            when: When::Now,
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}").trim())
}

fn ttl(headers: &HeaderMap) -> Result<u64, Problem> {
    let wrong = |detail: &str| Problem::new(TTL, detail);
    let given = text(headers, "ttl");
    let given = given.ok_or_else(|| {
        wrong("send the header `TTL`: for how many seconds the message is worth keeping, 0 for now or never")
    })?;
    if given.is_empty() || !given.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong(&format!("`TTL` is a whole number of seconds, not {given:?}")));
    }
    // More digits than fit are a time that is longer than any.
    Ok(given.parse().unwrap_or(u64::MAX))
}

/// Its priority, and what it does about quiet hours: `high` wakes also a device that nothing else
/// may wake.
fn urgency(headers: &HeaderMap) -> Result<(u8, QuietHours), Problem> {
    match text(headers, "urgency") {
        Some("very-low") => Ok((1, QuietHours::Wait)),
        Some("low") => Ok((2, QuietHours::Wait)),
        None | Some("normal") => Ok((4, QuietHours::Wait)),
        Some("high") => Ok((7, QuietHours::Ignore)),
        Some(other) => {
            Err(Problem::new(HEADER, format!("`Urgency` is very-low, low, normal or high, not {other:?}"))
                .at("urgency"))
        }
    }
}

/// Topics of two subscriptions never meet.
fn topic(headers: &HeaderMap, subscription: &Subscription) -> Result<Option<CollapseKey>, Problem> {
    let Some(topic) = text(headers, "topic") else { return Ok(None) };
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if topic.is_empty() || topic.len() > TOPIC_CHARS_MAX || !topic.bytes().all(fits) {
        let detail = format!("`Topic` has 1 to {TOPIC_CHARS_MAX} characters of base64url, not {topic:?}");
        return Err(Problem::new(HEADER, detail).at("topic"));
    }
    let key = CollapseKey::new(&format!("webpush:{}:{topic}", subscription.number()));
    key.map(Some).map_err(|error| Problem::new(HEADER, error.to_string()).at("topic"))
}

fn passed(headers: &HeaderMap, name: &str) -> Result<Option<String>, Problem> {
    let mut given = headers.get_all(name).iter();
    let Some(value) = given.next() else { return Ok(None) };
    match value.to_str() {
        Ok(text) if given.next().is_none() && text.len() <= PASSED_BYTES_MAX => Ok(Some(text.to_owned())),
        _ => {
            let detail =
                format!("`{name}` is sent once and has at most {PASSED_BYTES_MAX} visible ASCII characters");
            Err(Problem::new(HEADER, detail).at(name))
        }
    }
}

/// The refusal of a body that is too large.
pub(crate) fn too_large() -> Problem {
    Problem::new(
        LARGE,
        format!(
            "a push message has at most {BODY_BYTES_MAX} bytes; send less and let the device fetch the rest"
        ),
    )
}

/// What a sender prefers (RFC 7240).
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Preferred {
    /// It wants to know what becomes of the message.
    pub(crate) receipt: bool,
    /// How long an answer may take.
    pub(crate) wait: Duration,
}

impl Preferred {
    /// Unknown preferences are ignored, as the standard has it.
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let mut preferred = Self::default();
        let name = HeaderName::from_static("prefer");
        for value in headers.get_all(name).iter().filter_map(|value| value.to_str().ok()) {
            for preference in value.split(',') {
                let preference = preference.split(';').next().unwrap_or_default().trim();
                match preference.split_once('=') {
                    None if preference.eq_ignore_ascii_case("respond-async") => preferred.receipt = true,
                    Some((name, seconds)) if name.trim().eq_ignore_ascii_case("wait") => {
                        let seconds = seconds.trim().trim_matches('"').parse().unwrap_or(0);
                        preferred.wait = Duration::from_secs(seconds);
                    }
                    _ => {}
                }
            }
        }
        preferred
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Became {
    /// The device has it.
    Delivered,
    /// It may still get it.
    Pending,
    /// It never gets it.
    Lost,
}

impl Became {
    pub(crate) fn of(state: &State) -> Self {
        match state {
            State::Delivered | State::Opened | State::Clicked => Self::Delivered,
            State::Scheduled | State::Waiting(_) | State::Owed | State::InFlight | State::Counted => {
                Self::Pending
            }
            State::NotRegistered
            | State::NotMatched { .. }
            | State::OptedOut
            | State::Revoked
            | State::HeldOut
            | State::Capped
            | State::Quiet
            | State::NoValue(_)
            | State::Expired
            | State::Collapsed
            | State::CrowdedOut
            | State::Refused
            | State::TooLarge
            | State::Cancelled => Self::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use stadium_registry::{AppName, DeviceId};

    use super::*;

    fn subscription() -> Subscription {
        Subscription {
            app: AppName::new("default").expect("a name"),
            device: DeviceId::new("phone-7").expect("a name"),
            origin: "https://push.example.org".to_owned(),
            key: None,
            salt: [0; 16],
        }
    }

    fn read(given: &[(&'static str, &str)]) -> Result<Asked, String> {
        let value = |text: &str| HeaderValue::from_str(text).expect("a value");
        let headers = HeaderMap::from_iter(
            given.iter().map(|(name, text)| (HeaderName::from_static(name), value(text))),
        );
        Asked::read(&headers, &subscription()).map_err(|problem| problem.in_words())
    }

    #[test]
    fn headers_become_options() {
        let asked = read(&[
            ("ttl", "60"),
            ("urgency", "high"),
            ("topic", "upd-1"),
            ("content-encoding", "aes128gcm"),
        ])
        .expect("good");
        assert_eq!((asked.ttl_s, asked.options.expiry, asked.options.priority), (60, Some(60_000), 7));
        assert_eq!(asked.options.quiet_hours, QuietHours::Ignore);
        assert_eq!(asked.options.collapse.as_ref().map(CollapseKey::as_str), Some("webpush:AAAAAAAA:upd-1"));
        let names = [("content-encoding", "aes128gcm".to_owned()), ("subscription", "AAAAAAAA".to_owned())];
        assert_eq!(asked.properties, names);

        let plain = read(&[("ttl", "0")]).expect("good");
        assert_eq!((plain.options.expiry, plain.options.priority, plain.options.qos), (Some(AT_ONCE), 4, 1));
        assert_eq!(plain.content_type, "application/octet-stream");
        assert_eq!(read(&[("ttl", "99999999999999999999999")]).expect("long").ttl_s, TTL_MAX_S);
    }

    #[test]
    fn wrong_headers_are_named() {
        for (given, reason) in [
            (&[][..], "WEB-001"),
            (&[("ttl", "-1")], "WEB-001"),
            (&[("ttl", "1.5")], "WEB-001"),
            (&[("ttl", "")], "WEB-001"),
            (&[("ttl", "1"), ("urgency", "urgent")], "urgency: "),
            (&[("ttl", "1"), ("topic", "a b")], "topic: "),
            (&[("ttl", "1"), ("topic", "123456789012345678901234567890123")], "topic: "),
            (&[("ttl", "1"), ("content-encoding", "gzip")], "WEB-003"),
        ] {
            let refused = read(given).expect_err(reason);
            assert!(refused.contains(reason), "{given:?}: {refused}");
        }
    }

    #[test]
    fn preferences_are_read_and_unknown_ones_ignored() {
        let of = |text: &'static str| {
            Preferred::read(&HeaderMap::from_iter([(
                HeaderName::from_static("prefer"),
                HeaderValue::from_static(text),
            )]))
        };
        assert_eq!(of("respond-async, wait=10"), Preferred { receipt: true, wait: Duration::from_secs(10) });
        assert_eq!(
            of("return=minimal; a=b, Wait=\"5\""),
            Preferred { receipt: false, wait: Duration::from_secs(5) }
        );
        assert_eq!(of("wait=long"), Preferred::default());
    }
}
