//! The checker asks what is where, and holds what is shown against the record.
//!
//! It asks as any client would; nothing is read from the inside.

use stadium_queue::{Answer, Command, JobState, QueueStats, Refusal, Time};

use super::World;
use super::breaking::Descriptors;
use crate::answered::Answered;
use crate::audit::{Observed, Order};
use crate::ledger::{Issued, Violation};
use crate::place::Place;

/// What the checker sees while it looks.
#[derive(Default)]
pub(super) struct Look {
    /// The number of its first question.
    first: u64,
    /// When that was asked: while a journal opens again the clock goes on until the last answer.
    asked: Time,
    waiting: Vec<u64>,
    observed: Observed,
    stats: Vec<QueueStats>,
    is_busy: bool,
}

impl World {
    /// Looks at everything and holds what is shown against the record.
    pub(super) fn look(&mut self) -> Result<(), Violation> {
        let crashes = self.crashes;
        self.descriptors(Descriptors::Free);
        self.look_at_queues()?;
        // A crash was followed by a look of its own.
        if self.crashes == crashes {
            self.look_at_wallets()?;
        }
        if self.crashes == crashes {
            self.look_at_pushes(false)?;
        }
        if self.crashes == crashes { self.look_at_mqtt(false) } else { Ok(()) }
    }

    fn look_at_queues(&mut self) -> Result<(), Violation> {
        for _ in 0..200 {
            let crashes = self.crashes;
            self.quiet()?;
            if self.crashes != crashes {
                // That crash was followed by a look of its own.
                return Ok(());
            }
            let mut look = Look { first: self.next_number + 1, asked: self.clock.now(), ..Look::default() };
            self.trace.line(&self.clock, || "the checker asks what is where".into());
            for (name, _, rules) in self.plan.queues.clone() {
                let peek = Command::Peek {
                    queue: name.clone(),
                    state: None,
                    key: None,
                    after: None,
                    jobs_max: 1_000,
                };
                look.waiting.push(self.submit_to(rules.shard, peek, Vec::new(), true));
                look.waiting.push(self.submit_to(
                    rules.shard,
                    Command::Stats { queue: name },
                    Vec::new(),
                    true,
                ));
            }
            if self.plan.queues.is_empty() {
                return Ok(());
            }
            self.look = Some(look);
            self.quiet()?;
            if self.crashes != crashes {
                return Ok(());
            }
            match &self.look {
                None => return Ok(()),
                Some(look) if look.is_busy && look.waiting.is_empty() => self.advance(100),
                Some(look) => {
                    return Violation::new(format!("{} questions are never answered", look.waiting.len()));
                }
            }
        }
        Violation::new("the shards are busy for ever")
    }

    /// An answer to a question of the checker.
    pub(super) fn looked(&mut self, number: u64, issued: &Issued, answer: Answered) -> Result<(), Violation> {
        let Some(look) = &mut self.look else { return Ok(()) };
        look.waiting.retain(|waiting| *waiting != number);
        match answer {
            Ok(Answer::Jobs(jobs)) => {
                if jobs.len() >= 1_000 {
                    return Violation::new("a queue holds more jobs than the checker looks at");
                }
                look.observed.jobs.extend(jobs);
            }
            Ok(Answer::Queues(stats)) => look.stats.extend(stats),
            // The queue was not made yet, or its declaration was lost.
            Err(Refusal::Rejected { code: "QUE-001", .. }) => {}
            Err(Refusal::Busy { .. } | Refusal::Unknown { .. }) if self.trouble => look.is_busy = true,
            other => {
                return Violation::new(format!("the question {:?} is answered {other:?}", issued.command));
            }
        }
        if !look.waiting.is_empty() || look.is_busy {
            return Ok(());
        }
        let look = self.look.take().expect("it was there above");
        let lost = std::mem::take(&mut self.lost);
        self.summary.looks += 1;
        self.trace.line(&self.clock, || {
            let full = if self.full { ", the disk is full" } else { "" };
            format!("look: {} jobs, {} answers were lost{full}", look.observed.jobs.len(), lost.len())
        });
        for (_, _, release) in &self.releases {
            self.ledger.may_have_happened(release, self.clock.high());
        }
        // Jobs of a consumer that went while this look was on are released after it.
        self.releases.retain(|(_, until, _)| *until >= look.first);
        let order = if self.plan.shards == 1 { Order::Submitted } else { Order::Independent };
        self.ledger.audit(&look.observed, &lost, order, self.clock.high())?;
        self.on_time(&look)?;
        if !self.full && look.asked != self.clock.now() {
            // A lease may have ended between the jobs and the figures.
            return Ok(());
        }
        counts_agree(&look, self.clock.now())
    }

    /// Nothing is seen whose time is over.
    fn on_time(&self, look: &Look) -> Result<(), Violation> {
        let now = look.asked;
        if self.full {
            // Work that is due is written when there is room.
            return Ok(());
        }
        for view in &look.observed.jobs {
            let late = match view.state {
                JobState::Delayed => view.due <= now,
                JobState::Reserved => view.lease_until.is_some_and(|until| until <= now),
                JobState::Due | JobState::Buried | JobState::Dead => false,
            };
            // A job whose time was over while somebody had it goes when it would be handed out again.
            let never_reserved = |place: &Place| place.live().is_some_and(|live| live.reservation == 0);
            let tag = self.ledger.tag_of(view.job);
            let untouched = tag.is_some_and(|tag| self.ledger.message(tag).places.iter().all(never_reserved));
            let over = untouched && view.attempts == 0 && view.expires.is_some_and(|at| at <= now);
            if late || over {
                return Violation::new(format!(
                    "at {} job {} still stands like this: {view:?}",
                    now.0, view.job
                ));
            }
        }
        Ok(())
    }
}

/// A queue's figures are those of its jobs. They are asked for one after the other: a job that was seen delayed, and whose
/// time has come since, may be counted as due. While the disk has room [`World::on_time`] lets no such job pass.
fn counts_agree(look: &Look, now: Time) -> Result<(), Violation> {
    for stats in &look.stats {
        let jobs = || look.observed.jobs.iter().filter(|job| job.queue == stats.queue);
        let count = |state: JobState| jobs().filter(|job| job.state == state).count() as u64;
        let reported = [stats.delayed, stats.due, stats.reserved, stats.buried, stats.dead];
        let seen = [JobState::Delayed, JobState::Due, JobState::Reserved, JobState::Buried, JobState::Dead]
            .map(count);
        let came_due = jobs().filter(|job| job.state == JobState::Delayed && job.due <= now).count() as u64;
        let agrees = |came: u64| {
            let [delayed, due, others @ ..] = seen;
            reported[..2] == [delayed - came, due + came] && reported[2..] == others
        };
        if !(0..=came_due).any(agrees) {
            return Violation::new(format!(
                "{} reports {reported:?} jobs delayed, due, reserved, buried, dead; {seen:?} are seen",
                stats.queue
            ));
        }
    }
    Ok(())
}
