//! The state of all queues of a shard, and where jobs hang in it.
//!
//! Lasting state stands in tables. Everything else is built from them: indexes, timers, and lists.
//! [`crate::lists`] moves jobs between these, [`crate::clock`] decides when.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::hash::{BuildHasher, Hash};

use foldhash::quality::FixedState;
use hashbrown::HashTable;
use stadium_table::Table;

use crate::entries::Lane;
use crate::entries::{Extra, Finished, Line, Queue, Remembered, Schedule, Sent};
use crate::finished::FinishedIndex;
use crate::job::{Job, NONE};
use crate::principals::Principals;
use crate::rests::{Rest, Rests};
use crate::sequences::Sequences;
use crate::timers::{Timer, Timers};
use crate::{Bounds, Key, PayloadAt, PayloadChange, Place, QueueName, Time};
use stadium_table::{Index, Paged};

/// All queues of one shard.
///
/// `execute` and `tick` decide, write what they decided as events into a record, and apply those; `apply`
/// does the same with the events of a record that was read back, and decides nothing. So the state after
/// a replay is the state that was.
///
/// A job is in exactly one list and has at most one timer of its own:
///
/// ```text
/// state     list of                          timer
/// delayed   its queue                        when it is due
/// due       its lane, in order               -
/// reserved  its queue                        when the lease ends
/// buried    its queue                        -
/// dead      its queue                        - (its extra's: when it goes)
/// ```
///
/// A lane with a due job stands in the ring of its first job's priority, or among those that wait:
/// because a job of its key must be done first, or because its key has no token.
pub struct Queues {
    pub(crate) place: Place,
    pub(crate) bounds: Bounds,

    pub(crate) jobs: Table<Job, Rests>,
    pub(crate) lanes: Table<Lane>,
    pub(crate) queues: Table<Queue>,
    pub(crate) extras: Table<Extra>,
    pub(crate) remembered: Table<Remembered>,
    pub(crate) finished: Table<Finished>,
    pub(crate) schedules: Table<Schedule>,
    /// Of jobs.
    pub(crate) principals: Principals,
    /// The last sequence that was given out.
    pub(crate) sequence: u64,
    /// Queues that were ever made.
    pub(crate) queues_made: u64,
    /// The place in `finished` that is overwritten next.
    pub(crate) finished_next: u32,
    pub(crate) outgoing: BTreeMap<u64, Sent>,
    pub(crate) outgoing_next: u64,
    /// Jobs of other shards that were taken over and may be delivered again, by shard and number.
    pub(crate) incoming: BTreeMap<(u16, u64), u64>,
    /// The latest time that was seen.
    pub(crate) now: Time,

    pub(crate) hasher: FixedState,
    pub(crate) by_sequence: Sequences,
    pub(crate) by_name: HashTable<u32>,
    pub(crate) by_key: Index,
    pub(crate) by_dedup: Index,
    pub(crate) by_finished: FinishedIndex,
    pub(crate) names: BTreeMap<QueueName, u32>,
    pub(crate) lines: Paged<Line>,
    /// Behind the last place of `jobs` that was ever taken.
    pub(crate) places_end: u32,
    pub(crate) timers: Timers,
    pub(crate) schedule_times: BTreeSet<(Time, u32)>,
    pub(crate) by_schedule: BTreeMap<(u32, Key), u32>,
    /// Leases that ended; looked at again before anything is done about them.
    pub(crate) lapsed: VecDeque<u32>,
    /// Extras whose time is over; likewise.
    pub(crate) over: VecDeque<u32>,
    /// Queues with a purge that goes on, and how far the first one's went.
    pub(crate) purges: VecDeque<u32>,
    pub(crate) purge_next: u32,
    pub(crate) ready: Vec<u32>,
    pub(crate) changes: Vec<PayloadChange>,
    pub(crate) random: u64,
    pub(crate) checkpoint: crate::checkpoint::Progress,
    /// Of writers, between records.
    pub(crate) scratch: crate::record::Scratch,
    pub(crate) fired: Vec<u32>,
    /// Jobs whose time has come and that are not due yet: time, sequence and place, the first one
    /// on top.
    pub(crate) came_due: BinaryHeap<Reverse<(Time, u64, u32)>>,
    /// The time to which the clock went last.
    pub(crate) went_to: Option<Time>,
}

impl Queues {
    /// No queues.
    pub fn new(place: Place, bounds: Bounds) -> Self {
        Self {
            hasher: FixedState::with_seed(place.hash_seed),
            place,
            bounds,
            jobs: Table::new(),
            lanes: Table::new(),
            queues: Table::new(),
            extras: Table::new(),
            remembered: Table::new(),
            finished: Table::new(),
            schedules: Table::new(),
            principals: Principals::default(),
            sequence: 0,
            queues_made: 0,
            finished_next: 0,
            outgoing: BTreeMap::new(),
            outgoing_next: 1,
            incoming: BTreeMap::new(),
            now: Time(0),
            by_sequence: Sequences::new(),
            by_name: HashTable::new(),
            by_key: Index::new(),
            by_dedup: Index::new(),
            by_finished: FinishedIndex::default(),
            names: BTreeMap::new(),
            lines: Paged::new(),
            places_end: 0,
            timers: Timers::new(),
            schedule_times: BTreeSet::new(),
            by_schedule: BTreeMap::new(),
            lapsed: VecDeque::new(),
            over: VecDeque::new(),
            purges: VecDeque::new(),
            purge_next: 0,
            ready: Vec::new(),
            changes: Vec::new(),
            random: 0,
            checkpoint: crate::checkpoint::Progress::default(),
            scratch: crate::record::Scratch::default(),
            fired: Vec::new(),
            came_due: BinaryHeap::new(),
            went_to: None,
        }
    }

    /// Jobs in whatever state.
    pub fn jobs(&self) -> u64 {
        self.jobs.len() as u64
    }

    /// Bytes of memory that the state holds, but for texts of more than 24 bytes.
    pub fn bytes(&self) -> usize {
        self.jobs.bytes()
            + self.jobs.beside().bytes()
            + self.lanes.bytes()
            + self.queues.bytes()
            + self.queues.len() * size_of::<crate::QueueSettings>()
            + self.extras.bytes()
            + self.remembered.bytes()
            + self.finished.bytes()
            + self.schedules.bytes()
            + self.principals.bytes()
            + self.by_sequence.bytes()
            + self.by_key.bytes()
            + self.by_dedup.bytes()
            + self.by_name.allocation_size()
            + self.by_finished.bytes()
            + self.lines.bytes()
            + self.timers.bytes()
            + self.came_due.capacity() * size_of::<(Time, u64, u32)>()
    }

    // Finding.

    #[inline]
    pub(crate) fn find_job(&self, sequence: u64) -> Option<u32> {
        self.by_sequence.find(sequence, |place| self.jobs.at(place).sequence() == sequence)
    }

    fn hash<T: Hash + ?Sized>(&self, value: &T) -> u64 {
        self.hasher.hash_one(value)
    }

    #[inline]
    pub(crate) fn find_queue(&self, name: &str) -> Option<u32> {
        let hash = self.hash(name);
        self.by_name.find(hash, |&queue| self.queues.at(queue).name.as_str() == name).copied()
    }

    pub(crate) fn find_lane(&self, queue: u32, key: &str) -> Option<u32> {
        self.by_key.find(self.hash(&(queue, key)), |place| {
            let lane = self.lanes.at(place);
            lane.queue == queue && lane.key.as_ref().is_some_and(|of| of.as_str() == key)
        })
    }

    pub(crate) fn find_remembered(&self, queue: u64, id: &str) -> Option<u32> {
        self.by_dedup.find(self.hash(&(queue, id)), |place| {
            let entry = self.remembered.at(place);
            entry.queue == queue && entry.id.as_str() == id
        })
    }

    pub(crate) fn find_finished(&self, sequence: u64) -> Option<&Finished> {
        let place = self.by_finished.find(sequence, |of| self.finished.at(of).sequence)?;
        Some(self.finished.at(place))
    }

    pub(crate) fn queue_of(&self, job: u32) -> u32 {
        self.lanes.at(self.jobs.at(job).lane).queue
    }

    #[inline]
    pub(crate) fn rest(&self, job: &Job) -> Rest {
        job.rest(self.jobs.beside())
    }

    /// The rest of the job there, made where it has none.
    #[inline]
    pub(crate) fn rest_mut(&mut self, job: u32) -> &mut Rest {
        let (job, rests) = self.jobs.divided_mut(job);
        job.rest_mut(rests)
    }

    /// The time at which a reserved job's lease ends.
    pub(crate) fn lease_until(&self, job: &Job) -> Time {
        self.lease_end(self.rest(job).lease_until)
    }

    /// The time near the latest one that has these low 32 bits.
    pub(crate) fn lease_end(&self, low: u32) -> Time {
        let ahead = low.wrapping_sub(self.now.0 as u32) as i32;
        Time(self.now.0.saturating_add_signed(i64::from(ahead)))
    }

    pub(crate) fn expires(&self, job: &Job) -> Option<Time> {
        let extra = self.rest(job).extra;
        if extra == NONE {
            return None;
        }
        Some(self.extras.at(extra).expires).filter(|at| at.0 != 0)
    }

    // Making and taking away.

    pub(crate) fn add_queue(&mut self, queue: Queue) -> u32 {
        let (name, hash) = (queue.name.clone(), self.hash(queue.name.as_str()));
        let place = self.queues.insert(queue);
        self.index_queue(name, hash, place);
        place
    }

    pub(crate) fn index_queue_at(&mut self, place: u32) {
        let name = self.queues.at(place).name.clone();
        let hash = self.hash(name.as_str());
        self.index_queue(name, hash, place);
    }

    fn index_queue(&mut self, name: QueueName, hash: u64, place: u32) {
        let (queues, hasher) = (&self.queues, &self.hasher);
        self.by_name.insert_unique(hash, place, |&of| hasher.hash_one(queues.at(of).name.as_str()));
        self.names.insert(name, place);
    }

    /// Takes a queue away that has no jobs.
    pub(crate) fn remove_queue(&mut self, place: u32) {
        let hash = self.hash(self.queues.at(place).name.as_str());
        if let Ok(entry) = self.by_name.find_entry(hash, |&of| of == place) {
            entry.remove();
        }
        self.timers.disarm(Timer::Queue(place));
        let queue = self.queues.remove(place).expect("the caller found it");
        self.names.remove(&queue.name);
        self.ready.retain(|&of| of != place);
        self.purges.retain(|&of| of != place);
        let from = (place, Key::vacant());
        let schedules: Vec<_> = self
            .by_schedule
            .range(from..)
            .take_while(|((of, _), _)| *of == place)
            .map(|(_, &at)| at)
            .collect();
        schedules.into_iter().for_each(|at| self.remove_schedule(at));
        queue.open.into_iter().filter(|&lane| lane != NONE).for_each(|lane| self.remove_lane(lane));
        if queue.idle_lanes {
            let lanes: Vec<_> =
                self.lanes.iter().filter(|(_, of)| of.queue == place).map(|(at, _)| at).collect();
            lanes.into_iter().for_each(|lane| self.remove_lane(lane));
        }
    }

    pub(crate) fn remove_schedule(&mut self, place: u32) {
        let schedule = self.schedules.remove(place).expect("the caller found it");
        if let Some(next) = schedule.next {
            self.schedule_times.remove(&(next, place));
        }
        self.by_schedule.remove(&(schedule.queue, schedule.name));
        if let Some(queue) = self.queues.entry_mut(schedule.queue) {
            queue.schedules -= 1;
        }
        self.payload_died(schedule.payload);
    }

    /// The lane of a key, or of jobs without one of a priority.
    pub(crate) fn lane(&mut self, queue: u32, key: Option<&str>, priority: u8) -> u32 {
        let Some(key) = key else {
            let open = self.queues.at(queue).open[usize::from(priority)];
            if open != NONE {
                return open;
            }
            let lane = self.lanes.insert(Lane::new(queue, None, priority));
            self.queues.at_mut(queue).open[usize::from(priority)] = lane;
            return lane;
        };
        if let Some(lane) = self.find_lane(queue, key) {
            return lane;
        }
        let name = crate::Key::new(key).expect("keys are checked where they come from");
        let lane = self.lanes.insert(Lane::new(queue, Some(name), 0));
        self.index_lane(lane);
        lane
    }

    pub(crate) fn index_lane(&mut self, place: u32) {
        let lane = self.lanes.at(place);
        let Some(key) = &lane.key else {
            let (queue, priority) = (lane.queue, usize::from(lane.priority));
            self.queues.at_mut(queue).open[priority] = place;
            return;
        };
        let hash = self.hash(&(lane.queue, key.as_str()));
        let (lanes, hasher) = (&self.lanes, &self.hasher);
        self.by_key.insert(hash, place, |of| {
            let lane = lanes.at(of);
            hasher.hash_one((lane.queue, lane.key.as_ref().map_or("", |key| key.as_str())))
        });
    }

    /// A job of the lane is gone. Lanes of keys go with their last job, once their bucket is full again;
    /// those without key stay as long as their queue.
    pub(crate) fn lane_lost_job(&mut self, place: u32) {
        let lane = self.lanes.at_mut(place);
        lane.jobs -= 1;
        if lane.jobs > 0 || lane.key.is_none() {
            return;
        }
        let queue = self.queues.at(lane.queue);
        let now = self.now;
        match queue.settings().key_limit.and_then(|limit| lane.bucket.full_at(now, &limit)) {
            Some(full) => {
                let queue = lane.queue;
                self.queues.at_mut(queue).idle_lanes = true;
                self.timers.arm(Timer::Lane(place), full, now);
            }
            None => self.remove_lane(place),
        }
    }

    pub(crate) fn remove_lane(&mut self, place: u32) {
        self.timers.disarm(Timer::Lane(place));
        let Some(lane) = self.lanes.remove(place) else { return };
        if let Some(key) = &lane.key {
            let hash = self.hash(&(lane.queue, key.as_str()));
            self.by_key.remove(hash, place);
        }
    }

    /// The job's extra, made where there is none.
    pub(crate) fn extra(&mut self, job: u32) -> u32 {
        let extra = self.rest(self.jobs.at(job)).extra;
        if extra != NONE {
            return extra;
        }
        let extra = self.extras.insert(Extra { job, ..Extra::default() });
        self.rest_mut(job).extra = extra;
        extra
    }

    pub(crate) fn set_expires(&mut self, job: u32, expires: Option<Time>) {
        let Some(expires) = expires else {
            let extra = self.rest(self.jobs.at(job)).extra;
            if extra != NONE {
                self.extras.at_mut(extra).expires = Time(0);
                self.timers.disarm(Timer::Extra(extra));
            }
            return;
        };
        let extra = self.extra(job);
        self.extras.at_mut(extra).expires = Time(expires.0.max(1));
        self.timers.arm(Timer::Extra(extra), expires, self.now);
    }

    pub(crate) fn set_reason(&mut self, job: u32, reason: &str) {
        /// What the state keeps of a reason; the journal has all of it.
        const KEPT: usize = 256;
        let kept = &reason[..reason.floor_char_boundary(KEPT)];
        if kept.is_empty() && self.rest(self.jobs.at(job)).extra == NONE {
            return;
        }
        let extra = self.extra(job);
        self.extras.at_mut(extra).reason = (!kept.is_empty()).then(|| kept.into());
    }

    pub(crate) fn remove_extra(&mut self, extra: u32) {
        if extra != NONE {
            self.timers.disarm(Timer::Extra(extra));
            self.extras.remove(extra);
        }
    }

    /// Remembers a dedup id, in place of an older one of that name.
    pub(crate) fn remember(&mut self, entry: Remembered) {
        if let Some(old) = self.find_remembered(entry.queue, entry.id.as_str()) {
            self.forget(old);
        }
        let until = entry.until;
        let place = self.remembered.insert(entry);
        self.index_remembered(place);
        self.timers.arm(Timer::Dedup(place), until, self.now);
    }

    pub(crate) fn index_remembered(&mut self, place: u32) {
        let entry = self.remembered.at(place);
        let hash = self.hash(&(entry.queue, entry.id.as_str()));
        let (remembered, hasher) = (&self.remembered, &self.hasher);
        self.by_dedup.insert(hash, place, |of| {
            let entry = remembered.at(of);
            hasher.hash_one((entry.queue, entry.id.as_str()))
        });
    }

    pub(crate) fn forget(&mut self, place: u32) {
        self.timers.disarm(Timer::Dedup(place));
        if let Some(entry) = self.remembered.remove(place) {
            let hash = self.hash(&(entry.queue, entry.id.as_str()));
            self.by_dedup.remove(hash, place);
        }
    }

    /// Remembers a job that is done, in place of the oldest one where there are enough.
    pub(crate) fn finish(&mut self, finished: Finished) {
        let max = self.bounds.finished_max;
        if max == 0 {
            return;
        }
        let place = if self.finished.len() < max as usize {
            self.finished.insert(finished)
        } else {
            let place = self.finished_next % max;
            self.finished_next = (place + 1) % max;
            *self.finished.at_mut(place) = finished;
            place
        };
        let table = &self.finished;
        self.by_finished.insert(place, |of| table.at(of).sequence);
    }

    // Payloads.

    pub(crate) fn payload_lives(&mut self, payload: PayloadAt) {
        self.payload_changes(payload.record, i64::from(payload.length));
    }

    pub(crate) fn payload_died(&mut self, payload: PayloadAt) {
        self.payload_changes(payload.record, -i64::from(payload.length));
    }

    #[inline]
    fn payload_changes(&mut self, record: u64, bytes: i64) {
        if bytes == 0 {
            return;
        }
        match self.changes.last_mut() {
            Some(last) if last.record == record => last.bytes += bytes,
            _ => self.changes.push(PayloadChange { record, bytes }),
        }
    }

    /// Payloads that came to life or died since the last call.
    pub fn take_payload_changes(&mut self, into: &mut Vec<PayloadChange>) {
        into.append(&mut self.changes);
    }
}
