//! What a look at all queues proves, above all after a crash.
//!
//! Commands that were under way in a crash have no answer. They were submitted in an order, the
//! shard writes them in this order, and a crash keeps a beginning of what it wrote. So there must
//! be a cut: commands submitted before it happened wholly, later ones did not happen, and
//! everything that is seen agrees with that.

use std::collections::HashMap;

use bytes::Bytes;
use stadium_queue::{Command, JobId, JobSet, JobState, JobView, Time};

use crate::answered::{dedup_number, turn};
use crate::clock::Span;
use crate::ledger::{Dedup, Issued, Ledger, Message, Violation, describe};
use crate::message::{Content, Tag};
use crate::place::{Live, Phase, Place, QueueNumber, add};

/// Everything that all queues show at one time.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// All jobs.
    pub jobs: Vec<JobView<Bytes>>,
}

/// What is seen of one message.
type Sight<'a> = Option<(&'a JobView<Bytes>, Content)>;

/// The order in which commands under way may have been carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One shard: in the order in which they were submitted, up to some cut.
    Submitted,
    /// Several shards: each by itself.
    Independent,
}

impl Ledger {
    /// Holds what is seen against the record, with the commands whose answers were lost.
    ///
    /// # Errors
    ///
    /// The promise that is broken.
    pub fn audit(
        &mut self,
        observed: &Observed,
        lost: &[Issued],
        order: Order,
        high: Time,
    ) -> Result<(), Violation> {
        // Puts whose answers were lost: their ids and dedup ids may be known to the shard.
        for issued in lost {
            self.note_lost(issued);
        }
        // A schedule's jobs that are seen for the first time get their tags below.
        let first_new = Tag(self.messages.len() as u32);
        // Before anything is identified: jobs that moved by themselves are known by their possible
        // places.
        self.pass_time(high);
        let mut sights: HashMap<Tag, (&JobView<Bytes>, Content)> = HashMap::new();
        // Those whose ids are known first: a schedule's other jobs are found among the messages
        // that are left.
        let (known, new): (Vec<_>, Vec<_>) =
            observed.jobs.iter().partition(|view| self.tag_of(view.job).is_some());
        for view in known.into_iter().chain(new) {
            let content = match Content::read(&view.payload) {
                Ok(content) => content,
                Err(wrong) => return Violation::new(format!("job {} is shown with {wrong}", view.job)),
            };
            let put = self.messages.get(content.tag.0 as usize);
            if put.is_some_and(|put| put.principal != view.principal) {
                let what = format!("is shown as put by {:?}: job {}", view.principal, view.job);
                return Violation::of(content.tag, what);
            }
            let fits = |ledger: &Ledger, message: &Message, live: &Live| {
                !sights.contains_key(&message.tag) && ledger.exact(live, view, content).is_some()
            };
            let tag = self.identify(content, view.job, self.queue(&view.queue), high, fits)?;
            if let Some((other, _)) = sights.insert(tag, (view, content)) {
                let what = format!(
                    "is in two places: job {} of {} and job {} of {}",
                    other.job, other.queue, view.job, view.queue
                );
                return Violation::of(tag, what);
            }
        }
        match order {
            Order::Submitted => self.cut(&sights, lost, first_new, high)?,
            Order::Independent => self.independent(&sights, lost, high)?,
        }
        self.unsure.clear();
        Ok(())
    }

    /// Looks for cuts that explain what is seen, and keeps the places that they lead to.
    fn cut(
        &mut self,
        sights: &HashMap<Tag, (&JobView<Bytes>, Content)>,
        lost: &[Issued],
        first_new: Tag,
        high: Time,
    ) -> Result<(), Violation> {
        let mut work = self.clone();
        let mut agreeing: Vec<Vec<Place>> = Vec::with_capacity(work.messages.len());
        for message in &work.messages {
            agreeing.push(work.agreeing(message.tag, sights.get(&message.tag).copied()));
        }
        let mut wrong = agreeing.iter().filter(|places| places.is_empty()).count();
        let mut kept: Option<Vec<Vec<Place>>> = None;
        let mut best = (wrong, 0, first_wrong(&work, &agreeing, sights));
        for cut in 0..=lost.len() {
            if cut > 0 {
                let issued = &lost[cut - 1];
                for tag in work.concerned(issued) {
                    let message = work.message(tag);
                    let mut places = work.after(message, &message.places, issued);
                    // A schedule may have put it after the purge: "What is put later stays" (docs/queue.md, purge).
                    if tag >= first_new && matches!(issued.command, Command::Purge { .. }) {
                        message.places.iter().for_each(|place| add(&mut places, place.clone()));
                    }
                    // A reserve that waited may have been served at any time since.
                    for reserve in lost[..cut].iter().filter(|issued| is_reserve(issued)) {
                        let message = &work.messages[tag.0 as usize];
                        places = work.after(message, &places, reserve);
                    }
                    work.message_mut(tag).places = places;
                    work.pass_time_of(tag, high);
                    let now = work.agreeing(tag, sights.get(&tag).copied());
                    let slot = &mut agreeing[tag.0 as usize];
                    wrong = wrong + usize::from(now.is_empty()) - usize::from(slot.is_empty());
                    *slot = now;
                }
            }
            if wrong == 0 {
                match &mut kept {
                    None => kept = Some(agreeing.clone()),
                    Some(kept) => {
                        for (all, places) in kept.iter_mut().zip(&agreeing) {
                            places.iter().for_each(|place| add(all, place.clone()));
                        }
                    }
                }
            } else if wrong < best.0 {
                best = (wrong, cut, first_wrong(&work, &agreeing, sights));
            }
        }
        match kept {
            Some(kept) => {
                for (message, places) in self.messages.iter_mut().zip(kept) {
                    message.places = places;
                }
                Ok(())
            }
            None => {
                let (count, cut, (tag, what)) = best;
                let what = format!(
                    "{what}. {count} messages contradict the record even if just the first {cut} of the {} commands whose answers were lost had happened",
                    lost.len()
                );
                Violation::of(tag, what)
            }
        }
    }

    /// Each lost command may have happened or not.
    fn independent(
        &mut self,
        sights: &HashMap<Tag, (&JobView<Bytes>, Content)>,
        lost: &[Issued],
        high: Time,
    ) -> Result<(), Violation> {
        for issued in lost {
            self.may_have_happened(issued, high);
        }
        let reserves: Vec<&Issued> = lost.iter().filter(|issued| is_reserve(issued)).collect();
        for reserve in reserves {
            self.may_have_happened(reserve, high);
        }
        for at in 0..self.messages.len() {
            let tag = self.messages[at].tag;
            let sight = sights.get(&tag).copied();
            let places = self.agreeing(tag, sight);
            self.keep(tag, places, || described(sight))?;
        }
        Ok(())
    }

    /// A command whose answer nobody waits for: it happens, or did not.
    pub fn may_have_happened(&mut self, issued: &Issued, high: Time) {
        self.note_lost(issued);
        if is_of_a_queue(issued) {
            self.unsure.push(issued.clone());
        }
        self.pass_time_for(issued, high);
        for tag in self.concerned(issued) {
            let message = self.message(tag);
            let mut places = message.places.clone();
            for place in self.after(message, &message.places, issued) {
                add(&mut places, place);
            }
            self.message_mut(tag).places = places;
            self.pass_time_of(tag, high);
        }
    }

    /// Effects of a lost command besides messages' places.
    fn note_lost(&mut self, issued: &Issued) {
        match &issued.command {
            Command::Put { queue, jobs, .. } => {
                let queue = self.queue(queue);
                for (index, (job, &tag)) in jobs.iter().zip(&issued.tags).enumerate() {
                    if !self.was_put(tag) {
                        let message = self.message_mut(tag);
                        message.puts_lost += 1;
                        let is_only_one = message.puts_lost == 1;
                        message.turn = turn(issued, index, queue, job).filter(|_| is_only_one);
                    }
                    let Some(dedup) = &job.dedup else { continue };
                    let until_min = issued.during.min.after(dedup.window.unwrap_or(0));
                    let known = self.dedups.entry((queue, dedup_number(dedup.id.as_str()))).or_default();
                    if !known.iter().any(|entry| entry.tag == tag) {
                        known.push(Dedup { tag, until_min });
                    }
                }
            }
            Command::Pause { queue } | Command::Resume { queue } => {
                let queue = self.queue(queue);
                self.queues[queue.0].paused = (true, true);
            }
            Command::Edit { .. }
            | Command::Kick { .. }
            | Command::Redrive { .. }
            | Command::Forward { .. } => {
                for tag in self.concerned(issued) {
                    self.message_mut(tag).turn = None;
                }
            }
            _ => {}
        }
    }

    /// The message that a job is, by its payload; a schedule's job is known by its id, or where it
    /// moved by whether it fits.
    pub(crate) fn identify(
        &mut self,
        content: Content,
        job: JobId,
        queue: QueueNumber,
        high: Time,
        fits: impl Fn(&Ledger, &Message, &Live) -> bool,
    ) -> Result<Tag, Violation> {
        if content.tag.0 as usize >= self.messages.len() {
            return Violation::new(format!("job {job} is {}, which nobody ever put", content.tag));
        }
        if !self.schedules.contains_key(&content.tag) {
            self.jobs.insert(job, content.tag);
            return Ok(content.tag);
        }
        if let Some(&tag) = self.jobs.get(&job) {
            return Ok(tag);
        }
        // One that was moved has a new id; or the schedule has put another one.
        let moved = |message: &Message, place: &Place| {
            place.live().is_some_and(|live| live.moved_to(queue) && fits(self, message, live))
        };
        let candidates = self.messages.iter().filter(|message| {
            message.content == content.tag
                && message.tag != content.tag
                && message.places.iter().any(|place| moved(message, place))
        });
        // They look the same: first those that certainly moved, of these the one that moved last.
        let rank = |message: &&Message| {
            let left = |place: &Place| moved(message, place) || matches!(place, Place::Transit(_));
            let due = message.places.iter().filter(|place| moved(message, place)).filter_map(Place::live);
            (message.places.iter().all(left), due.map(|live| live.due.min).max())
        };
        let tag = match candidates.max_by_key(rank) {
            Some(message) => message.tag,
            None => self.put_by_schedule(content.tag, job, high),
        };
        self.jobs.insert(job, tag);
        // Where it may have moved to there, this is its id now; the next one that is seen is another message.
        for place in &mut self.message_mut(tag).places {
            match place {
                Place::Live(live) if live.moved_to(queue) => live.job = Some(job),
                _ => {}
            }
        }
        Ok(tag)
    }

    /// Another job of a schedule.
    fn put_by_schedule(&mut self, schedule: Tag, job: JobId, high: Time) -> Tag {
        let queue = self.schedules[&schedule];
        let tag = self.add(None);
        let attempts_max = self.rules[queue.0].attempts_max;
        let message = self.message_mut(tag);
        message.content = schedule;
        message.places = vec![Place::Live(Live {
            queue,
            job: Some(job),
            previous_job: None,
            phase: Phase::Waiting,
            attempts: None,
            attempts_max,
            priority: 4,
            version: 0,
            due: Span { min: Time(0), max: Time(u64::MAX) },
            expires: None,
            reservation: 0,
        })];
        for issued in &self.unsure.clone() {
            let message = self.message(tag);
            let mut places = message.places.clone();
            for place in self.after(message, &message.places, issued) {
                add(&mut places, place);
            }
            self.message_mut(tag).places = places;
            self.pass_time_of(tag, high);
        }
        tag
    }

    /// The places that agree with what is seen, made as exact as that.
    pub(crate) fn agreeing(&self, tag: Tag, sight: Sight<'_>) -> Vec<Place> {
        let mut agreeing = Vec::new();
        for place in &self.message(tag).places {
            match (place, sight) {
                (Place::Live(live), Some((view, content))) => {
                    if let Some(exact) = self.exact(live, view, content) {
                        add(&mut agreeing, Place::Live(exact));
                    }
                }
                (Place::Absent | Place::Gone(_) | Place::Transit(_), None) => {
                    add(&mut agreeing, place.clone())
                }
                _ => {}
            }
        }
        agreeing
    }

    pub(crate) fn exact(&self, live: &Live, view: &JobView<Bytes>, content: Content) -> Option<Live> {
        let phase = match (live.phase, view.state, view.lease_until) {
            (Phase::Waiting, JobState::Delayed | JobState::Due, _) if live.due.holds(view.due) => {
                Phase::Waiting
            }
            (Phase::Reserved { number, until }, JobState::Reserved, Some(seen)) if until.holds(seen) => {
                Phase::Reserved { number, until: Span::at(seen) }
            }
            (Phase::Buried, JobState::Buried, _) | (Phase::Dead, JobState::Dead, _) => live.phase,
            _ => return None,
        };
        let expires = match (live.expires, view.expires) {
            // A dead job's own end is the queue's rule.
            (known, _) if live.phase == Phase::Dead => known,
            (None, None) => None,
            (Some(span), Some(seen)) if span.holds(seen) => Some(Span::at(seen)),
            _ => return None,
        };
        let agrees = self.queues[live.queue.0].name == view.queue
            && live.is(view.job)
            && live.attempts.is_none_or(|attempts| attempts == view.attempts)
            && live.attempts_max == view.attempts_max
            && live.priority == view.priority
            && live.version == content.version;
        let due = if phase == Phase::Waiting { Span::at(view.due) } else { live.due };
        agrees.then(|| Live {
            job: Some(view.job),
            phase,
            attempts: Some(view.attempts),
            expires,
            due,
            ..live.clone()
        })
    }
}

/// Whether it is about jobs that it does not name.
fn is_of_a_queue(issued: &Issued) -> bool {
    matches!(
        issued.command,
        Command::Reserve { .. }
            | Command::Kick { jobs: JobSet::Oldest(_), .. }
            | Command::Redrive { jobs: JobSet::Oldest(_), .. }
    )
}

fn is_reserve(issued: &Issued) -> bool {
    matches!(issued.command, Command::Reserve { .. })
}

fn first_wrong(
    ledger: &Ledger,
    agreeing: &[Vec<Place>],
    sights: &HashMap<Tag, (&JobView<Bytes>, Content)>,
) -> (Tag, String) {
    let Some(at) = agreeing.iter().position(Vec::is_empty) else { return (Tag(0), String::new()) };
    let tag = ledger.messages[at].tag;
    let known = describe(&ledger.messages[at].places);
    (tag, format!("{}, but it can only be {known}", described(sights.get(&tag).copied())))
}

fn described(sight: Sight<'_>) -> String {
    sight.map_or_else(|| "is in no queue".to_owned(), |(view, content)| shown(view, content))
}

/// A job as it is seen, in words.
pub(crate) fn shown(view: &JobView<Bytes>, content: Content) -> String {
    format!(
        "is seen in {} as job {}, {:?}, attempts {} of {}, priority {}, due {}, version {}{}{}",
        view.queue,
        view.job,
        view.state,
        view.attempts,
        view.attempts_max,
        view.priority,
        view.due.0,
        content.version,
        view.lease_until.map_or(String::new(), |at| format!(", lease until {}", at.0)),
        view.expires.map_or(String::new(), |at| format!(", expires {}", at.0)),
    )
}

#[cfg(test)]
mod tests {
    use stadium_queue::{NewJob, QueueName};

    use super::*;
    use crate::place::{Dead, Rules};

    /// The only queue's name.
    fn name() -> QueueName {
        QueueName::new("q0").expect("a name")
    }

    /// A record of one queue, and when it begins.
    fn ledger() -> (Ledger, Time) {
        let rules = Rules { shard: 0, dead: Dead::Kept, attempts_max: 1, backoff_max: 0 };
        (Ledger::new(vec![(name(), rules)]), Time(1_000))
    }

    /// A job as a look at its queue shows it, whose payload carries this tag.
    fn view(job: u64, content: Tag) -> JobView<Bytes> {
        JobView {
            job: JobId(job),
            queue: name(),
            state: JobState::Due,
            put_at: Time(1_000),
            due: Time(1_000),
            lease_until: None,
            expires: None,
            attempts: 0,
            attempts_max: 1,
            priority: 4,
            key: None,
            reason: None,
            principal: None,
            payload: Content { tag: content, version: 0 }.payload(32),
        }
    }

    /// A purge of the queue whose answer was lost in a crash.
    fn purge() -> Issued {
        Issued {
            number: 1,
            command: Command::Purge { queue: name(), state: None },
            tags: Vec::new(),
            during: Span::at(Time(1_000)),
            set_back: false,
            may_refuse: false,
            from: None,
        }
    }

    #[test]
    fn a_schedule_may_put_jobs_after_a_purge_that_was_lost() {
        // Given a job of the schedule that the checker has seen.
        let (mut ledger, now) = ledger();
        let schedule = ledger.add_schedule(QueueNumber(0));
        let before = Observed { jobs: vec![view(1, schedule)] };
        ledger.audit(&before, &[], Order::Submitted, now).expect("a schedule put it");
        // When it is gone after a crash, and the schedule's next one is there.
        let after = Observed { jobs: vec![view(2, schedule)] };
        // Then the purge came between them.
        ledger.audit(&after, &[purge()], Order::Submitted, now).expect("the purge came between them");
    }

    #[test]
    fn a_job_of_a_schedule_that_nobody_saw_may_have_died_of_a_reserve_that_was_cut_off() {
        // Given a reserve whose outcome nobody knows, of a queue whose dead jobs go to another one.
        let rules = |dead| Rules { shard: 0, dead, attempts_max: 1, backoff_max: 0 };
        let other = QueueName::new("q1").expect("a name");
        let queues =
            vec![(name(), rules(Dead::Moved(QueueNumber(1)))), (other.clone(), rules(Dead::Discarded))];
        let seen = |ledger: &mut Ledger, schedule| {
            let job = JobView { queue: other.clone(), due: Time(9_000), ..view(1, schedule) };
            ledger.audit(&Observed { jobs: vec![job] }, &[], Order::Submitted, Time(9_000))
        };
        let mut ledger = Ledger::new(queues);
        let schedule = ledger.add_schedule(QueueNumber(0));
        seen(&mut ledger.clone(), schedule).expect_err("nothing may have moved it");
        let command =
            Command::Reserve { queue: name(), jobs_max: 5, lease: Some(3_000), wait: 0, worker: None };
        ledger.may_have_happened(&Issued { command, ..purge() }, Time(1_000));
        // When a job of the schedule is seen for the first time, among the dead ones: its lease has ended.
        seen(&mut ledger, schedule).expect("the reserve took it");
    }

    #[test]
    fn a_put_that_was_lost_twice_has_no_known_place_in_the_order_of_its_key() {
        let (mut ledger, now) = ledger();
        let tag = ledger.add(Some(0));
        let job = NewJob { payload: Content { tag, version: 0 }.payload(32), ..NewJob::default() };
        let command = Command::Put { queue: name(), jobs: vec![job], principal: None };
        let put = Issued { command, tags: vec![tag], ..purge() };
        ledger.may_have_happened(&put, now);
        assert!(ledger.message(tag).turn.is_some(), "if it was put, then by this one");
        for number in [2, 3] {
            ledger.may_have_happened(&Issued { number, ..put.clone() }, now);
            assert_eq!(ledger.message(tag).turn, None, "the first one, or a later one");
        }
    }

    #[test]
    fn a_lost_purge_is_whole_or_nothing() {
        let (mut ledger, now) = ledger();
        let schedule = ledger.add_schedule(QueueNumber(0));
        let before = Observed { jobs: vec![view(1, schedule), view(2, schedule)] };
        ledger.audit(&before, &[], Order::Submitted, now).expect("a schedule put them");
        let half = Observed { jobs: vec![view(2, schedule)] };
        ledger.audit(&half, &[purge()], Order::Submitted, now).expect_err("one of two was purged");
    }
}
