//! Streams: readers of topics that are not devices, such as web pages by server-sent events.
//!
//! ```text
//! loop ─ observe ─▶ intake (bounded) ─▶ distribute ─▶ ring and logs ─▶ each stream, at its pace
//!        one look                       a task of the node            (poll)
//! ```
//!
//! A loop shows each message once, where it came in: a look at a flag, or one copy. The rest is
//! done by [`TopicStreams::distribute`], never on a loop. A stream reads from the ring ([`ring`])
//! and has no queue: a slow one finds that its next message has left. Rights are the door's.

mod hub;
mod ring;
mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use parking_lot::Mutex;
use stadium_mqtt::broker::{Interest, Message as MqttMessage, Publication};
use stadium_mqtt::decode;
use stadium_mqtt::packet::PublishProperties;

use crate::interest::Interests;

use hub::{Appended, Hub};
pub use ring::{Gap, RingLimits};
pub use stream::{SendRetained, StreamItem, StreamPlace, TopicStream};

/// Bytes of messages between the loops and the ring. The task that empties it runs each few
/// milliseconds on a busy machine; where it does not for longer, messages are lost to streams, and
/// a gap is reported to each stream.
const INTAKE_BYTES_MAX: usize = 8 << 20;

/// Bytes that a message counts for beside its own.
const MESSAGE_BYTES: usize = 200;

/// The bounds of streams, for the whole node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// Streams at once.
    pub streams_max: usize,
    /// Topic filters of one stream.
    pub filters_max: usize,
    /// The ring, and how long the topics of a stream that ended are kept in it.
    pub ring: RingLimits,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            streams_max: 500,
            filters_max: 16,
            ring: RingLimits { bytes_max: 64 << 20, age_ms_max: 30_000 },
        }
    }
}

/// A message for streams. All streams share it.
#[derive(Debug)]
pub struct StreamMessage {
    publication: Publication,
    is_retained: bool,
    /// The form that a door made of it, once for all its readers.
    rendered: std::sync::OnceLock<Bytes>,
}

impl StreamMessage {
    fn new(publication: Publication, is_retained: bool) -> Self {
        Self { publication, is_retained, rendered: std::sync::OnceLock::new() }
    }

    /// Topic Name.
    pub fn topic(&self) -> &str {
        self.publication.topic()
    }

    /// The application's bytes.
    pub fn payload(&self) -> &[u8] {
        self.publication.payload()
    }

    /// QoS it was published with, 0 to 2.
    pub fn qos(&self) -> u8 {
        self.publication.head.qos as u8
    }

    /// Whether it is the topic's retained message, sent because a stream began.
    pub fn is_retained(&self) -> bool {
        self.is_retained
    }

    /// The properties that its publisher gave it.
    pub fn properties(&self) -> PublishProperties<'_> {
        // They were encoded by a broker, and are read back as they are.
        decode::forwarded(self.publication.message().properties).unwrap_or_default()
    }

    /// The form that a door shows; made by the first reader.
    pub fn rendered(&self, render: impl FnOnce() -> Bytes) -> Bytes {
        self.rendered.get_or_init(render).clone()
    }

    fn bytes(&self) -> usize {
        MESSAGE_BYTES + self.publication.bytes_held()
    }

    /// Bytes in the ring, where a door's text of it is kept too: about as long as the message.
    fn ring_bytes(&self) -> usize {
        self.bytes() + self.publication.bytes_held()
    }
}

/// The reason that a stream cannot begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoStream {
    /// There are so many already.
    Full(usize),
    /// It has more filters than this.
    Filters(usize),
    /// The filter at this place is none, and why.
    Filter(usize, String),
    /// The node drains.
    Draining,
}

/// The counters of streams, and the memory that they hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Streams that are open now.
    pub open: u64,
    /// Topic filters that are kept in the ring now.
    pub filters: u64,
    /// Messages in the ring now.
    pub ring_messages: u64,
    /// Their bytes.
    pub ring_bytes: u64,
    /// Messages that were put into the ring.
    pub messages_total: u64,
    /// Messages that were given to streams, each as often as it was.
    pub deliveries_total: u64,
    /// Messages that were lost on their way to the ring.
    pub lost_total: u64,
    /// Gaps that were reported to streams: expired, unwatched, overload.
    pub gaps_total: [u64; 3],
}

/// All streams of the node.
#[derive(Debug)]
pub struct TopicStreams {
    /// Distinguishes the numbers of this process's messages from those of another.
    epoch: u64,
    limits: StreamLimits,
    topic_levels_max: usize,
    /// Filters in the hub: a loop looks no further where there is none.
    watched: AtomicUsize,
    /// Which topics they may match, as between loops.
    interests: Interests,
    intake: Mutex<Intake>,
    hub: Mutex<Hub>,
    /// No stream begins any more.
    closed: AtomicBool,
    counts: Totals,
}

#[derive(Debug, Default)]
struct Totals {
    messages: AtomicU64,
    deliveries: AtomicU64,
    lost: AtomicU64,
    gaps: [AtomicU64; 3],
}

/// Messages that loops have shown and nobody has distributed.
#[derive(Debug, Default)]
struct Intake {
    messages: Vec<StreamMessage>,
    bytes: usize,
    /// Messages were lost behind those.
    lost: bool,
    waker: Option<Waker>,
}

impl TopicStreams {
    pub(crate) fn new(limits: StreamLimits, topic_levels_max: usize, epoch: u64) -> Arc<Self> {
        Arc::new(Self {
            epoch,
            limits,
            topic_levels_max,
            watched: AtomicUsize::new(0),
            interests: Interests::new(1),
            intake: Mutex::default(),
            hub: Mutex::new(Hub::new(limits.ring)),
            closed: AtomicBool::new(false),
            counts: Totals::default(),
        })
    }

    /// Shows a message, on the loop where it came in. Returns whether a stream may want it.
    pub(crate) fn observe(&self, message: &MqttMessage<'_>) -> bool {
        if self.watched.load(Ordering::Acquire) == 0 || !self.interests.wanted_by(0, message.topic) {
            return false;
        }
        let mut intake = self.intake.lock();
        if intake.bytes >= INTAKE_BYTES_MAX {
            intake.lost = true;
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        let message = StreamMessage::new(Publication::new(message), false);
        intake.bytes += message.bytes();
        intake.messages.push(message);
        let waker = if intake.messages.len() == 1 { intake.waker.take() } else { None };
        drop(intake);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Waits until messages have been shown.
    pub fn poll_shown(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut intake = self.intake.lock();
        if !intake.messages.is_empty() {
            return Poll::Ready(());
        }
        match &mut intake.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Gives streams what was shown since the last time, and lets go of what is too old. To be
    /// called when [`Self::poll_shown`] is ready, and about each second, by one task.
    pub fn distribute(&self, now_ms: u64) {
        // Held while the intake is emptied: who gets it next finds all that was shown before in the
        // ring.
        let mut hub = self.hub.lock();
        let (messages, lost) = {
            let mut intake = self.intake.lock();
            intake.bytes = 0;
            let fresh = Vec::with_capacity(intake.messages.len());
            (std::mem::replace(&mut intake.messages, fresh), std::mem::take(&mut intake.lost))
        };
        let count = |total: &AtomicU64| {
            total.fetch_add(1, Ordering::Relaxed);
        };
        for message in messages {
            match hub.append(message, now_ms) {
                Appended::Unwanted => {}
                Appended::Kept => count(&self.counts.messages),
                Appended::TooLarge => count(&self.counts.lost),
            }
        }
        if lost {
            hub.lose();
        }
        hub.expire(now_ms, |filter| {
            self.interests.change(0, filter, Interest::Lost);
            self.watched.fetch_sub(1, Ordering::AcqRel);
        });
        let wakers = hub.take_wakers();
        drop(hub);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// No stream begins from now on, and those that are open end.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let mut hub = self.hub.lock();
        hub.wake_all();
        let wakers = hub.take_wakers();
        drop(hub);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Streams at once, at most.
    pub fn streams_max(&self) -> usize {
        self.limits.streams_max
    }

    /// Everything that is counted.
    pub fn counts(&self) -> StreamCounts {
        let (open, filters, (ring_messages, ring_bytes)) = self.hub.lock().held();
        let Totals { messages, deliveries, lost, gaps } = &self.counts;
        let total = |count: &AtomicU64| count.load(Ordering::Relaxed);
        StreamCounts {
            open: open as u64,
            filters: filters as u64,
            ring_messages: ring_messages as u64,
            ring_bytes: ring_bytes as u64,
            messages_total: total(messages),
            deliveries_total: total(deliveries),
            lost_total: total(lost),
            gaps_total: [total(&gaps[0]), total(&gaps[1]), total(&gaps[2])],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stadium_mqtt::broker::Head;

    use super::*;
    use crate::auth::{AuthConfig, Authenticator};
    use crate::{Config, Edge};

    fn edge(limits: StreamLimits) -> Edge {
        let authenticator = Authenticator::open(&AuthConfig::default()).expect("the defaults are right");
        let config = Config { streams: limits, ..Config::new(Arc::new(authenticator)) };
        // Nothing is needed of its loops: they do not run.
        Edge::bind(config).expect("it listens nowhere")
    }

    fn show(edge: &Edge, topic: &str, payload: &[u8]) -> bool {
        let message = MqttMessage { topic, properties: &[], payload, head: Head::default() };
        edge.handle().streams().observe(&message)
    }

    fn next(stream: &mut TopicStream) -> Option<StreamItem> {
        match stream.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(item) => item,
            Poll::Pending => None,
        }
    }

    fn stream(edge: &Edge, filter: &str, from: Option<StreamPlace>) -> Result<TopicStream, NoStream> {
        edge.handle().stream(&[filter.to_owned()], from, SendRetained::Yes)
    }

    #[test]
    fn a_message_that_no_stream_wants_is_not_taken_in() {
        let edge = edge(StreamLimits::default());
        assert!(!show(&edge, "a", b"x"));
        let mut reader = stream(&edge, "b/+", None).expect("there is room");
        assert!(!show(&edge, "a", b"x"), "another topic");
        assert!(show(&edge, "b/1", b"x"));
        assert!(next(&mut reader).is_none(), "nobody has distributed it");
        let mut late = stream(&edge, "b/+", None).expect("there is room");
        edge.handle().streams().distribute(0);
        assert!(matches!(next(&mut reader), Some(StreamItem::Message(one, Some(_))) if one.topic() == "b/1"));
        assert!(next(&mut late).is_none(), "it came before that one began");
        drop((reader, late));
        // It may come back for a while, and then nobody looks any more.
        edge.handle().streams().distribute(29_999);
        assert!(show(&edge, "b/1", b"x"));
        edge.handle().streams().distribute(u64::MAX);
        assert!(!show(&edge, "b/1", b"x"));
        assert_eq!(edge.handle().streams().counts().filters, 0);
    }

    #[test]
    fn what_is_lost_before_the_ring_is_a_gap_for_every_stream() {
        let edge = edge(StreamLimits::default());
        let mut readers = ["a", "b"].map(|filter| stream(&edge, filter, None).expect("there is room"));
        let payload = vec![0; 1 << 20];
        for _ in 0..INTAKE_BYTES_MAX >> 20 {
            assert!(show(&edge, "a", &payload));
        }
        assert_eq!(edge.handle().streams().counts().lost_total, 0);
        assert!(show(&edge, "a", b"lost"));
        edge.handle().streams().distribute(0);
        assert_eq!(edge.handle().streams().counts().lost_total, 1);
        for reader in &mut readers {
            assert!(matches!(next(reader), Some(StreamItem::Gap(Gap::Overload))));
        }
        for _ in 0..INTAKE_BYTES_MAX >> 20 {
            assert!(matches!(next(&mut readers[0]), Some(StreamItem::Message(..))), "what was taken");
        }
        assert!(readers.iter_mut().all(|reader| next(reader).is_none()), "reported once");
        assert_eq!(edge.handle().streams().counts().gaps_total, [0, 0, 2]);
    }

    #[test]
    fn a_message_that_is_larger_than_the_ring_is_a_gap_and_ends_no_stream() {
        let ring = RingLimits { bytes_max: 65_536, age_ms_max: 30_000 };
        let edge = edge(StreamLimits { ring, ..StreamLimits::default() });
        let mut reader = stream(&edge, "a", None).expect("there is room");
        assert!(show(&edge, "a", &vec![0; 65_536]) && show(&edge, "a", b"small"));
        edge.handle().streams().distribute(0);
        assert!(matches!(next(&mut reader), Some(StreamItem::Gap(Gap::Overload))));
        assert!(matches!(next(&mut reader), Some(StreamItem::Message(one, _)) if one.payload() == b"small"));
        assert!(next(&mut reader).is_none());
        assert_eq!(edge.handle().streams().counts().lost_total, 1);
    }

    #[test]
    fn streams_are_bounded_and_wrong_filters_named() {
        let edge = edge(StreamLimits { streams_max: 1, filters_max: 2, ..StreamLimits::default() });
        let handle = edge.handle();
        let ask = |filters: &[&str]| {
            let filters: Vec<String> = filters.iter().map(|filter| (*filter).to_owned()).collect();
            handle.stream(&filters, None, SendRetained::No).map(drop)
        };
        assert_eq!(ask(&["a", "b", "c"]), Err(NoStream::Filters(2)));
        for wrong in ["a/#/b", "", "$share/g/a", "me/opened"] {
            assert!(matches!(ask(&["a", wrong]), Err(NoStream::Filter(1, _))), "{wrong}");
        }
        let reader = stream(&edge, "a", None).expect("there is room");
        assert_eq!(ask(&["a"]), Err(NoStream::Full(1)));
        drop(reader);
        assert_eq!(ask(&["a"]), Ok(()));
        handle.streams().close();
        assert_eq!(ask(&["a"]), Err(NoStream::Draining));
    }
}
