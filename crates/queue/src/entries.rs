//! What the other tables hold: queues, lanes, extras, dedup ids, finished jobs, schedules.
//!
//! An entry has two kinds of fields: those that a checkpoint saves, and those marked *rebuilt*, which a
//! restore makes from the jobs. Names are checked again when they come back from a checkpoint.

use stadium_state_machine::Occurrences;
use stadium_table::{Damaged, Entry};

use crate::cron::occurrences;
use crate::decoding::read_settings;
use crate::events::write_settings;
use crate::job::NONE;
use crate::{
    Corrupt, Cron, JobState, Key, Limit, Missed, PayloadAt, PrincipalId, QueueName, QueueSettings, Time,
};
use stadium_state_machine::encoding::{Reader, number, text};

/// The ends of a list through [`Line`]s or lanes.
#[derive(Clone, Copy)]
pub(crate) struct List {
    pub(crate) head: u32,
    pub(crate) tail: u32,
    pub(crate) length: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, length: 0 }
    }
}

/// A job's place in the one list that it is in: of its lane while it is due, else of its queue and state.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    pub(crate) next: u32,
    pub(crate) previous: u32,
}

impl Default for Line {
    fn default() -> Self {
        Self { next: NONE, previous: NONE }
    }
}

/// A token bucket. After a restart it is full.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bucket {
    /// Tokens that were taken and did not come back yet.
    taken: f64,
    /// When that was so.
    at: Time,
}

impl Bucket {
    fn taken(&self, now: Time, limit: &Limit) -> f64 {
        let back = now.0.saturating_sub(self.at.0) as f64 * limit.rate / 1_000.0;
        (self.taken - back).max(0.0)
    }

    /// Whether there is a token, or when there is one.
    pub(crate) fn ask(&self, now: Time, limit: &Limit) -> Result<(), Time> {
        let lacking = self.taken(now, limit) + 1.0 - f64::from(limit.burst.max(1));
        // Less than a millionth of a token is the arithmetic's doing.
        if lacking < 1e-6 { Ok(()) } else { Err(now.after((lacking * 1_000.0 / limit.rate).ceil() as u64)) }
    }

    pub(crate) fn take(&mut self, now: Time, limit: &Limit) {
        self.taken = self.taken(now, limit) + 1.0;
        self.at = now;
    }

    /// When it is full again; none where it is.
    pub(crate) fn full_at(&self, now: Time, limit: &Limit) -> Option<Time> {
        let taken = self.taken(now, limit);
        (taken > 1e-6).then(|| now.after((taken * 1_000.0 / limit.rate).ceil() as u64))
    }
}

/// A purge that goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Purge {
    /// Bit n: state n.
    pub(crate) states: u8,
    /// Only jobs below this sequence.
    pub(crate) before: u64,
}

pub(crate) struct Queue {
    pub(crate) name: QueueName,
    /// There for every queue; none in a vacant place only.
    settings: Option<Box<QueueSettings>>,
    /// Distinguishes queues of one name that were made one after another.
    pub(crate) number: u64,
    pub(crate) paused: bool,
    pub(crate) purge: Option<Purge>,
    pub(crate) put: u64,
    pub(crate) handed_out: u64,
    pub(crate) settled: u64,
    pub(crate) retried: u64,
    pub(crate) died: u64,
    /// Rebuilt; counts from the restart.
    pub(crate) duplicates: u64,
    /// Rebuilt: jobs in whatever state.
    pub(crate) jobs: u32,
    /// Rebuilt: those that are due.
    pub(crate) due: u32,
    /// Rebuilt: schedules.
    pub(crate) schedules: u32,
    /// Rebuilt: the lane of jobs without key of each priority.
    pub(crate) open: [u32; 10],
    /// Rebuilt: lanes that can hand out a job, by its priority; the first is next.
    pub(crate) rings: [List; 10],
    /// Rebuilt: bit n where ring n has a lane.
    pub(crate) ring_mask: u16,
    /// Rebuilt: lanes with a due job that must wait.
    pub(crate) waiting: List,
    /// Rebuilt: jobs by state; due ones hang in their lanes.
    pub(crate) lists: [List; 5],
    /// Rebuilt.
    pub(crate) bucket: Bucket,
    /// Rebuilt: a lane of it may stay without a job until its bucket is full.
    pub(crate) idle_lanes: bool,
    /// Rebuilt: it is in the list of queues that became ready.
    pub(crate) announced: bool,
}

impl Queue {
    pub(crate) fn new(name: QueueName, settings: QueueSettings, number: u64) -> Self {
        Self { settings: Some(Box::new(settings)), number, ..Self::nameless(name) }
    }

    fn nameless(name: QueueName) -> Self {
        Self {
            name,
            settings: None,
            number: 0,
            paused: false,
            purge: None,
            put: 0,
            handed_out: 0,
            settled: 0,
            retried: 0,
            died: 0,
            duplicates: 0,
            jobs: 0,
            due: 0,
            schedules: 0,
            open: [NONE; 10],
            rings: [List::default(); 10],
            ring_mask: 0,
            waiting: List::default(),
            lists: [List::default(); 5],
            bucket: Bucket::default(),
            idle_lanes: false,
            announced: false,
        }
    }

    #[inline]
    pub(crate) fn settings(&self) -> &QueueSettings {
        self.settings.as_deref().expect("every queue has settings")
    }

    /// Jobs in that state.
    pub(crate) fn count(&self, state: JobState) -> u64 {
        u64::from(if state == JobState::Due { self.due } else { self.lists[state as usize].length })
    }

    pub(crate) fn set(&mut self, settings: QueueSettings) {
        self.settings = Some(Box::new(settings));
    }
}

/// Reads an entry with the reader of events.
fn read<T>(
    input: &mut &[u8],
    entry: impl FnOnce(&mut Reader<'_>) -> Result<T, Corrupt>,
) -> Result<T, Damaged> {
    let mut reader = Reader::new(input);
    let entry = entry(&mut reader).map_err(|_| Damaged("an entry of the queues that none wrote"))?;
    *input = &input[reader.position()..];
    Ok(entry)
}

pub(crate) fn queue_name(name: &str) -> Result<QueueName, Corrupt> {
    QueueName::new(name).map_err(|error| stadium_state_machine::encoding::corrupt(error.to_string()))
}

pub(crate) fn key(name: &str) -> Result<Key, Corrupt> {
    Key::new(name).map_err(|error| stadium_state_machine::encoding::corrupt(error.to_string()))
}

/// A principal; none where the text is empty.
pub(crate) fn principal(id: &str) -> Result<Option<PrincipalId>, Corrupt> {
    if id.is_empty() {
        return Ok(None);
    }
    let id = PrincipalId::new(id);
    id.map(Some).map_err(|error| stadium_state_machine::encoding::corrupt(error.to_string()))
}

fn write_principal(out: &mut Vec<u8>, principal: Option<&PrincipalId>) {
    text(out, principal.map_or("", PrincipalId::as_str));
}

fn write_key(out: &mut Vec<u8>, key: Option<&Key>) {
    text(out, key.map_or("", Key::as_str));
}

fn read_key(input: &mut Reader<'_>) -> Result<Option<Key>, Corrupt> {
    let name = input.text()?;
    if name.is_empty() { Ok(None) } else { key(name).map(Some) }
}

pub(crate) fn write_payload(out: &mut Vec<u8>, payload: PayloadAt) {
    number(out, payload.record);
    number(out, u64::from(payload.offset));
    number(out, u64::from(payload.length));
}

pub(crate) fn read_payload(input: &mut Reader<'_>) -> Result<PayloadAt, Corrupt> {
    Ok(PayloadAt { record: input.number()?, offset: input.small()?, length: input.small()? })
}

impl Entry for Queue {
    fn vacant() -> Self {
        Self::nameless(QueueName::vacant())
    }

    fn encode(&self, out: &mut Vec<u8>) {
        text(out, self.name.as_str());
        write_settings(out, self.settings());
        number(out, self.number);
        out.push(u8::from(self.paused) | u8::from(self.purge.is_some()) << 1);
        if let Some(purge) = self.purge {
            out.push(purge.states);
            number(out, purge.before);
        }
        for count in [self.put, self.handed_out, self.settled, self.retried, self.died] {
            number(out, count);
        }
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        read(input, |input| {
            let name = queue_name(input.text()?)?;
            let settings = read_settings(input)?;
            let mut queue = Self::new(name, settings, input.number()?);
            let flags = input.byte()?;
            queue.paused = flags & 1 != 0;
            if flags & 2 != 0 {
                queue.purge = Some(Purge { states: input.byte()?, before: input.number()? });
            }
            queue.put = input.number()?;
            queue.handed_out = input.number()?;
            queue.settled = input.number()?;
            queue.retried = input.number()?;
            queue.died = input.number()?;
            Ok(queue)
        })
    }
}

/// Where a lane hangs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LanePlace {
    /// Nowhere: none of its jobs is due.
    Out,
    /// In the ring of its first job's priority.
    Ring(u8),
    /// Among those that wait.
    Waiting,
}

/// Jobs of a queue that are handed out in one order: those of a key, or those without key of a priority.
pub(crate) struct Lane {
    pub(crate) queue: u32,
    pub(crate) key: Option<Key>,
    /// Of a lane without key.
    pub(crate) priority: u8,
    /// Rebuilt: jobs in whatever state.
    pub(crate) jobs: u32,
    /// Rebuilt: those that are due, in order.
    pub(crate) ready: List,
    /// Rebuilt: the job of its key that must be done first: reserved, or to be tried again later.
    pub(crate) holder: u32,
    /// Rebuilt: its key has no token; its timer fires when there is one.
    pub(crate) parked: bool,
    /// Rebuilt.
    pub(crate) place: LanePlace,
    /// Rebuilt: neighbours there.
    pub(crate) line: Line,
    /// Rebuilt.
    pub(crate) bucket: Bucket,
}

impl Lane {
    pub(crate) fn new(queue: u32, key: Option<Key>, priority: u8) -> Self {
        Self {
            queue,
            key,
            priority,
            jobs: 0,
            ready: List::default(),
            holder: NONE,
            parked: false,
            place: LanePlace::Out,
            line: Line::default(),
            bucket: Bucket::default(),
        }
    }
}

impl Entry for Lane {
    fn vacant() -> Self {
        Self::new(NONE, None, 0)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.queue.to_le_bytes());
        out.push(self.priority);
        write_key(out, self.key.as_ref());
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        read(input, |input| {
            let queue = u32::from_le_bytes(input.array()?);
            let priority = input.byte()?;
            Ok(Self::new(queue, read_key(input)?, priority.min(9)))
        })
    }
}

/// What few jobs have.
#[derive(Default)]
pub(crate) struct Extra {
    pub(crate) job: u32,
    /// When it goes by itself; zero: never.
    pub(crate) expires: Time,
    /// Why it is buried or dead, or the last error; shortened, the history has it whole.
    pub(crate) reason: Option<Box<str>>,
}

impl Entry for Extra {
    fn vacant() -> Self {
        Self::default()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.job.to_le_bytes());
        number(out, self.expires.0);
        text(out, self.reason.as_deref().unwrap_or(""));
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        read(input, |input| {
            let job = u32::from_le_bytes(input.array()?);
            let expires = Time(input.number()?);
            let reason = input.text()?;
            Ok(Self { job, expires, reason: (!reason.is_empty()).then(|| reason.into()) })
        })
    }
}

/// A dedup id that is remembered.
pub(crate) struct Remembered {
    /// [`Queue::number`].
    pub(crate) queue: u64,
    pub(crate) id: Key,
    pub(crate) job: u64,
    pub(crate) content: u64,
    pub(crate) until: Time,
}

impl Entry for Remembered {
    fn vacant() -> Self {
        Self { queue: 0, id: Key::vacant(), job: 0, content: 0, until: Time(0) }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        number(out, self.queue);
        text(out, self.id.as_str());
        number(out, self.job);
        out.extend(self.content.to_le_bytes());
        number(out, self.until.0);
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        read(input, |input| {
            let queue = input.number()?;
            let id = key(input.text()?)?;
            let job = input.number()?;
            let content = u64::from_le_bytes(input.array()?);
            Ok(Self { queue, id, job, content, until: Time(input.number()?) })
        })
    }
}

/// How a job ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Settled,
    Forwarded,
    Gone,
}

/// A job that is done, of which this is remembered for a while.
pub(crate) struct Finished {
    pub(crate) sequence: u64,
    pub(crate) last: u64,
    /// As which job it goes on, where it was forwarded.
    pub(crate) to: u64,
    pub(crate) reservation: u32,
    pub(crate) end: End,
}

impl Entry for Finished {
    fn vacant() -> Self {
        Self { sequence: 0, last: 0, to: 0, reservation: 0, end: End::Gone }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let mut bytes = [0; 29];
        bytes[..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.last.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.to.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.reservation.to_le_bytes());
        bytes[28] = self.end as u8;
        out.extend_from_slice(&bytes);
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        read(input, |input| {
            Ok(Self {
                sequence: crate::decoding::sequence(u64::from_le_bytes(input.array()?))?,
                last: u64::from_le_bytes(input.array()?),
                to: crate::decoding::sequence(u64::from_le_bytes(input.array()?))?,
                reservation: u32::from_le_bytes(input.array()?),
                end: match input.byte()? {
                    0 => End::Settled,
                    1 => End::Forwarded,
                    _ => End::Gone,
                },
            })
        })
    }
}

/// Of a schedule in a checkpoint, beside its treatment of missed occurrences: it names a principal.
const NAMED: u8 = 128;

pub(crate) struct Schedule {
    pub(crate) queue: u32,
    pub(crate) name: Key,
    pub(crate) cron: Cron,
    pub(crate) priority: u8,
    pub(crate) attempts_max: u16,
    pub(crate) key: Option<Key>,
    pub(crate) time_to_live: Option<u64>,
    pub(crate) payload: PayloadAt,
    pub(crate) next: Option<Time>,
    pub(crate) last: Option<(Time, u64)>,
    /// The principal that made it.
    pub(crate) principal: Option<PrincipalId>,
    /// Rebuilt.
    pub(crate) occurrences: Option<Box<Occurrences>>,
}

impl Entry for Schedule {
    fn vacant() -> Self {
        Self {
            queue: NONE,
            name: Key::vacant(),
            cron: Cron { expression: String::new(), time_zone: String::new(), missed: Missed::Once },
            priority: 0,
            attempts_max: 0,
            key: None,
            time_to_live: None,
            payload: PayloadAt::default(),
            next: None,
            last: None,
            principal: None,
            occurrences: None,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.queue.to_le_bytes());
        text(out, self.name.as_str());
        text(out, &self.cron.expression);
        text(out, &self.cron.time_zone);
        let named = if self.principal.is_some() { NAMED } else { 0 };
        out.extend([self.cron.missed as u8 | named, self.priority]);
        number(out, u64::from(self.attempts_max));
        write_key(out, self.key.as_ref());
        number(out, self.time_to_live.map_or(0, |span| span + 1));
        write_payload(out, self.payload);
        number(out, self.next.map_or(0, |next| next.0 + 1));
        number(out, self.last.map_or(0, |(at, _)| at.0 + 1));
        number(out, self.last.map_or(0, |(_, job)| job));
        if self.principal.is_some() {
            write_principal(out, self.principal.as_ref());
        }
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        read(input, |input| {
            let queue = u32::from_le_bytes(input.array()?);
            let name = key(input.text()?)?;
            let expression = input.text()?.to_owned();
            let time_zone = input.text()?.to_owned();
            let flags = input.byte()?;
            let missed = match flags & !NAMED {
                0 => Missed::Once,
                1 => Missed::Skip,
                _ => Missed::All,
            };
            let priority = input.byte()?.min(9);
            let attempts_max = input.small()?;
            let key = read_key(input)?;
            let time_to_live = input.number()?.checked_sub(1);
            let payload = read_payload(input)?;
            let next = input.number()?.checked_sub(1).map(Time);
            let last = input.number()?.checked_sub(1).map(Time);
            let job = input.number()?;
            let principal = if flags & NAMED != 0 { principal(input.text()?)? } else { None };
            let cron = Cron { expression, time_zone, missed };
            Ok(Self {
                queue,
                name,
                occurrences: occurrences(&cron).ok().map(Box::new),
                cron,
                priority,
                attempts_max,
                key,
                time_to_live,
                payload,
                next,
                last: last.map(|at| (at, job)),
                principal,
            })
        })
    }
}

/// A job on its way to another shard.
pub(crate) struct Sent {
    pub(crate) queue: QueueName,
    pub(crate) priority: u8,
    pub(crate) attempts_max: u16,
    pub(crate) due: Time,
    pub(crate) expires: Option<Time>,
    pub(crate) key: Option<Key>,
    /// Id, and until when it is remembered.
    pub(crate) dedup: Option<(Key, Time)>,
    pub(crate) payload: PayloadAt,
    /// The principal that put it.
    pub(crate) principal: Option<PrincipalId>,
}

impl Sent {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        text(out, self.queue.as_str());
        out.push(self.priority);
        number(out, u64::from(self.attempts_max));
        number(out, self.due.0);
        number(out, self.expires.map_or(0, |at| at.0 + 1));
        write_key(out, self.key.as_ref());
        write_key(out, self.dedup.as_ref().map(|(id, _)| id));
        number(out, self.dedup.as_ref().map_or(0, |(_, until)| until.0));
        write_payload(out, self.payload);
        write_principal(out, self.principal.as_ref());
    }

    /// Reads one of a checkpoint, which names principals or does not.
    pub(crate) fn decode(input: &mut Reader<'_>, has_principal: bool) -> Result<Self, Corrupt> {
        let queue = queue_name(input.text()?)?;
        let priority = input.byte()?;
        let attempts_max = input.small()?;
        let due = Time(input.number()?);
        let expires = input.number()?.checked_sub(1).map(Time);
        let key = read_key(input)?;
        let id = read_key(input)?;
        let until = Time(input.number()?);
        let payload = read_payload(input)?;
        let dedup = id.map(|id| (id, until));
        let principal = if has_principal { principal(input.text()?)? } else { None };
        Ok(Self { queue, priority, attempts_max, due, expires, key, dedup, payload, principal })
    }
}
