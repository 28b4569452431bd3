//! Questions that change nothing: peek, find, stats, list, schedules.
//!
//! Each looks at a bounded number of jobs, however large the queue.

use std::ops::Bound;

use crate::entries::List;
use crate::execute::Executed;
use crate::job::NONE;
use crate::leases::unknown;
use crate::refusal::{MISDIRECTED, rejected};
use crate::{
    Answer, Command, JobId, JobState, JobView, Key, PayloadAt, QueueName, QueueStats, Queues, ScheduleView,
    Time, validate,
};

/// The order in which a peek at all states goes through them.
const STATES: [JobState; 5] =
    [JobState::Due, JobState::Reserved, JobState::Delayed, JobState::Buried, JobState::Dead];

/// Jobs that a peek with a key looks at.
const LOOKED_AT_MAX: usize = 20_000;

/// Schedules that one answer lists.
const SCHEDULES_MAX: usize = 1_000;

/// Bytes of payloads that such an answer holds; schedules beyond it come without theirs. It bounds
/// the memory of an answer, and what it takes on a link between nodes.
const SCHEDULES_BYTES_MAX: u32 = 4 << 20;

/// Lanes that are looked at for the oldest job.
const LANES_MAX: usize = 1_024;

impl Queues {
    /// Answers a command that changes nothing: peek, find, stats, list, schedules.
    ///
    /// # Errors
    ///
    /// It asks for something unknown, or out of bounds. History is the shard's: see
    /// [`Self::history_start`].
    pub fn read(&self, _now: Time, command: &Command) -> Executed {
        match command {
            Command::Peek { queue, state, key, after, jobs_max } => {
                self.peek(queue, *state, key.as_ref(), *after, *jobs_max)
            }
            Command::Find { job } => {
                let here = job.shard() == self.place.shard;
                let place = if here { self.find_job(job.sequence()) } else { None };
                Ok(Answer::Jobs(vec![self.view(place.ok_or_else(|| unknown(*job))?)]))
            }
            Command::Stats { queue } => Ok(Answer::Queues(vec![self.stats(self.known_queue(queue)?)])),
            Command::List { after, queues_max } => {
                validate::count(*queues_max as usize)?;
                let from = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                let queues = self.names.range((from, Bound::Unbounded)).take(*queues_max as usize);
                Ok(Answer::Queues(queues.map(|(_, &place)| self.stats(place)).collect()))
            }
            Command::Schedules { queue } => {
                let place = self.known_queue(queue)?;
                let from = (place, Key::vacant());
                let schedules = self.by_schedule.range(from..).take_while(|((of, _), _)| *of == place);
                let mut bytes = 0_u32;
                let view = |(_, &at): (_, &u32)| {
                    let schedule = self.schedules.at(at);
                    bytes = bytes.saturating_add(schedule.payload.length);
                    ScheduleView {
                        name: schedule.name.clone(),
                        cron: schedule.cron.clone(),
                        next: schedule.next,
                        last: schedule.last.map(|(at, job)| (at, self.id(job))),
                        principal: schedule.principal.clone(),
                        priority: schedule.priority,
                        attempts_max: schedule.attempts_max,
                        key: schedule.key.clone(),
                        time_to_live: schedule.time_to_live,
                        payload: (bytes <= SCHEDULES_BYTES_MAX).then_some(schedule.payload),
                    }
                };
                Ok(Answer::Schedules(schedules.take(SCHEDULES_MAX).map(view).collect()))
            }
            _ => Err(rejected(MISDIRECTED, "the command is none that only reads")),
        }
    }

    fn peek(
        &self,
        queue: &QueueName,
        state: Option<JobState>,
        key: Option<&Key>,
        after: Option<JobId>,
        jobs_max: u32,
    ) -> Executed {
        validate::count(jobs_max as usize)?;
        let queue = self.known_queue(queue)?;
        let states = state.map_or(&STATES[..], |state| {
            let at = STATES.iter().position(|of| *of == state).expect("all states are in it");
            &STATES[at..=at]
        });
        let mut walk = Walk { queues: self, queue, states, lane: NONE, next: NONE };
        let after = after.and_then(|id| self.find_job(id.sequence()));
        match after.filter(|&place| self.queue_of(place) == queue) {
            Some(place) => walk.begin_behind(place),
            None => walk.begin(),
        }
        let lane = key.map(|key| self.find_lane(queue, key.as_str()));
        let mut jobs = Vec::new();
        for place in walk.take(LOOKED_AT_MAX) {
            if lane.is_none_or(|lane| lane == Some(self.jobs.at(place).lane)) {
                jobs.push(self.view(place));
                if jobs.len() == jobs_max as usize {
                    break;
                }
            }
        }
        Ok(Answer::Jobs(jobs))
    }

    fn view(&self, place: u32) -> JobView<PayloadAt> {
        let job = self.jobs.at(place);
        let lane = self.lanes.at(job.lane);
        let extra = self.extras.get(self.rest(job).extra);
        JobView {
            job: self.id(job.sequence()),
            queue: self.queues.at(lane.queue).name.clone(),
            state: job.state(),
            put_at: job.put_at(),
            due: job.due(),
            lease_until: (job.state() == JobState::Reserved).then(|| self.lease_until(job)),
            expires: self.expires(job),
            attempts: job.attempts(),
            attempts_max: job.attempts_max(),
            priority: job.priority(),
            key: lane.key.clone(),
            reason: extra.and_then(|extra| extra.reason.as_deref()).map(str::to_owned),
            principal: self.principals.id(job.principal()).cloned(),
            payload: job.payload(),
        }
    }

    fn stats(&self, place: u32) -> QueueStats {
        let queue = self.queues.at(place);
        QueueStats {
            queue: queue.name.clone(),
            settings: queue.settings().clone(),
            paused: queue.paused,
            delayed: queue.count(JobState::Delayed),
            due: queue.count(JobState::Due),
            reserved: queue.count(JobState::Reserved),
            buried: queue.count(JobState::Buried),
            dead: queue.count(JobState::Dead),
            oldest_due: self.oldest_due(place),
            put: queue.put,
            handed_out: queue.handed_out,
            settled: queue.settled,
            retried: queue.retried,
            died: queue.died,
            duplicates: queue.duplicates,
            waiting: 0,
        }
    }

    /// When the oldest job became due, of the first of the lanes where there are very many.
    fn oldest_due(&self, place: u32) -> Option<Time> {
        let queue = self.queues.at(place);
        let lists = queue.rings.iter().chain([&queue.waiting]);
        let lanes = lists.flat_map(|list: &List| {
            std::iter::successors(Some(list.head).filter(|&lane| lane != NONE), |&lane| {
                Some(self.lanes.at(lane).line.next).filter(|&lane| lane != NONE)
            })
        });
        lanes.take(LANES_MAX).map(|lane| self.jobs.at(self.lanes.at(lane).ready.head).due()).min()
    }

    /// The position of the job's newest event: of one that is here, or that was finished lately.
    pub fn history_start(&self, job: JobId) -> Option<u64> {
        if job.shard() != self.place.shard {
            return None;
        }
        let here = self.find_job(job.sequence()).map(|place| self.rest(self.jobs.at(place)).last);
        here.or_else(|| self.find_finished(job.sequence()).map(|finished| finished.last))
    }

    /// Every payload that lives, for the accounting after a recovery.
    pub fn live_payloads(&self, each: &mut dyn FnMut(PayloadAt)) {
        self.jobs.iter().for_each(|(_, job)| each(job.payload()));
        self.schedules.iter().for_each(|(_, schedule)| each(schedule.payload));
        self.outgoing.values().for_each(|sent| each(sent.payload));
    }
}

/// Goes through the jobs of a queue, state by state.
struct Walk<'q> {
    queues: &'q Queues,
    queue: u32,
    /// States that are left, the present one first.
    states: &'q [JobState],
    /// The lane that it is in, while it is among those that are due.
    lane: u32,
    /// The next job; none where the list is at its end.
    next: u32,
}

impl Walk<'_> {
    fn begin(&mut self) {
        let Some(&state) = self.states.first() else { return };
        if state == JobState::Due {
            self.enter_ring(usize::from(crate::Bounds::PRIORITY_MAX));
        } else {
            self.next = self.queues.queues.at(self.queue).lists[state as usize].head;
        }
    }

    fn begin_behind(&mut self, place: u32) {
        let job = self.queues.jobs.at(place);
        match self.states.iter().position(|&state| state == job.state()) {
            Some(at) => {
                self.states = &self.states[at..];
                self.next = self.queues.lines[place].next;
                self.lane = if job.state() == JobState::Due { job.lane } else { NONE };
            }
            // It went on to another state since the last page.
            None => self.begin(),
        }
    }

    /// The first lane of a ring or of one below it, or of those that wait.
    fn enter_ring(&mut self, from: usize) {
        let queue = self.queues.queues.at(self.queue);
        let rings = queue.rings[..=from].iter().rev();
        self.lane =
            rings.chain([&queue.waiting]).map(|list| list.head).find(|&lane| lane != NONE).unwrap_or(NONE);
        if self.lane != NONE {
            self.next = self.queues.lanes.at(self.lane).ready.head;
        }
    }

    fn next_lane(&mut self) {
        use crate::entries::LanePlace;
        let lane = self.queues.lanes.at(self.lane);
        if lane.line.next != NONE {
            self.lane = lane.line.next;
            self.next = self.queues.lanes.at(self.lane).ready.head;
            return;
        }
        match lane.place {
            LanePlace::Ring(priority) if priority > 0 => self.enter_ring(usize::from(priority) - 1),
            LanePlace::Ring(_) => {
                self.lane = self.queues.queues.at(self.queue).waiting.head;
                if self.lane != NONE {
                    self.next = self.queues.lanes.at(self.lane).ready.head;
                }
            }
            LanePlace::Waiting | LanePlace::Out => self.lane = NONE,
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        while self.next == NONE {
            if self.lane != NONE {
                self.next_lane();
                continue;
            }
            self.states = self.states.get(1..)?;
            if self.states.is_empty() {
                return None;
            }
            self.begin();
        }
        let place = self.next;
        self.next = self.queues.lines[place].next;
        Some(place)
    }
}
