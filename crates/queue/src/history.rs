//! Reading events back for people: the history of one job, and a record in words.
//!
//! A history goes from record to record backwards. Where a segment is gone, or more would be read
//! than a bound allows, it states this and ends.

use crate::decoding::Decoder;
use crate::entries::principal;
use crate::events::{Disposition, Event, JobEvent, Payload, Work};
use crate::{
    Answer, Attempt, Corrupt, HistoryEntry, JobId, PayloadAt, QueueName, Queues, Refusal, Time, WorkerName,
};
use stadium_state_machine::encoding::corrupt;
use stadium_state_machine::{Description, Gone, Section, Walk};

/// Entries of a history at most: attempts are bounded by a thousand, extensions are not.
const ENTRIES_MAX: usize = 4_096;

/// The history of a job, newest first: read backwards from its newest event.
#[derive(Debug)]
pub struct History {
    job: JobId,
    next: Option<u64>,
    last: Time,
    entries: Vec<HistoryEntry>,
}

impl History {
    /// One that begins at the position of the job's newest event.
    pub(crate) fn begin(job: JobId, start: u64) -> Self {
        Self { job, next: Some(start), last: Time(0), entries: Vec::new() }
    }
}

impl Walk<Queues> for History {
    fn next(&self) -> Option<u64> {
        self.next.filter(|_| self.entries.len() < ENTRIES_MAX)
    }

    fn read(&mut self, queues: &Queues, section: Section<'_>) -> Result<(), Corrupt> {
        let Section { at, time, offset, events, .. } = section;
        self.last = time;
        self.next = queues.history(self.job, at, time, offset, events, &mut self.entries)?;
        Ok(())
    }

    fn gone(&self, _queues: &Queues) -> Gone {
        Gone::Ends
    }

    fn finish(mut self, _queues: &Queues) -> Result<Answer<PayloadAt>, Refusal> {
        if self.next.is_some() {
            self.entries.push(HistoryEntry { at: self.last, what: Attempt::Trimmed });
        }
        Ok(Answer::History(self.entries))
    }
}

impl Queues {
    /// Appends the events of one record about one job, newest first, and returns the place of its
    /// previous event.
    ///
    /// `events` begins `offset` bytes into the record at `at`, whose time was `time`. There is no
    /// previous event where this record holds the put, or has no event of the job.
    ///
    /// # Errors
    ///
    /// Events of another version.
    pub fn history(
        &self,
        job: JobId,
        at: u64,
        time: Time,
        offset: u32,
        events: &[u8],
        into: &mut Vec<HistoryEntry>,
    ) -> Result<Option<u64>, Corrupt> {
        let sequence = job.sequence();
        let mut decoder = Decoder::new(at, time, offset, events);
        let (mut queue, mut worker, mut reason, mut by) = ("", "", "", "");
        let begin = into.len();
        let mut previous = None;
        while let Some(event) = decoder.next() {
            let what = match event?.0 {
                Event::Queue(name) => {
                    queue = name;
                    continue;
                }
                Event::Worker(name) => {
                    worker = name;
                    continue;
                }
                Event::Reason(text) => {
                    reason = text;
                    continue;
                }
                Event::Principal(id) => {
                    by = id;
                    continue;
                }
                Event::Put { job, due, .. } if job == sequence => {
                    Some(Attempt::Put { queue: name_of(queue)?, due, principal: principal(by)? })
                }
                Event::Job { job: of, back, what } if of == sequence => {
                    if back > 0 && previous.is_none() {
                        previous = Some(at - back);
                    }
                    attempt(job, &what, queue, worker, reason)?
                }
                _ => None,
            };
            into.extend(what.map(|what| HistoryEntry { at: time, what }));
        }
        into[begin..].reverse();
        Ok(previous)
    }
}

fn name_of(queue: &str) -> Result<QueueName, Corrupt> {
    QueueName::new(queue).map_err(|error| corrupt(error.to_string()))
}

fn attempt(
    job: JobId,
    what: &JobEvent<'_>,
    queue: &str,
    worker: &str,
    reason: &str,
) -> Result<Option<Attempt>, Corrupt> {
    let text = |reason: &str| (!reason.is_empty()).then(|| reason.to_owned());
    Ok(Some(match *what {
        JobEvent::Reserved { attempt, until, .. } => {
            Attempt::Reserved { attempt, worker: WorkerName::new(worker).ok(), until }
        }
        JobEvent::Settled => Attempt::Settled,
        JobEvent::Forwarded { queue, to } => {
            Attempt::Forwarded { queue: name_of(queue)?, job: JobId::new(job.shard(), to) }
        }
        // Its id there is the other shard's to give.
        JobEvent::Sent { queue, .. } => Attempt::Forwarded { queue: name_of(queue)?, job },
        JobEvent::Released { due, .. } => Attempt::Released { due, error: text(reason) },
        JobEvent::Lapsed { due, .. } => Attempt::LeaseExpired { due },
        JobEvent::Extended { until } => Attempt::Extended { until },
        JobEvent::Buried => Attempt::Buried { reason: text(reason) },
        JobEvent::Dead { .. } => Attempt::Dead { reason: reason.to_owned() },
        JobEvent::Revived { .. } => Attempt::Revived { queue: name_of(queue)? },
        JobEvent::Edited(_) => Attempt::Edited,
        JobEvent::Deleted => Attempt::Deleted,
        JobEvent::Expired => Attempt::Expired,
        JobEvent::Moved { .. } => return Ok(None),
    }))
}

impl Queues {
    /// Describes the events of a record. Payloads are not shown.
    ///
    /// # Errors
    ///
    /// Events that are damaged or unknown; those before them are described.
    pub fn describe(section: Section<'_>, into: &mut Vec<Description>) -> Result<(), Corrupt> {
        let Section { shard, at, time, offset, events } = section;
        let mut decoder = Decoder::new(at, time, offset, events);
        while let Some(event) = decoder.next() {
            let (event, payload) = event?;
            let job = match event {
                Event::Put { job, .. } | Event::Job { job, .. } => Some(JobId::new(shard, job).0),
                _ => None,
            };
            into.push(Description { job, text: in_words(&event, payload.length) });
        }
        Ok(())
    }
}

fn in_words(event: &Event<'_>, payload_bytes: u32) -> String {
    match event {
        Event::Queue(name) => format!("in the queue {name}"),
        Event::Worker("") => "by a worker without name".into(),
        Event::Worker(name) => format!("by the worker {name}"),
        Event::Reason("") => "for no reason".into(),
        Event::Reason(reason) => format!("because: {reason}"),
        Event::Principal("") => "by no principal".into(),
        Event::Principal(principal) => format!("by the principal {principal}"),
        Event::Made(_) => "queue made".into(),
        Event::Set(_) => "queue settings changed".into(),
        Event::Dropped => "queue dropped".into(),
        Event::Paused => "queue paused".into(),
        Event::Resumed => "queue resumed".into(),
        Event::Purge { before, .. } => format!("purge of jobs before {before}"),
        Event::Purged => "purge done".into(),
        Event::Put { due, work, .. } => {
            format!("put, due at {}, {}{}", due.0, of_work(work), bytes_of(work, payload_bytes))
        }
        Event::Job { what, .. } => match what {
            JobEvent::Reserved { reservation, attempt, until } => {
                format!("reserved as {reservation}, attempt {attempt}, until {}", until.0)
            }
            JobEvent::Settled => "settled".into(),
            JobEvent::Forwarded { queue, to } => format!("forwarded to {queue} as {to}"),
            JobEvent::Released { attempts, due } => {
                format!("released after {attempts} attempts, due at {}", due.0)
            }
            JobEvent::Lapsed { attempts, due } => {
                format!("lease ended after {attempts} attempts, due at {}", due.0)
            }
            JobEvent::Extended { until } => format!("extended until {}", until.0),
            JobEvent::Buried => "buried".into(),
            JobEvent::Dead { disposition: Disposition::Stays, .. } => "dead".into(),
            JobEvent::Dead { disposition: Disposition::IsGone, .. } => "dead, and discarded".into(),
            JobEvent::Dead { disposition: Disposition::GoesOn, .. } => "dead, and goes on".into(),
            JobEvent::Revived { due } => format!("revived, due at {}", due.0),
            JobEvent::Edited(_) => "edited".into(),
            JobEvent::Deleted => "deleted".into(),
            JobEvent::Expired => "expired".into(),
            JobEvent::Moved { .. } => format!("payload of {payload_bytes} bytes moved here"),
            JobEvent::Sent { number, queue, .. } => format!("sent to {queue} on another shard as {number}"),
        },
        Event::Scheduled { name, cron, time_zone, .. } => format!("schedule {name}: {cron} in {time_zone}"),
        Event::Fired { name, last, .. } => format!("schedule {name} came at {}", last.0),
        Event::Unscheduled { name } => format!("schedule {name} gone"),
        Event::ScheduleMoved { name, .. } => format!("payload of the schedule {name} moved here"),
        Event::Received { shard, number, .. } => format!("taken over from shard {shard}, number {number}"),
        Event::Confirmed { number } => format!("sent job {number} confirmed"),
        Event::OutgoingMoved { number, .. } => format!("payload of the sent job {number} moved here"),
        Event::Dispatched { number, queue, .. } => {
            format!("put into {queue} on another shard, on its way as {number}")
        }
    }
}

fn of_work(work: &Work<'_>) -> String {
    let key = work.key.map_or(String::new(), |key| format!("key {key:?}, "));
    let dedup = work.dedup.map_or(String::new(), |dedup| format!("dedup id {:?}, ", dedup.id));
    format!("priority {}, {key}{dedup}", work.priority)
}

fn bytes_of(work: &Work<'_>, payload_bytes: u32) -> String {
    match work.payload {
        Payload::Bytes(_) => format!("{payload_bytes} bytes"),
        Payload::At(at) => format!("{payload_bytes} bytes that stand in record {}", at.record),
    }
}
