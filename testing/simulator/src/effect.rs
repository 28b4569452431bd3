//! The possible effects of a command on a message, when nobody heard the answer.
//!
//! Used for commands that were under way in a crash: either they happened wholly or not at all.
//! Here is the case that they happened.

use stadium_queue::{Command, Edit, JobSet, NewJob, Time, When};

use crate::clock::Span;
use crate::ledger::{Issued, Ledger, Message};
use crate::message::Content;
use crate::place::{Gone, Live, Phase, Place, QueueNumber, add};

/// Priority where a put names none.
const PRIORITY: u8 = 4;

impl Ledger {
    /// Where a message may be after the command was carried out, if it was in `places` before.
    pub(crate) fn after(&self, message: &Message, places: &[Place], issued: &Issued) -> Vec<Place> {
        let mut after = Vec::with_capacity(places.len());
        for place in places {
            for next in self.effect(message, place, issued) {
                add(&mut after, next);
            }
            if issued.may_refuse {
                add(&mut after, place.clone());
            }
        }
        after
    }

    fn effect(&self, message: &Message, place: &Place, issued: &Issued) -> Vec<Place> {
        let unchanged = || vec![place.clone()];
        let now = issued.during;
        if let Command::Put { queue, jobs, .. } = &issued.command {
            // A repeated put changes nothing where the first one is remembered.
            let at = issued.tags.iter().position(|&tag| tag == message.tag);
            return match (place, at) {
                (Place::Absent, Some(at)) => {
                    vec![self.put(issued, self.new_live(self.queue(queue), &jobs[at], now))]
                }
                _ => unchanged(),
            };
        }
        let Place::Live(live) = place else { return unchanged() };
        let held = |leases: &[stadium_queue::Lease]| leases.iter().any(|&lease| live.held_by(lease));
        match &issued.command {
            Command::Settle { leases } if held(leases) => {
                let lease = leases.iter().copied().find(|&lease| live.held_by(lease));
                vec![Place::Gone(Gone::Settled(lease))]
            }
            Command::Release { leases, retry, .. } if held(leases) => live.released(*retry, &self.rules, now),
            Command::Extend { leases, lease } if held(leases) => vec![extended(live, now.after(*lease))],
            Command::Bury { leases, .. } if held(leases) => {
                vec![Place::Live(Live { phase: Phase::Buried, ..live.clone() })]
            }
            Command::Forward { lease, queue, job, .. } if live.held_by(*lease) => {
                vec![self.forwarded(live, self.queue(queue), job, now)]
            }
            Command::Reserve { queue, lease, .. } => {
                let mut places = unchanged();
                if live.queue == self.queue(queue) && live.phase == Phase::Waiting {
                    let lease = lease.expect("a simulation names its leases");
                    places.push(live.reserved(None, now.after(lease)));
                }
                places
            }
            Command::Delete { jobs } if jobs.iter().any(|&job| live.is(job)) => {
                vec![Place::Gone(Gone::Taken)]
            }
            Command::Edit { job, edit } if live.is(*job) => {
                let edited = edited(live, edit, message.key.is_some(), now);
                match takes_edit(live, edit) {
                    Some(true) => vec![edited],
                    Some(false) => unchanged(),
                    None => vec![edited, place.clone()],
                }
            }
            Command::Kick { queue, jobs } if live.phase == Phase::Buried => {
                self.chosen(live, self.queue(queue), self.queue(queue), jobs, now)
            }
            Command::Redrive { queue, jobs, to } if live.phase == Phase::Dead => {
                let from = self.queue(queue);
                let to = to.as_ref().map_or(from, |to| self.queue(to));
                self.chosen(live, from, to, jobs, now)
            }
            Command::Purge { queue, state } if live.queue == self.queue(queue) => {
                let reserved = matches!(live.phase, Phase::Reserved { .. });
                match state {
                    // Delayed or due: the clock decides which one a waiting job is.
                    Some(state) if live.in_state(*state) && live.phase == Phase::Waiting => {
                        vec![place.clone(), Place::Gone(Gone::Taken)]
                    }
                    Some(state) if live.in_state(*state) => vec![Place::Gone(Gone::Taken)],
                    None if !reserved => vec![Place::Gone(Gone::Taken)],
                    _ => unchanged(),
                }
            }
            _ => unchanged(),
        }
    }

    /// Kick and redrive: these, or some of the oldest.
    fn chosen(
        &self,
        live: &Live,
        from: QueueNumber,
        to: QueueNumber,
        jobs: &JobSet,
        now: Span,
    ) -> Vec<Place> {
        let unchanged = Place::Live(live.clone());
        if live.queue != from {
            return vec![unchanged];
        }
        match jobs {
            JobSet::Ids(ids) if ids.iter().any(|&id| live.is(id)) => vec![live.revived(to, &self.rules, now)],
            JobSet::Ids(_) => vec![unchanged],
            JobSet::Oldest(_) => vec![unchanged, live.revived(to, &self.rules, now)],
        }
    }

    /// Where a job is once it was put: in its queue, or on its way to it.
    pub(crate) fn put(&self, issued: &Issued, live: Live) -> Place {
        match issued.from {
            Some(shard) => live.sent_by_shard(shard, &self.rules),
            None => Place::Live(live),
        }
    }

    /// A job that was put at about `now`.
    pub(crate) fn new_live(&self, queue: QueueNumber, job: &NewJob, now: Span) -> Live {
        Live {
            queue,
            job: None,
            previous_job: None,
            phase: Phase::Waiting,
            attempts: Some(0),
            attempts_max: job.attempts_max.unwrap_or(self.rules[queue.0].attempts_max),
            priority: job.priority.unwrap_or(PRIORITY),
            version: Content::read(&job.payload).map_or(0, |content| content.version),
            due: due(job.when, job.key.is_some(), now),
            expires: job.time_to_live.map(|span| now.after(span)),
            reservation: 0,
        }
    }

    /// A job that went on to another queue.
    pub(crate) fn forwarded(&self, live: &Live, queue: QueueNumber, job: &NewJob, now: Span) -> Place {
        let mut next = self.new_live(queue, job, now);
        next.previous_job = live.job;
        if job.payload.is_empty() {
            next.version = live.version;
        }
        next.sent_by_shard(self.rules[live.queue.0].shard, &self.rules)
    }
}

/// When a job is due that is put or put off. At once with a key means behind those of the key that are due already, and these
/// may be due later than now: they were kicked, redriven or edited, or the clock was set back.
fn due(when: When, has_key: bool, now: Span) -> Span {
    let latest = |at: Time| if has_key { Time(u64::MAX) } else { at };
    match when {
        When::Now => Span { max: latest(now.max), ..now },
        When::After(delay) => now.after(delay),
        // At once where it has passed; the time itself then stays its due time or becomes now.
        When::At(time) if time <= now.max => Span { min: time, max: latest(now.max) },
        When::At(time) => Span::at(time),
    }
}

/// Whether an edit is taken: not of a reserved job, a due time only of one that waits, and of this one's attempts no fewer than it
/// had. None where the attempts are not known.
pub(crate) fn takes_edit(live: &Live, edit: &Edit) -> Option<bool> {
    match (live.phase, edit.attempts_max) {
        (Phase::Waiting, None) => Some(true),
        (Phase::Waiting, Some(most)) => live.attempts.map(|attempts| most > attempts),
        (Phase::Reserved { .. }, _) => Some(false),
        (Phase::Buried | Phase::Dead, _) => Some(edit.when.is_none() && edit.time_to_live.is_none()),
    }
}

/// A lease that was made longer.
pub(crate) fn extended(live: &Live, until: Span) -> Place {
    let number = match live.phase {
        Phase::Reserved { number, .. } => number,
        _ => None,
    };
    Place::Live(Live { phase: Phase::Reserved { number, until }, ..live.clone() })
}

/// A job that was changed.
pub(crate) fn edited(live: &Live, edit: &Edit, has_key: bool, now: Span) -> Place {
    let version = edit.payload.as_ref().and_then(|payload| Content::read(payload).ok());
    Place::Live(Live {
        version: version.map_or(live.version, |content| content.version),
        due: match (edit.when, edit.priority) {
            (Some(when), _) => due(when, has_key, now),
            // It lines up again among those of its new priority.
            (None, Some(_)) => Span { min: Time(0), max: Time(u64::MAX) },
            (None, None) => live.due,
        },
        priority: edit.priority.unwrap_or(live.priority),
        expires: edit.time_to_live.map_or(live.expires, |span| Some(now.after(span))),
        attempts_max: edit.attempts_max.unwrap_or(live.attempts_max),
        ..live.clone()
    })
}
