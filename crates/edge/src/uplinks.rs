//! Messages that devices publish, for the feeds of their apps: batched into jobs, put into the
//! feeds' queues, and acknowledged when durable.
//!
//! The list of feeds that want messages comes from outside ([`Followed`]) and is read once for each
//! publish: where no app has such a feed, that is one flag. A matching message becomes an event of
//! its feed's next job. One put for each feed is under way at a time; what comes meanwhile is the
//! next one, so that a batch is as large as the disk is slow. Where a put is refused, those who
//! wait are notified, and nothing of it happened.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use parking_lot::RwLock;
use stadium_mqtt::broker::{Persisted, Then, Uplink};
use stadium_mqtt::topic;
use stadium_push::feed::FeedName;
use stadium_push::feed::message::{MessageBatch, MessageEvent};
use stadium_push::{AppName, Refusal};
use stadium_reactor::LoopHandle;
use stadium_shard::{Shards, Ticket};

use crate::alarm::Alarm;
use crate::message::Message;
use crate::push::transport::{split, wall};
use crate::sessions;

/// Bytes of an event beside its topic and its payload, about.
const EVENT_BYTES: usize = 160;

/// Jobs of one put.
const JOBS_MAX: usize = 16;

/// Bytes of events that wait, all feeds together, before publishers are read more slowly.
const WAITING_BYTES_MAX: usize = 4 << 20;

/// Bytes that wait before events are refused: what a turn reads while publishers are being held back, and more.
const FULL_BYTES: usize = 64 << 20;

/// When a shard that was busy is asked again, in milliseconds, where it gives no delay.
const RETRY_MS: u64 = 50;

/// The longest that a shard can ask to be left alone, in milliseconds.
const RETRY_MS_MAX: u64 = 1_000;

/// A feed that wants what devices publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFeed {
    /// Of whose devices.
    pub app: AppName,
    /// Its name.
    pub feed: FeedName,
    /// Filters, one of which a topic must match.
    pub topics: Vec<String>,
}

/// The feeds that want messages, shared by all loops.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    any: AtomicBool,
    /// Counts their changes.
    changes: AtomicU64,
    feeds: RwLock<Arc<[Arc<MessageFeed>]>>,
}

impl Followed {
    /// These from now on.
    pub(crate) fn set(&self, feeds: Vec<MessageFeed>) {
        let mut known = self.feeds.write();
        if known.len() == feeds.len() && known.iter().zip(&feeds).all(|(known, feed)| **known == *feed) {
            return;
        }
        self.any.store(!feeds.is_empty(), Ordering::Release);
        *known = feeds.into_iter().map(Arc::new).collect();
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Whether there is any.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }
}

/// A loop's way to the feeds' queues.
pub(crate) struct Uplinks {
    shards: Shards,
    alarm: Arc<Alarm>,
    waker: Waker,
    /// Of [`Followed`], as far as it was looked at.
    changes: u64,
    /// Places in `lanes`, by app.
    by_app: HashMap<Box<str>, Vec<usize>>,
    lanes: Vec<Lane>,
    /// Lanes that the message at hand goes to.
    matched: Vec<usize>,
    waiting_bytes: usize,
    /// Those of events for which there is no room.
    refused: Vec<Then>,
    /// Events that were taken.
    pub(crate) taken: u64,
    /// Events that were refused, those at QoS 0 included.
    pub(crate) dropped: u64,
}

/// One feed.
struct Lane {
    feed: Arc<MessageFeed>,
    batch: MessageBatch,
    /// The publishers that wait for the open batch.
    thens: Vec<Then>,
    waiting: VecDeque<Waiting>,
    under_way: Option<UnderWay>,
    /// Bytes that were counted for the open batch.
    bytes: usize,
    /// Not before this time, in the node's milliseconds.
    retry_at_ms: u64,
}

struct Waiting {
    payload: Bytes,
    thens: Vec<Then>,
    bytes: usize,
}

struct UnderWay {
    state: State,
    thens: Vec<Then>,
    bytes: usize,
}

enum State {
    Asked(Ticket),
    Answered(Result<(), Refusal>),
}

impl std::fmt::Debug for Uplinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Uplinks").field("waiting_bytes", &self.waiting_bytes).finish_non_exhaustive()
    }
}

impl Uplinks {
    pub(crate) fn new(shards: Shards, handle: LoopHandle<Message>) -> Self {
        let alarm = Alarm::new(handle);
        Self {
            shards,
            waker: Waker::from(Arc::clone(&alarm)),
            alarm,
            changes: 0,
            by_app: HashMap::new(),
            lanes: Vec::new(),
            matched: Vec::new(),
            waiting_bytes: 0,
            refused: Vec::new(),
            taken: 0,
            dropped: 0,
        }
    }

    /// Whether so much waits that publishers should be read more slowly.
    pub(crate) fn is_behind(&self) -> bool {
        self.waiting_bytes > WAITING_BYTES_MAX
    }

    /// Finds the feeds that want what this client publishes there, for [`Self::follow`]. Returns
    /// whether there is one.
    pub(crate) fn find(&mut self, followed: &Followed, client_id: &str, topic: &str) -> bool {
        self.matched.clear();
        if self.changes != followed.changes.load(Ordering::Acquire) {
            self.learn(followed);
        }
        let Some((app, _)) = named(client_id) else { return false };
        let Some(places) = self.by_app.get(app) else { return false };
        let lanes = &self.lanes;
        let wants =
            |&&place: &&usize| lanes[place].feed.topics.iter().any(|filter| topic::matches(filter, topic));
        self.matched.extend(places.iter().filter(wants));
        !self.matched.is_empty()
    }

    /// Takes the message at hand over for those that were found. Returns how many will answer.
    pub(crate) fn follow(&mut self, uplink: &Uplink<'_>, then: Then) -> u32 {
        let Some((_, device)) = named(uplink.client_id) else { return 0 };
        let event = MessageEvent {
            device,
            topic: uplink.topic,
            qos: uplink.qos as u8,
            content_type: uplink.content_type,
            payload: uplink.payload,
            at: wall(),
        };
        let answers = self.matched.len() as u32;
        self.taken += u64::from(answers);
        for place in self.matched.drain(..) {
            if self.waiting_bytes > FULL_BYTES {
                self.refused.push(then);
                self.dropped += 1;
                continue;
            }
            self.waiting_bytes += self.lanes[place].note(&event, then);
        }
        answers
    }

    /// Takes the feeds as they are now. Lanes stay where they are as long as something waits in them.
    fn learn(&mut self, followed: &Followed) {
        self.changes = followed.changes.load(Ordering::Acquire);
        let feeds = Arc::clone(&followed.feeds.read());
        // What waits for a feed that its app has no more is put all the same.
        self.lanes.retain(Lane::is_busy);
        self.by_app.clear();
        for feed in feeds.iter() {
            let is_it = |lane: &Lane| lane.feed.app == feed.app && lane.feed.feed == feed.feed;
            let known = self.lanes.iter().position(is_it);
            let place = known.unwrap_or_else(|| {
                self.lanes.push(Lane::new(Arc::clone(feed)));
                self.lanes.len() - 1
            });
            self.lanes[place].feed = Arc::clone(feed);
            self.by_app.entry(feed.app.as_str().into()).or_default().push(place);
        }
    }

    /// What was answered since the last time.
    pub(crate) fn collect(&mut self, now_ms: u64, into: &mut Vec<(Then, Persisted)>) {
        self.alarm.heard();
        into.extend(self.refused.drain(..).map(|then| (then, Persisted::Busy)));
        for lane in &mut self.lanes {
            lane.poll(&self.waker);
            let Some(UnderWay { state: State::Answered(answer), thens, bytes }) =
                lane.under_way.take_if(|under_way| matches!(under_way.state, State::Answered(_)))
            else {
                continue;
            };
            self.waiting_bytes -= bytes;
            let persisted = match answer {
                Ok(()) => Persisted::Done,
                Err(refusal) => {
                    match refusal.retry_after() {
                        Some(retry_after) => {
                            lane.retry_at_ms = now_ms + retry_after.clamp(RETRY_MS, RETRY_MS_MAX);
                        }
                        None => {
                            let MessageFeed { app, feed, .. } = &*lane.feed;
                            let messages = thens.len();
                            tracing::warn!(app = app.as_str(), feed = feed.as_str(), messages, %refusal, "Messages of devices cannot be put into their feed's queue");
                        }
                    }
                    sessions::persisted(&refusal)
                }
            };
            if persisted != Persisted::Done {
                self.dropped += thens.len() as u64;
            }
            into.extend(thens.into_iter().map(|then| (then, persisted)));
        }
    }

    /// Puts what waits, where the put before was answered. Returns whether one was answered at
    /// once.
    pub(crate) fn submit(&mut self, now_ms: u64) -> bool {
        let mut at_once = false;
        for lane in &mut self.lanes {
            if lane.under_way.is_some() || now_ms < lane.retry_at_ms || !lane.has_waiting() {
                continue;
            }
            if lane.waiting.len() < JOBS_MAX {
                lane.close();
            }
            let count = lane.waiting.len().min(JOBS_MAX);
            let (mut payloads, mut thens, mut bytes) = (Vec::with_capacity(count), Vec::new(), 0);
            for Waiting { payload, thens: more, bytes: counted } in lane.waiting.drain(..count) {
                bytes += counted;
                payloads.push(payload);
                thens.extend(more);
            }
            let ticket = self.shards.put_events(&lane.feed.app, &lane.feed.feed, payloads);
            lane.under_way = Some(UnderWay { state: State::Asked(ticket), thens, bytes });
            at_once |= lane.poll(&self.waker);
        }
        at_once
    }

    /// When a shard that was busy is asked again, in the node's milliseconds.
    pub(crate) fn retry_at_ms(&self) -> Option<u64> {
        let waits = |lane: &&Lane| lane.has_waiting() && lane.under_way.is_none();
        self.lanes.iter().filter(waits).map(|lane| lane.retry_at_ms).min()
    }
}

impl Lane {
    fn new(feed: Arc<MessageFeed>) -> Self {
        Self {
            batch: MessageBatch::new(&feed.app, &feed.feed),
            feed,
            thens: Vec::new(),
            waiting: VecDeque::new(),
            under_way: None,
            bytes: 0,
            retry_at_ms: 0,
        }
    }

    /// Adds an event; returns how many bytes that is, more or less.
    fn note(&mut self, event: &MessageEvent<'_>, then: Then) -> usize {
        let bytes = EVENT_BYTES + event.topic.len() + event.payload.len();
        self.batch.note(event);
        self.thens.push(then);
        self.bytes += bytes;
        if self.batch.is_full() {
            self.close();
        }
        bytes
    }

    /// The open batch becomes a job.
    fn close(&mut self) {
        if let Some(payload) = self.batch.close() {
            let (thens, bytes) = (std::mem::take(&mut self.thens), std::mem::take(&mut self.bytes));
            self.waiting.push_back(Waiting { payload, thens, bytes });
        }
    }

    fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.thens.is_empty()
    }

    fn is_busy(&self) -> bool {
        self.under_way.is_some() || self.has_waiting()
    }

    /// Returns whether the put under way is answered.
    fn poll(&mut self, waker: &Waker) -> bool {
        let Some(under_way) = &mut self.under_way else { return false };
        if let State::Asked(ticket) = &mut under_way.state
            && let Poll::Ready(answer) = Future::poll(Pin::new(ticket), &mut Context::from_waker(waker))
        {
            under_way.state = State::Answered(answer.map(drop));
        }
        matches!(under_way.state, State::Answered(_))
    }
}

/// The app and the device of a client id: `APP/DEVICE`, or a device of `default`. Names that no app has find no feed.
fn named(client_id: &str) -> Option<(&str, &str)> {
    let (app, device) = split(client_id);
    (!device.is_empty() && !device.contains('/')).then_some((app, device))
}
