//! Consumers of a node, and the places in them.
//!
//! A consumer can be assigned a partition once. One consumer serves all partitions of a node in
//! which each shard has one reader; each further reader of a shard needs another consumer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::topic_partition_list::Offset as At;
use stadium_journal_log::Offset;
use stadium_journal_log::partition::Failure;

use super::configuration;
use super::outcome::Words;
use crate::failure::{NO_TOPIC, TOO_MANY_BYTES, UNREACHABLE, Verdict};
use crate::outbox::Outbox;
use crate::settings::Settings;

/// Consumers that a node opens: readers of one shard at a time.
const CONSUMERS_MAX: usize = 8;

/// Time between two looks of a consumer's thread at the flag that ends it.
///
/// The thread then wakes all readers: librdkafka reports a queue once, when it stops being empty, and
/// users found that the report may be missed (rust-rdkafka, pull request 840).
const POLL: Duration = Duration::from_millis(500);

/// A step of a read, from another thread.
pub(super) enum Step {
    /// From here on, the queue has messages of this read only.
    Positioned,
    /// The offset is not there, and the partition begins and ends here.
    OutOfRange {
        /// Its first offset.
        start: Offset,
        /// The offset behind its last replicated message.
        end: Offset,
    },
    /// The offset is there by now. The read begins once more.
    Again,
    /// The read cannot go on.
    Failed(Failure),
}

/// The consumers of a node.
pub(super) struct Readers {
    pub(super) settings: Settings,
    pub(super) words: Words,
    pub(super) open: Mutex<Vec<Arc<Reader>>>,
}

/// A consumer with its thread, which serves what is no partition's.
pub(super) struct Reader {
    consumer: Arc<BaseConsumer<Words>>,
    taken: Arc<Taken>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Shards that have a [`Place`], and who reads there.
type Taken = Mutex<Vec<(u32, Weak<Outbox<Step>>)>>;

/// A partition's place in a consumer, until it is dropped.
pub(super) struct Place {
    reader: Arc<Reader>,
    topic: String,
    shard: u32,
    is_assigned: AtomicBool,
}

impl Readers {
    /// A place for a partition, and its queue.
    pub(super) fn place(
        &self,
        shard: u32,
        outbox: &Arc<Outbox<Step>>,
    ) -> Result<(Arc<Place>, PartitionQueue<Words>), Failure> {
        let mut open = self.open.lock();
        let free = open.iter().find(|reader| !reader.has(shard));
        let reader = match free {
            Some(reader) => Arc::clone(reader),
            None if open.len() == CONSUMERS_MAX => {
                let what = format!("shard {shard} has {CONSUMERS_MAX} readers on this node already");
                return Err(Verdict::later(TOO_MANY_BYTES).failure(what));
            }
            None => {
                let reader = Arc::new(Reader::open(&self.settings, &self.words)?);
                open.push(Arc::clone(&reader));
                reader
            }
        };
        let topic = self.settings.topic();
        let partition = i32::try_from(shard).expect("a shard is one of 1,024");
        // Before the partition is assigned, or its first messages go to the consumer's own queue.
        let Some(queue) = reader.consumer.split_partition_queue(&topic, partition) else {
            return Err(Verdict::later(NO_TOPIC).failure(format_args!("no queue for partition {shard}")));
        };
        reader.taken.lock().push((shard, Arc::downgrade(outbox)));
        Ok((Arc::new(Place { reader, topic, shard, is_assigned: AtomicBool::new(false) }), queue))
    }
}

impl Reader {
    fn open(settings: &Settings, words: &Words) -> Result<Self, Failure> {
        let failed =
            |error: &dyn std::fmt::Display| Verdict::later(UNREACHABLE).failure(format_args!("{error}"));
        let consumer = configuration::reading(settings)
            .create_with_context::<_, BaseConsumer<Words>>(words.clone())
            .map_err(|error| failed(&configuration::refused(&error)))?;
        let consumer = Arc::new(consumer);
        let is_over = Arc::new(AtomicBool::new(false));
        let taken = Arc::new(Taken::default());
        let serve = {
            let (consumer, is_over, taken) =
                (Arc::clone(&consumer), Arc::clone(&is_over), Arc::clone(&taken));
            move || {
                while !is_over.load(Ordering::Relaxed) {
                    // Errors of connections, which `Words` has remembered. librdkafka goes on by itself.
                    let _ = consumer.poll(POLL);
                    // Woken without the lock: a reader may leave meanwhile.
                    let readers: Vec<_> = taken.lock().iter().filter_map(|(_, of)| of.upgrade()).collect();
                    readers.iter().for_each(|outbox| outbox.wake());
                }
            }
        };
        let thread = std::thread::Builder::new().name("kafka-reader".into()).spawn(serve);
        let thread = thread.map_err(|error| failed(&error))?;
        Ok(Self { consumer, taken, is_over, thread: Some(thread) })
    }

    fn has(&self, shard: u32) -> bool {
        self.taken.lock().iter().any(|(taken, _)| *taken == shard)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it only polls");
        }
    }
}

impl Place {
    /// Has the partition read from an offset on. Behind it, nothing arrives that was fetched before:
    /// librdkafka passes over what it fetched before the partition was unassigned.
    pub(super) fn seek(&self, from: Offset) -> Result<(), Failure> {
        self.unassign()?;
        let from = i64::try_from(from.0).unwrap_or(i64::MAX);
        self.reader
            .consumer
            .incremental_assign(&self.list(At::Offset(from)))
            .map_err(|error| self.words().failure(&error))?;
        self.is_assigned.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn unassign(&self) -> Result<(), Failure> {
        if self.is_assigned.swap(false, Ordering::Relaxed) {
            let list = self.list(At::Invalid);
            self.reader.consumer.incremental_unassign(&list).map_err(|error| self.words().failure(&error))?;
        }
        Ok(())
    }

    /// Gives the place back. Nothing else may be under way in it.
    pub(super) fn leave(&self) {
        // It fails if the consumer is ending, and then nothing is assigned.
        let _ = self.unassign();
        self.reader.taken.lock().retain(|(shard, _)| *shard != self.shard);
    }

    pub(super) fn words(&self) -> &Words {
        self.reader.consumer.context()
    }

    fn list(&self, at: At) -> TopicPartitionList {
        let mut list = TopicPartitionList::with_capacity(1);
        let partition = i32::try_from(self.shard).expect("a shard is one of 1,024");
        list.add_partition_offset(&self.topic, partition, at).expect("an offset that is in its bounds");
        list
    }
}
