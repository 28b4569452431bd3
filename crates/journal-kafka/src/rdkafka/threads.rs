//! The threads for calls of librdkafka that wait.
//!
//! Seeks have one of their own: they wait for threads of librdkafka only, and a broker that does
//! not answer a question never holds them up.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use futures::executor::block_on;
use parking_lot::Mutex;
use rdkafka::TopicPartitionList;
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::topic_partition_list::Offset as At;
use stadium_journal_log::Offset;
use stadium_journal_log::partition::{Call, Event, Failure};

use super::outcome::Words;
use super::reading::{Place, Step};
use crate::failure::{REFUSED, Verdict};
use crate::outbox::{Item, Outbox};
use crate::settings::{Settings, SettingsError};

/// Threads that ask brokers. A node that takes over many shards asks for as many ends, each of which
/// takes two round trips.
const ASKING: usize = 4;

/// A call that waits.
pub(super) enum Task {
    /// Where a partition begins and ends.
    FindEnds(Asker),
    /// The same, after a read at `from` found nothing there.
    FindRange(Asker, Read),
    /// Gives back the space before an offset.
    Trim(Asker, Offset),
    /// Begins a read.
    Seek(Read),
    /// Gives a place back.
    Leave(Arc<Place>),
}

/// Which partition, and where the answer goes.
pub(super) struct Asker {
    pub(super) shard: u32,
    pub(super) outbox: Arc<Outbox<Step>>,
}

/// Which read.
pub(super) struct Read {
    pub(super) number: u64,
    pub(super) from: Offset,
    pub(super) place: Arc<Place>,
    pub(super) outbox: Arc<Outbox<Step>>,
}

/// The threads. They end when this is dropped, after what waits for them.
pub(super) struct Helpers {
    asking: Option<Sender<Task>>,
    seeking: Option<Sender<Task>>,
    threads: Vec<JoinHandle<()>>,
}

/// The clients that threads ask brokers with.
struct Clients {
    topic: String,
    timeout: Duration,
    consumer: BaseConsumer<Words>,
    admin: AdminClient<Words>,
}

impl Helpers {
    pub(super) fn start(
        settings: &Settings,
        consumer: BaseConsumer<Words>,
        admin: AdminClient<Words>,
    ) -> Result<Self, SettingsError> {
        let (asking, questions) = channel();
        let (seeking, seeks) = channel();
        let clients = Clients { topic: settings.topic(), timeout: settings.request_timeout, consumer, admin };
        let mut helpers = Self { asking: Some(asking), seeking: Some(seeking), threads: Vec::new() };
        let (clients, questions) = (Arc::new(clients), Arc::new(Mutex::new(questions)));
        for _ in 0..ASKING {
            let (clients, questions) = (Arc::clone(&clients), Arc::clone(&questions));
            helpers.spawn("kafka-asker", move || {
                while let Some(task) = next(&questions) {
                    clients.answer(task);
                }
            })?;
        }
        let seeks = Mutex::new(seeks);
        helpers.spawn("kafka-seeker", move || {
            while let Some(task) = next(&seeks) {
                seek(task);
            }
        })?;
        Ok(helpers)
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), SettingsError> {
        let thread = std::thread::Builder::new().name(name.into()).spawn(work);
        let thread = thread.map_err(|error| SettingsError::new(format!("cannot start a thread: {error}")))?;
        self.threads.push(thread);
        Ok(())
    }

    pub(super) fn ask(&self, task: Task) {
        let to = match task {
            Task::Seek(_) | Task::Leave(_) => &self.seeking,
            _ => &self.asking,
        };
        let to = to.as_ref().expect("it is there until the drop");
        to.send(task).expect("the threads live as long as this");
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        (self.asking, self.seeking) = (None, None);
        for thread in self.threads.drain(..) {
            // It panicked already, and said so.
            let _ = thread.join();
        }
    }
}

fn next(tasks: &Mutex<Receiver<Task>>) -> Option<Task> {
    tasks.lock().recv().ok()
}

fn seek(task: Task) {
    match task {
        Task::Seek(Read { number, from, place, outbox }) => {
            let step = place.seek(from).map_or_else(Step::Failed, |()| Step::Positioned);
            outbox.put(Item::Read(number, step));
        }
        Task::Leave(place) => place.leave(),
        Task::FindEnds(_) | Task::FindRange(..) | Task::Trim(..) => unreachable!("these are asked"),
    }
}

impl Clients {
    fn answer(&self, task: Task) {
        match task {
            Task::FindEnds(Asker { shard, outbox }) => outbox.end(match self.ends(shard) {
                Ok((start, end)) => Event::Ends { start, end },
                Err(failure) => Event::Failed { call: Call::FindEnds, failure },
            }),
            Task::FindRange(Asker { shard, .. }, read) => {
                let step = match self.ends(shard) {
                    // The partition's end came to be known, or its leader changed, between the two.
                    Ok((start, end)) if (start..=end).contains(&read.from) => Step::Again,
                    Ok((start, end)) => Step::OutOfRange { start, end },
                    Err(failure) => Step::Failed(failure),
                };
                read.outbox.put(Item::Read(read.number, step));
            }
            Task::Trim(Asker { shard, outbox }, below) => outbox.end(match self.trim(shard, below) {
                Ok(start) => Event::Trimmed { start },
                Err(failure) => Event::Failed { call: Call::Trim, failure },
            }),
            Task::Seek(_) | Task::Leave(_) => unreachable!("these have a thread of their own"),
        }
    }

    fn ends(&self, shard: u32) -> Result<(Offset, Offset), Failure> {
        let found = self.consumer.fetch_watermarks(&self.topic, number(shard), self.timeout);
        let (low, high) = found.map_err(|error| self.consumer.context().failure(&error))?;
        Ok((offset(low)?, offset(high)?))
    }

    fn trim(&self, shard: u32, below: Offset) -> Result<Offset, Failure> {
        let words = self.consumer.context();
        let mut list = TopicPartitionList::with_capacity(1);
        let at = At::Offset(i64::try_from(below.0).unwrap_or(i64::MAX));
        list.add_partition_offset(&self.topic, number(shard), at).map_err(|error| words.failure(&error))?;
        let timeout = Some(self.timeout);
        let options = AdminOptions::new().request_timeout(timeout).operation_timeout(timeout);
        let done = block_on(self.admin.delete_records(&list, &options));
        let done = done.map_err(|error| words.failure(&error))?;
        let elements = done.elements();
        let Some(element) = elements.first() else {
            return Err(Verdict::unknown(REFUSED).failure("the answer names no partition"));
        };
        element.error().map_err(|error: KafkaError| words.failure(&error))?;
        offset(element.offset().to_raw().unwrap_or(-1))
    }
}

fn number(shard: u32) -> i32 {
    i32::try_from(shard).expect("a shard is one of 1,024")
}

fn offset(raw: i64) -> Result<Offset, Failure> {
    match u64::try_from(raw) {
        Ok(offset) => Ok(Offset(offset)),
        Err(_) => Err(Verdict::unknown(REFUSED).failure(format_args!("the broker states offset {raw}"))),
    }
}
