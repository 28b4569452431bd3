//! One partition by librdkafka: calls go to its threads, outcomes come back as events.
//!
//! Messages stay in librdkafka's queue of the partition until the reader takes them. What it keeps
//! there is bounded, so a reader that reads no further stops the fetches of its partition alone.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message as _;
use stadium_journal::Wake;
use stadium_journal_log::Offset;
use stadium_journal_log::partition::{Call, Event, Failure, Partition};

use super::outcome::Words;
use super::reading::{Place, Step};
use super::shared::Shared;
use super::threads::{Asker, Read, Task};
use crate::failure::{TOO_LARGE, Verdict};
use crate::outbox::{Item, Outbox};
use crate::settings::MESSAGE_BYTES_MAX;

/// One reader and writer of a partition.
pub(super) struct KafkaPartition {
    /// `None` at the end only.
    queue: Option<PartitionQueue<Words>>,
    place: Arc<Place>,
    shared: Arc<Shared>,
    shard: u32,
    outbox: Arc<Outbox<Step>>,
    read: Reading,
}

/// The read under way, if there is one.
struct Reading {
    /// Counts reads that began elsewhere than where the one before ended.
    number: u64,
    /// The offset that the queue's next message has; `None` while it is not known to be there.
    at: Option<Offset>,
    /// Where the read is to begin or go on.
    next: Offset,
    /// Bytes that it still is to report; `None` if no read is under way.
    left: Option<usize>,
}

impl KafkaPartition {
    pub(super) fn open(shared: &Arc<Shared>, shard: u32) -> Result<Self, Failure> {
        let outbox = Outbox::new();
        let (place, mut queue) = shared.readers.place(shard, &outbox)?;
        let woken = Arc::clone(&outbox);
        // librdkafka calls this with its queue locked. A wake only tells a thread.
        queue.set_nonempty_callback(move || woken.wake());
        let read = Reading { number: 0, at: None, next: Offset(0), left: None };
        Ok(Self { queue: Some(queue), place, shared: Arc::clone(shared), shard, outbox, read })
    }

    fn asker(&self) -> Asker {
        Asker { shard: self.shard, outbox: Arc::clone(&self.outbox) }
    }

    fn this_read(&self) -> Read {
        let Self { read, place, outbox, .. } = self;
        Read { number: read.number, from: read.next, place: Arc::clone(place), outbox: Arc::clone(outbox) }
    }

    /// The event of a step of the read, if it is of the one under way and says anything.
    fn step(&mut self, number: u64, step: Step) -> Option<Event> {
        if number != self.read.number {
            return None;
        }
        match step {
            Step::Positioned => {
                self.read.at = Some(self.read.next);
                None
            }
            Step::Again => {
                self.shared.ask(Task::Seek(self.this_read()));
                None
            }
            Step::OutOfRange { start, end } => {
                self.read.left = None;
                Some(Event::OutOfRange { start, end })
            }
            Step::Failed(failure) => {
                self.read.left = None;
                Some(Event::Failed { call: Call::Read, failure })
            }
        }
    }

    /// The next message of the queue, or what became of the read.
    fn next_message(&mut self) -> Option<Event> {
        let left = self.read.left?;
        if left == 0 {
            self.read.left = None;
            return Some(Event::ReadEnded { next: self.read.next });
        }
        let at = self.read.at?;
        loop {
            let message = match self.queue.as_ref()?.poll(Duration::ZERO)? {
                Ok(message) => message,
                Err(error) => return self.failed(&error),
            };
            let offset = Offset(u64::try_from(message.offset()).unwrap_or(0));
            if offset < at {
                continue;
            }
            // A message without a payload is none of ours, and the reader refuses it.
            let bytes = Bytes::copy_from_slice(message.payload().unwrap_or_default());
            // An empty message counts too, or a read of such would never end.
            self.read.left = Some(left.saturating_sub(bytes.len().max(1)));
            self.read.next = offset.next();
            self.read.at = Some(offset.next());
            return Some(Event::Message { offset, message: bytes });
        }
    }

    /// The event of an error of the queue, if the read cannot go on by itself.
    fn failed(&mut self, error: &KafkaError) -> Option<Event> {
        // Nothing more comes until the partition is assigned anew.
        self.read.at = None;
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::OffsetOutOfRange) => {
                self.shared.ask(Task::FindRange(self.asker(), self.this_read()));
                None
            }
            _ => {
                self.read.left = None;
                let failure = self.place.words().failure(error);
                Some(Event::Failed { call: Call::Read, failure })
            }
        }
    }
}

impl Partition for KafkaPartition {
    fn append(&mut self, tag: u64, message: &[u8]) {
        let sent = match message.len() {
            ..=MESSAGE_BYTES_MAX => {
                let Self { shared, shard, outbox, .. } = self;
                shared.producers.send(&shared.topic, *shard, outbox, tag, message)
            }
            bytes => {
                let what = format!("the message has {bytes} bytes, more than {MESSAGE_BYTES_MAX}");
                Err(Verdict::never(TOO_LARGE).failure(what))
            }
        };
        if let Err(failure) = sent {
            self.outbox.not_appended(tag, failure);
        }
    }

    fn find_ends(&mut self) {
        if self.outbox.begin(Call::FindEnds) {
            self.shared.ask(Task::FindEnds(self.asker()));
        }
    }

    fn read(&mut self, from: Offset, bytes_max: usize) {
        let goes_on = self.read.at == Some(from);
        self.read.next = from;
        self.read.left = Some(bytes_max.max(1));
        if goes_on {
            // The queue's content was reported when it arrived.
            self.outbox.wake();
            return;
        }
        self.read.number += 1;
        self.read.at = None;
        self.shared.ask(Task::Seek(self.this_read()));
    }

    fn trim(&mut self, below: Offset) {
        if self.outbox.begin(Call::Trim) {
            self.shared.ask(Task::Trim(self.asker(), below));
        }
    }

    fn next_event(&mut self) -> Option<Event> {
        while let Some(item) = self.outbox.take() {
            match item {
                Item::Event(event) => return Some(event),
                Item::Read(number, step) => {
                    if let Some(event) = self.step(number, step) {
                        return Some(event);
                    }
                }
            }
        }
        self.next_message()
    }

    fn on_event(&mut self, wake: Wake) {
        self.outbox.on_event(wake);
    }
}

impl Drop for KafkaPartition {
    fn drop(&mut self) {
        // Before another reader can have the place: the end of this one takes the queue's callback.
        self.queue = None;
        self.shared.ask(Task::Leave(Arc::clone(&self.place)));
    }
}
