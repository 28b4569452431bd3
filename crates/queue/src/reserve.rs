//! Handing out jobs: whose turn it is.
//!
//! By priority first; among the lanes of one priority each in turn gives one job; within a lane in
//! order. Expired and purged jobs are taken out on the way instead of being handed out.

use crate::entries::LanePlace;
use crate::events::JobEvent;
use crate::execute::Executed;
use crate::job::NONE;
use crate::record::Writer;
use crate::timers::Timer;
use crate::{Answer, JobState, Lease, Milliseconds, QueueName, Queues, Reserved, Time, WorkerName, validate};

/// Jobs that one reserve takes out instead of handing them out; the next one goes on.
const TAKEN_OUT_MAX: u32 = 1_000;

impl Queues {
    pub(crate) fn reserve(
        &mut self,
        writer: &mut Writer<'_>,
        queue: &QueueName,
        jobs_max: u32,
        lease: Option<Milliseconds>,
        worker: Option<&WorkerName>,
    ) -> Executed {
        validate::count(jobs_max as usize)?;
        lease.map_or(Ok(()), validate::lease)?;
        let Some(place) = self.find_queue(queue.as_str()) else {
            return Ok(Answer::Reserved(Vec::new()));
        };
        let until = self.now.after(lease.unwrap_or(self.queues.at(place).settings().lease));
        let likely = (jobs_max).min(self.queues.at(place).due) as usize;
        let mut reserved = Vec::with_capacity(likely);
        let mut taken_out = 0;
        while reserved.len() < jobs_max as usize && taken_out < TAKEN_OUT_MAX {
            let Some(job) = self.next_job(place) else { return Ok(Answer::Reserved(reserved)) };
            if let Some(what) = self.not_to_be_handed_out(place, job) {
                self.emit(writer, job, &what);
                taken_out += 1;
                continue;
            }
            if reserved.is_empty() {
                writer.worker(worker.map_or("", |worker| worker.as_str()));
            }
            self.take_tokens(place, job);
            reserved.push(self.hand_out(writer, job, until));
        }
        // Jobs that were left may be another consumer's.
        self.announce(place);
        Ok(Answer::Reserved(reserved))
    }

    fn hand_out(&mut self, writer: &mut Writer<'_>, place: u32, until: Time) -> Reserved<crate::PayloadAt> {
        let job = self.jobs.at(place);
        let reservation = self.rest(job).reservation.wrapping_add(1).max(1);
        let attempt = job.attempts().saturating_add(1);
        let reserved = Reserved {
            lease: Lease { job: self.id(job.sequence()), reservation },
            until,
            attempt,
            put_at: job.put_at(),
            due: job.due(),
            priority: job.priority(),
            key: self.lanes.at(job.lane).key.clone(),
            payload: job.payload(),
        };
        self.emit(writer, place, &JobEvent::Reserved { reservation, attempt, until });
        reserved
    }

    /// The job whose turn it is. Lanes whose key has no token step aside until it has one.
    fn next_job(&mut self, place: u32) -> Option<u32> {
        let now = self.now;
        loop {
            let queue = self.queues.at(place);
            if queue.paused || queue.ring_mask == 0 {
                return None;
            }
            if let Some(limit) = &queue.settings().limit
                && let Err(at) = queue.bucket.ask(now, limit)
            {
                self.timers.arm(Timer::Queue(place), at, now);
                return None;
            }
            let priority = 15 - queue.ring_mask.leading_zeros();
            let lane_place = queue.rings[priority as usize].head;
            let lane = self.lanes.at(lane_place);
            if lane.key.is_some()
                && let Some(limit) = &queue.settings().key_limit
                && let Err(at) = lane.bucket.ask(now, limit)
            {
                self.lanes.at_mut(lane_place).parked = true;
                self.timers.arm(Timer::Lane(lane_place), at, now);
                self.settle_lane(lane_place);
                debug_assert!(self.lanes.at(lane_place).place == LanePlace::Waiting, "it stepped aside");
                continue;
            }
            debug_assert!(lane.ready.head != NONE, "a lane in a ring has a job that is due");
            return Some(lane.ready.head);
        }
    }

    fn not_to_be_handed_out(&self, place: u32, job: u32) -> Option<JobEvent<'static>> {
        let job = self.jobs.at(job);
        if self.expires(job).is_some_and(|at| at <= self.now) {
            return Some(JobEvent::Expired);
        }
        let purge = self.queues.at(place).purge?;
        let purged = purge.states & 1 << JobState::Due as u8 != 0 && job.sequence() < purge.before;
        purged.then_some(JobEvent::Deleted)
    }

    fn take_tokens(&mut self, place: u32, job: u32) {
        let now = self.now;
        let lane = self.jobs.at(job).lane;
        let queue = self.queues.at(place);
        let settings = queue.settings();
        let (limit, key_limit) = (settings.limit, settings.key_limit);
        if let Some(limit) = limit {
            self.queues.at_mut(place).bucket.take(now, &limit);
        }
        if let Some(limit) = key_limit {
            self.lanes.at_mut(lane).bucket.take(now, &limit);
        }
    }
}
