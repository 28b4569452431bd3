//! A partition of three brokers, as Kafka replicates one: a leader, followers, those in sync.
//!
//! An append is acknowledged when all brokers in sync have it, and those are at least two
//! (`acks=all`, `min.insync.replicas=2`). Only a broker in sync becomes the leader. A loss of power
//! takes from a broker what it has not synced, if another broker in sync has it: the rest is beyond
//! what replication survives.

use std::rc::Rc;

use fastrand::Rng;

/// Brokers of a partition.
pub const BROKERS: usize = 3;
/// Brokers that must have a message before it is acknowledged.
const IN_SYNC_MIN: usize = 2;

/// A message in the partition. Each append makes another one, also of the same bytes.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Distinguishes appends.
    pub number: u64,
    /// The message.
    pub bytes: Rc<[u8]>,
}

#[derive(Default)]
struct Broker {
    log: Vec<Entry>,
    /// Entries that a loss of power leaves.
    synced: usize,
    is_down: bool,
}

/// The partition; `T` names an append for its answer.
pub struct Partition<T> {
    brokers: [Broker; BROKERS],
    leader: Option<usize>,
    in_sync: [bool; BROKERS],
    /// Entries that readers see: all brokers in sync have them.
    replicated: usize,
    /// The offset at which the log begins.
    start: usize,
    /// Appends that wait until they are replicated.
    waiting: Vec<(usize, T)>,
    numbers: u64,
}

impl<T> Partition<T> {
    /// An empty one with all brokers in sync.
    pub fn new() -> Self {
        Self {
            brokers: Default::default(),
            leader: Some(0),
            in_sync: [true; BROKERS],
            replicated: 0,
            start: 0,
            waiting: Vec::new(),
            numbers: 0,
        }
    }

    /// Appends at the leader. The answer follows when it is replicated.
    ///
    /// # Errors
    /// The name, if no leader takes it now.
    pub fn append(&mut self, bytes: Rc<[u8]>, name: T) -> Result<(), T> {
        let Some(leader) = self.leader.filter(|_| self.in_sync_count() >= IN_SYNC_MIN) else {
            return Err(name);
        };
        self.numbers += 1;
        let log = &mut self.brokers[leader].log;
        self.waiting.push((log.len(), name));
        log.push(Entry { number: self.numbers, bytes });
        Ok(())
    }

    /// A follower copies some entries from the leader, and is in sync if it then has all.
    pub fn replicate(&mut self, follower: usize, count: usize) {
        let Some(leader) = self.leader.filter(|leader| *leader != follower) else { return };
        if self.brokers[follower].is_down {
            return;
        }
        let from = self.brokers[follower].log.len();
        let copied: Vec<Entry> = self.brokers[leader].log.iter().skip(from).take(count).cloned().collect();
        self.brokers[follower].log.extend(copied);
        self.in_sync[follower] |= self.brokers[follower].log.len() == self.brokers[leader].log.len();
    }

    /// The answers to appends that are replicated by now: their names and offsets.
    pub fn answers(&mut self) -> Vec<(T, u64)> {
        let in_sync = (0..BROKERS).filter(|broker| self.in_sync[*broker]);
        let replicated = in_sync.map(|broker| self.brokers[broker].log.len()).min().unwrap_or(0);
        // With fewer brokers in sync nothing more becomes visible: KIP-966.
        if self.leader.is_some() && self.in_sync_count() >= IN_SYNC_MIN {
            self.replicated = self.replicated.max(replicated);
        }
        let replicated = self.replicated;
        let answered = self.waiting.extract_if(.., |(offset, _)| *offset < replicated);
        answered.map(|(offset, name)| (name, offset as u64)).collect()
    }

    /// Entries that readers may see, from the first one ever.
    pub fn replicated(&self) -> &[Entry] {
        let broker = self.leader.or_else(|| self.in_sync.iter().position(|is| *is)).unwrap_or(0);
        &self.brokers[broker].log[..self.replicated]
    }

    /// The offset behind the last entry that readers see; `None` without a leader.
    pub fn end(&self) -> Option<u64> {
        self.leader.map(|_| self.replicated as u64)
    }

    /// The offset at which the log begins.
    pub fn start(&self) -> u64 {
        self.start as u64
    }

    /// Some entries from an offset on; `None` without a leader.
    pub fn read(&self, from: u64, count: usize) -> Option<Vec<Entry>> {
        let log = &self.brokers[self.leader?].log[..self.replicated];
        Some(log.iter().skip(from as usize).take(count).cloned().collect())
    }

    /// Removes the entries before an offset.
    pub fn trim(&mut self, below: u64) {
        self.start = self.start.max((below as usize).min(self.replicated));
    }

    /// A broker's disk syncs some of what it has.
    pub fn sync(&mut self, broker: usize, random: &mut Rng) {
        let Broker { log, synced, .. } = &mut self.brokers[broker];
        *synced = random.usize(*synced..=log.len());
    }

    /// A broker loses power, and any part of what it has not synced. Returns the appends whose
    /// answers are lost.
    pub fn lose_power(&mut self, broker: usize, random: &mut Rng) -> Vec<T> {
        if self.brokers[broker].is_down {
            return Vec::new();
        }
        let others = (0..BROKERS).any(|other| other != broker && self.in_sync[other]);
        let is_survived = others || !self.in_sync[broker];
        let Broker { log, synced, is_down } = &mut self.brokers[broker];
        *is_down = true;
        if is_survived {
            log.truncate(random.usize(*synced..=log.len()));
            self.in_sync[broker] = false;
        }
        *synced = log.len();
        match self.leader == Some(broker) {
            true => {
                self.leader = None;
                self.elect(random)
            }
            false => Vec::new(),
        }
    }

    /// A broker starts again. Returns the appends whose answers are lost.
    pub fn start_broker(&mut self, broker: usize, random: &mut Rng) -> Vec<T> {
        if !std::mem::take(&mut self.brokers[broker].is_down) {
            return Vec::new();
        }
        match self.leader {
            Some(leader) => {
                self.follow(broker, leader);
                Vec::new()
            }
            None => self.elect(random),
        }
    }

    /// A follower is no longer in sync.
    pub fn lag(&mut self, follower: usize) {
        if self.leader.is_some_and(|leader| leader != follower) {
            self.in_sync[follower] = false;
        }
    }

    /// A broker in sync becomes the leader, if there is one. Returns the appends whose answers are
    /// lost: they may or may not stand in the log.
    pub fn elect(&mut self, random: &mut Rng) -> Vec<T> {
        let able: Vec<usize> =
            (0..BROKERS).filter(|broker| self.in_sync[*broker] && !self.brokers[*broker].is_down).collect();
        self.leader = (!able.is_empty()).then(|| able[random.usize(..able.len())]);
        if let Some(leader) = self.leader {
            let others = (0..BROKERS).filter(|broker| *broker != leader);
            for broker in others.filter(|broker| !self.brokers[*broker].is_down).collect::<Vec<_>>() {
                self.follow(broker, leader);
            }
        }
        self.waiting.drain(..).map(|(_, name)| name).collect()
    }

    /// A follower cuts what the leader does not have.
    fn follow(&mut self, follower: usize, leader: usize) {
        let [one, other] = self.brokers.get_disjoint_mut([follower, leader]).expect("two brokers");
        let same =
            one.log.iter().zip(&other.log).take_while(|(one, other)| one.number == other.number).count();
        one.log.truncate(same);
        one.synced = one.synced.min(same);
    }

    fn in_sync_count(&self) -> usize {
        self.in_sync.iter().filter(|is| **is).count()
    }
}
