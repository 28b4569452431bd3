//! The checker's own record of all messages: commands, acknowledgements, and the possible places of
//! each.
//!
//! It holds the bookkeeping. [`crate::answered`] evaluates answers, [`crate::effect`] has the
//! possible effects of a command on a place, and [`crate::audit`] evaluates a look at all queues.

use std::collections::HashMap;
use std::fmt;

use stadium_queue::{Command, JobId, JobSet, Lease, PrincipalId, QueueName, Time};

use crate::clock::Span;
use crate::message::Tag;
use crate::place::{Place, QueueNumber, Rules, pass_time};

/// A promise that was broken.
#[derive(Debug, Clone)]
pub struct Violation {
    /// The result that was seen, and the expected one.
    pub what: String,
    /// Whose, where it is one message's.
    pub message: Option<Tag>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Violation {
    pub(crate) fn of<T>(message: Tag, what: impl Into<String>) -> Result<T, Violation> {
        Err(Violation { what: format!("{message}: {}", what.into()), message: Some(message) })
    }

    pub(crate) fn new<T>(what: impl Into<String>) -> Result<T, Violation> {
        Err(Violation { what: what.into(), message: None })
    }
}

/// A command on its way, as its client knows it.
#[derive(Debug, Clone)]
pub struct Issued {
    /// In the order in which they were submitted.
    pub number: u64,
    /// What was asked.
    pub command: Command,
    /// The messages of a put, in its order; of a forward, the one.
    pub tags: Vec<Tag>,
    /// The times that the clock showed since.
    pub during: Span,
    /// Whether the clock was ever set back: due times give another order then than puts.
    pub set_back: bool,
    /// Whether the shard may have refused it for want of room.
    pub may_refuse: bool,
    /// The shard that puts its jobs, where that need not be their queue's.
    pub from: Option<u16>,
}

/// One message.
#[derive(Debug, Clone)]
pub struct Message {
    /// Which.
    pub tag: Tag,
    /// The tag in its payload: its own, or that of the schedule that put it.
    pub content: Tag,
    /// Its key.
    pub key: Option<u8>,
    /// The principal that puts it; of the jobs of a schedule, who made that.
    pub principal: Option<PrincipalId>,
    /// Its id when it was put, for duplicates of that put.
    pub first_job: Option<JobId>,
    /// Its place in the order of its key, where one put is known to have decided it.
    pub turn: Option<Turn>,
    /// Puts of it whose outcome is open: with two of them it is open which one decided its place.
    pub puts_lost: u32,
    /// Where it may be; never empty.
    pub places: Vec<Place>,
}

impl Message {
    /// Whether it may be in a queue, or on its way to one.
    pub fn is_here(&self) -> bool {
        self.places.iter().any(|place| matches!(place, Place::Live(_) | Place::Transit(_)))
    }
}

/// What puts a message before or after others of its key: those of the same queue and priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Into which queue it was put.
    pub queue: QueueNumber,
    /// Its priority.
    pub priority: u8,
    /// In the order of the puts.
    pub number: u64,
    /// Whether it was due at once, so that it holds back those after it.
    pub at_once: bool,
}

/// A put with a dedup id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dedup {
    pub(crate) tag: Tag,
    /// Not forgotten before this.
    pub(crate) until_min: Time,
}

/// A queue as the checker knows it.
#[derive(Debug, Clone)]
pub struct Queue {
    /// Its name.
    pub name: QueueName,
    /// Whether it may be paused, and whether it may be running.
    pub paused: (bool, bool),
}

/// The whole record.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    pub(crate) messages: Vec<Message>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) rules: Vec<Rules>,
    pub(crate) jobs: HashMap<JobId, Tag>,
    pub(crate) dedups: HashMap<(QueueNumber, u8), Vec<Dedup>>,
    pub(crate) schedules: HashMap<Tag, QueueNumber>,
    /// Commands about whole queues that may have been carried out since the last look: jobs of a
    /// schedule that nobody has seen may have been among those that they took.
    pub(crate) unsure: Vec<Issued>,
}

impl Ledger {
    /// A record of these queues.
    pub fn new(queues: Vec<(QueueName, Rules)>) -> Ledger {
        let rules = queues.iter().map(|(_, rules)| rules.clone()).collect();
        let queues = queues.into_iter().map(|(name, _)| Queue { name, paused: (false, true) }).collect();
        Ledger { queues, rules, ..Ledger::default() }
    }

    /// What a queue's settings mean.
    pub fn rules(&self, queue: QueueNumber) -> &Rules {
        &self.rules[queue.0]
    }

    /// The messages.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// One message.
    pub fn message(&self, tag: Tag) -> &Message {
        &self.messages[tag.0 as usize]
    }

    pub(crate) fn message_mut(&mut self, tag: Tag) -> &mut Message {
        &mut self.messages[tag.0 as usize]
    }

    /// A message that is about to be put.
    pub fn add(&mut self, key: Option<u8>) -> Tag {
        let tag = Tag(u32::try_from(self.messages.len()).expect("a simulation is short"));
        self.messages.push(Message {
            tag,
            content: tag,
            key,
            principal: None,
            first_job: None,
            turn: None,
            puts_lost: 0,
            places: vec![Place::Absent],
        });
        tag
    }

    /// A message that stands for all that a schedule will put.
    pub fn add_schedule(&mut self, queue: QueueNumber) -> Tag {
        let tag = self.add(None);
        self.schedules.insert(tag, queue);
        tag
    }

    /// These messages are put by that principal.
    pub fn put_by(&mut self, tags: &[Tag], principal: Option<&PrincipalId>) {
        tags.iter().for_each(|&tag| self.message_mut(tag).principal = principal.cloned());
    }

    /// The queue with that name.
    pub fn queue(&self, name: &QueueName) -> QueueNumber {
        let at = self.queues.iter().position(|queue| queue.name == *name);
        QueueNumber(at.expect("a simulation names its own queues"))
    }

    /// The message that was handed out or seen as this job.
    pub fn tag_of(&self, job: JobId) -> Option<Tag> {
        self.jobs.get(&job).copied()
    }

    /// Whether it is sure that the message was put. A message was put, or it was not: returns
    /// whether that can be.
    pub fn decide_put(&mut self, tag: Tag, was_put: bool) -> bool {
        let message = self.message_mut(tag);
        message.places.retain(|place| (*place != Place::Absent) == was_put);
        !message.places.is_empty()
    }

    pub(crate) fn was_put(&self, tag: Tag) -> bool {
        !self.message(tag).places.contains(&Place::Absent)
    }

    /// Whether a dedup id is certainly known to the queue now and for some time.
    pub fn remembers(&self, queue: QueueNumber, id: u8, high: Time, margin: u64) -> Option<Tag> {
        let known = self.dedups.get(&(queue, id))?.last()?;
        (high.after(margin) < known.until_min).then_some(known.tag)
    }

    /// The messages that a command may do something to.
    pub(crate) fn concerned(&self, issued: &Issued) -> Vec<Tag> {
        let of_leases = |leases: &[Lease]| leases.iter().filter_map(|lease| self.tag_of(lease.job)).collect();
        let of_jobs = |jobs: &[JobId]| jobs.iter().filter_map(|&job| self.tag_of(job)).collect();
        match &issued.command {
            Command::Put { .. } => issued.tags.clone(),
            Command::Settle { leases }
            | Command::Release { leases, .. }
            | Command::Extend { leases, .. }
            | Command::Bury { leases, .. } => of_leases(leases),
            Command::Forward { lease, .. } => of_leases(&[*lease]),
            Command::Delete { jobs } => of_jobs(jobs),
            Command::Edit { job, .. } => of_jobs(&[*job]),
            Command::Kick { jobs: JobSet::Ids(jobs), .. }
            | Command::Redrive { jobs: JobSet::Ids(jobs), .. } => of_jobs(jobs),
            Command::Reserve { queue, .. }
            | Command::Kick { queue, .. }
            | Command::Redrive { queue, .. }
            | Command::Purge { queue, .. } => self.of_queue(self.queue(queue)),
            _ => Vec::new(),
        }
    }

    /// The messages that may be in a queue.
    pub(crate) fn of_queue(&self, queue: QueueNumber) -> Vec<Tag> {
        let inside = |place: &Place| match place {
            Place::Live(live) => live.queue == queue,
            Place::Transit(live) => live.queue == queue,
            Place::Absent | Place::Gone(_) => false,
        };
        self.messages
            .iter()
            .filter(|message| message.places.iter().any(inside))
            .map(|message| message.tag)
            .collect()
    }

    /// Adds what time may have done to the messages that a command may concern.
    pub(crate) fn pass_time_for(&mut self, issued: &Issued, high: Time) {
        match issued.command {
            // Time may have brought any message into the queue.
            Command::Purge { .. }
            | Command::Kick { .. }
            | Command::Redrive { .. }
            | Command::Reserve { .. } => {
                self.pass_time(high);
            }
            _ => self.concerned(issued).into_iter().for_each(|tag| self.pass_time_of(tag, high)),
        }
    }

    /// Adds what time may have done to all messages.
    pub fn pass_time(&mut self, high: Time) {
        let Ledger { messages, rules, .. } = self;
        for message in messages {
            pass_time(&mut message.places, high, rules);
        }
    }

    /// Adds what time may have done to one message.
    pub(crate) fn pass_time_of(&mut self, tag: Tag, high: Time) {
        let Ledger { messages, rules, .. } = self;
        pass_time(&mut messages[tag.0 as usize].places, high, rules);
    }

    /// Nothing is between two shards any more.
    pub(crate) fn all_arrived(&mut self) -> Result<(), Violation> {
        for at in 0..self.messages.len() {
            let tag = self.messages[at].tag;
            let here = |place: &&Place| !matches!(place, Place::Transit(_));
            let places = self.messages[at].places.iter().filter(here).cloned().collect();
            self.keep(tag, places, || "went to another shard and never came there".into())?;
        }
        Ok(())
    }

    /// Keeps the places that agree with what was seen.
    pub(crate) fn keep(
        &mut self,
        tag: Tag,
        places: Vec<Place>,
        seen: impl FnOnce() -> String,
    ) -> Result<(), Violation> {
        if places.is_empty() {
            let known = describe(&self.message(tag).places);
            return Violation::of(tag, format!("{}, but it can only be {known}", seen()));
        }
        self.message_mut(tag).places = places;
        Ok(())
    }
}

/// Places in words.
pub(crate) fn describe(places: &[Place]) -> String {
    let each = places.iter().map(|place| match place {
        Place::Absent => "never put".to_owned(),
        Place::Gone(gone) => format!("gone ({gone:?})"),
        Place::Transit(live) => format!("on its way to q{}", live.queue.0),
        Place::Live(live) => {
            let job = live.job.map_or("?".to_owned(), |job| job.to_string());
            let attempts = live.attempts.map_or("?".to_owned(), |attempts| attempts.to_string());
            format!(
                "in q{} as job {job}, {:?}, attempts {attempts} of {}, due {}..{}, version {}{}",
                live.queue.0,
                live.phase,
                live.attempts_max,
                live.due.min.0,
                live.due.max.0,
                live.version,
                live.expires.map_or(String::new(), |at| format!(", expires {}..{}", at.min.0, at.max.0)),
            )
        }
    });
    each.collect::<Vec<_>>().join(" | or ")
}
