//! Feeds: what happens to an app's devices and pushes, as jobs of a queue.
//!
//! An app names its feeds and what each is about. Events of one turn of a shard become jobs of the
//! queue `events.APP.FEED`, up to [`EVENTS_MAX`] in each, as JSON; the jobs are put in the record
//! of the events' cause, so none is lost and none is put twice there. A feed's webhook is the
//! node's business: it works on the queue like anybody else. The edge reports the messages that
//! devices publish ([`message`]).

pub mod message;

use std::fmt;
use std::io::Write;

use bytes::Bytes;
use compact_str::CompactString;
use stadium_registry::AppName;
use stadium_state_machine::encoding::{Reader, corrupt, number, text};
use stadium_state_machine::{InvalidName, name};

use crate::{Corrupt, PushId, Time};

/// Events in one job.
pub const EVENTS_MAX: u32 = 500;

/// Bytes of a job's payload, more or less an event: it stays well below what a queue takes.
const PAYLOAD_BYTES_MAX: usize = 60 << 10;

/// Feeds of an app.
pub const FEEDS_MAX: usize = 16;

/// Bytes of a webhook's address.
pub const URL_BYTES_MAX: usize = 2_048;

name!(
    /// A feed: small letters, digits, `-`, `_`; at most 48 bytes. Without a point, so that each queue is of one app's feed.
    FeedName, "feed", 48,
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'),
    "a-z, 0-9, `_` and `-` are allowed"
);

/// The events that an app wants to get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feed {
    /// Under which name.
    pub name: FeedName,
    /// What of.
    pub kinds: Kinds,
    /// Of messages: those whose topics match one of these filters.
    pub topics: Vec<String>,
    /// Where its jobs are posted; without one somebody else works on them.
    pub webhook: Option<Webhook>,
}

/// Where events are posted, and what they are signed with.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// `http://` or `https://`.
    pub url: String,
    /// 24 to 64 bytes (Standard Webhooks).
    pub secret: Vec<u8>,
}

// Logs show settings; nobody's logs show secrets.
impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("url", &self.url).finish_non_exhaustive()
    }
}

/// A kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A device acknowledged a push; at QoS 0: was sent it.
    Delivered,
    /// Its user opened it.
    Opened,
    /// It expired, was replaced, cancelled or crowded out before the device got it.
    Expired,
    /// The device refused it, or it was too large for it.
    Refused,
    /// A device is connected and reads its inbox.
    Connected,
    /// It does no more.
    Disconnected,
    /// A device published something.
    Message,
    /// Its user clicked it, or an action of it.
    Clicked,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 8] = [
        Kind::Delivered,
        Kind::Opened,
        Kind::Expired,
        Kind::Refused,
        Kind::Connected,
        Kind::Disconnected,
        Kind::Message,
        Kind::Clicked,
    ];

    /// Its word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Delivered => "delivered",
            Kind::Opened => "opened",
            Kind::Expired => "expired",
            Kind::Refused => "refused",
            Kind::Connected => "connected",
            Kind::Disconnected => "disconnected",
            Kind::Message => "message",
            Kind::Clicked => "clicked",
        }
    }

    /// The kind of a word.
    pub fn of(word: &str) -> Option<Kind> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds(u8);

impl Kinds {
    /// These.
    pub fn of(kinds: impl IntoIterator<Item = Kind>) -> Self {
        Self(kinds.into_iter().fold(0, |all, kind| all | 1 << kind as u8))
    }

    /// Whether it is one of them.
    pub fn contains(self, kind: Kind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }
}

impl Webhook {
    /// What is wrong with its address or its secret.
    pub fn check(&self) -> Result<(), &'static str> {
        let host = self.url.strip_prefix("https://").or_else(|| self.url.strip_prefix("http://"));
        let visible = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if self.url.len() > URL_BYTES_MAX || !host.is_some_and(|host| !host.is_empty() && visible(host)) {
            return Err(
                "the url of a webhook begins with http:// or https:// and has at most 2,048 visible ASCII characters",
            );
        }
        if !(24..=64).contains(&self.secret.len()) {
            return Err("the secret of a webhook has 24 to 64 bytes");
        }
        Ok(())
    }
}

impl Feed {
    /// The queue of an app's feed.
    pub fn queue(app: &AppName, feed: &FeedName) -> String {
        format!("events.{app}.{feed}")
    }

    fn wants_messages(&self) -> message::Wanted {
        if self.kinds.contains(Kind::Message) { message::Wanted::Yes } else { message::Wanted::No }
    }

    /// What is wrong with an app's feeds.
    pub fn check(feeds: &[Feed]) -> Result<(), String> {
        if feeds.len() > FEEDS_MAX {
            return Err(format!("an app has at most {FEEDS_MAX} feeds, not {}", feeds.len()));
        }
        for (place, feed) in feeds.iter().enumerate() {
            if feeds[..place].iter().any(|earlier| earlier.name == feed.name) {
                return Err(format!("feed {} is named twice", feed.name));
            }
            if feed.kinds == Kinds::default() {
                return Err(format!("feed {} is about nothing", feed.name));
            }
            message::check(&feed.name, &feed.topics, feed.wants_messages())?;
            if let Some(webhook) = &feed.webhook {
                webhook.check().map_err(|reason| format!("feed {}: {reason}", feed.name))?;
            }
        }
        Ok(())
    }

    /// As bytes in an app's settings.
    pub fn encode(feeds: &[Feed], out: &mut Vec<u8>) {
        number(out, feeds.len() as u64);
        for feed in feeds {
            text(out, feed.name.as_str());
            out.push(feed.kinds.0);
            if feed.kinds.contains(Kind::Message) {
                number(out, feed.topics.len() as u64);
                feed.topics.iter().for_each(|topic| text(out, topic));
            }
            match &feed.webhook {
                None => out.push(0),
                Some(webhook) => {
                    out.push(1);
                    text(out, &webhook.url);
                    number(out, webhook.secret.len() as u64);
                    out.extend_from_slice(&webhook.secret);
                }
            }
        }
    }

    /// Out of an app's settings.
    ///
    /// # Errors
    ///
    /// Bytes that were never written.
    pub fn decode(input: &mut Reader<'_>) -> Result<Vec<Feed>, Corrupt> {
        let count = input.small::<usize>()?;
        if count > FEEDS_MAX {
            return Err(corrupt("more feeds than an app may have"));
        }
        let mut feeds = Vec::with_capacity(count);
        for _ in 0..count {
            let name =
                FeedName::new(input.text()?).map_err(|error: InvalidName| corrupt(error.to_string()))?;
            // Every bit names a kind.
            let kinds = Kinds(input.byte()?);
            let mut topics = Vec::new();
            if kinds.contains(Kind::Message) {
                for _ in 0..input.number()? {
                    topics.push(input.text()?.to_owned());
                }
            }
            let webhook = match input.byte()? {
                0 => None,
                1 => {
                    let url = input.text()?.to_owned();
                    let bytes = input.small::<usize>()?;
                    Some(Webhook { url, secret: input.take(bytes)?.to_vec() })
                }
                _ => return Err(corrupt("a webhook that is neither there nor not")),
            };
            feeds.push(Feed { name, kinds, topics, webhook });
        }
        Feed::check(&feeds).map_err(corrupt)?;
        Ok(feeds)
    }
}

/// Something that happened to a device.
#[derive(Debug, Clone, Copy)]
pub struct FeedEvent<'a> {
    /// What.
    pub kind: Kind,
    /// To whom.
    pub device: &'a str,
    /// With which push, where it was one.
    pub push: Option<PushId>,
    /// Of a click: the part of the push that was clicked, where the device named one.
    pub action: Option<&'a str>,
    /// When.
    pub at: Time,
}

/// Events that are to be put into a queue as one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedJob {
    /// Into which.
    pub queue: CompactString,
    /// `{"app", "feed", "events": [{"kind", "device", "push", "action", "at"}]}`.
    pub payload: Bytes,
}

/// Collects the events of one turn into jobs.
#[derive(Debug, Default)]
pub struct Collector {
    open: Vec<Open>,
    full: Vec<FeedJob>,
}

#[derive(Debug)]
struct Open {
    queue: CompactString,
    json: Vec<u8>,
    events: u32,
}

impl Collector {
    /// Adds an event for each of the app's feeds that is about such. Where there is none, that is all it costs to see.
    pub fn note(&mut self, app: &AppName, feeds: &[Feed], event: FeedEvent<'_>) {
        for feed in feeds.iter().filter(|feed| feed.kinds.contains(event.kind)) {
            let queue = Feed::queue(app, &feed.name);
            let place = self.open.iter().position(|open| open.queue == queue);
            let place = place.unwrap_or_else(|| {
                self.open.push(Open { queue: queue.into(), json: begin(app, &feed.name), events: 0 });
                self.open.len() - 1
            });
            let open = &mut self.open[place];
            if open.events > 0 {
                open.json.push(b',');
            }
            write_event(&mut open.json, event);
            open.events += 1;
            if open.events >= EVENTS_MAX || open.json.len() >= PAYLOAD_BYTES_MAX {
                let full = self.open.swap_remove(place);
                self.full.push(full.close());
            }
        }
    }

    /// Whether there is nothing to put.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty() && self.full.is_empty()
    }

    /// The jobs of the turn. Each one's events are in the order in which they came, and so are the jobs of a queue.
    pub fn finish(&mut self, out: &mut Vec<FeedJob>) {
        out.append(&mut self.full);
        out.extend(self.open.drain(..).map(Open::close));
    }
}

impl Open {
    fn close(mut self) -> FeedJob {
        self.json.extend_from_slice(b"]}");
        FeedJob { queue: self.queue, payload: self.json.into() }
    }
}

fn begin(app: &AppName, feed: &FeedName) -> Vec<u8> {
    // Names of both need no escapes in JSON.
    format!("{{\"app\":\"{app}\",\"feed\":\"{feed}\",\"events\":[").into_bytes()
}

fn write_event(json: &mut Vec<u8>, event: FeedEvent<'_>) {
    const FITS: &str = "a vector takes everything";
    write!(json, "{{\"kind\":\"{}\",\"device\":", event.kind.word()).expect(FITS);
    serde_json::to_writer(&mut *json, event.device).expect(FITS);
    if let Some(push) = event.push {
        write!(json, ",\"push\":\"{push}\"").expect(FITS);
    }
    if let Some(action) = event.action {
        json.extend_from_slice(b",\"action\":");
        serde_json::to_writer(&mut *json, action).expect(FITS);
    }
    write_at(json, event.at);
}

/// When it happened, and the end of the event.
fn write_at(json: &mut Vec<u8>, at: Time) {
    const FITS: &str = "a vector takes everything";
    let millisecond = i64::try_from(at.0).unwrap_or(i64::MAX);
    match jiff::Timestamp::from_millisecond(millisecond) {
        Ok(at) => write!(json, ",\"at\":\"{at:.3}\"}}").expect(FITS),
        Err(_) => write!(json, ",\"at\":null}}").expect(FITS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(name: &str, kinds: &[Kind]) -> Feed {
        let name = FeedName::new(name).expect("a name");
        let topics = if kinds.contains(&Kind::Message) { vec!["up/#".to_owned()] } else { Vec::new() };
        Feed { name, kinds: Kinds::of(kinds.iter().copied()), topics, webhook: None }
    }

    fn app(name: &str) -> AppName {
        AppName::new(name).expect("a name")
    }

    fn event(kind: Kind, device: &str) -> FeedEvent<'_> {
        let push = matches!(kind, Kind::Delivered | Kind::Opened).then_some(PushId(0xab));
        FeedEvent { kind, device, push, action: None, at: Time(1_800_000_000_120) }
    }

    fn finished(collector: &mut Collector) -> Vec<FeedJob> {
        let mut jobs = Vec::new();
        collector.finish(&mut jobs);
        jobs
    }

    #[test]
    fn each_feed_gets_what_it_is_about_as_json() {
        let feeds = [feed("crm", &[Kind::Delivered, Kind::Opened]), feed("presence", &[Kind::Connected])];
        let mut collector = Collector::default();
        collector.note(&app("matchday"), &feeds, event(Kind::Delivered, "phone \"7\""));
        collector.note(&app("matchday"), &feeds, event(Kind::Connected, "phone-8"));
        collector.note(&app("matchday"), &feeds, event(Kind::Refused, "phone-9"));
        let jobs = finished(&mut collector);
        assert!(collector.is_empty());
        let text = |job: &FeedJob| String::from_utf8(job.payload.to_vec()).expect("UTF-8");
        assert_eq!(jobs.len(), 2, "nobody is notified of refusals");
        assert_eq!(jobs[0].queue, "events.matchday.crm");
        assert_eq!(
            text(&jobs[0]),
            r#"{"app":"matchday","feed":"crm","events":[{"kind":"delivered","device":"phone \"7\"","push":"000000000000000000000000000000ab","at":"2027-01-15T08:00:00.120Z"}]}"#
        );
        assert_eq!(jobs[1].queue, "events.matchday.presence");
        assert_eq!(
            text(&jobs[1]),
            r#"{"app":"matchday","feed":"presence","events":[{"kind":"connected","device":"phone-8","at":"2027-01-15T08:00:00.120Z"}]}"#
        );
    }

    #[test]
    fn a_job_has_at_most_500_events_and_none_is_lost_between_two() {
        let feeds = [feed("all", &Kind::ALL)];
        let mut collector = Collector::default();
        let devices: Vec<String> = (0..1_203).map(|number| format!("d{number}")).collect();
        for device in &devices {
            collector.note(&app("default"), &feeds, event(Kind::Disconnected, device));
        }
        let mut seen = Vec::new();
        let jobs = finished(&mut collector);
        assert_eq!(jobs.len(), 3);
        for job in jobs {
            assert!(job.payload.len() < PAYLOAD_BYTES_MAX + 512);
            let json: serde_json::Value = serde_json::from_slice(&job.payload).expect("it is JSON");
            let events = json["events"].as_array().expect("a list").clone();
            assert!(events.len() <= EVENTS_MAX as usize);
            seen.extend(events.iter().map(|event| event["device"].as_str().expect("a text").to_owned()));
        }
        assert_eq!(seen, devices);
    }

    #[test]
    fn queues_of_two_apps_never_meet() {
        assert!(FeedName::new("b.c").is_err(), "else a.b's c would be a's b.c");
        let longest = Feed::queue(
            &app(&"a".repeat(AppName::BYTES_MAX)),
            &FeedName::new(&"f".repeat(48)).expect("a name"),
        );
        assert!(longest.len() <= 128, "the longest name of a queue");
    }

    #[test]
    fn feeds_come_back_as_they_were_written_and_wrong_ones_are_refused() {
        let hook = Webhook { url: "https://crm.example.org/hook?a=1".to_owned(), secret: vec![7; 32] };
        let feeds =
            [feed("crm", &[Kind::Opened]), Feed { webhook: Some(hook.clone()), ..feed("all", &Kind::ALL) }];
        let mut bytes = Vec::new();
        Feed::encode(&feeds, &mut bytes);
        assert_eq!(Feed::decode(&mut Reader::new(&bytes)).expect("as written"), feeds);
        for cut in 0..bytes.len() {
            assert!(Feed::decode(&mut Reader::new(&bytes[..cut])).is_err(), "{cut}");
        }
        assert!(!format!("{hook:?}").contains('7'), "a secret is not shown");

        let with = |url: &str, bytes: usize| Feed {
            webhook: Some(Webhook { url: url.to_owned(), secret: vec![0; bytes] }),
            ..feed("crm", &[Kind::Opened])
        };
        for (feeds, reason) in [
            (vec![feed("crm", &[])], "about nothing"),
            (vec![Feed { topics: Vec::new(), ..feed("crm", &[Kind::Message]) }], "has no topics"),
            (vec![feed("crm", &[Kind::Opened]), feed("crm", &[Kind::Refused])], "twice"),
            (vec![with("ftp://x", 32)], "http://"),
            (vec![with("https://", 32)], "http://"),
            (vec![with("https://a b", 32)], "http://"),
            (vec![with("https://x", 8)], "24 to 64"),
            ((0..17).map(|n| feed(&format!("f{n}"), &[Kind::Opened])).collect(), "at most 16"),
        ] {
            let refused = Feed::check(&feeds).expect_err(reason);
            assert!(refused.contains(reason), "{refused}");
        }
    }
}
