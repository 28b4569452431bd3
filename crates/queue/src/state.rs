//! The state of all queues of a shard, and where jobs hang in it.
//!
//! What must last stands in tables. Everything else is built from them: indexes, timers, and lists. A
//! job is in exactly one list and has at most one timer of its own:
//!
//! ```text
//! state     list of                          timer
//! delayed   its queue                        when it is due
//! due       its lane, in order               -
//! reserved  its queue                        when the lease ends
//! buried    its queue                        -
//! dead      its queue                        - (its extra's: when it goes)
//! ```
//!
//! A lane with a due job stands in the ring of its first job's priority, or among those that wait:
//! because a job of its key must be done first, or because its key has no token.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use foldhash::quality::FixedState;
use hashbrown::HashTable;
use stadium_table::Table;
use std::hash::{BuildHasher, Hash};

use crate::entries::Lane;
use crate::entries::{Bucket, Extra, Finished, LanePlace, Line, List, Queue, Remembered, Schedule, Sent};
use crate::index::{Index, hash_of};
use crate::job::{Job, NONE};
use crate::paged::Paged;
use crate::timers::{Timer, Timers};
use crate::{Bounds, JobState, Key, PayloadAt, PayloadChange, Place, QueueName, Time};

/// Timers that fire before anything else is looked at.
const FIRED_AT_ONCE: usize = 8_192;

/// A clock that steps back less far is taken to stand still, in milliseconds.
const STEP_BACK: u64 = 1_000;

/// All queues of one shard.
///
/// `execute` and `tick` decide, write what they decided as events into a record, and apply those; `apply`
/// does the same with the events of a record that was read back, and decides nothing. So the state after
/// a replay is the state that was.
pub struct Queues {
    pub(crate) place: Place,
    pub(crate) bounds: Bounds,

    pub(crate) jobs: Table<Job>,
    pub(crate) lanes: Table<Lane>,
    pub(crate) queues: Table<Queue>,
    pub(crate) extras: Table<Extra>,
    pub(crate) remembered: Table<Remembered>,
    pub(crate) finished: Table<Finished>,
    pub(crate) schedules: Table<Schedule>,
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
    /// The latest moment that was seen.
    pub(crate) now: Time,

    pub(crate) hasher: FixedState,
    pub(crate) by_sequence: Index,
    pub(crate) by_name: HashTable<u32>,
    pub(crate) by_key: Index,
    pub(crate) by_dedup: Index,
    pub(crate) by_finished: HashTable<u32>,
    pub(crate) names: BTreeMap<QueueName, u32>,
    pub(crate) lines: Paged<Line>,
    /// Behind the last place of `jobs` that was ever taken.
    pub(crate) places_end: u32,
    pub(crate) timers: Timers,
    pub(crate) moments: BTreeSet<(Time, u32)>,
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
    fired: Vec<u32>,
    came_due: Vec<(Time, u64, u32)>,
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
            sequence: 0,
            queues_made: 0,
            finished_next: 0,
            outgoing: BTreeMap::new(),
            outgoing_next: 1,
            incoming: BTreeMap::new(),
            now: Time(0),
            by_sequence: Index::new(),
            by_name: HashTable::new(),
            by_key: Index::new(),
            by_dedup: Index::new(),
            by_finished: HashTable::new(),
            names: BTreeMap::new(),
            lines: Paged::new(),
            places_end: 0,
            timers: Timers::new(),
            moments: BTreeSet::new(),
            by_schedule: BTreeMap::new(),
            lapsed: VecDeque::new(),
            over: VecDeque::new(),
            purges: VecDeque::new(),
            purge_next: 0,
            ready: Vec::new(),
            changes: Vec::new(),
            random: 0,
            checkpoint: crate::checkpoint::Progress::default(),
            fired: Vec::new(),
            came_due: Vec::new(),
        }
    }

    /// Jobs in whatever state.
    pub fn jobs(&self) -> u64 {
        self.jobs.len() as u64
    }

    /// Bytes of memory that the state holds, but for texts of more than 24 bytes.
    pub fn bytes(&self) -> usize {
        self.jobs.bytes()
            + self.lanes.bytes()
            + self.queues.bytes()
            + self.queues.len() * size_of::<crate::QueueSettings>()
            + self.extras.bytes()
            + self.remembered.bytes()
            + self.finished.bytes()
            + self.schedules.bytes()
            + self.by_sequence.bytes()
            + self.by_key.bytes()
            + self.by_dedup.bytes()
            + self.by_name.allocation_size()
            + self.by_finished.allocation_size()
            + self.lines.bytes()
            + self.timers.bytes()
    }

    // Finding.

    #[inline]
    pub(crate) fn find_job(&self, sequence: u64) -> Option<u32> {
        self.by_sequence.find(hash_of(sequence), |place| self.jobs.at(place).sequence() == sequence)
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
        let place = self
            .by_finished
            .find(hash_of(sequence), |&place| self.finished.at(place).sequence == sequence)?;
        Some(self.finished.at(*place))
    }

    pub(crate) fn queue_of(&self, job: u32) -> u32 {
        self.lanes.at(self.jobs.at(job).lane).queue
    }

    /// The moment at which a reserved job's lease ends.
    pub(crate) fn lease_until(&self, job: &Job) -> Time {
        let ahead = job.lease_until.wrapping_sub(self.now.0 as u32) as i32;
        Time(self.now.0.saturating_add_signed(i64::from(ahead)))
    }

    pub(crate) fn expires(&self, job: &Job) -> Option<Time> {
        if job.extra == NONE {
            return None;
        }
        Some(self.extras.at(job.extra).expires).filter(|at| at.0 != 0)
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
            self.moments.remove(&(next, place));
        }
        self.by_schedule.remove(&(schedule.queue, schedule.name));
        if let Some(queue) = self.queues.get_mut(schedule.queue) {
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
        let extra = self.jobs.at(job).extra;
        if extra != NONE {
            return extra;
        }
        let extra = self.extras.insert(Extra { job, ..Extra::default() });
        self.jobs.at_mut(job).extra = extra;
        extra
    }

    pub(crate) fn set_expires(&mut self, job: u32, expires: Option<Time>) {
        let Some(expires) = expires else {
            let extra = self.jobs.at(job).extra;
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
        if kept.is_empty() && self.jobs.at(job).extra == NONE {
            return;
        }
        let extra = self.extra(job);
        self.extras.at_mut(extra).reason = (!kept.is_empty()).then(|| kept.into());
    }

    pub(crate) fn remove_extra(&mut self, job: u32) {
        let extra = std::mem::replace(&mut self.jobs.at_mut(job).extra, NONE);
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
        let hash = hash_of(finished.sequence);
        let place = if self.finished.len() < max as usize {
            self.finished.insert(finished)
        } else {
            let place = self.finished_next % max;
            self.finished_next = (place + 1) % max;
            let old = hash_of(self.finished.at(place).sequence);
            if let Ok(entry) = self.by_finished.find_entry(old, |&of| of == place) {
                entry.remove();
            }
            *self.finished.at_mut(place) = finished;
            place
        };
        let table = &self.finished;
        self.by_finished.insert_unique(hash, place, |&of| hash_of(table.at(of).sequence));
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

    // Lists.

    fn list(&mut self, job: u32) -> &mut List {
        let (state, lane) = (self.jobs.at(job).state(), self.jobs.at(job).lane);
        if state == JobState::Due {
            return &mut self.lanes.at_mut(lane).ready;
        }
        let queue = self.lanes.at(lane).queue;
        &mut self.queues.at_mut(queue).lists[state as usize]
    }

    fn push_back(&mut self, job: u32) {
        let list = self.list(job);
        list.length += 1;
        let tail = std::mem::replace(&mut list.tail, job);
        if tail == NONE {
            list.head = job;
        } else {
            self.lines[tail].next = job;
        }
        self.lines[job] = Line { next: NONE, previous: tail };
    }

    fn push_front(&mut self, job: u32) {
        let list = self.list(job);
        list.length += 1;
        let head = std::mem::replace(&mut list.head, job);
        if head == NONE {
            list.tail = job;
        } else {
            self.lines[head].previous = job;
        }
        self.lines[job] = Line { next: head, previous: NONE };
    }

    fn unlink(&mut self, job: u32) {
        let line = std::mem::take(&mut self.lines[job]);
        if line.previous != NONE {
            self.lines[line.previous].next = line.next;
        }
        if line.next != NONE {
            self.lines[line.next].previous = line.previous;
        }
        let list = self.list(job);
        list.length -= 1;
        if list.head == job {
            list.head = line.next;
        }
        if list.tail == job {
            list.tail = line.previous;
        }
    }

    /// Hangs a job in where it belongs in a state; it hangs nowhere.
    pub(crate) fn attach(&mut self, job: u32, state: JobState) {
        self.lines.reach(job);
        let now = self.now;
        let until = self.lease_until(self.jobs.at(job));
        let entry = self.jobs.at_mut(job);
        entry.become_state(state);
        let (lane, due, retry, extra) = (entry.lane, entry.due(), entry.retry(), entry.extra);
        let keyed = self.lanes.at(lane).key.is_some();
        match state {
            JobState::Delayed => {
                self.push_back(job);
                self.timers.arm(Timer::Job(job), due, now);
            }
            JobState::Due => {
                if retry && keyed {
                    self.push_front(job);
                } else {
                    self.push_back(job);
                }
                let queue = self.lanes.at(lane).queue;
                self.queues.at_mut(queue).due += 1;
            }
            JobState::Reserved => {
                self.push_back(job);
                self.timers.arm(Timer::Job(job), until, now);
            }
            JobState::Buried | JobState::Dead => self.push_back(job),
        }
        if keyed && (state == JobState::Reserved || state == JobState::Delayed && retry) {
            self.lanes.at_mut(lane).holder = job;
        }
        if state != JobState::Reserved && extra != NONE {
            // While it was reserved its time may have run out unheeded.
            let expires = self.extras.at(extra).expires;
            if expires.0 != 0 && expires <= now {
                self.over.push_back(extra);
            } else if expires.0 != 0 && !self.timers.is_armed(Timer::Extra(extra)) {
                self.timers.arm(Timer::Extra(extra), expires, now);
            }
        }
        if state == JobState::Due || keyed {
            self.settle_lane(lane);
        }
    }

    /// Takes a job from where it hangs.
    pub(crate) fn detach(&mut self, job: u32) {
        self.unlink(job);
        let entry = self.jobs.at(job);
        let (lane, state) = (entry.lane, entry.state());
        match state {
            JobState::Delayed | JobState::Reserved => self.timers.disarm(Timer::Job(job)),
            JobState::Due => {
                let queue = self.lanes.at(lane).queue;
                self.queues.at_mut(queue).due -= 1;
            }
            JobState::Buried | JobState::Dead => {}
        }
        let held = self.lanes.at(lane).holder == job;
        if held {
            self.lanes.at_mut(lane).holder = NONE;
        }
        if held || state == JobState::Due {
            self.settle_lane(lane);
        }
    }

    /// Moves a lane to where it belongs now.
    pub(crate) fn settle_lane(&mut self, place: u32) {
        let lane = self.lanes.at(place);
        let belongs = if lane.ready.head == NONE {
            LanePlace::Out
        } else if lane.holder != NONE || lane.parked {
            LanePlace::Waiting
        } else {
            LanePlace::Ring(self.jobs.at(lane.ready.head).priority())
        };
        if belongs != lane.place {
            self.unhang_lane(place);
            self.hang_lane(place, belongs);
        }
    }

    /// The lane had its turn: the others of its ring come first.
    pub(crate) fn rotate(&mut self, place: u32) {
        let lane = self.lanes.at(place);
        let at = lane.place;
        if let LanePlace::Ring(_) = at
            && lane.line.next != NONE
        {
            self.unhang_lane(place);
            self.hang_lane(place, at);
        }
    }

    fn unhang_lane(&mut self, place: u32) {
        let lane = self.lanes.at_mut(place);
        let (at, queue, line) = (lane.place, lane.queue, std::mem::take(&mut lane.line));
        lane.place = LanePlace::Out;
        let queue = self.queues.at_mut(queue);
        let list = match at {
            LanePlace::Out => return,
            LanePlace::Ring(priority) => &mut queue.rings[usize::from(priority)],
            LanePlace::Waiting => &mut queue.waiting,
        };
        list.length -= 1;
        if list.head == place {
            list.head = line.next;
        }
        if list.tail == place {
            list.tail = line.previous;
        }
        if let LanePlace::Ring(priority) = at
            && list.head == NONE
        {
            queue.ring_mask &= !(1 << priority);
        }
        if line.previous != NONE {
            self.lanes.at_mut(line.previous).line.next = line.next;
        }
        if line.next != NONE {
            self.lanes.at_mut(line.next).line.previous = line.previous;
        }
    }

    fn hang_lane(&mut self, place: u32, at: LanePlace) {
        let queue_place = self.lanes.at(place).queue;
        let queue = self.queues.at_mut(queue_place);
        let list = match at {
            LanePlace::Out => return,
            LanePlace::Ring(priority) => {
                queue.ring_mask |= 1 << priority;
                &mut queue.rings[usize::from(priority)]
            }
            LanePlace::Waiting => &mut queue.waiting,
        };
        list.length += 1;
        let tail = std::mem::replace(&mut list.tail, place);
        if tail == NONE {
            list.head = place;
        }
        if matches!(at, LanePlace::Ring(_)) {
            self.announce(queue_place);
        }
        if tail != NONE {
            self.lanes.at_mut(tail).line.next = place;
        }
        let lane = self.lanes.at_mut(place);
        lane.line = Line { next: NONE, previous: tail };
        lane.place = at;
    }

    /// Something of the queue may be handed out now.
    pub(crate) fn announce(&mut self, place: u32) {
        let queue = self.queues.at_mut(place);
        if !queue.announced && !queue.paused && queue.ring_mask != 0 {
            queue.announced = true;
            self.ready.push(place);
        }
    }

    /// The queues in which something became ready to be handed out since the last call, each once.
    pub fn take_ready(&mut self, into: &mut Vec<QueueName>) {
        for place in self.ready.drain(..) {
            let queue = self.queues.at_mut(place);
            queue.announced = false;
            if !queue.paused && queue.ring_mask != 0 {
                into.push(queue.name.clone());
            }
        }
    }

    /// Payloads that came to life or died since the last call.
    pub fn take_payload_changes(&mut self, into: &mut Vec<PayloadChange>) {
        into.append(&mut self.changes);
    }

    // Time.

    /// Time goes on: jobs whose moment has come become due, dedup ids are forgotten, gates open. Nothing
    /// of this needs an event: it follows from the moments that events named.
    pub(crate) fn advance(&mut self, now: Time) {
        self.advance_some(now, 1);
    }

    /// The same to the end, however much it is.
    pub(crate) fn advance_all(&mut self, now: Time) {
        while !self.advance_some(now, usize::MAX) {}
    }

    fn advance_some(&mut self, now: Time, rounds: usize) -> bool {
        let stepped_back = now.0.saturating_add(STEP_BACK) < self.now.0;
        let leapt = now.0.saturating_sub(self.now.0) >= crate::timers::AHEAD_MAX;
        if stepped_back || leapt {
            self.rearm_all(now);
        }
        self.now = self.now.max(now);
        let now = self.now;
        if self.timers.reached(now) {
            return true;
        }
        let mut fired = std::mem::take(&mut self.fired);
        let mut reached = false;
        for _ in 0..rounds {
            fired.clear();
            reached = self.timers.advance(now, &mut fired, FIRED_AT_ONCE);
            self.fire(&fired);
            if reached {
                break;
            }
        }
        self.fired = fired;
        reached
    }

    fn fire(&mut self, fired: &[u32]) {
        let now = self.now;
        let mut came_due = std::mem::take(&mut self.came_due);
        for &index in fired {
            match Timer::of(index) {
                Timer::Job(place) => {
                    let job = self.jobs.at(place);
                    match job.state() {
                        JobState::Delayed if job.due() > now => {
                            self.timers.arm(Timer::Job(place), job.due(), now);
                        }
                        JobState::Delayed => came_due.push((job.due(), job.sequence(), place)),
                        JobState::Reserved if self.lease_until(job) > now => {
                            let until = self.lease_until(job);
                            self.timers.arm(Timer::Job(place), until, now);
                        }
                        JobState::Reserved => self.lapsed.push_back(place),
                        _ => {}
                    }
                }
                Timer::Extra(place) => {
                    let expires = self.extras.at(place).expires;
                    if expires > now {
                        self.timers.arm(Timer::Extra(place), expires, now);
                    } else {
                        self.over.push_back(place);
                    }
                }
                Timer::Dedup(place) => {
                    let until = self.remembered.at(place).until;
                    if until > now {
                        self.timers.arm(Timer::Dedup(place), until, now);
                    } else {
                        self.forget(place);
                    }
                }
                Timer::Lane(place) => self.lane_gate(place),
                Timer::Queue(place) => self.announce(place),
            }
        }
        came_due.sort_unstable();
        for (_, _, place) in came_due.drain(..) {
            self.detach(place);
            self.attach(place, JobState::Due);
        }
        self.came_due = came_due;
    }

    fn lane_gate(&mut self, place: u32) {
        let now = self.now;
        let lane = self.lanes.at_mut(place);
        if std::mem::take(&mut lane.parked) {
            self.settle_lane(place);
        }
        let lane = self.lanes.at(place);
        if lane.jobs == 0 && lane.key.is_some() {
            let limit = self.queues.at(lane.queue).settings().key_limit;
            match limit.and_then(|limit| lane.bucket.full_at(now, &limit)) {
                Some(full) => self.timers.arm(Timer::Lane(place), full, now),
                None => self.remove_lane(place),
            }
        }
    }

    /// The clock was set, or much time has passed: every timer is armed anew. Takes some time with many jobs.
    pub(crate) fn rearm_all(&mut self, now: Time) {
        let ends: Vec<_> = self
            .jobs
            .iter()
            .filter(|(_, job)| job.state() == JobState::Reserved)
            .map(|(place, job)| (place, self.lease_until(job)))
            .collect();
        self.now = now;
        for (place, until) in ends {
            // What ended long ago must not look as if it ended in the future.
            let until = until.0.max(now.0.saturating_sub(crate::timers::AHEAD_MAX));
            self.jobs.at_mut(place).lease_until = until as u32;
        }
        self.timers.restart(now);
        let mut arm = Vec::new();
        for (place, job) in self.jobs.iter() {
            match job.state() {
                JobState::Delayed => arm.push((Timer::Job(place), job.due())),
                JobState::Reserved => arm.push((Timer::Job(place), self.lease_until(job))),
                _ => {}
            }
        }
        arm.extend(
            self.extras
                .iter()
                .filter(|(_, extra)| extra.expires.0 != 0)
                .map(|(place, extra)| (Timer::Extra(place), extra.expires)),
        );
        arm.extend(self.remembered.iter().map(|(place, entry)| (Timer::Dedup(place), entry.until)));
        arm.extend(
            self.lanes
                .iter()
                .filter(|(_, lane)| lane.parked || lane.key.is_some() && lane.jobs == 0)
                .map(|(place, _)| (Timer::Lane(place), now)),
        );
        arm.extend(self.queues.iter().map(|(place, _)| (Timer::Queue(place), now)));
        for (timer, at) in arm {
            self.timers.arm(timer, at, now);
        }
        // Tokens are counted from a moment that may lie ahead now.
        let queues: Vec<_> = self.queues.iter().map(|(place, _)| place).collect();
        queues.into_iter().for_each(|place| self.queues.at_mut(place).bucket = Bucket::default());
        let lanes: Vec<_> = self.lanes.iter().map(|(place, _)| place).collect();
        lanes.into_iter().for_each(|place| self.lanes.at_mut(place).bucket = Bucket::default());
    }

    /// When `tick` is to be called next; it may be called earlier, and may then find nothing.
    pub fn next_deadline(&self) -> Option<Time> {
        let overdue = !self.lapsed.is_empty()
            || !self.over.is_empty()
            || !self.purges.is_empty()
            || !self.timers.reached(self.now);
        if overdue {
            return Some(self.now);
        }
        let moment = self.moments.first().map(|&(at, _)| at);
        [self.timers.next(self.now), moment].into_iter().flatten().min()
    }

    /// A number that nobody foresees, from the one that the driver passed in.
    pub(crate) fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.random;
        drawn = (drawn ^ drawn >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ drawn >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        drawn ^ drawn >> 31
    }
}
