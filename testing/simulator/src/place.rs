//! The possible places of a message: the checker's knowledge, and the effects of time and commands
//! on it.
//!
//! The checker is written from the documentation alone and shares nothing with the queues. Often it
//! can't know: an answer was lost in a crash, or a lease may have ended by now. So it keeps all places
//! where a message may be, and each answer and each look into the queues leaves those that agree
//! with it. When none is left, the shard broke its word.

use stadium_queue::{JobId, JobState, Lease, Retry, Time};

use crate::clock::Span;

/// A queue, by its number in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueNumber(pub usize);

/// One place where a message may be.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// It was never put.
    Absent,
    /// In a queue.
    Live(Live),
    /// Forwarded to a queue of another shard, and not there yet.
    Transit(Live),
    /// It left.
    Gone(Gone),
}

/// How a message left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// Settled, with this lease where that is known.
    Settled(Option<Lease>),
    /// Deleted or purged.
    Taken,
    /// Its time was over, or its queue throws dead jobs away.
    Expired,
}

/// A message in a queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// Which.
    pub queue: QueueNumber,
    /// Its id, once it was seen.
    pub job: Option<JobId>,
    /// The id that it had in its queue before, which it has no more.
    pub previous_job: Option<JobId>,
    /// What it is there.
    pub phase: Phase,
    /// Attempts so far, where known.
    pub attempts: Option<u16>,
    /// Attempts before it is dead.
    pub attempts_max: u16,
    /// Its priority.
    pub priority: u8,
    /// The version of its payload.
    pub version: u8,
    /// When it is due.
    pub due: Span,
    /// When it goes by itself.
    pub expires: Option<Span>,
    /// The last lease's number that was seen: the next one is greater.
    pub reservation: u32,
}

/// What a message is in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Delayed or due: its due time and the clock decide which.
    Waiting,
    /// Somebody has it.
    Reserved {
        /// The lease's number; none where the answer to the reserve was lost.
        number: Option<u32>,
        /// When the lease ends.
        until: Span,
    },
    /// Set aside.
    Buried,
    /// It had its last attempt.
    Dead,
}

/// What a queue does with dead jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dead {
    /// They stay.
    Kept,
    /// They go on in another queue.
    Moved(QueueNumber),
    /// They are gone.
    Discarded,
}

/// What a queue's settings mean for a message.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The shard that it lives on.
    pub shard: u16,
    /// For dead jobs.
    pub dead: Dead,
    /// Attempts of jobs whose put names no number.
    pub attempts_max: u16,
    /// The longest delay between two attempts.
    pub backoff_max: u64,
}

impl Live {
    /// Whether this lease is the one that holds the job. A lease whose number was lost may be any later one.
    pub fn held_by(&self, lease: Lease) -> bool {
        let Phase::Reserved { number, .. } = self.phase else { return false };
        let fits = match number {
            Some(number) => number == lease.reservation,
            None => lease.reservation > self.reservation,
        };
        self.is(lease.job) && fits
    }

    /// Whether it may be that job.
    pub fn is(&self, job: JobId) -> bool {
        self.job.map_or(self.previous_job != Some(job), |known| known == job)
    }

    /// Whether it came to that queue from another shard and was not seen there yet.
    pub fn moved_to(&self, queue: QueueNumber) -> bool {
        self.job.is_none() && self.queue == queue
    }

    fn with(&self, phase: Phase) -> Live {
        Live { phase, ..self.clone() }
    }

    /// After its last attempt.
    pub fn dies(&self, rules: &[Rules], now: Span) -> Place {
        match rules[self.queue.0].dead {
            Dead::Kept => Place::Live(self.with(Phase::Dead)),
            Dead::Moved(queue) => self.revived(queue, rules, now),
            Dead::Discarded => Place::Gone(Gone::Expired),
        }
    }

    fn spent(&self) -> Option<bool> {
        self.attempts.map(|attempts| attempts >= self.attempts_max)
    }

    /// What becomes of it when an attempt failed or its lease ended: one place, or two where the number of attempts is not known.
    pub fn failed(&self, due: Span, rules: &[Rules], now: Span) -> Vec<Place> {
        let again = Place::Live(Live { due, ..self.with(Phase::Waiting) });
        match self.spent() {
            Some(true) => vec![self.dies(rules, now)],
            Some(false) => vec![again],
            None => vec![again, self.dies(rules, now)],
        }
    }

    /// What a release makes of it.
    pub fn released(&self, retry: Retry, rules: &[Rules], now: Span) -> Vec<Place> {
        match retry {
            Retry::Backoff => {
                let due = now.around(now.after(rules[self.queue.0].backoff_max));
                self.failed(due, rules, now)
            }
            Retry::After(delay) => self.failed(now.after(delay), rules, now),
            Retry::NotTried(delay) => {
                let attempts = self.attempts.map(|attempts| attempts.saturating_sub(1));
                vec![Place::Live(Live { due: now.after(delay), attempts, ..self.with(Phase::Waiting) })]
            }
        }
    }

    /// Handed out to somebody.
    pub fn reserved(&self, number: Option<u32>, until: Span) -> Place {
        Place::Live(Live {
            attempts: self.attempts.map(|attempts| attempts + 1),
            reservation: number.unwrap_or(self.reservation),
            ..self.with(Phase::Reserved { number, until })
        })
    }

    /// Due again with attempts anew, in this queue or another. It may be due later than now: behind others of its key.
    pub fn revived(&self, queue: QueueNumber, rules: &[Rules], now: Span) -> Place {
        let due = Span { min: now.min, max: Time(u64::MAX) };
        let expires = if self.phase == Phase::Buried { self.expires } else { None };
        let next = Live { queue, attempts: Some(0), due, expires, ..self.with(Phase::Waiting) };
        next.sent_by_shard(rules[self.queue.0].shard, rules)
    }

    /// As it goes into its queue from a shard: over to another one it takes time, and gets a new id.
    pub fn sent_by_shard(self, shard: u16, rules: &[Rules]) -> Place {
        if rules[self.queue.0].shard == shard {
            return Place::Live(self);
        }
        let due = Span { min: self.due.min, max: Time(u64::MAX) };
        Place::Transit(Live {
            job: None,
            previous_job: self.job.or(self.previous_job),
            reservation: 0,
            due,
            ..self
        })
    }

    /// The names of `JobState`, as far as the checker distinguishes states.
    pub fn in_state(&self, state: JobState) -> bool {
        matches!(
            (self.phase, state),
            (Phase::Waiting, JobState::Delayed | JobState::Due)
                | (Phase::Reserved { .. }, JobState::Reserved)
                | (Phase::Buried, JobState::Buried)
                | (Phase::Dead, JobState::Dead)
        )
    }
}

impl Place {
    /// The message in its queue.
    pub fn live(&self) -> Option<&Live> {
        match self {
            Place::Live(live) => Some(live),
            Place::Absent | Place::Transit(_) | Place::Gone(_) => None,
        }
    }

    /// Where it may be by itself, once the clock has shown `high`: everything that time may do, one step.
    fn passes(&self, high: Time, rules: &[Rules]) -> Vec<Place> {
        let live = match self {
            Place::Live(live) => live,
            Place::Transit(live) => return vec![Place::Live(live.clone())],
            Place::Absent | Place::Gone(_) => return Vec::new(),
        };
        let mut places = Vec::new();
        if let Phase::Reserved { until, .. } = live.phase
            && until.min <= high
        {
            let due = Span { min: until.min, max: Time(u64::MAX) };
            places.extend(live.failed(due, rules, due));
        }
        if live.expires.is_some_and(|expires| expires.min <= high) {
            places.push(Place::Gone(Gone::Expired));
        }
        places
    }
}

/// Adds the places that time may have led to.
pub fn pass_time(places: &mut Vec<Place>, high: Time, rules: &[Rules]) {
    let mut at = 0;
    while at < places.len() {
        for next in places[at].passes(high, rules) {
            add(places, next);
        }
        at += 1;
    }
}

/// Adds a place, where it is not among them.
pub fn add(places: &mut Vec<Place>, place: Place) {
    if !places.contains(&place) {
        places.push(place);
    }
}
