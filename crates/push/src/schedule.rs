//! Schedules: when their occurrences come, what each makes, and what becomes of those that were missed.
//!
//! An occurrence's push is named by the schedule's push and the occurrence's time: it is made once,
//! whatever happens in between. The time of the next one is decided when the event is written, and
//! stands in it.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use stadium_state_machine::Record;
use stadium_state_machine::encoding::corrupt;

use crate::app::Schedule;
use crate::clock::{self, AHEAD_MAX};
use crate::events::Event;
use crate::life::Origin;
use crate::platform::{Due, Platform};
use crate::refusal::{CRON, NAMES_FULL, SCHEDULE_UNKNOWN, busy, rejected};
use crate::{
    Answer, Audience, Civil, Corrupt, Held, Missed, NewPush, NewSchedule, PushId, Refusal, ScheduleName,
    ScheduleView, ShardMessage, Time, When, Zone,
};

/// An occurrence that is at most so late is in time.
const IN_TIME: u64 = 60_000;
/// Missed occurrences that one event covers; more wait for the next.
const MISSED_AT_ONCE: u64 = 1_000;
/// How far a clock may be set back for occurrences to be known as made, in milliseconds.
///
/// A day covers a time service that corrects a clock, and a clock that was set to the wrong zone. Where a clock was
/// wrong by more, an operator who puts the schedule again does not wait until the wrong date.
const SET_BACK_MAX: u64 = 24 * 3_600_000;

/// The push of an occurrence.
pub(crate) fn occurrence_id(schedule: PushId, at: Time) -> PushId {
    PushId(schedule.0 >> 64 << 64 | u128::from(at.0 / 1_000))
}

/// What a schedule makes at a time.
fn occurrence(new: &NewSchedule, at: Time) -> NewPush {
    let when = match new.zone {
        Zone::Named(_) => When::Now,
        Zone::Local => When::Local(Civil((at.0 / 1_000) as i64)),
    };
    NewPush { id: occurrence_id(new.push.id, at), when, ..new.push.clone() }
}

/// After that time of an occurrence it is late: where the clocks are each device's own, when they
/// have all shown it.
fn late_after(new: &NewSchedule, at: Time) -> Time {
    match new.zone {
        Zone::Named(_) => at.after(IN_TIME),
        Zone::Local => at.after(AHEAD_MAX - 2 * 3_600_000),
    }
}

/// Occurrences after that time are made; by devices' own clocks, those that no clock has shown yet.
/// Where the clock was set back, those that the schedule has made or missed already do not recur.
fn begin_of(now: Time, zone: &Zone, before: Option<&Schedule>) -> Time {
    let begin = match zone {
        Zone::Named(_) => now,
        Zone::Local => now.after(AHEAD_MAX),
    };
    let before = before.filter(|before| is_same_kind(&before.new.zone, zone));
    match before.and_then(|before| before.last.front()) {
        Some(&(last, _)) if last <= begin.after(SET_BACK_MAX) => begin.max(last),
        _ => begin,
    }
}

/// Whether both mean one clock for all devices, or both each device's own.
fn is_same_kind(one: &Zone, other: &Zone) -> bool {
    matches!((one, other), (Zone::Named(_), Zone::Named(_)) | (Zone::Local, Zone::Local))
}

impl Platform {
    pub(crate) fn apply_schedule(&mut self, now: Time, event: &Event<'_>) -> Result<(), Corrupt> {
        let unknown = || corrupt("a schedule that is not there");
        match event {
            Event::Schedule { app, schedule, next } => {
                let schedules = &mut self.app_at_mut(*app)?.schedules;
                let old = schedules.remove(&schedule.name);
                let name = schedule.name.clone();
                let due = old.as_ref().and_then(Schedule::due);
                let mut new = old.unwrap_or_else(|| Schedule {
                    new: schedule.clone().into_owned(),
                    held: Held::Active,
                    next: None,
                    last: VecDeque::new(),
                    made: 0,
                    skipped: 0,
                });
                if !is_same_kind(&new.new.zone, &schedule.zone) {
                    // Times of one zone and times on devices' own clocks do not compare.
                    new.last.clear();
                }
                new.new = schedule.clone().into_owned();
                new.next = *next;
                self.reschedule(*app, name.clone(), due, new.due());
                self.app_at_mut(*app)?.schedules.insert(name, new);
            }
            Event::Held { app, name, held, next } => {
                let schedule = self.app_at_mut(*app)?.schedules.get_mut(name).ok_or_else(unknown)?;
                let before = schedule.due();
                schedule.held = *held;
                schedule.next = *next;
                let after = schedule.due();
                self.reschedule(*app, name.clone(), before, after);
            }
            Event::Unscheduled { app, name } => {
                let schedule = self.app_at_mut(*app)?.schedules.remove(name).ok_or_else(unknown)?;
                self.reschedule(*app, name.clone(), schedule.due(), None);
            }
            Event::Occurred { app, name, at, next } => {
                let schedule = self.app_at_mut(*app)?.schedules.get_mut(&**name).ok_or_else(unknown)?;
                let before = schedule.due();
                let push = occurrence(&schedule.new, *at);
                schedule.remember(*at, Some(push.id));
                schedule.made += 1;
                schedule.next = *next;
                let after = schedule.due();
                self.reschedule(*app, name.clone().into_owned(), before, after);
                self.make(now, *app, push, name);
            }
            Event::Missed { app, name, count, at, next } => {
                let schedule = self.app_at_mut(*app)?.schedules.get_mut(&**name).ok_or_else(unknown)?;
                let before = schedule.due();
                schedule.remember(*at, None);
                schedule.skipped += count;
                schedule.next = *next;
                let after = schedule.due();
                self.reschedule(*app, name.clone().into_owned(), before, after);
            }
            _ => return Err(corrupt("an event of no schedule")),
        }
        Ok(())
    }

    fn reschedule(&mut self, app: u32, name: ScheduleName, before: Option<Time>, after: Option<Time>) {
        if let Some(before) = before {
            self.due.remove(&(before, Due::Occurrence(app, name.clone())));
        }
        if let Some(after) = after {
            self.due.insert((after, Due::Occurrence(app, name)));
        }
    }

    /// The push of an occurrence: here, or by message where its one device lives elsewhere. One
    /// that is there already is not made again.
    fn make(&mut self, now: Time, app: u32, push: NewPush, name: &ScheduleName) {
        if let Audience::Device(device) = &push.audience {
            let shard = self.home_of(&push.app, device);
            if shard != self.place.shard {
                let push = Arc::new(push);
                let message = ShardMessage::Start { push, accepted_at: now, schedule: Some(name.clone()) };
                self.outbox.write(shard, message);
                return;
            }
        }
        if self.find_id(app, push.id).is_none() {
            let mut body = std::mem::take(&mut self.scratch);
            body.clear();
            push.encode(&mut body);
            self.accepted(now, app, &push, &body, now, Some(name.clone()), Origin::Here);
            self.scratch = body;
        }
    }

    /// Keeps a schedule, or changes it.
    pub(crate) fn put_schedule(
        &mut self,
        now: Time,
        new: &NewSchedule,
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        let app_number = self.app_number(&new.push.app)?;
        let app = &self.apps[&app_number];
        self.check_push(now, app, &new.push)?;
        if !app.schedules.contains_key(&new.name) && app.schedules.len() >= self.bounds.names_max as usize {
            let reason =
                format!("app {:?} has {} schedules: drop one", app.name.as_str(), app.schedules.len());
            return Err(busy(NAMES_FULL, 60_000, reason));
        }
        let occurrences = clock::occurrences(&new.cron, &new.zone)?;
        let Some(next) = occurrences.after(begin_of(now, &new.zone, app.schedules.get(&new.name))) else {
            return Err(rejected(CRON, format!("{:?} never comes", new.cron)));
        };
        let event = Event::Schedule { app: app_number, schedule: Cow::Borrowed(new), next: Some(next) };
        self.emit(now, record, &event);
        Ok(Answer::Done)
    }

    pub(crate) fn hold_schedule(
        &mut self,
        now: Time,
        app: u32,
        name: &ScheduleName,
        held: Held,
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        let schedule = self.schedule(app, name)?;
        if schedule.held == held {
            return Ok(Answer::Done);
        }
        let occurrences = clock::occurrences(&schedule.new.cron, &schedule.new.zone)?;
        // Occurrences missed meanwhile are skipped.
        let next = occurrences.after(begin_of(now, &schedule.new.zone, Some(schedule)));
        self.emit(now, record, &Event::Held { app, name: name.clone(), held, next });
        Ok(Answer::Done)
    }

    pub(crate) fn schedule(&self, app: u32, name: &ScheduleName) -> Result<&Schedule, Refusal> {
        let app = &self.apps[&app];
        app.schedules.get(name).ok_or_else(|| {
            let reason = format!("app {:?} has no schedule {:?}", app.name.as_str(), name.as_str());
            rejected(SCHEDULE_UNKNOWN, reason)
        })
    }

    pub(crate) fn views_of_schedules(&self, app: u32) -> Vec<ScheduleView> {
        let views = self.apps[&app].schedules.values().map(|schedule| {
            let occurrences = clock::occurrences(&schedule.new.cron, &schedule.new.zone).ok();
            let after = |at: &Time| occurrences.as_ref()?.after(*at);
            let next = std::iter::successors(schedule.next, after).take(5).collect();
            ScheduleView {
                schedule: Box::new(schedule.new.clone()),
                held: schedule.held,
                next,
                last: schedule.last.iter().copied().collect(),
                made: schedule.made,
                skipped: schedule.skipped,
            }
        });
        views.collect()
    }

    /// The time of an occurrence has come, or has passed while nobody looked.
    pub(crate) fn occur(&mut self, now: Time, app: u32, name: &ScheduleName, record: &mut Record) {
        let Some(schedule) = self.apps.get(&app).and_then(|app| app.schedules.get(name)) else { return };
        let (Some(first), Ok(occurrences)) =
            (schedule.next, clock::occurrences(&schedule.new.cron, &schedule.new.zone))
        else {
            // A time zone that this version does not know any more: it waits for one who edits it.
            let event = Event::Held { app, name: name.clone(), held: Held::Paused, next: None };
            self.emit(now, record, &event);
            return;
        };
        let lead = if schedule.new.zone == Zone::Local { AHEAD_MAX } else { 0 };
        let has_come = |at: Time| at.0.saturating_sub(lead) <= now.0;
        let (mut newest, mut before, mut passed) = (first, None, 0);
        let mut next = occurrences.after(first);
        while let Some(at) = next.filter(|&at| has_come(at)) {
            // By each device's clock the days overlap: yesterday's goes on in the west when today's begins in the east.
            if now <= late_after(&schedule.new, newest) || passed >= MISSED_AT_ONCE {
                break;
            }
            before = Some(newest);
            passed += 1;
            newest = at;
            next = occurrences.after(at);
        }
        let is_late = now > late_after(&schedule.new, newest);
        let is_too_late = match schedule.new.missed {
            Missed::Skip => is_late,
            Missed::Late(span) => is_late && now > late_after(&schedule.new, newest).after(span),
        };
        let name = Cow::Owned(name.clone());
        if passed >= MISSED_AT_ONCE {
            let at = before.unwrap_or(first);
            self.emit(now, record, &Event::Missed { app, name, count: passed, at, next: Some(newest) });
            return;
        }
        if is_too_late {
            self.emit(now, record, &Event::Missed { app, name, count: passed + 1, at: newest, next });
            return;
        }
        if let Some(at) = before {
            self.emit(
                now,
                record,
                &Event::Missed { app, name: name.clone(), count: passed, at, next: Some(newest) },
            );
        }
        self.emit(now, record, &Event::Occurred { app, name, at: newest, next });
    }
}
