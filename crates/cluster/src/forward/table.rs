//! Commands of this node that are on their way to their shards, and are not answered.
//!
//! They are bounded, and those that are to be asked again wait for their time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use stadium_links::NodeName;
use stadium_shard::Asker;
use stadium_shard_wire::Request;

/// Parts of the table, each with a lock.
const PARTS: usize = 16;

/// Commands that are not answered, at most: those for which a node has no link, or no credit, wait too.
const COMMANDS_MAX: usize = 65_536;

/// Bytes that they keep alive together, at most.
const BYTES_MAX: usize = 256 << 20;

/// A command that is not answered.
pub(crate) struct Pending {
    pub(crate) request: Request,
    pub(crate) asker: Asker,
    /// It is asked again until then.
    pub(crate) until: Instant,
    /// How often it was asked.
    pub(crate) attempts: u32,
    pub(crate) is_repeatable: bool,
    /// Some attempt may have been carried out.
    pub(crate) is_unknown: bool,
    /// Places of jobs that got an id here.
    pub(crate) given_ids: Vec<usize>,
    /// The node that was asked last.
    pub(crate) asked: Option<NodeName>,
    /// Bytes of memory that it keeps alive.
    pub(crate) bytes: usize,
}

/// The table. Its ids are those of the requests.
#[derive(Default)]
pub(crate) struct Table {
    last: AtomicU64,
    parts: [Mutex<HashMap<u64, Pending>>; PARTS],
    commands: AtomicUsize,
    bytes: AtomicUsize,
    /// Reserves by their askers, who may vanish.
    reserves: Mutex<HashMap<u64, Vec<u64>>>,
    later: Mutex<Later>,
    rung: Condvar,
}

/// What the thread of the table waits for.
#[derive(Default)]
struct Later {
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    is_rung: bool,
}

impl Table {
    /// The id of the next command.
    pub(crate) fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn part(&self, id: u64) -> &Mutex<HashMap<u64, Pending>> {
        &self.parts[id as usize % PARTS]
    }

    /// Whether there is room for one more command of so many bytes. One always fits.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        let (commands, kept) = (self.commands.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        commands < COMMANDS_MAX && (kept == 0 || kept.saturating_add(bytes) <= BYTES_MAX)
    }

    pub(crate) fn insert(&self, id: u64, pending: Pending, is_reserve: bool) {
        if is_reserve {
            self.reserves.lock().entry(pending.asker.id()).or_default().push(id);
        }
        self.commands.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(pending.bytes, Ordering::Relaxed);
        self.part(id).lock().insert(id, pending);
    }

    /// Changes one that is there.
    pub(crate) fn with<T>(&self, id: u64, change: impl FnOnce(&mut Pending) -> T) -> Option<T> {
        self.part(id).lock().get_mut(&id).map(change)
    }

    /// Takes one out that is answered.
    pub(crate) fn take(&self, id: u64) -> Option<Pending> {
        let pending = self.part(id).lock().remove(&id)?;
        self.commands.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(pending.bytes, Ordering::Relaxed);
        let mut reserves = self.reserves.lock();
        let asker = pending.asker.id();
        if let Some(ids) = reserves.get_mut(&asker) {
            ids.retain(|one| *one != id);
            if ids.is_empty() {
                reserves.remove(&asker);
            }
        }
        Some(pending)
    }

    /// The reserves of an asker that has gone.
    pub(crate) fn of_asker(&self, asker: u64) -> Vec<u64> {
        self.reserves.lock().get(&asker).cloned().unwrap_or_default()
    }

    /// All that are there.
    pub(crate) fn ids(&self) -> Vec<u64> {
        self.parts.iter().flat_map(|part| part.lock().keys().copied().collect::<Vec<_>>()).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.commands.load(Ordering::Relaxed)
    }

    /// Has [`Self::wait`] return this one then.
    pub(crate) fn later(&self, id: u64, at: Instant) {
        let mut later = self.later.lock();
        let is_first = later.due.peek().is_none_or(|Reverse((first, _))| at < *first);
        later.due.push(Reverse((at, id)));
        later.is_rung |= is_first;
        if is_first {
            self.rung.notify_one();
        }
    }

    /// Has [`Self::wait`] return now.
    pub(crate) fn ring(&self) {
        self.later.lock().is_rung = true;
        self.rung.notify_one();
    }

    /// Waits until some are due, or it is rung, and takes those.
    pub(crate) fn wait(&self, due: &mut Vec<u64>) {
        let mut later = self.later.lock();
        loop {
            let now = Instant::now();
            while let Some(&Reverse((at, id))) = later.due.peek()
                && at <= now
            {
                later.due.pop();
                due.push(id);
            }
            if std::mem::take(&mut later.is_rung) || !due.is_empty() {
                return;
            }
            match later.due.peek() {
                Some(&Reverse((at, _))) => _ = self.rung.wait_until(&mut later, at),
                None => self.rung.wait(&mut later),
            }
        }
    }
}
