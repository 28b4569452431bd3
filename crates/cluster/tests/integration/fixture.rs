//! Nodes of a cluster in one process, on one topic in memory.
//! No etcd decides ownership here: the tests do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use stadium_cluster::{ArchiveSettings, Keeper, ReplicatedStore};
use stadium_journal::{Checkpoints as _, FileCheckpoints, Options, Position};
use stadium_journal_log::{ClusterId, Log, Topic};
use stadium_queue::{Answer, Command, Key, NewJob, QueueName, Refusal};
use stadium_shard::core::NodeLease;
use stadium_shard::{ReplicaState, Settings, Shards, Storage};

/// Far more than anything takes, so that a machine under load fails no test.
pub const LONG: Duration = Duration::from_secs(60);

/// A node: its shards, and the states that its replicas told.
pub struct Node {
    pub shards: Shards,
    cluster: ClusterId,
    folder: tempfile::TempDir,
    topic: Arc<dyn Topic>,
    states: Arc<Mutex<BTreeMap<u16, ReplicaState>>>,
    archive: Option<ArchiveSettings>,
    keeper: Option<Arc<Keeper>>,
}

/// The cluster of all tests.
pub const CLUSTER: ClusterId = ClusterId(7);

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

impl Drop for Node {
    fn drop(&mut self) {
        // Its shards write to the folder until they have ended.
        self.shards.stop(LONG);
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
        Self::with(topic, count, |settings| settings)
    }

    /// One whose replicas write a checkpoint for each MiB of their journals, and keep 4 MiB of
    /// segments in which nothing is alive.
    pub fn keeping_little(topic: &Arc<dyn Topic>, count: u16) -> Self {
        // Histories have a quarter of it. Replicas have a store of their own.
        let storage = Storage::Memory { bytes_max: 16 << 20 };
        Self::with(topic, count, |settings| Settings { checkpoint_bytes: 1 << 20, storage, ..settings })
    }

    fn with(topic: &Arc<dyn Topic>, count: u16, change: impl FnOnce(Settings) -> Settings) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let mut settings = Settings::in_directory(folder.path().join("data"), count);
        settings.journal = options();
        let settings = change(settings);
        let shards = Shards::open_none(settings).expect("its threads start");
        Self {
            shards,
            cluster: CLUSTER,
            folder,
            topic: Arc::clone(topic),
            states: Arc::default(),
            archive: None,
            keeper: None,
        }
    }

    /// A node that stores what it serves, in a folder.
    pub fn with_store(topic: &Arc<dyn Topic>, count: u16, store: &Path) -> Self {
        Self::new(topic, count).storing(CLUSTER, count, store)
    }

    /// The same, of another cluster.
    pub fn of_cluster(cluster: ClusterId, topic: &Arc<dyn Topic>, count: u16, store: &Path) -> Self {
        Self::new(topic, count).storing(cluster, count, store)
    }

    fn storing(mut self, cluster: ClusterId, count: u16, store: &Path) -> Self {
        let archive = ArchiveSettings::new(format!("file://{}", store.display()));
        let (topic, folder) = (Arc::clone(&self.topic), self.folder.path().to_owned());
        let keeper = Keeper::start(archive.clone(), topic, cluster, folder, count);
        self.keeper = Some(Arc::new(keeper.expect("its thread starts")));
        (self.cluster, self.archive) = (cluster, Some(archive));
        self
    }

    /// Opens a replica that follows.
    pub fn follow(&self, shard: u16) {
        self.try_follow(shard).expect("the replica opens");
    }

    /// The same, for a replica that may be refused.
    pub fn try_follow(&self, shard: u16) -> Result<(), stadium_shard::Error> {
        let log = Log { cluster: self.cluster, shard: u32::from(shard) };
        let store = ReplicatedStore::new(Arc::clone(&self.topic), self.replica(shard), log, options())
            .with_archive(self.archive.clone());
        let (states, keeper) = (Arc::clone(&self.states), self.keeper.clone());
        let on_state = move |shard, state, _| {
            if let Some(keeper) = &keeper {
                keeper.on_state(shard, &state);
            }
            states.lock().expect("nobody panics").insert(shard, state);
        };
        self.shards.open_replica(shard, store, on_state)
    }

    /// The folder of a replica.
    pub fn replica(&self, shard: u16) -> PathBuf {
        self.folder.path().join(format!("shard-{shard}"))
    }

    /// Closes a replica.
    pub fn close(&self, shard: u16) {
        assert!(self.shards.close_shard(shard, LONG), "the shard stops");
    }

    /// How far the node is with storing what it serves.
    pub fn archived(&self) -> stadium_cluster::ArchiveFigures {
        self.keeper.as_ref().expect("a node with a store").figures()
    }

    /// Bytes of the files of a replica's mirror.
    pub fn mirror_bytes(&self, shard: u16) -> u64 {
        let files = std::fs::read_dir(self.replica(shard).join("journal")).expect("its folder");
        // A segment may go while they are counted.
        files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len())).sum()
    }

    /// The newest checkpoint of a replica.
    pub fn newest_checkpoint(&self, shard: u16) -> Option<Position> {
        let folder = self.replica(shard).join("checkpoints");
        let listed = FileCheckpoints::read_only(&folder, u32::from(shard)).list();
        Some(listed.ok()?.first()?.position)
    }

    /// Has an owner write a checkpoint of what it has, and waits for it.
    pub fn checkpoint(&self, shard: u16) {
        let before = self.newest_checkpoint(shard);
        self.shards.checkpoint_soon();
        until("a checkpoint is written", || self.newest_checkpoint(shard) > before);
    }

    /// The state in the newest checkpoint of a replica, without its position and mark.
    pub fn state_of_checkpoint(&self, shard: u16) -> Vec<Vec<u8>> {
        let folder = self.replica(shard).join("checkpoints");
        let newest = FileCheckpoints::read_only(&folder, u32::from(shard)).newest();
        let mut reader = newest.expect("it can be read").expect("there is one");
        let mut chunks = Vec::new();
        while let Some(chunk) = reader.next().expect("it can be read") {
            chunks.push(chunk.to_vec());
        }
        chunks.split_off(1)
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

    /// Waits until a replica is in step; a failure names its state.
    pub fn until_in_step(&self, shard: u16) {
        let begun = Instant::now();
        while !self.is_in_step(shard) {
            assert!(begun.elapsed() < LONG, "shard {shard} is never in step: {:?}", self.state(shard));
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Claims a shard, and waits until it serves.
    pub fn own(&self, shard: u16) {
        self.shards.claim(shard, 1);
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

/// Reserves as many jobs as there are, up to a thousand, and settles them. How many there were.
pub fn work_off(node: &Node) -> usize {
    let reserve =
        Command::Reserve { queue: queue(), jobs_max: 1_000, lease: Some(60_000), wait: 0, worker: None };
    let Ok(Answer::Reserved(jobs)) = node.ask(reserve) else { panic!("jobs are reserved") };
    let leases = jobs.iter().map(|job| job.lease).collect();
    node.ask(Command::Settle { leases }).expect("they are settled");
    jobs.len()
}

pub fn put(payload: &str) -> Command {
    let job = NewJob { payload: Bytes::copy_from_slice(payload.as_bytes()), ..NewJob::default() };
    Command::Put { queue: queue(), jobs: vec![job], principal: None }
}

/// Waits until it holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LONG, "{what}: it never does");
        std::thread::sleep(Duration::from_millis(2));
    }
}
