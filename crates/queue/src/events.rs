//! Events: what became of which job, as they stand in a record.
//!
//! The format is docs/formats/queue-events.md. Writing appends to the record's buffer; reading checks
//! everything, allocates nothing but settings, and never panics. What an event does to the state is
//! [`crate::apply`]'s business.

use crate::encoding::{Reader, corrupt, moment, number, text};
use crate::{Backoff, Corrupt, DeadLetter, Limit, Missed, PayloadAt, QueueName, QueueSettings, Spread, Time};

/// A payload that stands in this record or in an older one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Payload<'a> {
    /// In this one.
    Bytes(&'a [u8]),
    /// Elsewhere.
    At(PayloadAt),
}

/// The dedup id of a put.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DedupPart<'a> {
    pub(crate) id: &'a str,
    pub(crate) content: u64,
    pub(crate) until: Time,
}

/// What jobs, sent jobs and schedules have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Work<'a> {
    pub(crate) priority: u8,
    pub(crate) attempts_max: u16,
    /// Due at once, whatever the clock says: `due` is what keeps its turn.
    pub(crate) at_once: bool,
    pub(crate) key: Option<&'a str>,
    pub(crate) dedup: Option<DedupPart<'a>>,
    pub(crate) payload: Payload<'a>,
}

/// What an edit changes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Changes<'a> {
    pub(crate) expires: Option<Time>,
    pub(crate) due: Option<Time>,
    pub(crate) priority: Option<u8>,
    pub(crate) attempts_max: Option<u16>,
    pub(crate) payload: Option<&'a [u8]>,
}

/// What becomes of a job whose last attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Stays,
    IsGone,
    GoesOn,
}

/// What happened to one job that was there before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum JobEvent<'a> {
    Reserved { reservation: u32, attempt: u16, until: Time },
    Settled,
    Forwarded { queue: &'a str, to: u64 },
    Released { attempts: u16, due: Time },
    Lapsed { attempts: u16, due: Time },
    Extended { until: Time },
    Buried,
    Dead { fate: Fate, expires: Time },
    Revived { due: Time },
    Edited(Changes<'a>),
    Deleted,
    Expired,
    Moved { payload: &'a [u8] },
    Sent { number: u64, queue: &'a str, due: Time, expires: Option<Time>, work: Work<'a> },
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event<'a> {
    Queue(&'a str),
    Worker(&'a str),
    Reason(&'a str),
    Made(QueueSettings),
    Set(QueueSettings),
    Dropped,
    Paused,
    Resumed,
    Purge {
        states: u8,
        before: u64,
    },
    Purged,
    Put {
        job: u64,
        due: Time,
        expires: Option<Time>,
        work: Work<'a>,
    },
    Job {
        job: u64,
        back: u64,
        what: JobEvent<'a>,
    },
    Scheduled {
        name: &'a str,
        cron: &'a str,
        time_zone: &'a str,
        missed: Missed,
        time_to_live: Option<u64>,
        work: Work<'a>,
        next: Option<Time>,
    },
    Fired {
        name: &'a str,
        last: Time,
        next: Option<Time>,
        job: u64,
    },
    Unscheduled {
        name: &'a str,
    },
    ScheduleMoved {
        name: &'a str,
        payload: &'a [u8],
    },
    Received {
        shard: u16,
        number: u64,
        confirmed_below: u64,
    },
    Confirmed {
        number: u64,
    },
    OutgoingMoved {
        number: u64,
        payload: &'a [u8],
    },
}

mod flag {
    pub(super) const KEY: u8 = 1;
    pub(super) const EXPIRES: u8 = 2;
    pub(super) const DEDUP: u8 = 4;
    pub(super) const ELSEWHERE: u8 = 8;
    pub(super) const DUE: u8 = 16;
    pub(super) const PRIORITY: u8 = 32;
    pub(super) const ATTEMPTS: u8 = 64;
    pub(super) const PAYLOAD: u8 = 128;
}

/// Milliseconds behind the record's time of a schedule that never comes again.
const NEVER: u64 = i64::MAX as u64;

/// Where a record's events are written to, and relative to what.
pub(crate) struct Encoder<'r> {
    pub(crate) out: &'r mut Vec<u8>,
    pub(crate) at: u64,
    pub(crate) time: Time,
}

impl Encoder<'_> {
    /// Appends an event; answers where its payload stands, if it has one.
    pub(crate) fn event(&mut self, event: &Event<'_>) -> PayloadAt {
        let none = PayloadAt::default();
        match *event {
            Event::Queue(name) => self.named(1, name),
            Event::Worker(name) => self.named(2, name),
            Event::Reason(reason) => self.named(3, reason),
            Event::Made(ref settings) => {
                self.out.push(8);
                write_settings(self.out, settings);
                none
            }
            Event::Set(ref settings) => {
                self.out.push(9);
                write_settings(self.out, settings);
                none
            }
            Event::Dropped => self.bare(10),
            Event::Paused => self.bare(11),
            Event::Resumed => self.bare(12),
            Event::Purge { states, before } => {
                self.out.extend([13, states]);
                number(self.out, before);
                none
            }
            Event::Purged => self.bare(14),
            Event::Put { job, due, expires, ref work } => {
                self.out.push(16);
                number(self.out, job);
                let flags = flags_of(work, expires.is_some());
                self.out.push(flags);
                moment(self.out, self.time, due);
                self.work(work, expires)
            }
            Event::Job { job, back, ref what } => self.job(job, back, what),
            Event::Scheduled { name, cron, time_zone, missed, time_to_live, ref work, next } => {
                self.out.push(32);
                text(self.out, name);
                text(self.out, cron);
                text(self.out, time_zone);
                self.out.push(missed as u8);
                let mut flags = flags_of(work, time_to_live.is_some());
                flags &= !(flag::ELSEWHERE | flag::DEDUP);
                self.out.extend([flags, work.priority]);
                number(self.out, u64::from(work.attempts_max));
                if let Some(key) = work.key {
                    text(self.out, key);
                }
                if let Some(span) = time_to_live {
                    number(self.out, span);
                }
                self.next(next);
                match work.payload {
                    Payload::Bytes(bytes) => self.payload(bytes),
                    Payload::At(_) => unreachable!("a schedule brings its payload along"),
                }
            }
            Event::Fired { name, last, next, job } => {
                self.named(33, name);
                moment(self.out, self.time, last);
                self.next(next);
                number(self.out, job);
                none
            }
            Event::Unscheduled { name } => self.named(34, name),
            Event::ScheduleMoved { name, payload } => {
                self.named(35, name);
                self.payload(payload)
            }
            Event::Received { shard, number: n, confirmed_below } => {
                self.out.push(41);
                number(self.out, u64::from(shard));
                number(self.out, n);
                number(self.out, confirmed_below);
                none
            }
            Event::Confirmed { number: n } => {
                self.out.push(42);
                number(self.out, n);
                none
            }
            Event::OutgoingMoved { number: n, payload } => {
                self.out.push(43);
                number(self.out, n);
                self.payload(payload)
            }
        }
    }

    #[inline]
    fn job(&mut self, job: u64, back: u64, what: &JobEvent<'_>) -> PayloadAt {
        let kind = match what {
            JobEvent::Reserved { .. } => 17,
            JobEvent::Settled => 18,
            JobEvent::Forwarded { .. } => 19,
            JobEvent::Released { .. } => 20,
            JobEvent::Lapsed { .. } => 21,
            JobEvent::Extended { .. } => 22,
            JobEvent::Buried => 23,
            JobEvent::Dead { .. } => 24,
            JobEvent::Revived { .. } => 25,
            JobEvent::Edited(_) => 26,
            JobEvent::Deleted => 27,
            JobEvent::Expired => 28,
            JobEvent::Moved { .. } => 29,
            JobEvent::Sent { .. } => 40,
        };
        self.out.push(kind);
        number(self.out, job);
        number(self.out, back);
        match *what {
            JobEvent::Reserved { reservation, attempt, until } => {
                number(self.out, u64::from(reservation));
                number(self.out, u64::from(attempt));
                moment(self.out, self.time, until);
            }
            JobEvent::Settled | JobEvent::Buried | JobEvent::Deleted | JobEvent::Expired => {}
            JobEvent::Forwarded { queue, to } => {
                text(self.out, queue);
                number(self.out, to);
            }
            JobEvent::Released { attempts, due } | JobEvent::Lapsed { attempts, due } => {
                number(self.out, u64::from(attempts));
                moment(self.out, self.time, due);
            }
            JobEvent::Extended { until } => moment(self.out, self.time, until),
            JobEvent::Dead { fate, expires } => {
                self.out.push(fate as u8);
                moment(self.out, self.time, expires);
            }
            JobEvent::Revived { due } => moment(self.out, self.time, due),
            JobEvent::Edited(ref changes) => return self.changes(changes),
            JobEvent::Moved { payload } => return self.payload(payload),
            JobEvent::Sent { number: n, queue, due, expires, ref work } => {
                number(self.out, n);
                text(self.out, queue);
                self.out.push(flags_of(work, expires.is_some()));
                moment(self.out, self.time, due);
                return self.work(work, expires);
            }
        }
        PayloadAt::default()
    }

    fn bare(&mut self, kind: u8) -> PayloadAt {
        self.out.push(kind);
        PayloadAt::default()
    }

    fn named(&mut self, kind: u8, name: &str) -> PayloadAt {
        self.out.push(kind);
        text(self.out, name);
        PayloadAt::default()
    }

    fn next(&mut self, next: Option<Time>) {
        moment(self.out, self.time, next.unwrap_or(Time(self.time.0.wrapping_add(NEVER))));
    }

    /// What follows the due time.
    #[inline]
    fn work(&mut self, work: &Work<'_>, expires: Option<Time>) -> PayloadAt {
        self.out.push(work.priority);
        number(self.out, u64::from(work.attempts_max));
        if let Some(key) = work.key {
            text(self.out, key);
        }
        if let Some(expires) = expires {
            moment(self.out, self.time, expires);
        }
        if let Some(dedup) = &work.dedup {
            text(self.out, dedup.id);
            self.out.extend(dedup.content.to_le_bytes());
            moment(self.out, self.time, dedup.until);
        }
        match work.payload {
            Payload::Bytes(bytes) => self.payload(bytes),
            Payload::At(at) => {
                number(self.out, self.at.wrapping_sub(at.record));
                number(self.out, u64::from(at.offset));
                number(self.out, u64::from(at.length));
                at
            }
        }
    }

    fn changes(&mut self, changes: &Changes<'_>) -> PayloadAt {
        let mut flags = 0;
        for (there, flag) in [
            (changes.expires.is_some(), flag::EXPIRES),
            (changes.due.is_some(), flag::DUE),
            (changes.priority.is_some(), flag::PRIORITY),
            (changes.attempts_max.is_some(), flag::ATTEMPTS),
            (changes.payload.is_some(), flag::PAYLOAD),
        ] {
            if there {
                flags |= flag;
            }
        }
        self.out.push(flags);
        if let Some(expires) = changes.expires {
            moment(self.out, self.time, expires);
        }
        if let Some(due) = changes.due {
            moment(self.out, self.time, due);
        }
        self.out.extend(changes.priority);
        if let Some(attempts) = changes.attempts_max {
            number(self.out, u64::from(attempts));
        }
        changes.payload.map_or(PayloadAt::default(), |bytes| self.payload(bytes))
    }

    #[inline]
    fn payload(&mut self, bytes: &[u8]) -> PayloadAt {
        number(self.out, bytes.len() as u64);
        self.out.extend(crc32c::crc32c(bytes).to_le_bytes());
        let offset = self.out.len() as u32;
        self.out.extend_from_slice(bytes);
        PayloadAt { record: self.at, offset, length: bytes.len() as u32 }
    }
}

fn flags_of(work: &Work<'_>, expires: bool) -> u8 {
    u8::from(work.key.is_some()) * flag::KEY
        | u8::from(expires) * flag::EXPIRES
        | u8::from(work.at_once) * flag::DUE
        | u8::from(work.dedup.is_some()) * flag::DEDUP
        | u8::from(matches!(work.payload, Payload::At(_))) * flag::ELSEWHERE
}

/// Reads the events of one record, one after the other.
#[derive(Clone)]
pub(crate) struct Decoder<'a> {
    input: Reader<'a>,
    at: u64,
    time: Time,
    offset: u32,
}

impl<'a> Decoder<'a> {
    /// `events` begins `offset` bytes into the record at `at`, whose time was `time`.
    pub(crate) fn new(at: u64, time: Time, offset: u32, events: &'a [u8]) -> Self {
        Self { input: Reader::new(events), at, time, offset }
    }

    /// The next event, and where its payload stands if it has one; none at the end.
    pub(crate) fn next(&mut self) -> Option<Result<(Event<'a>, PayloadAt), Corrupt>> {
        if self.input.is_empty() {
            return None;
        }
        Some(self.event())
    }

    fn event(&mut self) -> Result<(Event<'a>, PayloadAt), Corrupt> {
        let none = PayloadAt::default();
        let kind = self.input.byte()?;
        Ok(match kind {
            1 => (Event::Queue(self.input.text()?), none),
            2 => (Event::Worker(self.input.text()?), none),
            3 => (Event::Reason(self.input.text()?), none),
            8 => (Event::Made(read_settings(&mut self.input)?), none),
            9 => (Event::Set(read_settings(&mut self.input)?), none),
            10 => (Event::Dropped, none),
            11 => (Event::Paused, none),
            12 => (Event::Resumed, none),
            13 => {
                let states = self.input.byte()?;
                (Event::Purge { states, before: self.input.number()? }, none)
            }
            14 => (Event::Purged, none),
            16 => {
                let job = self.input.number()?;
                let flags = self.input.byte()?;
                let due = self.input.moment(self.time)?;
                let (work, expires, at) = self.work(flags)?;
                (Event::Put { job, due, expires, work }, at)
            }
            17..=29 | 40 => return self.job(kind),
            32 => return self.scheduled(),
            33 => {
                let name = self.input.text()?;
                let last = self.input.moment(self.time)?;
                let next = self.next_moment()?;
                (Event::Fired { name, last, next, job: self.input.number()? }, none)
            }
            34 => (Event::Unscheduled { name: self.input.text()? }, none),
            35 => {
                let name = self.input.text()?;
                let (payload, at) = self.payload()?;
                (Event::ScheduleMoved { name, payload }, at)
            }
            41 => {
                let shard = self.input.small()?;
                let number = self.input.number()?;
                (Event::Received { shard, number, confirmed_below: self.input.number()? }, none)
            }
            42 => (Event::Confirmed { number: self.input.number()? }, none),
            43 => {
                let number = self.input.number()?;
                let (payload, at) = self.payload()?;
                (Event::OutgoingMoved { number, payload }, at)
            }
            other => {
                return Err(corrupt(format!(
                    "event {other} at {} bytes into the section of record {} is unknown: a newer version wrote it",
                    self.input.position() - 1,
                    self.at
                )));
            }
        })
    }

    fn job(&mut self, kind: u8) -> Result<(Event<'a>, PayloadAt), Corrupt> {
        let job = self.input.number()?;
        let back = self.input.number()?;
        if back > self.at {
            return Err(corrupt(format!("job {job} points {back} bytes back from record {}", self.at)));
        }
        let mut payload_at = PayloadAt::default();
        let what = match kind {
            17 => {
                let reservation = self.input.small()?;
                let attempt = self.input.small()?;
                JobEvent::Reserved { reservation, attempt, until: self.input.moment(self.time)? }
            }
            18 => JobEvent::Settled,
            19 => {
                let queue = self.input.text()?;
                JobEvent::Forwarded { queue, to: self.input.number()? }
            }
            20 => {
                let attempts = self.input.small()?;
                JobEvent::Released { attempts, due: self.input.moment(self.time)? }
            }
            21 => {
                let attempts = self.input.small()?;
                JobEvent::Lapsed { attempts, due: self.input.moment(self.time)? }
            }
            22 => JobEvent::Extended { until: self.input.moment(self.time)? },
            23 => JobEvent::Buried,
            24 => {
                let fate = match self.input.byte()? {
                    0 => Fate::Stays,
                    1 => Fate::IsGone,
                    2 => Fate::GoesOn,
                    other => return Err(corrupt(format!("fate {other} is none"))),
                };
                JobEvent::Dead { fate, expires: self.input.moment(self.time)? }
            }
            25 => JobEvent::Revived { due: self.input.moment(self.time)? },
            26 => {
                let (changes, at) = self.changes()?;
                payload_at = at;
                JobEvent::Edited(changes)
            }
            27 => JobEvent::Deleted,
            28 => JobEvent::Expired,
            29 => {
                let (payload, at) = self.payload()?;
                payload_at = at;
                JobEvent::Moved { payload }
            }
            _ => {
                let number = self.input.number()?;
                let queue = self.input.text()?;
                let flags = self.input.byte()?;
                let due = self.input.moment(self.time)?;
                let (work, expires, at) = self.work(flags)?;
                payload_at = at;
                JobEvent::Sent { number, queue, due, expires, work }
            }
        };
        Ok((Event::Job { job, back, what }, payload_at))
    }

    fn scheduled(&mut self) -> Result<(Event<'a>, PayloadAt), Corrupt> {
        let name = self.input.text()?;
        let cron = self.input.text()?;
        let time_zone = self.input.text()?;
        let missed = match self.input.byte()? {
            0 => Missed::Once,
            1 => Missed::Skip,
            2 => Missed::All,
            other => return Err(corrupt(format!("{other} says nothing about missed moments"))),
        };
        let flags = self.input.byte()?;
        let priority = self.priority()?;
        let attempts_max = self.input.small()?;
        let key = (flags & flag::KEY != 0).then(|| self.input.text()).transpose()?;
        let time_to_live = (flags & flag::EXPIRES != 0).then(|| self.input.number()).transpose()?;
        let next = self.next_moment()?;
        let (bytes, at) = self.payload()?;
        let work =
            Work { priority, attempts_max, at_once: false, key, dedup: None, payload: Payload::Bytes(bytes) };
        Ok((Event::Scheduled { name, cron, time_zone, missed, time_to_live, work, next }, at))
    }

    fn next_moment(&mut self) -> Result<Option<Time>, Corrupt> {
        let next = self.input.moment(self.time)?;
        Ok((next.0.wrapping_sub(self.time.0) != NEVER).then_some(next))
    }

    fn priority(&mut self) -> Result<u8, Corrupt> {
        let priority = self.input.byte()?;
        if priority > crate::Bounds::PRIORITY_MAX {
            return Err(corrupt(format!("priority {priority} is none")));
        }
        Ok(priority)
    }

    fn work(&mut self, flags: u8) -> Result<(Work<'a>, Option<Time>, PayloadAt), Corrupt> {
        let priority = self.priority()?;
        let attempts_max = self.input.small()?;
        let key = (flags & flag::KEY != 0).then(|| self.input.text()).transpose()?;
        let expires = (flags & flag::EXPIRES != 0).then(|| self.input.moment(self.time)).transpose()?;
        let dedup = if flags & flag::DEDUP == 0 {
            None
        } else {
            let id = self.input.text()?;
            let content = u64::from_le_bytes(self.input.array()?);
            Some(DedupPart { id, content, until: self.input.moment(self.time)? })
        };
        let (payload, at) = if flags & flag::ELSEWHERE == 0 {
            let (bytes, at) = self.payload()?;
            (Payload::Bytes(bytes), at)
        } else {
            let back = self.input.number()?;
            let record =
                self.at.checked_sub(back).ok_or_else(|| corrupt("a payload before the journal begins"))?;
            let at = PayloadAt { record, offset: self.input.small()?, length: self.input.small()? };
            (Payload::At(at), at)
        };
        let at_once = flags & flag::DUE != 0;
        Ok((Work { priority, attempts_max, at_once, key, dedup, payload }, expires, at))
    }

    fn changes(&mut self) -> Result<(Changes<'a>, PayloadAt), Corrupt> {
        let flags = self.input.byte()?;
        let has = |flag| flags & flag != 0;
        let expires = has(flag::EXPIRES).then(|| self.input.moment(self.time)).transpose()?;
        let due = has(flag::DUE).then(|| self.input.moment(self.time)).transpose()?;
        let priority = has(flag::PRIORITY).then(|| self.priority()).transpose()?;
        let attempts_max = has(flag::ATTEMPTS).then(|| self.input.small()).transpose()?;
        let (payload, at) = if has(flag::PAYLOAD) {
            let (bytes, at) = self.payload()?;
            (Some(bytes), at)
        } else {
            (None, PayloadAt::default())
        };
        Ok((Changes { expires, due, priority, attempts_max, payload }, at))
    }

    fn payload(&mut self) -> Result<(&'a [u8], PayloadAt), Corrupt> {
        let length: u32 = self.input.small()?;
        self.input.array::<4>()?;
        let offset = u32::try_from(self.input.position())
            .ok()
            .and_then(|offset| offset.checked_add(self.offset))
            .ok_or_else(|| corrupt("a record of more than 4 GiB"))?;
        let bytes = self.input.take(length as usize)?;
        Ok((bytes, PayloadAt { record: self.at, offset, length }))
    }
}

pub(crate) fn write_settings(out: &mut Vec<u8>, settings: &QueueSettings) {
    number(out, settings.lease);
    number(out, u64::from(settings.attempts_max));
    number(out, settings.backoff.first);
    out.extend(settings.backoff.factor.to_le_bytes());
    number(out, settings.backoff.max);
    out.extend(settings.backoff.jitter.to_le_bytes());
    match &settings.dead_letter {
        DeadLetter::Keep => out.push(0),
        DeadLetter::Queue(queue) => {
            out.push(1);
            text(out, queue.as_str());
        }
        DeadLetter::Discard => out.push(2),
    }
    number(out, settings.dead_time_to_live);
    number(out, settings.dedup_window);
    number(out, settings.jobs_max);
    out.push(u8::from(settings.limit.is_some()) | u8::from(settings.key_limit.is_some()) << 1);
    for limit in [settings.limit, settings.key_limit].into_iter().flatten() {
        out.extend(limit.rate.to_le_bytes());
        number(out, u64::from(limit.burst));
    }
    out.push(settings.spread as u8);
}

pub(crate) fn read_settings(input: &mut Reader<'_>) -> Result<QueueSettings, Corrupt> {
    let lease = input.number()?;
    let attempts_max = input.small()?;
    let first = input.number()?;
    let factor = f32::from_le_bytes(input.array()?);
    let max = input.number()?;
    let jitter = f32::from_le_bytes(input.array()?);
    let dead_letter = match input.byte()? {
        0 => DeadLetter::Keep,
        1 => DeadLetter::Queue(QueueName::new(input.text()?).map_err(|error| corrupt(error.to_string()))?),
        2 => DeadLetter::Discard,
        other => return Err(corrupt(format!("{other} says nothing about dead letters"))),
    };
    let dead_time_to_live = input.number()?;
    let dedup_window = input.number()?;
    let jobs_max = input.number()?;
    let limits = input.byte()?;
    let mut limit = |flag: u8| -> Result<Option<Limit>, Corrupt> {
        if limits & flag == 0 {
            return Ok(None);
        }
        let rate = f64::from_le_bytes(input.array()?);
        Ok(Some(Limit { rate, burst: input.small()? }))
    };
    let (limit, key_limit) = (limit(1)?, limit(2)?);
    let spread = match input.byte()? {
        0 => Spread::OneShard,
        1 => Spread::AllShards,
        other => return Err(corrupt(format!("spread {other} is none"))),
    };
    let backoff = Backoff { first, factor, max, jitter };
    let settings = QueueSettings {
        lease,
        attempts_max,
        backoff,
        dead_letter,
        dead_time_to_live,
        dedup_window,
        jobs_max,
        limit,
        key_limit,
        spread,
    };
    let numbers = [f64::from(factor), f64::from(jitter)];
    let rates = [settings.limit, settings.key_limit].into_iter().flatten().map(|limit| limit.rate);
    if !numbers.into_iter().chain(rates).all(f64::is_finite) {
        return Err(corrupt("a setting that is no number"));
    }
    Ok(settings)
}
