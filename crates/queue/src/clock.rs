//! Time goes on: what becomes due, what ends, and what a clock that was set changes.
//!
//! Nothing here needs an event, because it follows from the moments that events named. What does need one
//! (a lease that ended, a time to live) is only noted for the next tick: see [`crate::tick`].

use crate::entries::Bucket;
use crate::timers::Timer;
use crate::{JobState, Queues, Time};

/// Timers that fire before anything else is looked at.
const FIRED_AT_ONCE: usize = 8_192;

/// A clock that steps back less far is taken to stand still, in milliseconds.
const STEP_BACK: u64 = 1_000;

impl Queues {
    /// Time goes on: jobs whose moment has come become due, dedup ids are forgotten, gates open. Nothing
    /// of this needs an event: it follows from the moments that events named.
    pub(crate) fn advance(&mut self, now: Time) {
        self.advance_some(now, 1);
    }

    /// The same to the end, however much it is.
    pub(crate) fn advance_all(&mut self, now: Time) {
        while !self.advance_some(now, usize::MAX) {}
    }

    fn advance_some(&mut self, now: Time, rounds: usize) -> bool {
        let stepped_back = self.is_ahead_of(now);
        let leapt = now.0.saturating_sub(self.now.0) >= crate::timers::AHEAD_MAX;
        if stepped_back || leapt {
            self.rearm_all(now);
        }
        self.now = self.now.max(now);
        let now = self.now;
        if self.timers.reached(now) {
            return true;
        }
        let mut fired = std::mem::take(&mut self.fired);
        let mut reached = false;
        for _ in 0..rounds {
            fired.clear();
            reached = self.timers.advance(now, &mut fired, FIRED_AT_ONCE);
            self.fire(&fired);
            if reached {
                break;
            }
        }
        self.fired = fired;
        reached
    }

    fn fire(&mut self, fired: &[u32]) {
        let now = self.now;
        let mut came_due = std::mem::take(&mut self.came_due);
        for &index in fired {
            match Timer::of(index) {
                Timer::Job(place) => {
                    let job = self.jobs.at(place);
                    match job.state() {
                        JobState::Delayed if job.due() > now => {
                            self.timers.arm(Timer::Job(place), job.due(), now);
                        }
                        JobState::Delayed => came_due.push((job.due(), job.sequence(), place)),
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
        came_due.sort_unstable();
        for (_, _, place) in came_due.drain(..) {
            self.detach(place);
            self.attach(place, JobState::Due);
        }
        self.came_due = came_due;
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
            // What ended long ago must not look as if it ended in the future.
            let until = until.0.max(now.0.saturating_sub(crate::timers::AHEAD_MAX));
            self.jobs.at_mut(place).lease_until = until as u32;
        }
        self.timers.restart(now);
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
        // Tokens are counted from a moment that may lie ahead now.
        let queues: Vec<_> = self.queues.iter().map(|(place, _)| place).collect();
        queues.into_iter().for_each(|place| self.queues.at_mut(place).bucket = Bucket::default());
        let lanes: Vec<_> = self.lanes.iter().map(|(place, _)| place).collect();
        lanes.into_iter().for_each(|place| self.lanes.at_mut(place).bucket = Bucket::default());
    }

    /// Whether the clock was set back since the last call: `tick` is to be called then, whatever [`Self::next_deadline`] says.
    pub fn is_ahead_of(&self, now: Time) -> bool {
        now.0.saturating_add(STEP_BACK) < self.now.0
    }

    /// When `tick` is to be called next; it may be called earlier, and may then find nothing.
    pub fn next_deadline(&self) -> Option<Time> {
        let overdue = !self.lapsed.is_empty()
            || !self.over.is_empty()
            || !self.purges.is_empty()
            || !self.timers.reached(self.now);
        if overdue {
            return Some(self.now);
        }
        let moment = self.moments.first().map(|&(at, _)| at);
        [self.timers.next(self.now), moment].into_iter().flatten().min()
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
