//! Time goes on: jobs that become due, leases that end, and the effects of a clock that was set.
//!
//! Nothing here needs an event, because it follows from the times in events. Changes that need one
//! (a lease that ended, a time to live) are only noted for the next tick: see [`crate::tick`].

use std::cmp::Reverse;

use crate::entries::Bucket;
use crate::timers::Timer;
use crate::{JobState, Queues, Time};

/// Steps of what time brings before anything else is looked at: a timer that fires or is moved, a job that comes due.
/// One takes 50 to 500 ns, so that a turn spends 2 ms on it at most.
const STEPS_AT_ONCE: usize = 4_096;

/// A clock that steps back less far is taken to stand still, in milliseconds.
const STEP_BACK: u64 = 1_000;

impl Queues {
    /// Time goes on: jobs whose time has come become due, dedup ids are forgotten, gates open.
    /// Nothing of this needs an event: it follows from the times in events. Work that is left over
    /// at a time is for the next tick, however many commands come at that time.
    pub(crate) fn advance(&mut self, now: Time) {
        if self.went_to != Some(now) {
            self.advance_some(now, STEPS_AT_ONCE);
        }
    }

    /// The same, and goes on with what was left over.
    pub(crate) fn advance_on(&mut self, now: Time) {
        self.advance_some(now, STEPS_AT_ONCE);
    }

    /// The same to the end, however much it is.
    pub(crate) fn advance_all(&mut self, now: Time) {
        self.advance_some(now, usize::MAX);
        debug_assert!(self.is_up_to_date(), "nothing bounds it");
    }

    fn advance_some(&mut self, now: Time, mut steps: usize) {
        let stepped_back = self.is_ahead_of(now);
        let leapt = now.0.saturating_sub(self.now.0) >= crate::timers::AHEAD_MAX;
        if stepped_back || leapt {
            self.rearm_all(now);
        }
        self.went_to = Some(now);
        self.now = self.now.max(now);
        let now = self.now;
        let mut fired = std::mem::take(&mut self.fired);
        while steps > 0 && !self.is_up_to_date() {
            // The jobs of a millisecond come due in their order: all of them are collected first.
            if self.came_due.is_empty() || self.timers.is_amid() {
                fired.clear();
                self.timers.advance(now, &mut fired, &mut steps);
                self.fire(&fired);
            } else if let Some(Reverse((due, sequence, place))) = self.came_due.pop() {
                steps -= 1;
                self.come_due(due, sequence, place);
            }
        }
        fired.clear();
        fired.shrink_to(STEPS_AT_ONCE);
        self.fired = fired;
        if self.came_due.is_empty() {
            self.came_due.shrink_to(STEPS_AT_ONCE);
        }
    }

    /// Whether everything up to the latest time has fired and come due.
    pub(crate) fn is_up_to_date(&self) -> bool {
        self.timers.reached(self.now) && self.came_due.is_empty()
    }

    /// A job that was collected comes due, unless its state changed meanwhile.
    fn come_due(&mut self, due: Time, sequence: u64, place: u32) {
        let still = |job: &crate::job::Job| {
            job.sequence() == sequence && job.state() == JobState::Delayed && job.due() == due
        };
        if self.jobs.get(place).is_some_and(still) {
            self.detach(place);
            self.attach(place, JobState::Due);
        }
    }

    fn fire(&mut self, fired: &[u32]) {
        let now = self.now;
        for &index in fired {
            match Timer::of(index) {
                Timer::Job(place) => {
                    let job = self.jobs.at(place);
                    match job.state() {
                        JobState::Delayed if job.due() > now => {
                            self.timers.arm(Timer::Job(place), job.due(), now);
                        }
                        JobState::Delayed => {
                            self.came_due.push(Reverse((job.due(), job.sequence(), place)));
                        }
                        JobState::Reserved if self.lease_until(job) > now => {
                            let until = self.lease_until(job);
                            self.timers.arm(Timer::Job(place), until, now);
                        }
                        JobState::Reserved => self.lapsed.push_back(place),
                        _ => {}
                    }
                }
                Timer::Extra(place) => {
                    let expires = self.extras.at(place).expires;
                    if expires > now {
                        self.timers.arm(Timer::Extra(place), expires, now);
                    } else {
                        self.over.push_back(place);
                    }
                }
                Timer::Dedup(place) => {
                    let until = self.remembered.at(place).until;
                    if until > now {
                        self.timers.arm(Timer::Dedup(place), until, now);
                    } else {
                        self.forget(place);
                    }
                }
                Timer::Lane(place) => self.lane_gate(place),
                Timer::Queue(place) => self.announce(place),
            }
        }
    }

    fn lane_gate(&mut self, place: u32) {
        let now = self.now;
        let lane = self.lanes.at_mut(place);
        if std::mem::take(&mut lane.parked) {
            self.settle_lane(place);
        }
        let lane = self.lanes.at(place);
        if lane.jobs == 0 && lane.key.is_some() {
            let limit = self.queues.at(lane.queue).settings().key_limit;
            match limit.and_then(|limit| lane.bucket.full_at(now, &limit)) {
                Some(full) => self.timers.arm(Timer::Lane(place), full, now),
                None => self.remove_lane(place),
            }
        }
    }

    /// The clock was set, or much time has passed: every timer is armed anew. Takes some time with many jobs.
    pub(crate) fn rearm_all(&mut self, now: Time) {
        let ends: Vec<_> = self
            .jobs
            .iter()
            .filter(|(_, job)| job.state() == JobState::Reserved)
            .map(|(place, job)| (place, self.lease_until(job)))
            .collect();
        self.now = now;
        for (place, until) in ends {
            // A time that ended long ago must not look as if it ended in the future.
            let until = until.0.max(now.0.saturating_sub(crate::timers::AHEAD_MAX));
            self.rest_mut(place).lease_until = until as u32;
        }
        self.timers.restart(now);
        self.came_due.clear();
        for place in 0..self.places_end {
            let Some(job) = self.jobs.get(place) else { continue };
            match job.state() {
                JobState::Delayed => self.timers.arm(Timer::Job(place), job.due(), now),
                JobState::Reserved => {
                    let until = self.lease_until(job);
                    self.timers.arm(Timer::Job(place), until, now);
                }
                _ => {}
            }
        }
        let mut arm = Vec::new();
        arm.extend(
            self.extras
                .iter()
                .filter(|(_, extra)| extra.expires.0 != 0)
                .map(|(place, extra)| (Timer::Extra(place), extra.expires)),
        );
        arm.extend(self.remembered.iter().map(|(place, entry)| (Timer::Dedup(place), entry.until)));
        arm.extend(
            self.lanes
                .iter()
                .filter(|(_, lane)| lane.parked || lane.key.is_some() && lane.jobs == 0)
                .map(|(place, _)| (Timer::Lane(place), now)),
        );
        arm.extend(self.queues.iter().map(|(place, _)| (Timer::Queue(place), now)));
        for (timer, at) in arm {
            self.timers.arm(timer, at, now);
        }
        // Tokens are counted from a time that may lie ahead now.
        let queues: Vec<_> = self.queues.iter().map(|(place, _)| place).collect();
        queues.into_iter().for_each(|place| self.queues.at_mut(place).bucket = Bucket::default());
        let lanes: Vec<_> = self.lanes.iter().map(|(place, _)| place).collect();
        lanes.into_iter().for_each(|place| self.lanes.at_mut(place).bucket = Bucket::default());
    }

    /// Whether the clock was set back since the last call: `tick` is to be called then, whatever
    /// [`Self::next_deadline`] returns.
    pub fn is_ahead_of(&self, now: Time) -> bool {
        now.0.saturating_add(STEP_BACK) < self.now.0
    }

    /// When `tick` is to be called next; it may be called earlier, and may then find nothing.
    pub fn next_deadline(&self) -> Option<Time> {
        if !self.purges.is_empty() || !self.is_up_to_date() {
            return Some(Time(0));
        }
        // `self.now` may be up to `STEP_BACK` ahead of the driver's clock: these wait for their own time, not for that.
        let lapsed = self.lapsed.front().map(|&place| self.jobs.get(place).map(|job| self.lease_until(job)));
        let over = self.over.front().map(|&place| self.extras.get(place).map(|extra| extra.expires));
        let ended = [lapsed, over].into_iter().flatten().map(|end| end.unwrap_or_default().min(self.now));
        let occurrence = self.schedule_times.first().map(|&(at, _)| at);
        [self.timers.next(self.now), occurrence].into_iter().flatten().chain(ended).min()
    }

    /// A number that nobody foresees, from the one that the driver passed in.
    pub(crate) fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.random;
        drawn = (drawn ^ drawn >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ drawn >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        drawn ^ drawn >> 31
    }
}
