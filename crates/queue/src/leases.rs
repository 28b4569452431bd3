//! A worker's commands about the jobs that it holds: done, not done, longer, set aside.
//!
//! A lease is a job and the number of its reservation. With any other number it is lost: the job
//! went on without it. Recently settled jobs are remembered, so that settling twice is no error.

use crate::entries::End;
use crate::events::{Disposition, JobEvent, Payload};
use crate::execute::Executed;
use crate::record::Writer;
use crate::refusal::{JOB_UNKNOWN, LEASE_LOST, rejected};
use crate::{
    Answer, Backoff, DeadLetter, Given, JobId, JobState, Lease, Milliseconds, NewJob, Outcome, Queues,
    Refusal, Retry, When, validate,
};

pub(crate) fn unknown(job: JobId) -> Refusal {
    rejected(JOB_UNKNOWN, format!("there is no job {job}: it is done or was never put"))
}

fn lost(lease: Lease) -> Refusal {
    let reason = format!("the lease {lease} is lost: it ended, and the job went on without it");
    rejected(LEASE_LOST, reason)
}

impl Queues {
    /// The job that a lease is good for.
    pub(crate) fn held(&self, lease: Lease) -> Result<u32, Refusal> {
        if lease.job.shard() != self.place.shard {
            return Err(unknown(lease.job));
        }
        let Some(place) = self.find_job(lease.job.sequence()) else {
            let finished = self.find_finished(lease.job.sequence());
            return Err(if finished.is_some() { lost(lease) } else { unknown(lease.job) });
        };
        let job = self.jobs.at(place);
        if job.state() != JobState::Reserved || self.rest(job).reservation != lease.reservation {
            return Err(lost(lease));
        }
        Ok(place)
    }

    fn settled_before(&self, lease: Lease) -> bool {
        lease.job.shard() == self.place.shard
            && self.find_finished(lease.job.sequence()).is_some_and(|finished| {
                finished.end == End::Settled && finished.reservation == lease.reservation
            })
    }

    /// As which job it goes on, where this very lease forwarded it.
    pub(crate) fn forwarded_before(&self, lease: Lease) -> Option<u64> {
        if lease.job.shard() != self.place.shard {
            return None;
        }
        let finished = self.find_finished(lease.job.sequence())?;
        let same = finished.end == End::Forwarded && finished.reservation == lease.reservation;
        same.then_some(finished.to)
    }

    fn each(
        &mut self,
        writer: &mut Writer<'_>,
        leases: &[Lease],
        mut what: impl FnMut(&mut Self, &mut Writer<'_>, u32) -> Outcome,
    ) -> Executed {
        validate::count(leases.len())?;
        let mut given = Vec::with_capacity(leases.len());
        for &lease in leases {
            given.push(match self.held(lease) {
                Ok(place) => what(self, writer, place),
                Err(refusal) => Err(refusal),
            });
        }
        Ok(Answer::Given(given))
    }

    pub(crate) fn settle(&mut self, writer: &mut Writer<'_>, leases: &[Lease]) -> Executed {
        validate::count(leases.len())?;
        let mut given = Vec::with_capacity(leases.len());
        for &lease in leases {
            given.push(match self.held(lease) {
                Ok(place) => {
                    self.emit(writer, place, &JobEvent::Settled);
                    Ok(Given::Done)
                }
                Err(_) if self.settled_before(lease) => Ok(Given::Already),
                Err(refusal) => Err(refusal),
            });
        }
        Ok(Answer::Given(given))
    }

    pub(crate) fn release(
        &mut self,
        writer: &mut Writer<'_>,
        leases: &[Lease],
        retry: Retry,
        error: Option<&str>,
    ) -> Executed {
        validate::retry(retry)?;
        validate::reason(error)?;
        let error = error.unwrap_or("");
        self.each(writer, leases, |queues, writer, place| {
            let job = queues.jobs.at(place);
            let (attempts, last) = (job.attempts(), job.attempts() >= job.attempts_max());
            let (attempts, delay) = match retry {
                Retry::NotTried(delay) => (attempts.saturating_sub(1), delay),
                _ if last => {
                    let reason = if error.is_empty() { "its last attempt failed" } else { error };
                    queues.die(writer, place, reason);
                    return Ok(Given::Dead);
                }
                Retry::After(delay) => (attempts, delay),
                Retry::Backoff => (attempts, queues.backoff(place)),
            };
            writer.reason(error);
            let due = queues.now.after(delay);
            queues.emit(writer, place, &JobEvent::Released { attempts, due });
            Ok(Given::Done)
        })
    }

    pub(crate) fn extend(
        &mut self,
        writer: &mut Writer<'_>,
        leases: &[Lease],
        lease: Milliseconds,
    ) -> Executed {
        validate::lease(lease)?;
        let until = self.now.after(lease);
        self.each(writer, leases, |queues, writer, place| {
            queues.emit(writer, place, &JobEvent::Extended { until });
            Ok(Given::Done)
        })
    }

    pub(crate) fn bury(
        &mut self,
        writer: &mut Writer<'_>,
        leases: &[Lease],
        reason: Option<&str>,
    ) -> Executed {
        validate::reason(reason)?;
        self.each(writer, leases, |queues, writer, place| {
            writer.reason(reason.unwrap_or(""));
            queues.emit(writer, place, &JobEvent::Buried);
            Ok(Given::Done)
        })
    }

    pub(crate) fn backoff(&mut self, place: u32) -> Milliseconds {
        let drawn = self.draw();
        let attempts = self.jobs.at(place).attempts();
        delay_of(&self.queues.at(self.queue_of(place)).settings().backoff, attempts, drawn)
    }

    /// A job's last attempt failed: it goes to the queue that its queue's settings name, or stays
    /// as dead where it cannot go there.
    pub(crate) fn die(&mut self, writer: &mut Writer<'_>, place: u32, reason: &str) {
        let queue = self.queue_of(place);
        let settings = self.queues.at(queue).settings();
        let expires = self.now.after(settings.dead_time_to_live);
        let dead_letter = settings.dead_letter.clone();
        writer.reason(reason);
        let target = match dead_letter {
            DeadLetter::Discard => {
                return self.emit(
                    writer,
                    place,
                    &JobEvent::Dead { disposition: Disposition::IsGone, expires },
                );
            }
            DeadLetter::Queue(name) if name != self.queues.at(queue).name => Some(name),
            DeadLetter::Queue(_) | DeadLetter::Keep => None,
        };
        if let Some(name) = target
            && self.can_go_to(&name)
        {
            self.emit(writer, place, &JobEvent::Dead { disposition: Disposition::GoesOn, expires });
            return self.go_to(writer, place, &name);
        }
        self.emit(writer, place, &JobEvent::Dead { disposition: Disposition::Stays, expires });
    }

    /// Whether a job of the shard can go to a queue.
    pub(crate) fn can_go_to(&self, name: &crate::QueueName) -> bool {
        if !self.is_local(name) {
            return self.room_for_outgoing(1).is_ok();
        }
        let place = self.find_queue(name.as_str());
        (place.is_some() || self.room_for_queue(name).is_ok()) && self.room_for_target(place, name).is_ok()
    }

    /// A dead job is due in another queue, which can take it.
    pub(crate) fn go_to(&mut self, writer: &mut Writer<'_>, place: u32, name: &crate::QueueName) {
        let due = self.now;
        if self.is_local(name) {
            let target = match self.find_queue(name.as_str()) {
                Some(target) => target,
                None => self.make_queue(writer, name, self.bounds.defaults.clone()),
            };
            self.enter(writer, target);
            return self.emit(writer, place, &JobEvent::Revived { due });
        }
        let job = self.jobs.at(place);
        let payload = Payload::At(job.payload());
        let new = NewJob {
            when: When::Now,
            priority: Some(job.priority()),
            key: self.lanes.at(job.lane).key.clone(),
            attempts_max: Some(job.attempts_max()),
            ..NewJob::default()
        };
        // It stays the job of who put it.
        writer.principal(self.principals.id(job.principal()));
        self.send(writer, place, name, &new, payload);
    }

    /// Back in its own queue, due at once and behind what is due of its key.
    pub(crate) fn revive_here(&mut self, writer: &mut Writer<'_>, place: u32) {
        let queue = self.queue_of(place);
        self.enter(writer, queue);
        let lane = self.lanes.at(self.jobs.at(place).lane);
        let tail = lane.ready.tail;
        let behind = |tail: u32| self.jobs.at(tail).due().after(1);
        let due = match tail {
            crate::job::NONE => self.now,
            tail if lane.key.is_some() => self.now.max(behind(tail)),
            _ => self.now,
        };
        self.emit(writer, place, &JobEvent::Revived { due });
    }
}

/// How long a job waits that failed so many times: see [`Backoff`].
fn delay_of(backoff: &Backoff, attempts: u16, drawn: u64) -> Milliseconds {
    let exponent = i32::from(attempts.max(1)) - 1;
    let whole = (backoff.first as f64 * f64::from(backoff.factor).powi(exponent)).min(backoff.max as f64);
    let part = (drawn >> 11) as f64 / (1_u64 << 53) as f64;
    (whole * (1.0 - f64::from(backoff.jitter) * part)).round() as Milliseconds
}

#[cfg(test)]
mod tests {
    use super::delay_of;
    use crate::Backoff;

    #[test]
    fn delays_grow_up_to_a_bound_and_are_spread_downwards() {
        let still = Backoff { first: 1_000, factor: 2.0, max: 60_000, jitter: 0.0 };
        let delays: Vec<_> = [1, 2, 3, 6, 7, 1_000].map(|attempts| delay_of(&still, attempts, 0)).into();
        assert_eq!(delays, [1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
        let half = Backoff { jitter: 0.5, ..still };
        assert_eq!(delay_of(&half, 1, 0), 1_000);
        assert_eq!(delay_of(&half, 1, u64::MAX), 500);
        assert_eq!(delay_of(&Backoff { max: 0, ..still }, 3, 7), 0);
    }
}
