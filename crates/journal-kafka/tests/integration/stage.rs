//! The brokers that the tests share, topics on them, and a reader and writer of a partition.
//!
//! The brokers start with the first test and end with the process.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use futures::executor::block_on;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use stadium_journal_kafka::{Client, Replication, Settings, make_or_check, open};
use stadium_journal_log::Offset;
use stadium_journal_log::partition::{Event, Partition, Topic};
use stadium_testing::kafka::{Kafka, Listener};

/// How long anything may take that should be done soon, on a machine that builds beside it.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// How long a test waits for what must not come.
pub const NOTHING_COMES: Duration = Duration::from_millis(300);

static BROKERS: LazyLock<RwLock<Kafka>> =
    LazyLock::new(|| RwLock::new(Kafka::start(3).expect("three brokers start")));

/// The brokers, together with other tests.
pub fn brokers() -> RwLockReadGuard<'static, Kafka> {
    BROKERS.read().unwrap_or_else(PoisonError::into_inner)
}

/// The brokers, alone. All of them run, even if a test before failed in the middle.
pub fn brokers_alone() -> RwLockWriteGuard<'static, Kafka> {
    let mut brokers = BROKERS.write().unwrap_or_else(PoisonError::into_inner);
    brokers.revive().expect("all brokers run");
    brokers
}

/// Makes a test of each function for each client.
macro_rules! for_each_client {
    ($($name:ident),* $(,)?) => {
        mod with_rdkafka {
            $(#[test] fn $name() { super::$name(stadium_journal_kafka::Client::Rdkafka); })*
        }
        mod with_rskafka {
            $(#[test] fn $name() { super::$name(stadium_journal_kafka::Client::Rskafka); })*
        }
    };
}
pub(crate) use for_each_client;

/// Settings for a cluster of its own on the shared brokers.
pub fn settings(kafka: &Kafka, client: Client, test: &str) -> Settings {
    Settings::new(kafka.bootstrap(Listener::Plain), &format!("{test}-{client:?}"))
}

/// A topic of its own, opened.
pub fn topic(kafka: &Kafka, client: Client, test: &str, shards: u32) -> Arc<dyn Topic> {
    let settings = settings(kafka, client, test);
    let checked = make_or_check(&settings, shards, Replication::Three).expect("a topic");
    assert!(checked.is_made, "a topic of this name was there");
    open(client, &settings, shards).expect("opened")
}

/// A topic with settings of the test's own: its name, partitions, replicas, and settings.
pub type OwnTopic = (String, i32, i32, Vec<(&'static str, &'static str)>);

/// Makes topics with settings of the test's own.
pub fn make(kafka: &Kafka, topics: &[OwnTopic]) {
    let admin: AdminClient<DefaultClientContext> = ClientConfig::new()
        .set("bootstrap.servers", kafka.bootstrap(Listener::Plain).join(","))
        .create()
        .expect("an admin client");
    let topics: Vec<_> = (topics.iter())
        .map(|(name, partitions, replicas, settings)| {
            let topic = NewTopic::new(name, *partitions, TopicReplication::Fixed(*replicas));
            settings.iter().fold(topic, |topic, (setting, value)| topic.set(setting, value))
        })
        .collect();
    let options = AdminOptions::new().operation_timeout(Some(PATIENCE));
    for made in block_on(admin.create_topics(&topics, &options)).expect("topics") {
        made.expect("a topic");
    }
}

/// A reader and writer of a partition. It asks for events only after it was woken for them.
pub struct Player {
    partition: Box<dyn Partition>,
    woken: Receiver<()>,
    waiting: VecDeque<Event>,
}

impl Player {
    pub fn new(topic: &Arc<dyn Topic>, shard: u32) -> Self {
        let mut partition = topic.partition(shard).expect("the partition");
        let (wake, woken) = channel();
        partition.on_event(Arc::new(move || {
            // The player may be gone.
            let _ = wake.send(());
        }));
        Self { partition, woken, waiting: VecDeque::new() }
    }

    pub fn append(&mut self, tag: u64, message: &[u8]) {
        self.partition.append(tag, message);
    }

    pub fn read(&mut self, from: u64, bytes_max: usize) {
        // Events of the read before never arrive, and those that did are of no interest.
        self.waiting.retain(|event| !is_of_read(event));
        self.partition.read(Offset(from), bytes_max);
    }

    pub fn find_ends(&mut self) {
        self.partition.find_ends();
    }

    pub fn trim(&mut self, below: u64) {
        self.partition.trim(Offset(below));
    }

    /// The next event that is wanted; others wait.
    pub fn event_within(&mut self, within: Duration, wanted: impl Fn(&Event) -> bool) -> Option<Event> {
        let deadline = Instant::now() + within;
        if let Some(at) = self.waiting.iter().position(&wanted) {
            return self.waiting.remove(at);
        }
        loop {
            while let Some(event) = self.partition.next_event() {
                if wanted(&event) {
                    return Some(event);
                }
                self.waiting.push_back(event);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if self.woken.recv_timeout(left).is_err() {
                return None;
            }
        }
    }

    pub fn event(&mut self, what: &str, wanted: impl Fn(&Event) -> bool) -> Event {
        let event = self.event_within(PATIENCE, wanted);
        event.unwrap_or_else(|| panic!("waited for {what}; others: {:?}", self.waiting))
    }

    /// The outcome of an append.
    pub fn outcome(&mut self) -> Event {
        self.event("an outcome", |event| matches!(event, Event::Appended { .. } | Event::NotAppended { .. }))
    }

    /// Appends, and waits for the offset. Brokers refuse for a moment after a topic was made.
    pub fn appended(&mut self, message: &[u8]) -> u64 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.append(u64::MAX, message);
            match self.outcome() {
                Event::Appended { tag: u64::MAX, offset } => return offset.0,
                Event::NotAppended { failure, .. }
                    if failure.is_temporary && failure.is_certain && Instant::now() < deadline => {}
                other => panic!("not appended: {other:?}"),
            }
        }
    }

    /// The ends. A leader that was just made may not know yet that it leads.
    pub fn ends(&mut self) -> (u64, u64) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.find_ends();
            match self.event("the ends", |event| matches!(event, Event::Ends { .. } | Event::Failed { .. })) {
                Event::Ends { start, end } => return (start.0, end.0),
                Event::Failed { failure, .. } if failure.is_temporary && Instant::now() < deadline => {}
                other => panic!("no ends: {other:?}"),
            }
        }
    }

    /// The next event of the read.
    pub fn of_read(&mut self) -> Event {
        self.event("an event of the read", is_of_read)
    }

    /// The next message of the read.
    pub fn message(&mut self) -> (u64, bytes::Bytes) {
        match self.of_read() {
            Event::Message { offset, message } => (offset.0, message),
            other => panic!("no message: {other:?}"),
        }
    }

    /// Messages from an offset on, until this many are there.
    pub fn messages(&mut self, from: u64, count: usize) -> Vec<(u64, bytes::Bytes)> {
        self.read(from, usize::MAX);
        (0..count).map(|_| self.message()).collect()
    }

    /// Nothing comes for a while.
    pub fn is_silent(&mut self) {
        let event = self.event_within(NOTHING_COMES, |_| true);
        assert_eq!(event, None, "nothing was to come");
    }
}

fn is_of_read(event: &Event) -> bool {
    use stadium_journal_log::partition::Call;
    matches!(
        event,
        Event::Message { .. }
            | Event::ReadEnded { .. }
            | Event::OutOfRange { .. }
            | Event::Failed { call: Call::Read, .. }
    )
}
