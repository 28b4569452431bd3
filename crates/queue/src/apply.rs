//! What events do to the state.
//!
//! The same functions serve `execute`, which has just written the event, and `apply`, which has
//! read it back. They decide nothing: all effects follow from the event and the state.

use crate::cron::occurrences;
use crate::decoding::Decoder;
use crate::entries::{End, Finished, Purge, Queue, Remembered, Schedule, Sent, key, principal, queue_name};
use crate::events::{Disposition, Event, JobEvent, Work};
use crate::job::{Job, NONE};
use crate::record::Writer;
use crate::rests::Rest;
use crate::timers::Timer;
use crate::{Corrupt, Cron, JobState, PayloadAt, Queues, Time};
use stadium_state_machine::encoding::corrupt;

/// The record that holds an event, and the earlier events in it.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) at: u64,
    pub(crate) time: Time,
    pub(crate) queue: u32,
    pub(crate) reason: &'a str,
    /// The principal that puts jobs; empty: nobody.
    pub(crate) principal: &'a str,
}

impl Queues {
    /// Applies the events of a record that was read back: `events` begins `offset` bytes into the record at
    /// `at`, whose time was `time`. Records come in the order in which they were written.
    ///
    /// # Errors
    ///
    /// Events that cannot follow what was applied so far. The state is then of no use.
    pub fn apply(&mut self, at: u64, time: Time, offset: u32, events: &[u8]) -> Result<(), Corrupt> {
        self.advance_all(time);
        let mut decoder = Decoder::new(at, time, offset, events);
        let mut context = Context { at, time, queue: NONE, reason: "", principal: "" };
        let mut name = "";
        let mut received = None;
        while let Some(event) = decoder.next() {
            let (event, payload) = event?;
            match event {
                Event::Queue(queue) => {
                    name = queue;
                    context.queue = self.find_queue(queue).unwrap_or(NONE);
                }
                Event::Worker(_) => {}
                Event::Reason(reason) => context.reason = reason,
                Event::Principal(id) => {
                    principal(id)?;
                    context.principal = id;
                }
                Event::Made(settings) => {
                    if context.queue != NONE {
                        return Err(corrupt(format!("the queue {name} is made a second time")));
                    }
                    context.queue = self.apply_made(queue_name(name)?, settings);
                }
                Event::Job { job, back: _, ref what } => {
                    let place = self.find_job(job).ok_or_else(|| {
                        corrupt(format!("record {at} is about job {job}, which is not there"))
                    })?;
                    self.apply_job(&context, place, what, payload)?;
                }
                Event::Received { shard, number, confirmed_below } => {
                    self.apply_received(shard, confirmed_below);
                    received = Some((shard, number));
                }
                Event::Confirmed { number } => self.apply_confirmed(number),
                Event::OutgoingMoved { number, .. } => self.apply_outgoing_moved(number, payload),
                Event::Dispatched { number, queue, due, expires, ref work } => {
                    self.apply_outgoing(&context, number, queue, due, expires, work, payload)?;
                }
                _ if context.queue == NONE => {
                    return Err(corrupt(format!(
                        "record {at} is about the queue {name:?}, which is not there"
                    )));
                }
                Event::Put { job, due, expires, ref work } => {
                    if job <= self.sequence {
                        return Err(corrupt(format!(
                            "record {at} puts job {job} after job {}",
                            self.sequence
                        )));
                    }
                    work.key.map(key).transpose()?;
                    work.dedup.map(|dedup| key(dedup.id)).transpose()?;
                    self.apply_put(&context, job, due, expires, work, payload);
                    if let Some(from) = received.take() {
                        self.incoming.insert(from, job);
                    }
                }
                Event::Set(settings) => self.queues.at_mut(context.queue).set(settings),
                Event::Dropped => {
                    if self.queues.at(context.queue).jobs != 0 {
                        return Err(corrupt(format!("the queue {name} is dropped while it holds jobs")));
                    }
                    self.remove_queue(context.queue);
                    context.queue = NONE;
                }
                Event::Paused => self.queues.at_mut(context.queue).paused = true,
                Event::Resumed => self.apply_resumed(context.queue),
                Event::Purge { states, before } => self.apply_purge(context.queue, Purge { states, before }),
                Event::Purged => self.apply_purged(context.queue),
                Event::Scheduled { name, cron, time_zone, missed, time_to_live, ref work, next } => {
                    let schedule = Schedule {
                        queue: context.queue,
                        name: key(name)?,
                        cron: Cron { expression: cron.into(), time_zone: time_zone.into(), missed },
                        priority: work.priority,
                        attempts_max: work.attempts_max,
                        key: work.key.map(key).transpose()?,
                        time_to_live,
                        payload,
                        next,
                        last: None,
                        principal: principal(context.principal)?,
                        occurrences: None,
                    };
                    self.apply_scheduled(schedule);
                }
                Event::Fired { name, last, next, job } => {
                    let place = self.scheduled(context.queue, name)?;
                    self.apply_fired(place, last, next, job);
                }
                Event::Unscheduled { name } => {
                    let place = self.scheduled(context.queue, name)?;
                    self.remove_schedule(place);
                }
                Event::ScheduleMoved { name, .. } => {
                    let place = self.scheduled(context.queue, name)?;
                    self.apply_schedule_moved(place, payload);
                }
            }
        }
        Ok(())
    }

    fn scheduled(&self, queue: u32, name: &str) -> Result<u32, Corrupt> {
        self.find_schedule(queue, name).ok_or_else(|| corrupt(format!("the schedule {name:?} is not there")))
    }

    /// Writes what happens to a job, and lets it happen.
    pub(crate) fn emit(&mut self, writer: &mut Writer<'_>, place: u32, what: &JobEvent<'_>) {
        let job = self.jobs.at(place);
        let event = Event::Job { job: job.sequence(), back: writer.at - self.rest(job).last, what: *what };
        let payload = writer.write(&event);
        self.apply_job(&writer.context(), place, what, payload).expect("it was decided just now");
    }

    pub(crate) fn apply_made(&mut self, name: crate::QueueName, settings: crate::QueueSettings) -> u32 {
        self.queues_made += 1;
        self.add_queue(Queue::new(name, settings, self.queues_made))
    }

    pub(crate) fn apply_put(
        &mut self,
        context: &Context<'_>,
        sequence: u64,
        due: Time,
        expires: Option<Time>,
        work: &Work<'_>,
        payload: PayloadAt,
    ) -> u32 {
        let lane = self.lane(context.queue, work.key, work.priority);
        let mut job = Job::new(sequence, work.priority, context.time, due, work.attempts_max);
        job.lane = lane;
        job.put_with(payload);
        job.put_by(self.principals.take(context.principal));
        let place = self.jobs.insert(job);
        // Where the payload is another job's, it is not in this record.
        if payload.record != context.at {
            self.rest_mut(place).last = context.at;
        }
        self.places_end = self.places_end.max(place + 1);
        let jobs = &self.jobs;
        self.by_sequence.insert(sequence, place, |of| jobs.at(of).sequence());
        self.sequence = self.sequence.max(sequence);
        self.lanes.at_mut(lane).jobs += 1;
        let queue = self.queues.at_mut(context.queue);
        queue.jobs += 1;
        queue.put += 1;
        let number = queue.number;
        self.payload_lives(payload);
        if let Some(dedup) = &work.dedup
            && dedup.until > self.now
        {
            let id = key(dedup.id).expect("keys are checked where they come from");
            let (content, until) = (dedup.content, dedup.until);
            self.remember(Remembered { queue: number, id, job: sequence, content, until });
        }
        if expires.is_some() {
            self.set_expires(place, expires);
        }
        let state = if work.at_once { self.due_at_once() } else { self.delayed_or_due(due) };
        self.attach(place, state);
        place
    }

    fn delayed_or_due(&self, due: Time) -> JobState {
        if due <= self.now { self.due_at_once() } else { JobState::Delayed }
    }

    /// While the timers lag behind, what is due at once goes through them too, so that it keeps its turn.
    fn due_at_once(&self) -> JobState {
        if self.is_up_to_date() { JobState::Due } else { JobState::Delayed }
    }

    /// # Errors
    ///
    /// Names that are none: only where the event was read back.
    pub(crate) fn apply_job(
        &mut self,
        context: &Context<'_>,
        place: u32,
        what: &JobEvent<'_>,
        payload: PayloadAt,
    ) -> Result<(), Corrupt> {
        let queue = self.queue_of(place);
        // A reserved job's rest is written below, and that of a removed job is gone.
        let is_last = !matches!(
            what,
            JobEvent::Reserved { .. }
                | JobEvent::Settled
                | JobEvent::Forwarded { .. }
                | JobEvent::Deleted
                | JobEvent::Expired
        );
        if is_last {
            self.rest_mut(place).last = context.at;
        }
        match *what {
            JobEvent::Reserved { reservation, attempt, until } => {
                self.detach(place);
                let (job, rests) = self.jobs.divided_mut(place);
                job.attempted(attempt);
                let lane = job.lane;
                let rest = job.rest_mut(rests);
                *rest = Rest { last: context.at, reservation, lease_until: until.0 as u32, ..*rest };
                self.attach(place, JobState::Reserved);
                self.rotate(lane);
                self.queues.at_mut(queue).handed_out += 1;
            }
            JobEvent::Settled => {
                self.remove(context, place, End::Settled, 0);
                self.queues.at_mut(queue).settled += 1;
            }
            JobEvent::Forwarded { to, .. } => {
                self.remove(context, place, End::Forwarded, to);
                self.queues.at_mut(queue).settled += 1;
            }
            JobEvent::Released { attempts, due } => {
                self.retry(context, place, attempts, due, context.reason);
            }
            JobEvent::Lapsed { attempts, due } => {
                self.retry(context, place, attempts, due, "the lease ended before the job was settled");
            }
            JobEvent::Extended { until } => {
                self.rest_mut(place).lease_until = until.0 as u32;
                if self.jobs.at(place).state() == JobState::Reserved {
                    self.timers.arm(Timer::Job(place), until, self.now);
                }
            }
            JobEvent::Buried => {
                self.detach(place);
                self.set_reason(place, context.reason);
                self.jobs.at_mut(place).set_retry(false);
                self.attach(place, JobState::Buried);
            }
            JobEvent::Dead { disposition, expires } => {
                self.queues.at_mut(queue).died += 1;
                if disposition == Disposition::IsGone {
                    self.remove(context, place, End::Gone, 0);
                    return Ok(());
                }
                self.detach(place);
                self.set_reason(place, context.reason);
                self.set_expires(place, (disposition == Disposition::Stays).then_some(expires));
                self.jobs.at_mut(place).set_retry(false);
                self.attach(place, JobState::Dead);
            }
            JobEvent::Revived { due } => self.revive(context, place, due)?,
            JobEvent::Edited(ref changes) => {
                if changes.payload.is_some() {
                    self.replace_payload(place, payload);
                }
                if let Some(attempts_max) = changes.attempts_max {
                    self.jobs.at_mut(place).limit_attempts(attempts_max);
                }
                if changes.expires.is_some() {
                    self.set_expires(place, changes.expires);
                }
                let lane = self.jobs.at(place).lane;
                match (changes.due, changes.priority) {
                    (None, None) => {}
                    // In a key order is before priority: it stays where it is.
                    (None, Some(priority)) if self.lanes.at(lane).key.is_some() => {
                        self.jobs.at_mut(place).prioritise(priority);
                        self.settle_lane(lane);
                    }
                    (due, priority) => self.move_job(place, due, priority),
                }
            }
            JobEvent::Deleted | JobEvent::Expired => self.remove(context, place, End::Gone, 0),
            JobEvent::Moved { .. } => self.replace_payload(place, payload),
            JobEvent::Sent { number, queue: to, due, expires, ref work } => {
                self.apply_outgoing(context, number, to, due, expires, work, payload)?;
                let job = self.jobs.at(place);
                let (sequence, settled) = (job.sequence(), job.state() == JobState::Reserved);
                self.remove(context, place, End::Forwarded, sequence);
                self.queues.at_mut(queue).settled += u64::from(settled);
            }
        }
        Ok(())
    }

    /// A job is on its way to another shard.
    #[expect(clippy::too_many_arguments, reason = "the parts of two events, in their order")]
    pub(crate) fn apply_outgoing(
        &mut self,
        context: &Context<'_>,
        number: u64,
        to: &str,
        due: Time,
        expires: Option<Time>,
        work: &Work<'_>,
        payload: PayloadAt,
    ) -> Result<(), Corrupt> {
        let sent = Sent {
            queue: queue_name(to)?,
            priority: work.priority,
            attempts_max: work.attempts_max,
            due,
            expires,
            key: work.key.map(key).transpose()?,
            dedup: work.dedup.map(|dedup| Ok((key(dedup.id)?, dedup.until))).transpose()?,
            payload,
            principal: principal(context.principal)?,
        };
        self.payload_lives(payload);
        self.outgoing.insert(number, sent);
        self.outgoing_next = self.outgoing_next.max(number.saturating_add(1));
        Ok(())
    }

    fn retry(&mut self, _context: &Context<'_>, place: u32, attempts: u16, due: Time, reason: &str) {
        let queue = self.queue_of(place);
        self.detach(place);
        if !reason.is_empty() {
            self.set_reason(place, reason);
        }
        let keyed = self.lanes.at(self.jobs.at(place).lane).key.is_some();
        let job = self.jobs.at_mut(place);
        job.attempted(attempts);
        job.due_at(due);
        job.set_retry(keyed);
        let state = self.delayed_or_due(due);
        self.attach(place, state);
        self.queues.at_mut(queue).retried += 1;
    }

    fn revive(&mut self, context: &Context<'_>, place: u32, due: Time) -> Result<(), Corrupt> {
        if context.queue == NONE {
            return Err(corrupt(format!("record {} revives a job in no queue", context.at)));
        }
        self.detach(place);
        let job = self.jobs.at_mut(place);
        let was_dead = job.state() == JobState::Dead;
        job.attempted(0);
        job.due_at(due);
        job.set_retry(false);
        let (old, priority) = (job.lane, job.priority());
        if was_dead {
            self.set_expires(place, None);
        }
        let from = self.lanes.at(old).queue;
        if from != context.queue {
            let name = self.lanes.at(old).key.clone();
            let lane = self.lane(context.queue, name.as_ref().map(|key| key.as_str()), priority);
            self.jobs.at_mut(place).lane = lane;
            self.lanes.at_mut(lane).jobs += 1;
            self.lane_lost_job(old);
            self.queues.at_mut(from).jobs -= 1;
            self.queues.at_mut(context.queue).jobs += 1;
        }
        let state = self.due_at_once();
        self.attach(place, state);
        Ok(())
    }

    fn move_job(&mut self, place: u32, due: Option<Time>, priority: Option<u8>) {
        self.detach(place);
        if let Some(due) = due {
            self.jobs.at_mut(place).due_at(due);
        }
        if let Some(priority) = priority {
            let job = self.jobs.at_mut(place);
            job.prioritise(priority);
            let old = job.lane;
            let lane = self.lanes.at(old);
            if lane.key.is_none() && lane.priority != priority {
                let new = self.lane(lane.queue, None, priority);
                self.jobs.at_mut(place).lane = new;
                self.lanes.at_mut(new).jobs += 1;
                self.lane_lost_job(old);
            }
        }
        let job = self.jobs.at(place);
        let state = match job.state() {
            JobState::Delayed | JobState::Due => self.delayed_or_due(job.due()),
            other => other,
        };
        self.attach(place, state);
    }

    fn replace_payload(&mut self, place: u32, payload: PayloadAt) {
        let old = self.jobs.at(place).payload();
        self.payload_died(old);
        self.payload_lives(payload);
        let (job, rests) = self.jobs.divided_mut(place);
        job.payload_at(payload, rests);
    }

    /// A job is gone, for good or elsewhere, with the event of the record.
    fn remove(&mut self, context: &Context<'_>, place: u32, end: End, to: u64) {
        let queue = self.queue_of(place);
        self.detach(place);
        let (job, rests) = self.jobs.divided_mut(place);
        let Rest { reservation, extra, .. } = job.take_rest(rests);
        self.remove_extra(extra);
        let job = self.jobs.remove(place).expect("the caller found it");
        let sequence = job.sequence();
        self.principals.give_back(job.principal());
        let jobs = &self.jobs;
        self.by_sequence.remove(sequence, place, |of| jobs.at(of).sequence());
        self.queues.at_mut(queue).jobs -= 1;
        self.payload_died(job.payload());
        self.lane_lost_job(job.lane);
        self.finish(Finished { sequence, last: context.at, to, reservation, end });
    }

    pub(crate) fn apply_resumed(&mut self, queue: u32) {
        self.queues.at_mut(queue).paused = false;
        self.announce(queue);
    }

    pub(crate) fn apply_purge(&mut self, queue: u32, purge: Purge) {
        self.queues.at_mut(queue).purge = Some(purge);
        self.purges.retain(|&of| of != queue);
        if self.purges.is_empty() {
            self.purge_next = 0;
        }
        self.purges.push_back(queue);
    }

    pub(crate) fn apply_purged(&mut self, queue: u32) {
        self.queues.at_mut(queue).purge = None;
        if self.purges.front() == Some(&queue) {
            self.purge_next = 0;
        }
        self.purges.retain(|&of| of != queue);
    }

    pub(crate) fn find_schedule(&self, queue: u32, name: &str) -> Option<u32> {
        if self.queues.at(queue).schedules == 0 {
            return None;
        }
        self.by_schedule.get(&(queue, crate::Key::new(name).ok()?)).copied()
    }

    pub(crate) fn apply_scheduled(&mut self, mut schedule: Schedule) {
        let queue = schedule.queue;
        if let Some(old) = self.find_schedule(queue, schedule.name.as_str()) {
            schedule.last = self.schedules.at(old).last;
            self.remove_schedule(old);
        }
        schedule.occurrences = occurrences(&schedule.cron).ok().map(Box::new);
        self.payload_lives(schedule.payload);
        let (next, name) = (schedule.next, schedule.name.clone());
        let place = self.schedules.insert(schedule);
        self.by_schedule.insert((queue, name), place);
        self.queues.at_mut(queue).schedules += 1;
        if let Some(next) = next {
            self.schedule_times.insert((next, place));
        }
    }

    pub(crate) fn apply_fired(&mut self, place: u32, last: Time, next: Option<Time>, job: u64) {
        let schedule = self.schedules.at_mut(place);
        if job != 0 {
            schedule.last = Some((last, job));
        }
        if let Some(old) = std::mem::replace(&mut schedule.next, next) {
            self.schedule_times.remove(&(old, place));
        }
        if let Some(next) = next {
            self.schedule_times.insert((next, place));
        }
    }

    pub(crate) fn apply_schedule_moved(&mut self, place: u32, payload: PayloadAt) {
        let old = std::mem::replace(&mut self.schedules.at_mut(place).payload, payload);
        self.payload_died(old);
        self.payload_lives(payload);
    }

    /// Jobs that the other shard will not deliver again are forgotten.
    pub(crate) fn apply_received(&mut self, shard: u16, confirmed_below: u64) {
        while let Some((&from, _)) = self.incoming.range((shard, 0)..(shard, confirmed_below)).next() {
            self.incoming.remove(&from);
        }
    }

    pub(crate) fn apply_confirmed(&mut self, number: u64) {
        if let Some(sent) = self.outgoing.remove(&number) {
            self.payload_died(sent.payload);
        }
    }

    pub(crate) fn apply_outgoing_moved(&mut self, number: u64, payload: PayloadAt) {
        if let Some(sent) = self.outgoing.get_mut(&number) {
            let old = std::mem::replace(&mut sent.payload, payload);
            self.payload_died(old);
            self.payload_lives(payload);
        }
    }
}
