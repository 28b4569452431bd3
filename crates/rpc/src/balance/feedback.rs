//! What happened to calls and connections, and what the balancer learns from it.
//!
//! The driver calls `began` when it sends a call and `ended` once for each of those, however it
//! ended. A failure is an answer that did not come in time or a connection that broke; BUSY and
//! REJECTED are answers of an instance that works. An id of an instance that has gone is ignored:
//! its last calls end after it.

use super::{
    balancer::Balancer,
    ejection::{Standing, Verdict},
    instance::{Instance, InstanceId, Link},
};
use crate::answer::CallError;

/// How a call ended, as far as its instance is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered.
    Ok,
    /// The instance is full and did nothing.
    Busy {
        /// When it may be asked again, in milliseconds.
        retry_after_ms: u32,
    },
    /// It was refused for good: an answer like any other, the caller is wrong and the instance is well.
    Rejected,
    /// Its deadline passed without an answer.
    Deadline,
    /// The connection broke, could not be opened, or carried nonsense.
    Broken,
    /// The caller took it back, or another instance was faster: how long it had taken so far still counts.
    Cancelled,
}

impl Outcome {
    /// The meaning of an answer that is not OK for the instance that gave it.
    pub fn of(error: &CallError) -> Self {
        match error {
            CallError::Busy { retry_after, .. } => {
                Self::Busy { retry_after_ms: u32::try_from(retry_after.as_millis()).unwrap_or(u32::MAX) }
            }
            CallError::Deadline => Self::Deadline,
            _ => Self::Rejected,
        }
    }
}

/// The meaning of the time that something took for its instance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Time {
    IsLatency,
    SaysNothing,
}

impl Balancer {
    /// A call to `id` begins. Each one must be followed by [`Balancer::ended`] or
    /// [`Balancer::stream_ended`].
    #[inline]
    pub fn began(&mut self, id: InstanceId, now_us: u64) {
        let Some(instance) = self.instance_mut(id) else { return };
        instance.inflight = instance.inflight.saturating_add(1);
        if instance.health.began(now_us) != Verdict::Unchanged {
            self.spoil();
        }
    }

    /// A call to `id` ended `latency_us` after it had begun.
    #[inline]
    pub fn ended(&mut self, id: InstanceId, outcome: Outcome, latency_us: u64, now_us: u64) {
        self.learn(id, outcome, latency_us, Time::IsLatency, now_us);
    }

    /// A stream or channel to `id` ended `lasted_us` after it had begun.
    ///
    /// It may last for hours, and that is no measure of how fast the instance is; how it ended does
    /// count.
    pub fn stream_ended(&mut self, id: InstanceId, outcome: Outcome, lasted_us: u64, now_us: u64) {
        self.learn(id, outcome, lasted_us, Time::SaysNothing, now_us);
    }

    #[inline]
    fn learn(&mut self, id: InstanceId, outcome: Outcome, latency_us: u64, time: Time, now_us: u64) {
        if now_us >= self.window_end_us {
            self.compare(now_us);
        }
        let (slot, decay_us, busy_max_us) = (id.slot(), self.settings.decay_us, self.settings.busy_max_us);
        let Some(instance) = self.slots.get_mut(slot).and_then(|place| place.holding(id)) else { return };
        let began_us = now_us.saturating_sub(latency_us);
        instance.inflight = instance.inflight.saturating_sub(1);
        let was_stranger = instance.latency.is_empty();
        let verdict = match outcome {
            Outcome::Ok | Outcome::Rejected => {
                if time == Time::IsLatency {
                    instance.latency.observe(latency_us, now_us, decay_us);
                }
                instance.health.succeeded(began_us, now_us, &self.settings.ejection)
            }
            Outcome::Busy { retry_after_ms } => {
                let wait_us = (u64::from(retry_after_ms) * 1_000).min(busy_max_us);
                if instance.busy_until_us <= now_us {
                    // Only the first one changes where calls go; keys don't mind at all.
                    self.ready.fresh_until_us = 0;
                }
                instance.busy_until_us = instance.busy_until_us.max(now_us.saturating_add(wait_us));
                // An instance on probation that answers BUSY is alive, and has proved nothing else.
                instance.health.ended_silently(began_us)
            }
            Outcome::Deadline | Outcome::Broken => {
                if time == Time::IsLatency {
                    instance.latency.observe_peak(latency_us, now_us, decay_us);
                }
                instance.health.failed(began_us, &self.settings.ejection)
            }
            Outcome::Cancelled => {
                if time == Time::IsLatency {
                    instance.latency.observe_peak(latency_us, now_us, decay_us);
                }
                instance.health.ended_silently(began_us)
            }
        };
        let is_stranger = instance.latency.is_empty();
        match verdict {
            // What is thought of strangers depends on who is none.
            Verdict::Unchanged if was_stranger && !is_stranger => self.spoil(),
            Verdict::Unchanged => {}
            Verdict::Improved => self.spoil(),
            Verdict::EjectAgain => self.eject(slot, now_us),
            Verdict::Eject => {
                if self.may_eject(slot, now_us) {
                    self.eject(slot, now_us);
                }
            }
        }
    }

    /// The connection to `id` is up.
    pub fn connected(&mut self, id: InstanceId) {
        self.relink(id, Link::Connected);
    }

    /// The connection to `id` failed or broke; another try is worth it from `retry_at_us` on.
    ///
    /// Until then no call chooses it, and outside the subset nobody need reconnect before a call does.
    /// Its calls are to be ended as [`Outcome::Broken`] one by one.
    pub fn disconnected(&mut self, id: InstanceId, retry_at_us: u64) {
        self.relink(id, Link::Lost { retry_at_us });
    }

    /// The connection to `id` was closed on purpose, idle or too old: nothing is wrong with it.
    pub fn closed(&mut self, id: InstanceId) {
        self.relink(id, Link::Idle);
    }

    /// The load that `id` reported on its connection (`message/x.stadium.load.v1`): fresher than
    /// discovery's report, and kept until the connection is gone.
    pub fn load(&mut self, id: InstanceId, load: f32, quiescing: bool) {
        let Some(instance) = self.instance_mut(id) else { return };
        instance.report_load(load);
        let was = instance.quiescing();
        instance.leaving_reported = quiescing;
        if was != instance.quiescing() {
            self.reselect();
        }
    }

    fn relink(&mut self, id: InstanceId, link: Link) {
        let Some(instance) = self.instance_mut(id) else { return };
        let was_lost = matches!(instance.link, Link::Lost { .. });
        instance.link = link;
        if link != Link::Connected {
            // The process that answers there next may be another one.
            instance.load_reported = false;
            instance.leaving_reported = false;
            instance.busy_until_us = 0;
        }
        if was_lost == matches!(link, Link::Lost { .. }) {
            self.spoil();
        } else {
            self.reselect();
        }
    }

    /// Ends the window: ejects whose success rate lies far below the median of those that had enough calls.
    #[cold]
    fn compare(&mut self, now_us: u64) {
        let settings = &self.settings.ejection;
        self.window_end_us = now_us.saturating_add(settings.window_us);
        let (answers_min, gap) = (settings.window_answers_min.max(1), settings.success_gap);
        let rate = |instance: &Instance| {
            (instance.health.answered >= answers_min)
                .then(|| 1.0 - f64::from(instance.health.failed) / f64::from(instance.health.answered))
        };
        self.rates.clear();
        self.rates.extend(self.slots.iter().filter_map(|place| place.instance.as_ref()).filter_map(rate));
        // Two can only disagree; three have a majority.
        if self.rates.len() >= 3 {
            let middle = self.rates.len() / 2;
            let median = *self.rates.select_nth_unstable_by(middle, f64::total_cmp).1;
            for slot in 0..self.slots.len() {
                let far_below = self.slots[slot].instance.as_ref().is_some_and(|instance| {
                    instance.health.standing(now_us) == Standing::Serving
                        && rate(instance).is_some_and(|rate| rate < median - gap)
                });
                if far_below && self.may_eject(slot, now_us) {
                    self.eject(slot, now_us);
                }
            }
        }
        for instance in self.slots.iter_mut().filter_map(|place| place.instance.as_mut()) {
            (instance.health.answered, instance.health.failed) = (0, 0);
        }
    }

    /// Whether enough others are left when the instance in `slot` goes out of use.
    fn may_eject(&self, slot: usize, now_us: u64) -> bool {
        let in_subset = self.slots[slot].instance.as_ref().is_some_and(|instance| instance.in_subset);
        // Calls go to the subset, so that is where enough must be left; keys may go anywhere.
        let (mut all, mut out) = (0u32, 0u32);
        for instance in self.slots.iter().filter_map(|place| place.instance.as_ref()) {
            if instance.quiescing() || (in_subset && !instance.in_subset) {
                continue;
            }
            all += 1;
            out += u32::from(instance.health.standing(now_us) != Standing::Serving);
        }
        f64::from(out + 1) <= (f64::from(all) * self.settings.ejection.share_max).ceil()
    }

    fn eject(&mut self, slot: usize, now_us: u64) {
        if let Some(instance) = self.slots[slot].instance.as_mut() {
            instance.health.eject(now_us, &self.settings.ejection);
            self.ejections += 1;
        }
        self.spoil();
    }
}
