//! Events of the push platform on their way into the queues of their feeds.
//!
//! They are put in a record of their own right behind the record of their cause: a crash between
//! the two loses those events, never their cause. How many may wait is bounded; while the queues or
//! the disk take none, the newest are dropped and counted.

use stadium_journal::{Journal, Room};
use stadium_push::Platform;
use stadium_push::feed::FeedJob;
use stadium_queue::{NewJob, QueueName, Queues, Refusal, Time, put_each_bytes_max};

use super::carried::FeedJobs;
use crate::core::direct::Direct;
use crate::core::fault::Fault;
use crate::core::ports::Caller;
use crate::core::running::{BASE_BYTES, Running};
use crate::frame::{HEADER_BYTES, MachineId};

/// Jobs in one record: some 40 KB each.
const JOBS_A_RECORD: usize = 32;

/// Jobs that wait; each holds up to 500 events. A broadcast to a million devices makes 2,000.
const WAITING_MAX: usize = 4_096;

impl<J: Journal, C: Caller, M: Direct> Running<J, C, M> {
    /// Puts the events of this turn into their queues, one record of them. Returns whether there
    /// are more.
    pub(in crate::core) fn put_events(&mut self, now: Time) -> Result<bool, Fault> {
        let FeedJobs { waiting, fresh, dropped } = &mut self.feed_jobs;
        self.machines.machine_mut::<Platform>().take_events(fresh);
        for FeedJob { queue, payload } in fresh.drain(..) {
            match QueueName::new(&queue) {
                Ok(queue) if waiting.len() < WAITING_MAX => {
                    waiting.push_back((queue, NewJob { payload, ..NewJob::default() }))
                }
                _ => *dropped += 1,
            }
        }
        if self.feed_jobs.waiting.is_empty() || self.is_full(now) {
            return Ok(false);
        }
        let count = self.feed_jobs.waiting.len().min(JOBS_A_RECORD);
        let jobs = &self.feed_jobs.waiting.make_contiguous()[..count];
        let bytes = BASE_BYTES + put_each_bytes_max(jobs);
        let Some(Ok(at)) = self.room_for(bytes, Room::Ordinary, now)? else { return Ok(false) };
        let jobs: Vec<_> = self.feed_jobs.waiting.drain(..count).collect();
        self.record.begin(HEADER_BYTES);
        let random = self.random.next();
        match self.machines.machine_mut::<Queues>().put_each(at.0, now, random, &jobs, None, &mut self.record)
        {
            Ok(_) => self.append_events(MachineId::of::<Queues>(), at, now, Room::Ordinary)?,
            Err(Refusal::Busy { .. } | Refusal::Unknown { .. }) => {
                // Ahead of those that came meanwhile, for the next turn.
                jobs.into_iter().rev().for_each(|job| self.feed_jobs.waiting.push_front(job));
                return Ok(false);
            }
            Err(refusal @ Refusal::Rejected { .. }) => {
                self.feed_jobs.dropped += jobs.len() as u64;
                tracing::warn!(%refusal, jobs = jobs.len(), "Events of feeds dropped");
            }
        }
        Ok(!self.feed_jobs.waiting.is_empty())
    }
}
