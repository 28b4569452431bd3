//! Pushes, settings and schedules as bytes: in events, messages and checkpoints, and to check
//! whether two pushes are the same.
//!
//! docs/formats/push-events.md describes each layout. Reading checks everything that writing
//! promises.

use bytes::Bytes;
use roaring::RoaringBitmap;
use stadium_registry::{AppName, DeviceId, Selector};
use stadium_state_machine::TraceContext;
use stadium_state_machine::encoding::{Reader, corrupt, number, text};

use crate::feed::Feed;
use crate::{
    AppSettings, Audience, AudienceName, Cap, Civil, ClickAction, CollapseKey, Content, Corrupt,
    DeviceWritable, Held, Missed, NewPush, NewSchedule, Notification, Options, Pace, PushId, QuietHours,
    ScheduleName, Time, When, Words, Zone,
};

pub(crate) fn wrong(what: &'static str) -> impl Fn(stadium_state_machine::InvalidName) -> Corrupt {
    move |error| corrupt(format!("{what}: {error}"))
}

pub(crate) fn app(input: &mut Reader<'_>) -> Result<AppName, Corrupt> {
    AppName::new(input.text()?).map_err(wrong("an app"))
}

pub(crate) fn device(input: &mut Reader<'_>) -> Result<DeviceId, Corrupt> {
    DeviceId::new(input.text()?).map_err(wrong("a device"))
}

pub(crate) fn schedule_name(input: &mut Reader<'_>) -> Result<ScheduleName, Corrupt> {
    ScheduleName::new(input.text()?).map_err(wrong("a schedule"))
}

/// An action, or none where the text is empty.
pub(crate) fn click_action(input: &mut Reader<'_>) -> Result<Option<ClickAction>, Corrupt> {
    match input.text()? {
        "" => Ok(None),
        action => ClickAction::new(action).map(Some).map_err(wrong("an action")),
    }
}

pub(crate) fn audience_name(input: &mut Reader<'_>) -> Result<AudienceName, Corrupt> {
    AudienceName::new(input.text()?).map_err(wrong("an audience"))
}

pub(crate) fn write_id(out: &mut Vec<u8>, id: PushId) {
    out.extend_from_slice(&id.0.to_be_bytes());
}

pub(crate) fn id(input: &mut Reader<'_>) -> Result<PushId, Corrupt> {
    Ok(PushId(u128::from_be_bytes(input.array()?)))
}

/// A timestamp by itself, where no record's time is near.
pub(crate) fn write_time(out: &mut Vec<u8>, at: Time) {
    number(out, at.0);
}

pub(crate) fn time(input: &mut Reader<'_>) -> Result<Time, Corrupt> {
    Ok(Time(input.number()?))
}

/// A timestamp that may be none: 0, or one more than it is.
pub(crate) fn write_maybe(out: &mut Vec<u8>, value: Option<u64>) {
    number(out, value.map_or(0, |value| value.saturating_add(1)));
}

pub(crate) fn maybe(input: &mut Reader<'_>) -> Result<Option<u64>, Corrupt> {
    Ok(input.number()?.checked_sub(1))
}

pub(crate) fn write_bitmap(out: &mut Vec<u8>, bitmap: &RoaringBitmap) {
    number(out, bitmap.serialized_size() as u64);
    bitmap.serialize_into(out).expect("a vector takes everything");
}

pub(crate) fn bitmap(input: &mut Reader<'_>) -> Result<RoaringBitmap, Corrupt> {
    let bytes = input.small::<usize>()?;
    let bytes = input.take(bytes)?;
    RoaringBitmap::deserialize_from(bytes).map_err(|error| corrupt(format!("a set of devices: {error}")))
}

fn write_text_maybe(out: &mut Vec<u8>, what: Option<&str>) {
    match what {
        None => out.push(0),
        Some(what) => {
            out.push(1);
            text(out, what);
        }
    }
}

fn text_maybe<'a>(input: &mut Reader<'a>) -> Result<Option<&'a str>, Corrupt> {
    match input.byte()? {
        0 => Ok(None),
        1 => Ok(Some(input.text()?)),
        _ => Err(corrupt("a text that is neither there nor not")),
    }
}

fn write_cap(out: &mut Vec<u8>, cap: Option<Cap>) {
    match cap {
        None => number(out, 0),
        Some(cap) => {
            number(out, u64::from(cap.pushes));
            number(out, cap.within);
        }
    }
}

fn cap(input: &mut Reader<'_>) -> Result<Option<Cap>, Corrupt> {
    Ok(match input.small()? {
        0 => None,
        pushes => Some(Cap { pushes, within: input.number()? }),
    })
}

impl AppSettings {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        // Settings without patterns have the form that every version reads.
        let is_writable = !self.device_writable.is_empty();
        out.push(
            u8::from(self.register_at_connect) | u8::from(self.opted_in) << 1 | u8::from(is_writable) << 2,
        );
        number(out, self.expiry);
        write_cap(out, self.cap);
        number(out, u64::from(self.inbox_max));
        number(out, self.remember);
        Feed::encode(&self.feeds, out);
        if is_writable {
            self.device_writable.encode(out);
        }
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let flags = input.byte()?;
        if flags > 7 {
            return Err(corrupt("unknown settings of an app"));
        }
        Ok(Self {
            register_at_connect: flags & 1 != 0,
            opted_in: flags & 2 != 0,
            expiry: input.number()?,
            cap: cap(input)?,
            inbox_max: input.small()?,
            remember: input.number()?,
            feeds: Feed::decode(input)?,
            device_writable: if flags & 4 != 0 {
                DeviceWritable::decode(input)?
            } else {
                DeviceWritable::default()
            },
        })
    }
}

impl NewPush {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        text(out, self.app.as_str());
        write_id(out, self.id);
        match &self.audience {
            Audience::Device(device) => {
                out.push(0);
                text(out, device.as_str());
            }
            Audience::Selector(selector) => {
                out.push(1);
                selector.encode(out);
            }
            Audience::Saved(name) => {
                out.push(2);
                text(out, name.as_str());
            }
        }
        self.content.encode(out);
        self.options.encode(out);
        self.when.encode(out);
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let app = app(input)?;
        let id = id(input)?;
        let audience = match input.byte()? {
            0 => Audience::Device(device(input)?),
            1 => Audience::Selector(Selector::decode(input)?),
            2 => Audience::Saved(audience_name(input)?),
            _ => return Err(corrupt("an audience of an unknown kind")),
        };
        let content = Content::decode(input)?;
        let options = Options::decode(input)?;
        Ok(Self { app, id, audience, content, options, when: When::decode(input)? })
    }
}

impl Content {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Content::Raw { payload, content_type, properties } => {
                out.push(0);
                number(out, payload.len() as u64);
                out.extend_from_slice(payload);
                write_text_maybe(out, content_type.as_deref());
                number(out, properties.len() as u64);
                for (name, value) in properties {
                    text(out, name);
                    text(out, value);
                }
            }
            Content::Notification(notification) => {
                out.push(1);
                notification.words.encode(out);
                for variants in [&notification.platforms, &notification.languages] {
                    number(out, variants.len() as u64);
                    for (name, words) in variants {
                        text(out, name);
                        words.encode(out);
                    }
                }
            }
        }
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        match input.byte()? {
            0 => {
                let bytes = input.small::<usize>()?;
                let payload = Bytes::copy_from_slice(input.take(bytes)?);
                let content_type = text_maybe(input)?.map(Into::into);
                let count = input.number()?;
                let mut properties = Vec::new();
                for _ in 0..count {
                    let name = input.text()?.into();
                    properties.push((name, input.text()?.into()));
                }
                Ok(Content::Raw { payload, content_type, properties })
            }
            1 => {
                let words = Words::decode(input)?;
                let platforms = variants(input)?;
                Ok(Content::Notification(Box::new(Notification {
                    words,
                    platforms,
                    languages: variants(input)?,
                })))
            }
            _ => Err(corrupt("a content of an unknown kind")),
        }
    }
}

fn variants(input: &mut Reader<'_>) -> Result<Vec<(compact_str::CompactString, Words)>, Corrupt> {
    let count = input.number()?;
    let mut variants = Vec::new();
    for _ in 0..count {
        let name = input.text()?.into();
        variants.push((name, Words::decode(input)?));
    }
    Ok(variants)
}

impl Words {
    fn encode(&self, out: &mut Vec<u8>) {
        for words in [&self.title, &self.body, &self.data] {
            write_text_maybe(out, words.as_deref());
        }
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let mut next = || text_maybe(input).map(|text| text.map(String::from));
        Ok(Self { title: next()?, body: next()?, data: next()? })
    }
}

/// Bit beside the QoS: a trace follows the options.
const TRACED: u8 = 0x80;

impl Options {
    fn encode(&self, out: &mut Vec<u8>) {
        write_maybe(out, self.expiry);
        out.push(self.priority);
        write_text_maybe(out, self.collapse.as_ref().map(CollapseKey::as_str));
        match self.pace {
            Pace::AtOnce => out.push(0),
            Pace::PerSecond(devices) => {
                out.push(1);
                number(out, u64::from(devices));
            }
            Pace::Over(span) => {
                out.push(2);
                number(out, span);
            }
        }
        write_cap(out, self.cap);
        out.push(match self.quiet_hours {
            QuietHours::Wait => 0,
            QuietHours::Skip => 1,
            QuietHours::Ignore => 2,
        });
        // Options without a trace have the form that every version reads.
        let traced = if self.trace.is_some() { TRACED } else { 0 };
        out.extend_from_slice(&[self.qos | traced, self.holdout]);
        if let Some(trace) = self.trace {
            out.extend_from_slice(&trace.to_bytes());
        }
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let expiry = maybe(input)?;
        let priority = input.byte()?;
        let collapse = match text_maybe(input)? {
            None => None,
            Some(key) => Some(CollapseKey::new(key).map_err(wrong("a collapse key"))?),
        };
        let pace = match input.byte()? {
            0 => Pace::AtOnce,
            1 => Pace::PerSecond(input.small()?),
            2 => Pace::Over(input.number()?),
            _ => return Err(corrupt("an unknown pace")),
        };
        let cap = cap(input)?;
        let quiet_hours = match input.byte()? {
            0 => QuietHours::Wait,
            1 => QuietHours::Skip,
            2 => QuietHours::Ignore,
            _ => return Err(corrupt("an unknown rule about quiet hours")),
        };
        let (flags, holdout) = (input.byte()?, input.byte()?);
        let qos = flags & !TRACED;
        if priority > 9 || qos > 1 || holdout > 90 {
            return Err(corrupt("options out of bounds"));
        }
        let trace = match flags & TRACED {
            0 => None,
            _ => {
                let context = TraceContext::from_bytes(input.take(TraceContext::BYTES)?);
                Some(context.ok_or_else(|| corrupt("a trace without ids"))?)
            }
        };
        Ok(Self { expiry, priority, collapse, pace, cap, quiet_hours, qos, holdout, trace })
    }
}

impl When {
    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            When::Now => out.push(0),
            When::At(at) => {
                out.push(1);
                write_time(out, at);
            }
            When::Local(civil) => {
                out.push(2);
                out.extend_from_slice(&civil.0.to_le_bytes());
            }
        }
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        match input.byte()? {
            0 => Ok(When::Now),
            1 => Ok(When::At(time(input)?)),
            2 => Ok(When::Local(Civil(i64::from_le_bytes(input.array()?)))),
            _ => Err(corrupt("an unknown kind of time")),
        }
    }
}

impl NewSchedule {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        text(out, self.name.as_str());
        text(out, &self.cron);
        match &self.zone {
            Zone::Local => out.push(0),
            Zone::Named(name) => {
                out.push(1);
                text(out, name);
            }
        }
        write_maybe(
            out,
            match self.missed {
                Missed::Skip => None,
                Missed::Late(span) => Some(span),
            },
        );
        self.push.encode(out);
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let name = schedule_name(input)?;
        let cron = input.text()?.into();
        let zone = match input.byte()? {
            0 => Zone::Local,
            1 => Zone::Named(input.text()?.into()),
            _ => return Err(corrupt("an unknown kind of zone")),
        };
        let missed = maybe(input)?.map_or(Missed::Skip, Missed::Late);
        Ok(Self { name, cron, zone, missed, push: NewPush::decode(input)? })
    }
}

pub(crate) fn write_held(out: &mut Vec<u8>, held: Held) {
    out.push(u8::from(held == Held::Paused));
}

pub(crate) fn held(input: &mut Reader<'_>) -> Result<Held, Corrupt> {
    match input.byte()? {
        0 => Ok(Held::Active),
        1 => Ok(Held::Paused),
        _ => Err(corrupt("a schedule that is neither held nor not")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_a_trace_have_the_bytes_of_every_version() {
        let plain = Options::default();
        let trace = TraceContext { trace_id: [1; 16], span_id: [2; 8], flags: 1 };
        let traced = Options { trace: Some(trace), ..plain.clone() };
        let (mut bytes, mut more) = (Vec::new(), Vec::new());
        plain.encode(&mut bytes);
        traced.encode(&mut more);
        let qos = bytes.len() - 2;
        assert_eq!((bytes[qos], more[qos]), (1, 0x81));
        assert_eq!(more[bytes.len()..], trace.to_bytes());
        for (written, options) in [(&bytes, &plain), (&more, &traced)] {
            assert_eq!(Options::decode(&mut Reader::new(written)).expect("as written"), *options);
            for cut in 0..written.len() {
                assert!(Options::decode(&mut Reader::new(&written[..cut])).is_err(), "{cut}");
            }
        }
        more.truncate(bytes.len());
        more.extend([0; TraceContext::BYTES]);
        assert!(Options::decode(&mut Reader::new(&more)).is_err(), "a trace has ids");
    }

    #[test]
    fn settings_without_patterns_have_the_bytes_of_every_version() {
        let plain = AppSettings::default();
        let mut bytes = Vec::new();
        plain.encode(&mut bytes);
        assert_eq!(bytes[0], 3, "no flag but those of version 1");
        assert_eq!(AppSettings::decode(&mut Reader::new(&bytes)).expect("as written"), plain);

        let device_writable = DeviceWritable { tags: vec!["n*".into()], attributes: vec!["a".into()] };
        let with = AppSettings { device_writable, ..plain };
        let mut more = Vec::new();
        with.encode(&mut more);
        assert_eq!(more[0], 7);
        assert_eq!(more[1..bytes.len()], bytes[1..]);
        assert_eq!(more[bytes.len()..], [1, 2, b'n', b'*', 1, 1, b'a']);
        let mut input = Reader::new(&more);
        assert_eq!(AppSettings::decode(&mut input).expect("as written"), with);
        for cut in 0..more.len() {
            assert!(AppSettings::decode(&mut Reader::new(&more[..cut])).is_err(), "{cut}");
        }
    }
}
