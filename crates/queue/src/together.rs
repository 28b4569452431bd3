//! Jobs for several queues in one record, which another machine may share: all or none.
//!
//! Everything is checked before the first event is written, so that the events beside it in the
//! record can rely on it. A job whose queue lives on another shard becomes an outgoing one.

use crate::events::{DedupPart, Event, Payload, Work};
use crate::put::due_at;
use crate::record::Writer;
use crate::refusal::{QUEUES_FULL, SHARD_FULL, busy};
use crate::{
    Answer, Bounds, NewJob, Place, Placed, PrincipalId, QueueName, Queues, Record, Refusal, Spread, Time,
    validate,
};

/// The jobs of one queue, and where they stood.
struct Part<'j> {
    queue: &'j QueueName,
    jobs: Vec<NewJob>,
    places: Vec<usize>,
}

impl Queues {
    /// Puts jobs into several queues: all or none. Answers one outcome for each, in their order; a job that goes to another shard
    /// has no id yet, its sequence is 0.
    ///
    /// # Errors
    ///
    /// As for a put, of any of them; nothing happened then, and the record stays as it was begun.
    pub fn put_each(
        &mut self,
        at: u64,
        now: Time,
        random: u64,
        jobs: &[(QueueName, NewJob)],
        principal: Option<&PrincipalId>,
        record: &mut Record,
    ) -> Result<Vec<Placed>, Refusal> {
        self.advance(now);
        self.random = random;
        validate::count(jobs.len())?;
        let mut parts: Vec<Part<'_>> = Vec::new();
        let mut away = Vec::new();
        for (place, (queue, job)) in jobs.iter().enumerate() {
            if !self.belongs_here(queue, job) {
                away.push(place);
                continue;
            }
            let at = parts.iter().position(|part| part.queue == queue).unwrap_or_else(|| {
                parts.push(Part { queue, jobs: Vec::new(), places: Vec::new() });
                parts.len() - 1
            });
            parts[at].jobs.push(job.clone());
            parts[at].places.push(place);
        }
        for &place in &away {
            validate::jobs(std::slice::from_ref(&jobs[place].1), self.now, &self.bounds)?;
        }
        self.room_for_outgoing(away.len())?;
        self.check_parts(&parts)?;

        let mut writer = self.writer(record, at, now);
        let mut placed = vec![Placed { job: self.id(0), duplicate: false }; jobs.len()];
        for part in &parts {
            match self.put(&mut writer, part.queue, &part.jobs, principal) {
                Ok(Answer::Placed(of_part)) => {
                    part.places.iter().zip(of_part).for_each(|(&place, one)| placed[place] = one);
                }
                other => unreachable!("it was checked above: {other:?}"),
            }
        }
        writer.principal(principal);
        for place in away {
            self.dispatch(&mut writer, &jobs[place].0, &jobs[place].1);
        }
        self.scratch = writer.finish();
        Ok(placed)
    }

    /// Whether a job is put here: where its queue is spread, without a key, or with one that is run here.
    fn belongs_here(&self, queue: &QueueName, job: &NewJob) -> bool {
        let is_spread = self
            .find_queue(queue.as_str())
            .is_some_and(|place| self.queues.at(place).settings().spread == Spread::AllShards);
        match &job.key {
            Some(key) if is_spread => Place::home(key, self.place.shards) == self.place.shard,
            None if is_spread => true,
            _ => self.is_local(queue),
        }
    }

    fn check_parts(&self, parts: &[Part<'_>]) -> Result<(), Refusal> {
        let (mut queues, mut jobs, mut dedups) = (0, 0, 0);
        for part in parts {
            validate::jobs(&part.jobs, self.now, &self.bounds)?;
            let place = self.find_queue(part.queue.as_str());
            self.no_contradictions(place, &part.jobs)?;
            self.room_for(place, part.queue, &part.jobs)?;
            queues += usize::from(place.is_none());
            jobs += part.jobs.len();
            dedups += part.jobs.iter().filter(|job| job.dedup.is_some()).count();
        }
        // Each fits by itself; all of them must.
        if self.queues.len() + queues > self.bounds.queues_max as usize {
            let reason = format!(
                "{queues} queues would be made: there are {} on the shard, and queues_max is {}; drop some, or raise it",
                self.queues.len(),
                self.bounds.queues_max
            );
            return Err(busy(QUEUES_FULL, 10_000, reason));
        }
        if self.jobs.len() + jobs > self.bounds.jobs_max as usize
            || self.remembered.len() + dedups > self.bounds.dedups_max as usize
        {
            let reason = format!(
                "the shard holds {} jobs and remembers {} dedup ids: {jobs} more jobs may not fit until some are done",
                self.jobs.len(),
                self.remembered.len()
            );
            return Err(busy(SHARD_FULL, 1_000, reason));
        }
        Ok(())
    }

    /// Writes a new job that goes to another shard at once.
    fn dispatch(&mut self, writer: &mut Writer<'_>, queue: &QueueName, job: &NewJob) {
        let now = self.now;
        let defaults = &self.bounds.defaults;
        let dedup = job.dedup.as_ref().map(|dedup| DedupPart {
            id: dedup.id.as_str(),
            content: 0,
            until: now.after(dedup.window.unwrap_or(defaults.dedup_window)),
        });
        let work = Work {
            priority: job.priority.unwrap_or(Bounds::PRIORITY_DEFAULT),
            // Where none is named the queue's own counts, which is not known here.
            attempts_max: job.attempts_max.unwrap_or(0),
            at_once: false,
            key: job.key.as_ref().map(crate::Key::as_str),
            dedup,
            payload: Payload::Bytes(&job.payload),
        };
        let (number, due) = (self.outgoing_next, due_at(job.when, now));
        let expires = job.time_to_live.map(|span| now.after(span));
        let event = Event::Dispatched { number, queue: queue.as_str(), due, expires, work };
        let payload = writer.write(&event);
        self.apply_outgoing(&writer.context(), number, queue.as_str(), due, expires, &work, payload)
            .expect("its names are names already");
    }
}
