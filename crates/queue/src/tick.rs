//! Work that falls due: leases that end, times to live, schedules, purges that go on.
//!
//! A tick writes about as many events as it is given; what is left is due again at once.

use crate::entries::Schedule;
use crate::events::{Event, JobEvent, Payload, Work};
use crate::record::Writer;
use crate::{Bounds, JobState, Missed, Queues, Record, Time};

/// Places of the table of jobs that a purge looks at in one tick: a few nanoseconds each.
const PURGE_PLACES: u32 = 32_768;

/// Jobs that a purge takes out in one tick for each event that it may write. Such an event takes a few bytes and half a
/// microsecond, other events up to a hundred and several.
const PURGED_FOR_EACH: u32 = 4;

/// How late a schedule may be before its occurrence counts as missed, in milliseconds.
const MISSED_AFTER: u64 = 60_000;

/// What time brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ticked {
    /// More is due now than fitted: call again.
    pub more: bool,
}

impl Queues {
    /// What time brings: leases that end, times to live, schedules, purges that go on; about `events_max`
    /// events, at least one where something is due; four times as many small ones where a purge goes on.
    pub fn tick(&mut self, at: u64, now: Time, random: u64, record: &mut Record, events_max: u32) -> Ticked {
        self.advance_on(now);
        self.random = random;
        let mut writer = self.writer(record, at, now);
        let events_max = events_max.max(1);
        self.leases_end(&mut writer, events_max);
        self.times_to_live_end(&mut writer, events_max);
        self.schedules_come(&mut writer, events_max);
        if writer.events() < events_max {
            let left = events_max - writer.events();
            self.purge_on(&mut writer, PURGE_PLACES, left.saturating_mul(PURGED_FOR_EACH));
        }
        self.scratch = writer.finish();
        let more = !self.lapsed.is_empty()
            || !self.over.is_empty()
            || !self.purges.is_empty()
            || !self.is_up_to_date()
            || self.schedule_times.first().is_some_and(|&(at, _)| at <= self.now);
        Ticked { more }
    }

    fn leases_end(&mut self, writer: &mut Writer<'_>, events_max: u32) {
        while writer.events() < events_max
            && let Some(place) = self.lapsed.pop_front()
        {
            // It may have been settled since, or its place given to another job.
            let Some(job) = self.jobs.get(place) else { continue };
            if job.state() != JobState::Reserved || self.lease_until(job) > self.now {
                continue;
            }
            let attempts = job.attempts();
            if attempts >= job.attempts_max() {
                self.die(writer, place, "the lease of its last attempt ended");
                continue;
            }
            let due = self.now.after(self.backoff(place));
            self.emit(writer, place, &JobEvent::Lapsed { attempts, due });
        }
    }

    fn times_to_live_end(&mut self, writer: &mut Writer<'_>, events_max: u32) {
        while writer.events() < events_max
            && let Some(place) = self.over.pop_front()
        {
            let Some(extra) = self.extras.get(place) else { continue };
            if extra.expires.0 == 0 || extra.expires > self.now {
                continue;
            }
            let job = extra.job;
            // Who works on it may finish it; it goes when it comes back.
            if self.jobs.at(job).state() != JobState::Reserved {
                self.emit(writer, job, &JobEvent::Expired);
            }
        }
    }

    fn schedules_come(&mut self, writer: &mut Writer<'_>, events_max: u32) {
        while writer.events() < events_max
            && let Some(&(at, place)) = self.schedule_times.first()
            && at <= self.now
        {
            self.schedule_comes(writer, place, at);
        }
    }

    fn schedule_comes(&mut self, writer: &mut Writer<'_>, place: u32, first: Time) {
        let schedule = self.schedules.at(place);
        let (queue, missed) = (schedule.queue, schedule.cron.missed);
        let mut passed = vec![first];
        let mut next = None;
        if let Some(occurrences) = &schedule.occurrences {
            next = occurrences.after(first);
            while let Some(at) = next.filter(|&at| at <= self.now) {
                if passed.len() == Bounds::MISSED_MAX as usize {
                    // Occurrences before the last hundred are not made up for.
                    next = occurrences.after(self.now);
                    break;
                }
                passed.push(at);
                next = occurrences.after(at);
            }
        }
        let last = *passed.last().expect("the first one is in it");
        let put = match missed {
            Missed::All => &passed[..],
            Missed::Once => &passed[passed.len() - 1..],
            Missed::Skip if self.now.0 - last.0 <= MISSED_AFTER => &passed[passed.len() - 1..],
            Missed::Skip => &[],
        };
        self.enter(writer, queue);
        let before = self.sequence;
        for &due in put {
            // Where the queue is full the occurrence is skipped: the jobs before it are not done
            // yet.
            let name = &self.queues.at(queue).name;
            if self.room_for_count(Some(queue), name, 1).is_ok() {
                self.put_scheduled(writer, place, due);
            }
        }
        let name = self.schedules.at(place).name.clone();
        let job = if self.sequence > before { self.sequence } else { 0 };
        writer.write(&Event::Fired { name: name.as_str(), last, next, job });
        self.apply_fired(place, last, next, job);
    }

    fn put_scheduled(&mut self, writer: &mut Writer<'_>, place: u32, due: Time) {
        let Schedule { key, priority, attempts_max, time_to_live, payload, principal, .. } =
            self.schedules.at(place);
        writer.principal(principal.as_ref());
        let (key, time_to_live) = (key.clone(), *time_to_live);
        let work = Work {
            priority: *priority,
            attempts_max: *attempts_max,
            at_once: true,
            key: key.as_ref().map(crate::Key::as_str),
            dedup: None,
            payload: Payload::At(*payload),
        };
        let expires = time_to_live.map(|span| self.now.after(span));
        let job = self.sequence + 1;
        let payload = writer.write(&Event::Put { job, due, expires, work });
        self.apply_put(&writer.context(), job, due, expires, &work, payload);
    }
}
