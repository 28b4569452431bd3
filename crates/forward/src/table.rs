//! The table of the commands that are not answered, and the times at which some are asked again.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use stadium_links::NodeName;
use stadium_shard_wire::Request;

use crate::asks::Asks;
use crate::bounds::Bounds;

/// Parts of the table, each with a lock.
const PARTS: usize = 16;

/// A command that is not answered.
pub(crate) struct Pending<A> {
    pub(crate) request: Request,
    pub(crate) asker: A,
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
pub(crate) struct Table<A> {
    bounds: Bounds,
    last: AtomicU64,
    parts: [Mutex<HashMap<u64, Pending<A>>>; PARTS],
    commands: AtomicUsize,
    bytes: AtomicUsize,
    /// Reserves by their askers, who may vanish.
    reserves: Mutex<HashMap<u64, Vec<u64>>>,
    due: Mutex<BinaryHeap<Reverse<(Instant, u64)>>>,
}

impl<A: Asks> Table<A> {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            last: AtomicU64::new(0),
            parts: std::array::from_fn(|_| Mutex::default()),
            commands: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            reserves: Mutex::default(),
            due: Mutex::default(),
        }
    }

    /// The id of the next command.
    pub(crate) fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn part(&self, id: u64) -> &Mutex<HashMap<u64, Pending<A>>> {
        &self.parts[id as usize % PARTS]
    }

    /// Whether there is room for one more command of so many bytes. One always fits.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        let (commands, kept) = (self.commands.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        commands < self.bounds.commands_max
            && (kept == 0 || kept.saturating_add(bytes) <= self.bounds.bytes_max)
    }

    pub(crate) fn insert(&self, id: u64, pending: Pending<A>, is_reserve: bool) {
        if is_reserve {
            self.reserves.lock().entry(pending.asker.id()).or_default().push(id);
        }
        self.commands.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(pending.bytes, Ordering::Relaxed);
        self.part(id).lock().insert(id, pending);
    }

    /// Changes one that is there.
    pub(crate) fn with<T>(&self, id: u64, change: impl FnOnce(&mut Pending<A>) -> T) -> Option<T> {
        self.part(id).lock().get_mut(&id).map(change)
    }

    /// Takes one out that is answered.
    pub(crate) fn take(&self, id: u64) -> Option<Pending<A>> {
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

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Has [`Self::take_due`] return this one then. True where it is the first one.
    pub(crate) fn later(&self, id: u64, at: Instant) -> bool {
        let mut due = self.due.lock();
        let is_first = due.peek().is_none_or(|Reverse((first, _))| at < *first);
        due.push(Reverse((at, id)));
        is_first
    }

    /// Takes those whose time has come. Returns when the next one's comes.
    pub(crate) fn take_due(&self, now: Instant, into: &mut Vec<u64>) -> Option<Instant> {
        let mut due = self.due.lock();
        while let Some(&Reverse((at, id))) = due.peek() {
            if at > now {
                return Some(at);
            }
            due.pop();
            into.push(id);
        }
        None
    }
}
