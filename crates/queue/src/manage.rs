//! What operators do: kick, redrive, delete, edit, purge, pause, declare, drop, schedules.
//!
//! No work here is proportional to the size of a queue: a command about many jobs is about a
//! thousand at most, or goes on in the background.

use crate::cron::occurrences;
use crate::entries::{Purge, Schedule};
use crate::events::{Changes, Event, JobEvent, Payload, Work};
use crate::execute::Executed;
use crate::job::NONE;
use crate::leases::unknown;
use crate::put::due_at;
use crate::record::Writer;
use crate::refusal::{CRON, NOT_EMPTY, SCHEDULE_UNKNOWN, SCHEDULES_FULL, SPREAD, STATE, busy, rejected};
use crate::{
    Answer, Bounds, Cron, Edit, Given, JobId, JobSet, JobState, Key, NewJob, PrincipalId, QueueName,
    QueueSettings, Queues, Refusal, Time, validate,
};

/// Places of the table of jobs that a purge looks at before it answers; the rest goes on in the background.
const PURGE_PLACES: u32 = 32_768;
/// Jobs that it takes out before it answers.
const PURGE_EVENTS: u32 = 2_048;

impl Queues {
    /// Those of the set that are in that state of the queue.
    fn chosen(&self, queue: u32, state: JobState, jobs: &JobSet) -> Result<Vec<u32>, Refusal> {
        match jobs {
            JobSet::Ids(ids) => {
                validate::count(ids.len())?;
                let mut chosen = Vec::with_capacity(ids.len());
                for id in ids.iter().filter(|id| id.shard() == self.place.shard) {
                    if let Some(place) = self.find_job(id.sequence())
                        && self.jobs.at(place).state() == state
                        && self.queue_of(place) == queue
                        && !chosen.contains(&place)
                    {
                        chosen.push(place);
                    }
                }
                Ok(chosen)
            }
            JobSet::Oldest(most) => {
                validate::count(*most as usize)?;
                let mut chosen = Vec::new();
                let mut next = self.queues.at(queue).lists[state as usize].head;
                while next != NONE && chosen.len() < *most as usize {
                    chosen.push(next);
                    next = self.lines[next].next;
                }
                Ok(chosen)
            }
        }
    }

    pub(crate) fn kick(&mut self, writer: &mut Writer<'_>, queue: &QueueName, jobs: &JobSet) -> Executed {
        let queue = self.known_queue(queue)?;
        let chosen = self.chosen(queue, JobState::Buried, jobs)?;
        for &place in &chosen {
            self.revive_here(writer, place);
        }
        Ok(Answer::Count(chosen.len() as u64))
    }

    pub(crate) fn redrive(
        &mut self,
        writer: &mut Writer<'_>,
        queue: &QueueName,
        jobs: &JobSet,
        to: Option<&QueueName>,
    ) -> Executed {
        let from = self.known_queue(queue)?;
        let chosen = self.chosen(from, JobState::Dead, jobs)?;
        let to = to.filter(|to| *to != queue);
        let mut count = 0;
        for &place in &chosen {
            match to {
                None => self.revive_here(writer, place),
                Some(to) if self.can_go_to(to) => self.go_to(writer, place, to),
                // The target is full: the answer has the number of jobs that went.
                Some(to) if count == 0 => {
                    if !self.is_local(to) {
                        self.room_for_outgoing(1)?;
                    }
                    let target = self.find_queue(to.as_str());
                    if target.is_none() {
                        self.room_for_queue(to)?;
                    }
                    self.room_for_target(target, to)?;
                }
                Some(_) => break,
            }
            count += 1;
        }
        Ok(Answer::Count(count))
    }

    pub(crate) fn delete(&mut self, writer: &mut Writer<'_>, jobs: &[JobId]) -> Executed {
        validate::count(jobs.len())?;
        let mut given = Vec::with_capacity(jobs.len());
        for &id in jobs {
            let here = id.shard() == self.place.shard;
            let place = if here { self.find_job(id.sequence()) } else { None };
            given.push(match place {
                Some(place) => {
                    self.emit(writer, place, &JobEvent::Deleted);
                    Ok(Given::Done)
                }
                None if here && self.find_finished(id.sequence()).is_some() => Ok(Given::Already),
                None => Err(unknown(id)),
            });
        }
        Ok(Answer::Given(given))
    }

    pub(crate) fn edit(&mut self, writer: &mut Writer<'_>, id: JobId, edit: &Edit) -> Executed {
        edit.payload.as_ref().map_or(Ok(()), |payload| validate::payload(payload.len(), &self.bounds))?;
        edit.when.map_or(Ok(()), |when| validate::when(when, self.now))?;
        edit.priority.map_or(Ok(()), validate::priority)?;
        edit.time_to_live.map_or(Ok(()), validate::time_to_live)?;
        edit.attempts_max.map_or(Ok(()), validate::attempts)?;
        let here = id.shard() == self.place.shard;
        let place = if here { self.find_job(id.sequence()) } else { None };
        let place = place.ok_or_else(|| unknown(id))?;
        let state = self.jobs.at(place).state();
        if state == JobState::Reserved {
            let reason = format!("job {id} is reserved: it can be edited when it is released");
            return Err(rejected(STATE, reason));
        }
        let waits = matches!(state, JobState::Delayed | JobState::Due);
        if !waits && (edit.when.is_some() || edit.time_to_live.is_some()) {
            let reason = format!("job {id} is buried or dead: kick or redrive it before it can be due");
            return Err(rejected(STATE, reason));
        }
        let attempts = self.jobs.at(place).attempts();
        // It would be handed out once more than it may be. Those of a buried or dead one begin anew.
        if waits && edit.attempts_max.is_some_and(|most| most <= attempts) {
            let reason = format!(
                "job {id} had {attempts} attempts already: it needs more than that, or to be deleted"
            );
            return Err(rejected(STATE, reason));
        }
        let changes = Changes {
            expires: edit.time_to_live.map(|span| self.now.after(span)),
            due: self.due_of_edit(place, state, edit),
            priority: edit.priority.filter(|&priority| priority != self.jobs.at(place).priority()),
            attempts_max: edit.attempts_max,
            payload: edit.payload.as_deref(),
        };
        if changes != Changes::default() {
            self.emit(writer, place, &JobEvent::Edited(changes));
        }
        Ok(Answer::Done)
    }

    /// A job that is due at once stands behind those that are due already; so does a job without
    /// key of another priority.
    fn due_of_edit(&self, place: u32, state: JobState, edit: &Edit) -> Option<Time> {
        let job = self.jobs.at(place);
        let lane = self.lanes.at(job.lane);
        let moves = edit.priority.is_some_and(|priority| priority != job.priority());
        if edit.when.is_none() && !(moves && lane.key.is_none() && state == JobState::Due) {
            return None;
        }
        let due = due_at(edit.when.unwrap_or_default(), self.now);
        let tail = lane.ready.tail;
        if due > self.now || lane.key.is_none() || tail == NONE {
            return Some(due);
        }
        Some(due.max(self.jobs.at(tail).due().after(1)))
    }

    pub(crate) fn purge(
        &mut self,
        writer: &mut Writer<'_>,
        queue: &QueueName,
        state: Option<JobState>,
    ) -> Executed {
        let place = self.known_queue(queue)?;
        let all = [JobState::Delayed, JobState::Due, JobState::Buried, JobState::Dead];
        let chosen = state.as_slice();
        let chosen = if chosen.is_empty() { &all[..] } else { chosen };
        let queue = self.queues.at(place);
        let count = chosen.iter().map(|&state| queue.count(state)).sum();
        if count == 0 {
            return Ok(Answer::Count(0));
        }
        let states = chosen.iter().fold(0, |states, &state| states | 1 << state as u8);
        // One that goes on is made wider, never forgotten.
        let states = states | queue.purge.map_or(0, |purge| purge.states);
        let purge = Purge { states, before: self.sequence + 1 };
        self.enter(writer, place);
        writer.write(&Event::Purge { states: purge.states, before: purge.before });
        self.apply_purge(place, purge);
        if self.purges.front() == Some(&place) {
            self.purge_on(writer, PURGE_PLACES, PURGE_EVENTS);
        }
        Ok(Answer::Count(count))
    }

    /// Goes on with the first purge: looks at so many places, and takes out so many jobs.
    pub(crate) fn purge_on(&mut self, writer: &mut Writer<'_>, places: u32, events: u32) {
        let Some(&queue) = self.purges.front() else { return };
        let Some(purge) = self.queues.at(queue).purge else { return };
        let end = self.places_end;
        let events_end = writer.events().saturating_add(events);
        let stop = self.purge_next.saturating_add(places).min(end);
        while self.purge_next < stop && self.queues.at(queue).jobs > 0 {
            if writer.events() >= events_end {
                return;
            }
            let place = self.purge_next;
            self.purge_next += 1;
            let Some(job) = self.jobs.get(place) else { continue };
            if job.sequence() < purge.before
                && purge.states & 1 << job.state() as u8 != 0
                && self.queue_of(place) == queue
            {
                self.emit(writer, place, &JobEvent::Deleted);
            }
        }
        if self.purge_next >= end || self.queues.at(queue).jobs == 0 {
            self.enter(writer, queue);
            writer.write(&Event::Purged);
            self.apply_purged(queue);
        }
    }

    pub(crate) fn pause(&mut self, writer: &mut Writer<'_>, queue: &QueueName) -> Executed {
        let place = self.known_queue(queue)?;
        if !self.queues.at(place).paused {
            self.enter(writer, place);
            writer.write(&Event::Paused);
            self.queues.at_mut(place).paused = true;
        }
        Ok(Answer::Done)
    }

    pub(crate) fn resume(&mut self, writer: &mut Writer<'_>, queue: &QueueName) -> Executed {
        let place = self.known_queue(queue)?;
        if self.queues.at(place).paused {
            self.enter(writer, place);
            writer.write(&Event::Resumed);
            self.apply_resumed(place);
        }
        Ok(Answer::Done)
    }

    pub(crate) fn declare(
        &mut self,
        writer: &mut Writer<'_>,
        queue: &QueueName,
        settings: &QueueSettings,
    ) -> Executed {
        validate::settings(settings)?;
        let Some(place) = self.find_queue(queue.as_str()) else {
            self.room_for_queue(queue)?;
            self.make_queue(writer, queue, settings.clone());
            return Ok(Answer::Done);
        };
        let now = self.queues.at(place);
        if now.settings().spread != settings.spread && now.jobs > 0 {
            let reason = format!(
                "the queue {:?} holds jobs: whether it is spread over the shards can change only while it is empty",
                queue.as_str()
            );
            return Err(rejected(SPREAD, reason));
        }
        if now.settings() != settings {
            self.enter(writer, place);
            writer.write(&Event::Set(settings.clone()));
            self.queues.at_mut(place).set(settings.clone());
        }
        Ok(Answer::Done)
    }

    pub(crate) fn drop_queue(&mut self, writer: &mut Writer<'_>, queue: &QueueName) -> Executed {
        let place = self.known_queue(queue)?;
        let jobs = self.queues.at(place).jobs;
        if jobs > 0 {
            let reason = format!("the queue {:?} holds {jobs} jobs: purge it first", queue.as_str());
            return Err(rejected(NOT_EMPTY, reason));
        }
        self.enter(writer, place);
        writer.write(&Event::Dropped);
        writer.entered(NONE);
        self.remove_queue(place);
        Ok(Answer::Done)
    }

    pub(crate) fn schedule(
        &mut self,
        writer: &mut Writer<'_>,
        queue: &QueueName,
        name: &Key,
        cron: &Cron,
        job: &NewJob,
        principal: Option<&PrincipalId>,
    ) -> Executed {
        validate::jobs(std::slice::from_ref(job), self.now, &self.bounds)?;
        let occurrences = occurrences(cron)?;
        let next = occurrences
            .after(self.now)
            .ok_or_else(|| rejected(CRON, format!("{:?} never comes after now", cron.expression)))?;
        let place = self.find_queue(queue.as_str());
        let known = place.is_some_and(|place| self.find_schedule(place, name.as_str()).is_some());
        if !known && self.schedules.len() >= self.bounds.schedules_max as usize {
            let reason =
                format!("there are {} schedules, as many as schedules_max allows", self.schedules.len());
            return Err(busy(SCHEDULES_FULL, 10_000, reason));
        }
        let place = match place {
            Some(place) => place,
            None => {
                self.room_for_queue(queue)?;
                self.make_queue(writer, queue, self.bounds.defaults.clone())
            }
        };
        self.enter(writer, place);
        let attempts_max = job.attempts_max.unwrap_or(self.queues.at(place).settings().attempts_max);
        let work = Work {
            priority: job.priority.unwrap_or(Bounds::PRIORITY_DEFAULT),
            attempts_max,
            at_once: false,
            key: job.key.as_ref().map(Key::as_str),
            dedup: None,
            payload: Payload::Bytes(&job.payload),
        };
        writer.principal(principal);
        let payload = writer.write(&Event::Scheduled {
            name: name.as_str(),
            cron: &cron.expression,
            time_zone: &cron.time_zone,
            missed: cron.missed,
            time_to_live: job.time_to_live,
            work,
            next: Some(next),
        });
        self.apply_scheduled(Schedule {
            queue: place,
            name: name.clone(),
            cron: cron.clone(),
            priority: work.priority,
            attempts_max,
            key: job.key.clone(),
            time_to_live: job.time_to_live,
            payload,
            next: Some(next),
            last: None,
            principal: principal.cloned(),
            occurrences: None,
        });
        Ok(Answer::Done)
    }

    pub(crate) fn unschedule(&mut self, writer: &mut Writer<'_>, queue: &QueueName, name: &Key) -> Executed {
        let place = self.known_queue(queue)?;
        let Some(schedule) = self.find_schedule(place, name.as_str()) else {
            let (queue, name) = (queue.as_str(), name.as_str());
            return Err(rejected(SCHEDULE_UNKNOWN, format!("the queue {queue:?} has no schedule {name:?}")));
        };
        self.enter(writer, place);
        writer.write(&Event::Unscheduled { name: name.as_str() });
        self.remove_schedule(schedule);
        Ok(Answer::Done)
    }
}
