//! Nodes of a cluster in one process, on one topic in memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use stadium_cluster::ReplicatedStore;
use stadium_journal::Options;
use stadium_journal_log::{ClusterId, Log, Topic};
use stadium_queue::{Answer, Command, Key, NewJob, QueueName, Refusal};
use stadium_shard::core::NodeLease;
use stadium_shard::{ReplicaState, Settings, Shards};

/// Far more than anything takes, so that a machine under load fails no test.
pub const LONG: Duration = Duration::from_secs(60);

/// A node: its shards, and the states that its replicas told.
pub struct Node {
    pub shards: Shards,
    folder: tempfile::TempDir,
    topic: Arc<dyn Topic>,
    states: Arc<Mutex<BTreeMap<u16, ReplicaState>>>,
}

/// Sizes of a mirror, for tests.
pub fn options() -> Options {
    Options {
        segment_bytes: 1 << 20,
        reserve_bytes: 256 << 10,
        record_bytes_max: 256 << 10,
        waiting_bytes_max: 512 << 10,
        tail_bytes: 1 << 20,
        ..Options::default()
    }
}

/// A lease that is certain when a test says so.
#[derive(Debug, Default)]
pub struct Lease(AtomicBool);

impl Lease {
    pub fn set(&self, is_certain: bool) {
        self.0.store(is_certain, Ordering::Relaxed);
    }
}

impl NodeLease for Lease {
    fn is_certain(&self, _shard: u16) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Node {
    /// A node with a lease, which is not certain.
    pub fn with_lease(topic: &Arc<dyn Topic>, count: u16) -> (Self, Arc<Lease>) {
        let (node, lease) = (Self::new(topic, count), Arc::new(Lease::default()));
        node.shards.attach_lease(Arc::clone(&lease) as Arc<dyn NodeLease>);
        (node, lease)
    }

    /// A node without replicas, of a cluster of so many shards.
    pub fn new(topic: &Arc<dyn Topic>, count: u16) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let mut settings = Settings::in_directory(folder.path().join("data"), count);
        settings.journal = options();
        let shards = Shards::open_none(settings).expect("its threads start");
        Self { shards, folder, topic: Arc::clone(topic), states: Arc::default() }
    }

    /// Opens a replica that follows.
    pub fn follow(&self, shard: u16) {
        let log = Log { cluster: ClusterId(7), shard: u32::from(shard) };
        let folder = self.folder.path().join(format!("shard-{shard}"));
        let store = ReplicatedStore::new(Arc::clone(&self.topic), folder, log, options());
        let states = Arc::clone(&self.states);
        let on_state = move |shard, state| {
            states.lock().expect("nobody panics").insert(shard, state);
        };
        self.shards.open_replica(shard, store, on_state).expect("the replica opens");
    }

    pub fn state(&self, shard: u16) -> Option<ReplicaState> {
        self.states.lock().expect("nobody panics").get(&shard).cloned()
    }

    pub fn serves(&self, shard: u16) -> bool {
        matches!(self.state(shard), Some(ReplicaState::Serving { .. }))
    }

    pub fn is_in_step(&self, shard: u16) -> bool {
        self.state(shard) == Some(ReplicaState::Following { is_in_step: true })
    }

    /// Claims a shard, and waits until it serves.
    pub fn own(&self, shard: u16) {
        self.shards.claim(shard);
        until("the log is claimed", || matches!(self.state(shard), Some(ReplicaState::Claimed { .. })));
        self.shards.serve(shard);
        until("the shard serves", || self.serves(shard));
    }

    pub fn ask(&self, command: Command) -> Result<Answer<Bytes>, Refusal> {
        self.shards.submit(command).wait(LONG).expect("it is answered")
    }

    pub fn put(&self, payload: &str) -> Result<Answer<Bytes>, Refusal> {
        self.ask(put(payload))
    }

    /// Payloads of all jobs, in their order.
    pub fn there(&self) -> Vec<String> {
        match self.ask(peek()) {
            Ok(Answer::Jobs(jobs)) => {
                let text = |payload: &Bytes| String::from_utf8_lossy(payload).into_owned();
                jobs.iter().map(|job| text(&job.payload)).collect()
            }
            other => panic!("{other:?}"),
        }
    }
}

pub fn queue() -> QueueName {
    QueueName::new("mail").expect("a name")
}

pub fn peek() -> Command {
    Command::Peek { queue: queue(), state: None, key: None::<Key>, after: None, jobs_max: 1_000 }
}

pub fn put(payload: &str) -> Command {
    let job = NewJob { payload: Bytes::copy_from_slice(payload.as_bytes()), ..NewJob::default() };
    Command::Put { queue: queue(), jobs: vec![job], principal: None }
}

/// Waits until it holds.
pub fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LONG, "{what}: it never does");
        std::thread::sleep(Duration::from_millis(2));
    }
}
