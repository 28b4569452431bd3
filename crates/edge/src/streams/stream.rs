//! One stream: retained messages first, then what is published, at its reader's pace.
//!
//! Its place is given out with each message. A stream that begins from a place misses nothing, or
//! begins with a gap.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use stadium_mqtt::broker::{Interest, Publication};
use stadium_mqtt::topic::{self, TopicFilter, has_levels_within};

use super::hub::{FilterNumber, StreamNumber};
use super::ring::Gap;
use super::{NoStream, StreamMessage, TopicStreams};
use crate::EdgeHandle;
use crate::turn::Shared;

/// Messages that a stream takes from the ring, or from the retained store, in one go.
const PIECE_MESSAGES_MAX: usize = 32;

/// Retained messages of one stream; a bound as for subscriptions.
const RETAINED_MAX: usize = 10_000;

/// How far a stream has read, to begin from there later: `EPOCH-NUMBER` in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPlace {
    epoch: u64,
    number: u64,
}

impl fmt::Display for StreamPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.epoch, self.number)
    }
}

impl FromStr for StreamPlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (epoch, number) = text.split_once('-').ok_or(())?;
        let epoch = u64::from_str_radix(epoch, 16).map_err(drop)?;
        Ok(Self { epoch, number: number.parse().map_err(drop)? })
    }
}

/// The items that a stream gives its reader.
#[derive(Debug)]
pub enum StreamItem {
    /// A message, and the place behind it; none for a retained one, which has no place.
    Message(Arc<StreamMessage>, Option<StreamPlace>),
    /// Messages may be missing here.
    Gap(Gap),
    /// There are more retained messages than a stream gets.
    RetainedLeftOut,
    /// The reader was too slow: its next message has left the ring. The stream is over.
    Slow,
    /// The node drains. The stream is over.
    Draining,
}

/// A stream. It ends when it is dropped.
#[derive(Debug)]
pub struct TopicStream {
    shared: Arc<Shared>,
    number: StreamNumber,
    filters: Vec<FilterNumber>,
    /// Up to where it has read.
    place: u64,
    /// Up to where it knows that messages may be missing.
    known: u64,
    /// The item that it gives before it goes on.
    gap: Option<Gap>,
    retained: Option<Retained>,
    ready: VecDeque<(u64, Arc<StreamMessage>)>,
    scratch: Vec<(u64, Arc<StreamMessage>)>,
    is_over: bool,
}

/// The retained messages that it still gets.
#[derive(Debug)]
struct Retained {
    filters: VecDeque<String>,
    /// Filters whose messages were found.
    done: Vec<String>,
    from: Option<String>,
    found: VecDeque<Arc<StreamMessage>>,
    left: usize,
}

/// Whether a stream begins with the retained messages of its topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendRetained {
    /// It does.
    Yes,
    /// Only what is published.
    No,
}

impl EdgeHandle {
    /// The streams of the node.
    pub fn streams(&self) -> &Arc<TopicStreams> {
        &self.shared.streams
    }

    /// Distributes to streams what loops have shown; for the task that looks after them.
    pub fn distribute_to_streams(&self) {
        self.shared.streams.distribute(self.shared.now_ms());
    }

    /// Begins a stream of all messages whose topics match one of the filters: from a place, or from
    /// now on.
    ///
    /// # Errors
    /// [`NoStream`].
    pub fn stream(
        &self,
        filters: &[String],
        from: Option<StreamPlace>,
        retained: SendRetained,
    ) -> Result<TopicStream, NoStream> {
        let streams = &self.shared.streams;
        let limits = &streams.limits;
        if streams.closed.load(Ordering::Acquire) {
            return Err(NoStream::Draining);
        }
        if filters.len() > limits.filters_max {
            return Err(NoStream::Filters(limits.filters_max));
        }
        let mut distinct: Vec<&str> = Vec::with_capacity(filters.len());
        for (place, filter) in filters.iter().enumerate() {
            let wrong = |why: String| NoStream::Filter(place, why);
            TopicFilter::parse(filter).map_err(|error| wrong(error.to_string()))?;
            if !has_levels_within(filter, streams.topic_levels_max) {
                return Err(wrong(format!("it has more than {} levels", streams.topic_levels_max)));
            }
            if filter.starts_with("$share") || stadium_grants::topics::is_own(filter) {
                return Err(wrong("shared subscriptions and topics below me/ have no streams".to_owned()));
            }
            if !distinct.contains(&filter.as_str()) {
                distinct.push(filter);
            }
        }
        // Messages that were accepted before it begins are behind its place.
        streams.distribute(self.shared.now_ms());
        let mut hub = streams.hub.lock();
        if hub.held().0 >= limits.streams_max {
            return Err(NoStream::Full(limits.streams_max));
        }
        let (number, numbers) = hub.join(&distinct, |filter| {
            streams.interests.change(0, filter, Interest::Gained);
            streams.watched.fetch_add(1, Ordering::AcqRel);
        });
        let (place, known, gap) = match from {
            None => (hub.last(), hub.last(), None),
            Some(from) if from.epoch != streams.epoch => (hub.last(), hub.last(), Some(Gap::Unwatched)),
            Some(from) => match hub.gap(&numbers, from.number) {
                None => (from.number, from.number, None),
                Some((gap, until)) => (from.number.min(hub.last()), until, Some(gap)),
            },
        };
        drop(hub);
        let retained = (retained == SendRetained::Yes && from.is_none()).then(|| Retained {
            filters: distinct.iter().map(|filter| (*filter).to_owned()).collect(),
            done: Vec::new(),
            from: None,
            found: VecDeque::new(),
            left: RETAINED_MAX,
        });
        Ok(TopicStream {
            shared: Arc::clone(&self.shared),
            number,
            filters: numbers,
            place,
            known,
            gap,
            retained,
            ready: VecDeque::new(),
            scratch: Vec::new(),
            is_over: false,
        })
    }
}

impl TopicStream {
    /// Up to where its reader has read.
    pub fn place(&self) -> StreamPlace {
        let number = self.ready.front().map_or(self.place, |(next, _)| next - 1);
        StreamPlace { epoch: self.streams().epoch, number }
    }

    /// Whether there are messages that its reader has not read.
    pub fn is_behind(&self) -> bool {
        !self.ready.is_empty() || self.streams().hub.lock().has_behind(&self.filters, self.place)
    }

    fn streams(&self) -> &TopicStreams {
        &self.shared.streams
    }

    /// The next item, or none where the stream is over.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<StreamItem>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if let Some(gap) = self.gap.take() {
            return Poll::Ready(Some(self.report(gap)));
        }
        if let Some(item) = self.next_retained() {
            return Poll::Ready(Some(item));
        }
        if self.ready.is_empty() {
            match self.look(cx) {
                Looked::Found => {}
                Looked::Nothing if self.streams().closed.load(Ordering::Acquire) => {
                    self.is_over = true;
                    return Poll::Ready(Some(StreamItem::Draining));
                }
                Looked::Nothing => return Poll::Pending,
                Looked::Gap(Gap::Expired) => {
                    // A reader that keeps up is never that far behind.
                    self.is_over = true;
                    return Poll::Ready(Some(StreamItem::Slow));
                }
                Looked::Gap(gap) => return Poll::Ready(Some(self.report(gap))),
            }
        }
        let next = self.ready.pop_front();
        Poll::Ready(next.map(|(number, message)| {
            self.streams().counts.deliveries.fetch_add(1, Ordering::Relaxed);
            let epoch = self.streams().epoch;
            StreamItem::Message(message, Some(StreamPlace { epoch, number }))
        }))
    }

    /// A gap that is reported to its reader now.
    fn report(&self, gap: Gap) -> StreamItem {
        let kind = match gap {
            Gap::Expired => 0,
            Gap::Unwatched => 1,
            Gap::Overload => 2,
        };
        self.streams().counts.gaps[kind].fetch_add(1, Ordering::Relaxed);
        StreamItem::Gap(gap)
    }

    /// Takes the next messages out of the ring.
    fn look(&mut self, cx: &mut Context<'_>) -> Looked {
        let streams = Arc::clone(&self.shared.streams);
        let mut hub = streams.hub.lock();
        if let Some((gap, until)) = hub.gap(&self.filters, self.place.max(self.known)) {
            self.known = until;
            return Looked::Gap(gap);
        }
        self.place = hub.read(&self.filters, self.place, PIECE_MESSAGES_MAX, &mut self.scratch);
        if self.scratch.is_empty() {
            hub.wait(self.number, cx.waker());
            return Looked::Nothing;
        }
        drop(hub);
        self.ready.extend(self.scratch.drain(..));
        Looked::Found
    }

    /// The next retained message.
    fn next_retained(&mut self) -> Option<StreamItem> {
        let retained = self.retained.as_mut()?;
        loop {
            if let Some(message) = retained.found.pop_front() {
                self.shared.streams.counts.deliveries.fetch_add(1, Ordering::Relaxed);
                return Some(StreamItem::Message(message, None));
            }
            let Some(filter) = retained.filters.front() else {
                self.retained = None;
                return None;
            };
            if retained.left == 0 {
                self.retained = None;
                return Some(StreamItem::RetainedLeftOut);
            }
            let (store, now_ms) = (&self.shared.retained, self.shared.now_ms());
            let messages_max = PIECE_MESSAGES_MAX.min(retained.left);
            let (found, next) = store.messages(filter, retained.from.as_deref(), now_ms, messages_max);
            retained.left -= found.len();
            // A message that an earlier filter matches was sent for that one.
            let is_new =
                |one: &Arc<Publication>| !retained.done.iter().any(|done| topic::matches(done, one.topic()));
            let shown = found.into_iter().filter(is_new);
            retained.found.extend(shown.map(|one| Arc::new(StreamMessage::new((*one).clone(), true))));
            retained.from = next;
            if retained.from.is_none() {
                retained.done.extend(retained.filters.pop_front());
            }
        }
    }
}

/// The result of a stream's look into the ring.
enum Looked {
    Found,
    Nothing,
    Gap(Gap),
}

impl Drop for TopicStream {
    fn drop(&mut self) {
        let now_ms = self.shared.now_ms();
        self.shared.streams.hub.lock().leave(self.number, &self.filters, now_ms);
    }
}
