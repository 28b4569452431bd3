//! New jobs: puts, forwards, and what they need to know about a queue.
//!
//! Everything is checked before the first event is written: a put is all or nothing.

use crate::entries::Queue;
use crate::events::{DedupPart, Event, JobEvent, Payload, Work};
use crate::execute::Executed;
use crate::record::Writer;
use crate::refusal::{DEDUP_CONTENT, DEDUPS_FULL, OUTGOING_FULL, QUEUE_FULL, SHARD_FULL, busy, rejected};
use crate::{
    Answer, Bounds, Lease, NewJob, Placed, PrincipalId, QueueName, Queues, Refusal, Time, When, validate,
};

/// How long a refused put asks its caller to wait for room, in milliseconds.
const RETRY_AFTER: u64 = 1_000;

impl Queues {
    pub(crate) fn put(
        &mut self,
        writer: &mut Writer<'_>,
        queue: &QueueName,
        jobs: &[NewJob],
        principal: Option<&PrincipalId>,
    ) -> Executed {
        validate::jobs(jobs, self.now, &self.bounds)?;
        let place = self.find_queue(queue.as_str());
        if place.is_none() {
            self.room_for_queue(queue)?;
        }
        self.no_contradictions(place, jobs)?;
        self.room_for(place, queue, jobs)?;
        writer.principal(principal);
        let mut placed = Vec::with_capacity(jobs.len());
        let mut entered = false;
        for job in jobs {
            // Among the jobs of this very put too the first one of an id is put.
            let duplicate = job.dedup.as_ref().and_then(|dedup| {
                let place = self.find_queue(queue.as_str())?;
                self.duplicate(place, dedup.id.as_str())
            });
            if let Some(known) = duplicate {
                placed.push(Placed { job: self.id(known.job), duplicate: true });
                let place = self.find_queue(queue.as_str()).expect("it remembers the id");
                self.queues.at_mut(place).duplicates += 1;
                continue;
            }
            let place = match place {
                Some(place) => place,
                None if entered => self.find_queue(queue.as_str()).expect("it was made for the first job"),
                None => self.make_queue(writer, queue, self.bounds.defaults.clone()),
            };
            entered = true;
            let sequence = self.place_job(writer, place, job, Payload::Bytes(&job.payload));
            placed.push(Placed { job: self.id(sequence), duplicate: false });
        }
        Ok(Answer::Placed(placed))
    }

    /// Writes a new queue; the record is about it from here on.
    pub(crate) fn make_queue(
        &mut self,
        writer: &mut Writer<'_>,
        name: &QueueName,
        settings: crate::QueueSettings,
    ) -> u32 {
        writer.enter_new(name.as_str());
        writer.write(&Event::Made(settings.clone()));
        let place = self.apply_made(name.clone(), settings);
        writer.entered(place);
        place
    }

    /// Writes a new job that was checked, of the writer's principal.
    pub(crate) fn place_job(
        &mut self,
        writer: &mut Writer<'_>,
        place: u32,
        job: &NewJob,
        payload: Payload<'_>,
    ) -> u64 {
        self.enter(writer, place);
        let queue = self.queues.at(place);
        let due = self.due_of(place, queue, job);
        let now = self.now;
        let at_once = due_at(job.when, now) == now;
        let dedup = job.dedup.as_ref().map(|dedup| DedupPart {
            id: dedup.id.as_str(),
            content: content_of(job),
            until: now.after(dedup.window.unwrap_or(queue.settings().dedup_window)),
        });
        let work = Work {
            priority: job.priority.unwrap_or(Bounds::PRIORITY_DEFAULT),
            attempts_max: job.attempts_max.unwrap_or(queue.settings().attempts_max),
            at_once,
            key: job.key.as_ref().map(crate::Key::as_str),
            dedup,
            payload,
        };
        let expires = job.time_to_live.map(|span| now.after(span));
        let sequence = self.sequence + 1;
        let payload = writer.write(&Event::Put { job: sequence, due, expires, work });
        self.apply_put(&writer.context(), sequence, due, expires, &work, payload);
        sequence
    }

    /// Where the clock was set back, a job that is due at once is not due before those of its key that are.
    fn due_of(&self, place: u32, _queue: &Queue, job: &NewJob) -> Time {
        let due = due_at(job.when, self.now);
        let lane = job.key.as_ref().and_then(|key| self.find_lane(place, key.as_str()));
        match lane.map(|lane| self.lanes.at(lane).ready.tail) {
            Some(tail) if due == self.now && tail != crate::job::NONE => due.max(self.jobs.at(tail).due()),
            _ => due,
        }
    }

    /// The job that was put with that dedup id, if the window is not over.
    fn duplicate(&self, queue: u32, id: &str) -> Option<Known> {
        let place = self.find_remembered(self.queues.at(queue).number, id)?;
        let entry = self.remembered.at(place);
        (entry.until > self.now).then_some(Known { job: entry.job, content: entry.content })
    }

    /// Whether every dedup id that is known comes with the content that it had, within the put too.
    pub(crate) fn no_contradictions(&self, place: Option<u32>, jobs: &[NewJob]) -> Result<(), Refusal> {
        let mut ids: Vec<(&str, u64)> = Vec::new();
        for job in jobs {
            let Some(dedup) = &job.dedup else { continue };
            let (id, content) = (dedup.id.as_str(), content_of(job));
            let known = place.and_then(|place| self.duplicate(place, id));
            if known.is_some_and(|known| known.content != content) {
                return Err(contradiction(id));
            }
            ids.push((id, content));
        }
        if ids.len() > 1 {
            ids.sort_unstable();
            let other = ids.windows(2).find(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1);
            other.map_or(Ok(()), |pair| Err(contradiction(pair[0].0)))?;
        }
        Ok(())
    }

    /// Whether so many jobs fit in, duplicates not counted.
    pub(crate) fn room_for(
        &self,
        place: Option<u32>,
        queue: &QueueName,
        jobs: &[NewJob],
    ) -> Result<(), Refusal> {
        let dedups = jobs.iter().filter(|job| job.dedup.is_some()).count();
        let known = match place {
            Some(place) if dedups > 0 => jobs
                .iter()
                .filter_map(|job| job.dedup.as_ref())
                .filter(|dedup| self.duplicate(place, dedup.id.as_str()).is_some())
                .count(),
            _ => 0,
        };
        self.room_for_count(place, queue, jobs.len() - known)?;
        if self.remembered.len() + dedups - known > self.bounds.dedups_max as usize {
            let reason = format!(
                "{} dedup ids are remembered, as many as dedups_max allows: use shorter windows, or raise it",
                self.remembered.len()
            );
            return Err(busy(DEDUPS_FULL, RETRY_AFTER, reason));
        }
        Ok(())
    }

    pub(crate) fn room_for_count(
        &self,
        place: Option<u32>,
        queue: &QueueName,
        new: usize,
    ) -> Result<(), Refusal> {
        let (held, max) = place.map_or((0, self.bounds.defaults.jobs_max), |place| {
            let queue = self.queues.at(place);
            (u64::from(queue.jobs), queue.settings().jobs_max)
        });
        if new > 0 && held + new as u64 > max {
            let reason = format!(
                "the queue {:?} holds {held} jobs and its jobs_max is {max}: {new} more do not fit until some are done",
                queue.as_str()
            );
            return Err(busy(QUEUE_FULL, RETRY_AFTER, reason));
        }
        if new > 0 && self.jobs.len() + new > self.bounds.jobs_max as usize {
            let reason = format!(
                "the shard holds {} jobs and its jobs_max is {}: {new} more do not fit until some are done",
                self.jobs.len(),
                self.bounds.jobs_max
            );
            return Err(busy(SHARD_FULL, RETRY_AFTER, reason));
        }
        Ok(())
    }

    pub(crate) fn room_for_outgoing(&self, new: usize) -> Result<(), Refusal> {
        if self.outgoing.len() + new > self.bounds.outgoing_max as usize {
            let reason = format!(
                "{} jobs wait to be taken over by other shards, as many as outgoing_max allows",
                self.outgoing.len()
            );
            return Err(busy(OUTGOING_FULL, RETRY_AFTER, reason));
        }
        Ok(())
    }

    pub(crate) fn forward(
        &mut self,
        writer: &mut Writer<'_>,
        lease: Lease,
        queue: &QueueName,
        job: &NewJob,
        principal: Option<&PrincipalId>,
    ) -> Executed {
        validate::jobs(std::slice::from_ref(job), self.now, &self.bounds)?;
        if let Some(to) = self.forwarded_before(lease) {
            return Ok(Answer::Placed(vec![Placed { job: self.id(to), duplicate: true }]));
        }
        let from = self.held(lease)?;
        let old = self.jobs.at(from).payload();
        let payload = if job.payload.is_empty() { Payload::At(old) } else { Payload::Bytes(&job.payload) };
        if !self.is_local(queue) {
            self.room_for_outgoing(1)?;
            let id = self.id(self.jobs.at(from).sequence());
            writer.principal(principal);
            self.send(writer, from, queue, job, payload);
            return Ok(Answer::Placed(vec![Placed { job: id, duplicate: false }]));
        }
        let place = self.find_queue(queue.as_str());
        let jobs = std::slice::from_ref(job);
        self.no_contradictions(place, jobs)?;
        let known = place.and_then(|place| self.duplicate(place, job.dedup.as_ref()?.id.as_str()));
        if known.is_none() {
            if place.is_none() {
                self.room_for_queue(queue)?;
            }
            // The job that is settled here makes room for the one there.
            if place != Some(self.queue_of(from)) {
                self.room_for_target(place, queue)?;
            }
        }
        writer.principal(principal);
        let placed = match known {
            Some(known) => Placed { job: self.id(known.job), duplicate: true },
            None => {
                let place = match place {
                    Some(place) => place,
                    None => self.make_queue(writer, queue, self.bounds.defaults.clone()),
                };
                let sequence = self.place_job(writer, place, job, payload);
                Placed { job: self.id(sequence), duplicate: false }
            }
        };
        let to = placed.job.sequence();
        self.emit(writer, from, &JobEvent::Forwarded { queue: queue.as_str(), to });
        Ok(Answer::Placed(vec![placed]))
    }

    /// Whether one job fits into a queue that it comes to from another one of the shard.
    pub(crate) fn room_for_target(&self, place: Option<u32>, queue: &QueueName) -> Result<(), Refusal> {
        let (held, max) = place.map_or((0, self.bounds.defaults.jobs_max), |place| {
            let queue = self.queues.at(place);
            (u64::from(queue.jobs), queue.settings().jobs_max)
        });
        if held >= max {
            let reason =
                format!("the queue {:?} holds {held} jobs, as many as its jobs_max allows", queue.as_str());
            return Err(busy(QUEUE_FULL, RETRY_AFTER, reason));
        }
        Ok(())
    }

    /// Writes that a job leaves for another shard, where it is put by the writer's principal.
    pub(crate) fn send(
        &mut self,
        writer: &mut Writer<'_>,
        from: u32,
        queue: &QueueName,
        job: &NewJob,
        payload: Payload<'_>,
    ) {
        let now = self.now;
        let old = self.jobs.at(from);
        let dedup = job.dedup.as_ref().map(|dedup| DedupPart {
            id: dedup.id.as_str(),
            content: 0,
            until: now.after(dedup.window.unwrap_or(self.bounds.defaults.dedup_window)),
        });
        let work = Work {
            priority: job.priority.unwrap_or(Bounds::PRIORITY_DEFAULT),
            attempts_max: job.attempts_max.unwrap_or(old.attempts_max()),
            at_once: false,
            key: job.key.as_ref().map(crate::Key::as_str),
            dedup,
            payload,
        };
        let what = JobEvent::Sent {
            number: self.outgoing_next,
            queue: queue.as_str(),
            due: due_at(job.when, now),
            expires: job.time_to_live.map(|span| now.after(span)),
            work,
        };
        self.emit(writer, from, &what);
    }
}

struct Known {
    job: u64,
    content: u64,
}

fn contradiction(id: &str) -> Refusal {
    let reason =
        format!("the dedup id {id:?} was used for another job: an id names one job with one content");
    rejected(DEDUP_CONTENT, reason)
}

/// When a job is due that is put now.
pub(crate) fn due_at(when: When, now: Time) -> Time {
    match when {
        When::Now => now,
        When::After(span) => now.after(span),
        When::At(at) => at.max(now),
    }
}

/// A hash of everything that a client states about a job but its dedup id. It stands in journals:
/// it stays as it is for ever. It protects clients from their own mistakes, not from anybody's
/// intent.
fn content_of(job: &NewJob) -> u64 {
    let mut hash = 0x5354_4144_4955_4d00_u64;
    let mut mix = |word: u64| {
        hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 32;
    };
    let mut mix_bytes = |bytes: &[u8]| {
        mix(bytes.len() as u64);
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            mix(u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
        }
        let mut last = [0; 8];
        last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
        mix(u64::from_le_bytes(last));
    };
    mix_bytes(&job.payload);
    mix_bytes(job.key.as_ref().map_or("", crate::Key::as_str).as_bytes());
    let (kind, when) = match job.when {
        When::Now => (0, 0),
        When::After(span) => (1, span),
        When::At(at) => (2, at.0),
    };
    let optional = |value: Option<u64>| value.map_or(0, |value| value.wrapping_add(1));
    for word in [
        kind,
        when,
        optional(job.priority.map(u64::from)),
        optional(job.time_to_live),
        optional(job.attempts_max.map(u64::from)),
    ] {
        mix(word);
    }
    hash
}
