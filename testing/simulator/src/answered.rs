//! What an answer proves: each one is held against the record, and makes it more certain.
//!
//! An answer is *accepted* (it happened, durably), *busy* or *rejected* (nothing happened). So a
//! refused command changes nothing here, and an accepted one must have been possible.

use bytes::Bytes;
use stadium_queue::{
    Answer, Command, Edit, Given, JobId, JobSet, JobView, Lease, NewJob, Outcome, Placed, Refusal, Reserved,
    Time,
};

use crate::clock::Span;
use crate::effect::{edited, extended, takes_edit};
use crate::ledger::{Dedup, Issued, Ledger, Message, Turn, Violation};
use crate::message::{Content, Tag};
use crate::place::{Gone, Live, Phase, Place, QueueNumber, add};

/// An answer as a client gets it.
pub type Answered = Result<Answer<Bytes>, Refusal>;

/// Longest dedup window of a queue that names none, see [`crate::plan`].
const WINDOW_DEFAULT: u64 = 3_600_000;

/// A job that lines up behind others of its key is due that much later at most, in milliseconds, and may be handed out before.
const BEHIND: u64 = 100;

impl Ledger {
    /// Holds an answer against the record.
    ///
    /// # Errors
    ///
    /// The promise that it breaks.
    pub fn answered(&mut self, issued: &Issued, answer: &Answered, high: Time) -> Result<(), Violation> {
        self.pass_time_for(issued, high);
        let answer = match answer {
            Ok(answer) => answer,
            Err(refusal) => return self.refused(issued, refusal, high),
        };
        match (&issued.command, answer) {
            (Command::Put { queue, jobs, .. }, Answer::Placed(placed)) => {
                if placed.len() != jobs.len() {
                    return Violation::new(format!(
                        "{} jobs were put, {} answered",
                        jobs.len(),
                        placed.len()
                    ));
                }
                let queue = self.queue(queue);
                for (index, (job, placed)) in jobs.iter().zip(placed).enumerate() {
                    self.placed(issued, index, queue, job, *placed, high)?;
                }
                Ok(())
            }
            (Command::Forward { lease, queue, job, .. }, Answer::Placed(placed)) => {
                let [placed] = placed[..] else { return Violation::new("a forward answers one job") };
                let queue = self.queue(queue);
                self.forward_answered(issued, *lease, queue, job, placed)
            }
            (Command::Reserve { queue, jobs_max, lease, .. }, Answer::Reserved(jobs)) => {
                if jobs.len() > *jobs_max as usize {
                    return Violation::new(format!("{} jobs handed out, {jobs_max} asked", jobs.len()));
                }
                let queue = self.queue(queue);
                let lease = lease.expect("a simulation names its leases");
                self.handed_out(issued, queue, lease, jobs, high)
            }
            (Command::Settle { leases }, Answer::Given(outcomes)) => {
                self.each_lease(leases, outcomes, |ledger, lease, given| ledger.settled(lease, given))
            }
            (Command::Release { leases, retry, .. }, Answer::Given(outcomes)) => {
                self.each_lease(leases, outcomes, |ledger, lease, given| {
                    ledger.held(lease, |ledger, live| {
                        let places = live.released(*retry, &ledger.rules, issued.during);
                        let died = |place: &Place| {
                            place
                                .live()
                                .is_none_or(|next| next.phase != Phase::Waiting || next.queue != live.queue)
                        };
                        places.into_iter().filter(|place| died(place) == (given == Given::Dead)).collect()
                    })
                })
            }
            (Command::Extend { leases, lease: span }, Answer::Given(outcomes)) => {
                self.each_lease(leases, outcomes, |ledger, lease, _| {
                    ledger.held(lease, |_, live| vec![extended(live, issued.during.after(*span))])
                })
            }
            (Command::Bury { leases, .. }, Answer::Given(outcomes)) => {
                self.each_lease(leases, outcomes, |ledger, lease, _| {
                    ledger.held(lease, |_, live| {
                        vec![Place::Live(Live { phase: Phase::Buried, ..live.clone() })]
                    })
                })
            }
            (Command::Delete { jobs }, Answer::Given(outcomes)) => self.deleted(jobs, outcomes),
            (Command::Edit { job, edit }, Answer::Done) => self.edit_answered(*job, edit, issued.during),
            (Command::Kick { queue, jobs }, Answer::Count(count)) => {
                let queue = self.queue(queue);
                self.chosen_answered(issued, queue, jobs, Phase::Buried, *count)
            }
            (Command::Redrive { queue, jobs, .. }, Answer::Count(count)) => {
                let queue = self.queue(queue);
                self.chosen_answered(issued, queue, jobs, Phase::Dead, *count)
            }
            (Command::Purge { .. }, Answer::Count(_)) => {
                for tag in self.concerned(issued) {
                    let message = self.message(tag);
                    let places = self.after(message, &message.places, issued);
                    self.message_mut(tag).places = places;
                }
                Ok(())
            }
            (Command::Pause { queue }, Answer::Done) => self.set_paused(queue, (true, false)),
            (Command::Resume { queue }, Answer::Done) => self.set_paused(queue, (false, true)),
            (Command::Find { job }, Answer::Jobs(jobs)) => self.found(*job, jobs, high),
            (Command::Peek { .. }, Answer::Jobs(jobs)) => {
                jobs.iter().try_for_each(|view| self.seen(view, high))
            }
            (
                Command::Declare { .. } | Command::Schedule { .. } | Command::Unschedule { .. },
                Answer::Done,
            )
            | (Command::History { .. }, Answer::History(_))
            | (Command::Stats { .. } | Command::List { .. }, Answer::Queues(_))
            | (Command::Schedules { .. }, Answer::Schedules(_)) => Ok(()),
            (command, answer) => Violation::new(format!("{command:?} was answered {answer:?}")),
        }
    }

    /// A refusal: nothing happened, and it must have been right.
    fn refused(&mut self, issued: &Issued, refusal: &Refusal, high: Time) -> Result<(), Violation> {
        if refusal.is_unknown() {
            self.may_have_happened(issued, high);
            return Ok(());
        }
        if let Refusal::Busy { .. } = refusal {
            // The driver decides whether it may be busy now.
            return Ok(());
        }
        match &issued.command {
            Command::Put { queue, jobs, .. } => {
                let queue = self.queue(queue);
                let conflicts = jobs.iter().zip(&issued.tags).any(|(job, tag)| {
                    let id = job.dedup.as_ref().map(|dedup| dedup_number(dedup.id.as_str()));
                    let known = id.and_then(|id| self.dedups.get(&(queue, id)));
                    known.is_some_and(|known| known.iter().any(|entry| entry.tag != *tag))
                        || id.is_some_and(|id| twice(jobs, id))
                });
                if conflicts {
                    return Ok(());
                }
                Violation::new(format!("a put that is right was rejected: {refusal}"))
            }
            Command::Forward { lease, .. } => self.lease_refused(*lease, refusal),
            Command::Find { job } => self.not_found(*job, high),
            Command::Edit { job, edit } => {
                let Some(tag) = self.tag_of(*job) else { return Ok(()) };
                let taken = |live: &Live| live.job == Some(*job) && takes_edit(live, edit) == Some(true);
                let stays = |place: &&Place| !place.live().is_some_and(taken);
                let places = self.message(tag).places.iter().filter(stays).cloned().collect();
                self.keep(tag, places, || format!("an edit was rejected: {refusal}"))
            }
            // A queue that nobody has put into yet does not exist.
            _ => Ok(()),
        }
    }

    fn placed(
        &mut self,
        issued: &Issued,
        index: usize,
        queue: QueueNumber,
        job: &NewJob,
        placed: Placed,
        high: Time,
    ) -> Result<(), Violation> {
        let tag = issued.tags[index];
        let dedup = job
            .dedup
            .as_ref()
            .map(|dedup| (dedup_number(dedup.id.as_str()), dedup.window.unwrap_or(WINDOW_DEFAULT)));
        let known = dedup.and_then(|(id, _)| self.dedups.get(&(queue, id))).cloned().unwrap_or_default();
        if placed.duplicate {
            if !known.iter().any(|entry| entry.tag == tag) {
                return Violation::of(tag, format!("was taken for a duplicate of job {}", placed.job));
            }
            let places = self.message(tag).places.iter().filter(|place| **place != Place::Absent);
            let places: Vec<Place> = places.cloned().collect();
            self.keep(tag, places, || "its put is reported as a duplicate".into())?;
            let first = self.message(tag).first_job;
            if first.is_some_and(|first| first != placed.job) {
                return Violation::of(tag, format!("the duplicate's id is {}, it was {first:?}", placed.job));
            }
            return Ok(());
        }
        let certain = known.iter().find(|entry| high < entry.until_min && self.was_put(entry.tag));
        if let (Some(entry), Some((id, _))) = (certain, dedup) {
            let what = format!(
                "was put as job {}, although dedup id {id} was put as {} and is remembered until {}, it is at most {}",
                placed.job, entry.tag, entry.until_min.0, high.0
            );
            return Violation::of(tag, what);
        }
        let places = self.message(tag).places.clone();
        if !places.contains(&Place::Absent) {
            return self.keep(tag, Vec::new(), || format!("it was put again, as job {}", placed.job));
        }
        if issued.from.is_none() && self.jobs.get(&placed.job).is_some_and(|&other| other != tag) {
            return Violation::of(
                tag,
                format!("its id {} is that of {}", placed.job, self.jobs[&placed.job]),
            );
        }
        let place = match self.put(issued, self.new_live(queue, job, issued.during)) {
            Place::Live(live) => {
                self.jobs.insert(placed.job, tag);
                Place::Live(Live { job: Some(placed.job), ..live })
            }
            // It gets an id of its own where it arrives.
            elsewhere => elsewhere,
        };
        let turn = turn(issued, index, queue, job);
        let message = self.message_mut(tag);
        message.first_job = Some(placed.job);
        message.turn = turn;
        message.places = vec![place];
        // Time may have passed over it between its put and the answer.
        self.pass_time_of(tag, high);
        if let Some((id, window)) = dedup {
            let until_min = issued.during.min.after(window);
            self.dedups.insert((queue, id), vec![Dedup { tag, until_min }]);
        }
        Ok(())
    }

    fn forward_answered(
        &mut self,
        issued: &Issued,
        lease: Lease,
        queue: QueueNumber,
        job: &NewJob,
        placed: Placed,
    ) -> Result<(), Violation> {
        let Some(tag) = self.tag_of(lease.job) else {
            return Violation::new(format!("lease {lease} of a job that nobody saw was forwarded"));
        };
        if placed.duplicate {
            // Repeated with a lease that had forwarded it: so it doesn't hold any more.
            let before = |place: &&Place| place.live().is_none_or(|live| !live.held_by(lease));
            let places = self.message(tag).places.iter().filter(before).cloned().collect();
            return self.keep(tag, places, || format!("lease {lease} is reported as forwarded already"));
        }
        let held = self.message(tag).places.iter().filter_map(Place::live);
        let held = held.filter(|live| live.held_by(lease));
        let mut places = Vec::new();
        for live in held {
            let next = match self.forwarded(live, queue, job, issued.during) {
                Place::Live(next) => Place::Live(Live { job: Some(placed.job), ..next }),
                next => next,
            };
            add(&mut places, next);
        }
        self.keep(tag, places, || format!("lease {lease} was forwarded"))?;
        self.jobs.insert(placed.job, tag);
        self.message_mut(tag).turn = None;
        Ok(())
    }

    fn handed_out(
        &mut self,
        issued: &Issued,
        queue: QueueNumber,
        lease: u64,
        jobs: &[Reserved<Bytes>],
        high: Time,
    ) -> Result<(), Violation> {
        if !jobs.is_empty() && !self.queues[queue.0].paused.1 {
            return Violation::new(format!("q{} is paused and hands out {}", queue.0, jobs[0].lease));
        }
        for job in jobs {
            let content = match Content::read(&job.payload) {
                Ok(content) => content,
                Err(wrong) => {
                    return Violation::new(format!("job {} was handed out with {wrong}", job.lease.job));
                }
            };
            let fits = |live: &Live| {
                live.queue == queue
                    && live.phase == Phase::Waiting
                    && live.is(job.lease.job)
                    && live.version == content.version
                    && live.priority == job.priority
                    && live.due.min <= high.after(BEHIND)
                    && live.reservation < job.lease.reservation
                    && live.attempts.is_none_or(|attempts| attempts + 1 == job.attempt)
                    && job.attempt <= live.attempts_max
            };
            let tag = self.identify(content, job.lease.job, queue, high, |_, _, live| fits(live))?;
            self.pass_time_of(tag, high);
            let until = issued.during.after(lease);
            let mut places = Vec::new();
            for live in self.message(tag).places.iter().filter_map(Place::live) {
                if fits(live) && until.holds(job.until) {
                    let next =
                        Live { job: Some(job.lease.job), attempts: Some(job.attempt - 1), ..live.clone() };
                    add(&mut places, next.reserved(Some(job.lease.reservation), Span::at(job.until)));
                }
            }
            let seen = || {
                format!(
                    "was handed out by q{} with lease {}, attempt {}, priority {}, version {}, until {} (clock at most {})",
                    queue.0, job.lease, job.attempt, job.priority, content.version, job.until.0, high.0
                )
            };
            self.keep(tag, places, seen)?;
            self.key_order(tag, queue, high)?;
        }
        for job in jobs {
            if let Some(tag) = self.tag_of(job.lease.job) {
                self.pass_time_of(tag, high);
            }
        }
        Ok(())
    }

    /// No earlier job of the same key may be waiting or worked on.
    fn key_order(&mut self, tag: Tag, queue: QueueNumber, high: Time) -> Result<(), Violation> {
        let message = self.message(tag);
        let (Some(key), Some(turn)) = (message.key, message.turn) else { return Ok(()) };
        if turn.queue != queue {
            return Ok(());
        }
        let earlier = self.messages.iter().filter(|other| {
            other.key == Some(key)
                && other.turn.is_some_and(|other| {
                    other.at_once
                        && (other.queue, other.priority) == (turn.queue, turn.priority)
                        && other.number < turn.number
                })
        });
        let earlier: Vec<Tag> = earlier.map(|other| other.tag).collect();
        for other in earlier {
            self.pass_time_of(other, high);
            let in_the_way = |place: &Place| {
                place.live().is_some_and(|live| {
                    live.queue == queue && matches!(live.phase, Phase::Waiting | Phase::Reserved { .. })
                })
            };
            let places = &self.message(other).places;
            if places.iter().all(in_the_way) {
                let known = crate::ledger::describe(places);
                let what = format!(
                    "was handed out before {other} of its key {key}, which was put earlier and is {known}"
                );
                return Violation::of(tag, what);
            }
        }
        Ok(())
    }

    fn each_lease(
        &mut self,
        leases: &[Lease],
        outcomes: &[Outcome],
        mut given: impl FnMut(&mut Ledger, Lease, Given) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        if leases.len() != outcomes.len() {
            return Violation::new(format!("{} leases, {} outcomes", leases.len(), outcomes.len()));
        }
        for (lease, outcome) in leases.iter().zip(outcomes) {
            match outcome {
                Ok(outcome) => given(self, *lease, *outcome)?,
                Err(refusal) => self.lease_refused(*lease, refusal)?,
            }
        }
        Ok(())
    }

    fn settled(&mut self, lease: Lease, given: Given) -> Result<(), Violation> {
        match given {
            Given::Already => {
                let Some(tag) = self.tag_of(lease.job) else {
                    return Violation::new(format!("lease {lease} of no known job was settled already"));
                };
                let before = |place: &&Place| match place {
                    Place::Gone(Gone::Settled(by)) => by.is_none_or(|by| by == lease),
                    _ => false,
                };
                let places = self.message(tag).places.iter().filter(before).cloned().collect();
                self.keep(tag, places, || format!("lease {lease} is reported as settled already"))
            }
            Given::Done => self.held(lease, |_, _| vec![Place::Gone(Gone::Settled(Some(lease)))]),
            Given::Dead => Violation::new(format!("lease {lease} was settled and is dead")),
        }
    }

    /// The lease held: each place that it holds becomes others.
    fn held(&mut self, lease: Lease, next: impl Fn(&Ledger, &Live) -> Vec<Place>) -> Result<(), Violation> {
        let Some(tag) = self.tag_of(lease.job) else {
            return Violation::new(format!("lease {lease} of a job that nobody saw was accepted"));
        };
        let mut places = Vec::new();
        for live in self.message(tag).places.iter().filter_map(Place::live) {
            if live.held_by(lease) {
                next(self, live).into_iter().for_each(|place| add(&mut places, place));
            }
        }
        self.keep(tag, places, || format!("lease {lease} was accepted"))
    }

    /// The lease did not hold: it must not have been the one that does.
    fn lease_refused(&mut self, lease: Lease, refusal: &Refusal) -> Result<(), Violation> {
        if let (Refusal::Busy { .. } | Refusal::Unknown { .. }, _) | (_, None) =
            (refusal, self.tag_of(lease.job))
        {
            return Ok(());
        }
        let tag = self.jobs[&lease.job];
        let lost = |place: &&Place| place.live().is_none_or(|live| !live.held_by(lease));
        let places = self.message(tag).places.iter().filter(lost).cloned().collect();
        self.keep(tag, places, || format!("lease {lease} was refused: {refusal}"))
    }

    fn deleted(&mut self, jobs: &[JobId], outcomes: &[Outcome]) -> Result<(), Violation> {
        for (&job, outcome) in jobs.iter().zip(outcomes) {
            let Some(tag) = self.tag_of(job) else { continue };
            let here = |place: &Place| place.live().is_some_and(|live| live.is(job));
            let places = &self.message(tag).places;
            match outcome {
                Ok(Given::Done) => {
                    let any = places.iter().any(here);
                    let places = any.then_some(Place::Gone(Gone::Taken)).into_iter().collect();
                    self.keep(tag, places, || format!("job {job} was deleted"))?;
                }
                Ok(Given::Already | Given::Dead) | Err(Refusal::Rejected { .. }) => {
                    let places = places.iter().filter(|place| !here(place)).cloned().collect();
                    self.keep(tag, places, || format!("job {job} was not there to be deleted"))?;
                }
                Err(Refusal::Busy { .. } | Refusal::Unknown { .. }) => {}
            }
        }
        Ok(())
    }

    fn edit_answered(&mut self, job: JobId, edit: &Edit, now: Span) -> Result<(), Violation> {
        let Some(tag) = self.tag_of(job) else {
            return Violation::new(format!("job {job} that nobody saw was edited"));
        };
        let mut places = Vec::new();
        let message = self.message(tag);
        for live in message.places.iter().filter_map(Place::live) {
            if live.is(job) && takes_edit(live, edit) != Some(false) {
                add(&mut places, edited(live, edit, message.key.is_some(), now));
            }
        }
        if edit.when.is_some() || edit.priority.is_some() {
            self.message_mut(tag).turn = None;
        }
        self.keep(tag, places, || format!("job {job} was edited"))
    }

    /// Kick and redrive: so many of them.
    fn chosen_answered(
        &mut self,
        issued: &Issued,
        queue: QueueNumber,
        jobs: &JobSet,
        phase: Phase,
        count: u64,
    ) -> Result<(), Violation> {
        let meant = |live: &Live| {
            live.queue == queue
                && live.phase == phase
                && match jobs {
                    JobSet::Ids(ids) => ids.iter().any(|&id| live.is(id)),
                    JobSet::Oldest(_) => true,
                }
        };
        let (mut certain, mut possible) = (0, 0);
        let concerned = self.concerned(issued);
        for &tag in &concerned {
            let places = &self.message(tag).places;
            let is = |place: &Place| place.live().is_some_and(meant);
            certain += u64::from(places.iter().all(is));
            possible += u64::from(places.iter().any(is));
        }
        let (least, most) = match jobs {
            JobSet::Ids(_) => (certain, possible),
            JobSet::Oldest(at_most) => (certain.min(u64::from(*at_most)), possible.min(u64::from(*at_most))),
        };
        if !(least..=most).contains(&count) {
            let what = format!(
                "{count} jobs of q{} were taken back from {phase:?}, there were {least} to {most} to take",
                queue.0
            );
            return Violation::new(what);
        }
        let all = certain == possible && count == certain;
        for tag in concerned {
            let message = self.message(tag);
            let mut places = self.after(message, &message.places, issued);
            if all {
                places.retain(|place| !place.live().is_some_and(meant));
            }
            if count > 0 {
                self.message_mut(tag).turn = None;
                self.message_mut(tag).places = places;
            }
        }
        Ok(())
    }

    fn set_paused(
        &mut self,
        queue: &stadium_queue::QueueName,
        paused: (bool, bool),
    ) -> Result<(), Violation> {
        let queue = self.queue(queue);
        self.queues[queue.0].paused = paused;
        Ok(())
    }

    fn found(&mut self, job: JobId, jobs: &[JobView<Bytes>], high: Time) -> Result<(), Violation> {
        match jobs {
            [] => self.not_found(job, high),
            [view] => self.seen(view, high),
            _ => Violation::new(format!("job {job} was found {} times", jobs.len())),
        }
    }

    fn not_found(&mut self, job: JobId, high: Time) -> Result<(), Violation> {
        let Some(tag) = self.tag_of(job) else { return Ok(()) };
        self.pass_time_of(tag, high);
        let elsewhere = |place: &&Place| place.live().is_none_or(|live| live.job != Some(job));
        let places = self.message(tag).places.iter().filter(elsewhere).cloned().collect();
        self.keep(tag, places, || format!("job {job} was not found"))
    }

    /// One job as a peek or a find shows it.
    fn seen(&mut self, view: &JobView<Bytes>, high: Time) -> Result<(), Violation> {
        let content = match Content::read(&view.payload) {
            Ok(content) => content,
            Err(wrong) => return Violation::new(format!("job {} is shown with {wrong}", view.job)),
        };
        let queue = self.queue(&view.queue);
        let fits = |ledger: &Ledger, _: &Message, live: &Live| ledger.exact(live, view, content).is_some();
        let tag = self.identify(content, view.job, queue, high, fits)?;
        self.pass_time_of(tag, high);
        let places = self.agreeing(tag, Some((view, content)));
        self.keep(tag, places, || crate::audit::shown(view, content))
    }
}

/// The number in a dedup id: a simulation calls them d0, d1, ...
pub(crate) fn dedup_number(id: &str) -> u8 {
    id.trim_start_matches('d').parse().expect("a simulation numbers its dedup ids")
}

fn twice(jobs: &[NewJob], id: u8) -> bool {
    let same = |job: &&NewJob| job.dedup.as_ref().is_some_and(|dedup| dedup_number(dedup.id.as_str()) == id);
    jobs.iter().filter(same).count() > 1
}

/// The place of a put in the order of its key: only those whose due time is that of the put, or
/// later.
pub(crate) fn turn(issued: &Issued, index: usize, queue: QueueNumber, job: &NewJob) -> Option<Turn> {
    use stadium_queue::When;
    if issued.set_back {
        return None;
    }
    let at_once = match job.when {
        When::Now => true,
        When::After(_) => false,
        When::At(_) => return None,
    };
    Some(Turn {
        queue,
        priority: job.priority.unwrap_or(4),
        number: issued.number * 1_000 + index as u64,
        at_once,
    })
}
