//! Checks before anything is written: bounds of pushes, schedules and settings.
//!
//! Reasons name the part, what it is, and what is allowed.

use stadium_registry::Selector;

use crate::app::App;
use crate::feed::Feed;
use crate::platform::Platform;
use crate::refusal::{AUDIENCE_UNKNOWN, CONTENT, OPTIONS, SETTINGS, WHEN, rejected};
use crate::template;
use crate::{
    AppSettings, Audience, Bounds, Cap, Command, Content, NewPush, Notification, Pace, Refusal, Time, When,
    Words,
};

/// Variants of a notification.
const VARIANTS_MAX: usize = 200;
/// Bytes of a variant's platform or language.
const VARIANT_BYTES_MAX: usize = 64;
/// All variants together may be so many times as large as what one device gets.
const VARIANTS_FACTOR: usize = 4;
/// Properties of a raw push.
const PROPERTIES_MAX: usize = 50;
const PROPERTY_BYTES_MAX: usize = 1_024;

/// Checks what does not depend on any state: bounds, templates.
///
/// # Errors
///
/// What is wrong with what.
pub fn check(push: &NewPush, bounds: &Bounds) -> Result<(), Refusal> {
    check_content(&push.content, bounds)?;
    let wrong = |reason: String| Err(rejected(OPTIONS, reason));
    let options = &push.options;
    if options.priority > 9 {
        return wrong(format!("priority {} is out of bounds: 0 to 9", options.priority));
    }
    if options.qos > 1 {
        return wrong(format!("QoS {} is out of bounds: 0 or 1", options.qos));
    }
    if options.holdout > 90 {
        return wrong(format!("a holdout of {} per cent is out of bounds: 0 to 90", options.holdout));
    }
    for (what, span) in [("expiry", options.expiry), ("pace", pace_span(options.pace))] {
        if span.is_some_and(|span| span == 0 || span > Command::SPAN_MAX) {
            return wrong(format!("{what} is out of bounds: 1 ms to 366 days"));
        }
    }
    if options.pace == Pace::PerSecond(0) {
        return wrong("a pace of no device a second never ends: name at least 1".into());
    }
    check_cap(options.cap).map_err(|reason| rejected(OPTIONS, reason))
}

fn pace_span(pace: Pace) -> Option<u64> {
    match pace {
        Pace::Over(span) => Some(span),
        Pace::AtOnce | Pace::PerSecond(_) => None,
    }
}

fn check_cap(cap: Option<Cap>) -> Result<(), String> {
    match cap {
        Some(cap) if cap.pushes == 0 => Err("a cap of no push lets nothing through: name at least 1".into()),
        Some(cap) if cap.within == 0 || cap.within > Command::SPAN_MAX => {
            Err("the time of a cap is out of bounds: 1 ms to 366 days".into())
        }
        _ => Ok(()),
    }
}

fn check_content(content: &Content, bounds: &Bounds) -> Result<(), Refusal> {
    let bytes_max = bounds.payload_bytes_max as usize;
    let too_large = |what: &str, bytes: usize| {
        Err(rejected(CONTENT, format!("{what} has {bytes} bytes; {bytes_max} are allowed")))
    };
    match content {
        Content::Raw { payload, content_type, properties } => {
            if payload.len() > bytes_max {
                return too_large("the payload", payload.len());
            }
            let texts = properties.iter().flat_map(|(name, value)| [name, value]).chain(content_type);
            if properties.len() > PROPERTIES_MAX
                || texts.into_iter().any(|text| text.len() > PROPERTY_BYTES_MAX)
            {
                let reason = format!(
                    "at most {PROPERTIES_MAX} properties are allowed, and {PROPERTY_BYTES_MAX} bytes in each name, value and content type"
                );
                return Err(rejected(CONTENT, reason));
            }
            Ok(())
        }
        Content::Notification(notification) => {
            let Notification { words, platforms, languages } = &**notification;
            if platforms.len() + languages.len() > VARIANTS_MAX {
                return Err(rejected(CONTENT, format!("at most {VARIANTS_MAX} variants are allowed")));
            }
            let mut names = platforms.iter().chain(languages).map(|(name, _)| name);
            if let Some(name) = names.find(|name| name.is_empty() || name.len() > VARIANT_BYTES_MAX) {
                let shown: String = name.chars().take(40).collect();
                let reason =
                    format!("{shown:?} names no variant: 1 to {VARIANT_BYTES_MAX} bytes are allowed");
                return Err(rejected(CONTENT, reason));
            }
            if content.bytes() > VARIANTS_FACTOR * bytes_max {
                let (bytes, most) = (content.bytes(), VARIANTS_FACTOR * bytes_max);
                let reason =
                    format!("the notification and its variants have {bytes} bytes; {most} are allowed");
                return Err(rejected(CONTENT, reason));
            }
            let is_empty =
                |words: &Words| words.title.is_none() && words.body.is_none() && words.data.is_none();
            if is_empty(words) && platforms.is_empty() && languages.is_empty() {
                return Err(rejected(CONTENT, "a notification needs a title, a body or data"));
            }
            let of_all = std::iter::once((String::new(), words));
            let platforms = platforms.iter().map(|(name, words)| (format!("platforms.{name}."), words));
            let languages = languages.iter().map(|(name, words)| (format!("languages.{name}."), words));
            for (path, words) in of_all.chain(platforms).chain(languages) {
                if words.bytes() > bytes_max {
                    return too_large("the notification", words.bytes());
                }
                for (name, text) in [("title", &words.title), ("body", &words.body), ("data", &words.data)] {
                    let Some(text) = text else { continue };
                    template::check(&format!("{path}{name}"), text)?;
                    if name == "data" && serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
                        return Err(rejected(CONTENT, format!("{path}data is no JSON value")));
                    }
                }
            }
            Ok(())
        }
    }
}

/// Checks an app's settings.
pub(crate) fn check_settings(settings: &AppSettings) -> Result<(), Refusal> {
    let wrong = |reason: String| Err(rejected(SETTINGS, reason));
    if !(1..=1_000).contains(&settings.inbox_max) {
        return wrong(format!("an inbox of {} is out of bounds: 1 to 1,000", settings.inbox_max));
    }
    for (what, span, least) in [("expiry", settings.expiry, 1), ("remember", settings.remember, 0)] {
        if !(least..=Command::SPAN_MAX).contains(&span) {
            return wrong(format!("{what} is out of bounds: at most 366 days"));
        }
    }
    Feed::check(&settings.feeds).map_err(|reason| rejected(SETTINGS, reason))?;
    settings.device_writable.check().map_err(|reason| rejected(SETTINGS, reason))?;
    check_cap(settings.cap).map_err(|reason| rejected(SETTINGS, reason))
}

impl Platform {
    /// Checks a push against its app: its saved audience, its time.
    pub(crate) fn check_push(&self, now: Time, app: &App, push: &NewPush) -> Result<(), Refusal> {
        check(push, &self.bounds)?;
        match &push.audience {
            Audience::Saved(name) if !app.audiences.contains_key(name) => {
                let reason = format!("app {:?} has no saved audience {:?}", app.name.as_str(), name.as_str());
                return Err(rejected(AUDIENCE_UNKNOWN, reason));
            }
            Audience::Selector(Selector::Devices(devices)) if devices.is_empty() => {
                return Err(rejected(crate::refusal::COUNT, "the audience names no device"));
            }
            _ => {}
        }
        let at = match push.when {
            When::Now => now,
            When::At(at) => at,
            When::Local(civil) => match civil.as_utc() {
                Some(at) => at,
                None => return Err(rejected(WHEN, "the time is before 1970")),
            },
        };
        if at > now.after(Command::SPAN_MAX) {
            return Err(rejected(WHEN, "the push starts more than 366 days from now; schedule it later"));
        }
        Ok(())
    }
}
