//! The filters of all streams, the ring behind them, and who waits for what.
//!
//! A filter has one log, however many streams read it. It stays for the ring's time after its last
//! stream ended, so that one that reconnects misses nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;

use stadium_mqtt::broker::FilterIndex;

use super::StreamMessage;
use super::ring::{Gap, Ring, RingLimits};

/// Filters without a stream that are kept; the ones that ended first leave for one more.
const IDLE_FILTERS_MAX: usize = 4_096;

/// How often filters without a stream are looked at, in milliseconds.
const IDLE_LOOK_MS: u64 = 1_000;

/// Names a filter, and its log in the ring.
pub(super) type FilterNumber = u32;

/// Names a stream.
pub(super) type StreamNumber = u64;

#[derive(Debug)]
pub(super) struct Hub {
    limits: RingLimits,
    index: FilterIndex,
    filters: HashMap<FilterNumber, Filter>,
    ring: Ring<FilterNumber, StreamMessage>,
    streams: HashMap<StreamNumber, Waiting>,
    last_stream: StreamNumber,
    /// Filters that have no stream.
    idle: usize,
    /// When those were looked at.
    idle_looked_ms: u64,
    matched: Vec<FilterNumber>,
    /// Streams that go on once the lock is given back.
    woken: Vec<Waker>,
}

#[derive(Debug)]
struct Filter {
    text: Box<str>,
    streams: Vec<StreamNumber>,
    /// When its last stream ended; none while it has one.
    idle_since_ms: Option<u64>,
}

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Appended {
    /// Streams may read it.
    Kept,
    /// No filter matches.
    Unwanted,
    /// It is larger than the ring: its streams have a gap.
    TooLarge,
}

#[derive(Debug, Default)]
struct Waiting {
    waker: Option<Waker>,
}

impl Hub {
    pub(super) fn new(limits: RingLimits) -> Self {
        Self {
            limits,
            index: FilterIndex::default(),
            filters: HashMap::new(),
            ring: Ring::new(limits),
            streams: HashMap::new(),
            last_stream: 0,
            idle: 0,
            idle_looked_ms: 0,
            matched: Vec::new(),
            woken: Vec::new(),
        }
    }

    pub(super) fn last(&self) -> u64 {
        self.ring.last()
    }

    /// Streams, filters, and messages with their bytes.
    pub(super) fn held(&self) -> (usize, usize, (usize, usize)) {
        (self.streams.len(), self.filters.len(), self.ring.held())
    }

    /// A stream of these filters, each named once; `gained` hears of those that are new.
    pub(super) fn join(
        &mut self,
        filters: &[&str],
        mut gained: impl FnMut(&str),
    ) -> (StreamNumber, Vec<FilterNumber>) {
        self.last_stream += 1;
        let stream = self.last_stream;
        let mut numbers = Vec::with_capacity(filters.len());
        for text in filters {
            let number = self.index.insert(text);
            if !self.filters.contains_key(&number) {
                gained(text);
                self.ring.open(number);
                let filter = Filter { text: (*text).into(), streams: Vec::new(), idle_since_ms: None };
                self.filters.insert(number, filter);
            }
            if let Some(filter) = self.filters.get_mut(&number) {
                self.idle -= usize::from(filter.idle_since_ms.take().is_some());
                filter.streams.push(stream);
            }
            numbers.push(number);
        }
        self.streams.insert(stream, Waiting::default());
        (stream, numbers)
    }

    /// A stream ends.
    pub(super) fn leave(&mut self, stream: StreamNumber, filters: &[FilterNumber], now_ms: u64) {
        self.streams.remove(&stream);
        for number in filters {
            let Some(filter) = self.filters.get_mut(number) else { continue };
            filter.streams.retain(|other| *other != stream);
            if filter.streams.is_empty() {
                filter.idle_since_ms = Some(now_ms);
                self.idle += 1;
            }
        }
    }

    /// Puts a message into the logs of the filters that match.
    pub(super) fn append(&mut self, message: StreamMessage, now_ms: u64) -> Appended {
        self.matched.clear();
        self.index.matching(message.topic(), &mut self.matched);
        if self.matched.is_empty() {
            return Appended::Unwanted;
        }
        let bytes = message.ring_bytes();
        if bytes > self.limits.bytes_max {
            // It would leave at once, as if all its readers were slow.
            self.lose();
            return Appended::TooLarge;
        }
        self.ring.append(&self.matched, Arc::new(message), bytes, now_ms);
        for number in &self.matched {
            let Some(filter) = self.filters.get(number) else { continue };
            for stream in &filter.streams {
                let waiting = self.streams.get_mut(stream);
                self.woken.extend(waiting.and_then(|waiting| waiting.waker.take()));
            }
        }
        Appended::Kept
    }

    /// Messages were lost: all streams may miss some.
    pub(super) fn lose(&mut self) {
        self.ring.lose();
        self.wake_all();
    }

    /// All streams go on once the lock is given back.
    pub(super) fn wake_all(&mut self) {
        self.woken.extend(self.streams.values_mut().filter_map(|waiting| waiting.waker.take()));
    }

    /// Removes messages that are too old, and filters that nobody has read for as long, which
    /// `lost` gets.
    pub(super) fn expire(&mut self, now_ms: u64, mut lost: impl FnMut(&str)) {
        self.ring.expire(now_ms);
        let is_due = now_ms.saturating_sub(self.idle_looked_ms) >= IDLE_LOOK_MS;
        if self.idle == 0 || (!is_due && self.idle <= IDLE_FILTERS_MAX) {
            return;
        }
        self.idle_looked_ms = now_ms;
        let mut over: Vec<(u64, FilterNumber)> = self
            .filters
            .iter()
            .filter_map(|(number, filter)| Some((filter.idle_since_ms?, *number)))
            .collect();
        over.sort_unstable();
        let surplus = over.len().saturating_sub(IDLE_FILTERS_MAX);
        for (place, (since_ms, number)) in over.into_iter().enumerate() {
            if place >= surplus && now_ms.saturating_sub(since_ms) < self.limits.age_ms_max {
                break;
            }
            let Some(filter) = self.filters.remove(&number) else { continue };
            self.index.remove(&filter.text);
            self.ring.close(number);
            self.idle -= 1;
            lost(&filter.text);
        }
    }

    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    /// A stream has read all there is, and is woken when there is more.
    pub(super) fn wait(&mut self, stream: StreamNumber, waker: &Waker) {
        if let Some(waiting) = self.streams.get_mut(&stream) {
            waiting.waker = Some(waker.clone());
        }
    }

    /// Whether messages may be missing behind a place, and up to which number.
    pub(super) fn gap(&self, filters: &[FilterNumber], place: u64) -> Option<(Gap, u64)> {
        self.ring.gap(filters, place)
    }

    /// Whether there are messages behind a place.
    pub(super) fn has_behind(&self, filters: &[FilterNumber], place: u64) -> bool {
        self.ring.has_behind(filters, place)
    }

    /// The next messages behind a place; returns the place behind them.
    pub(super) fn read(
        &self,
        filters: &[FilterNumber],
        place: u64,
        messages_max: usize,
        into: &mut Vec<(u64, Arc<StreamMessage>)>,
    ) -> u64 {
        self.ring.read(filters, place, messages_max, into)
    }
}
