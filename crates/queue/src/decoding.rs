//! Reads events back.
//!
//! Everything is checked, nothing is allocated but settings, and nothing panics: an event of
//! another version is refused with its place.

use crate::events::{Changes, DedupPart, Disposition, Event, JobEvent, NEVER, Payload, Work, flag};
use crate::{Backoff, Corrupt, DeadLetter, Limit, Missed, PayloadAt, QueueName, QueueSettings, Spread, Time};
use stadium_state_machine::encoding::{Reader, corrupt};

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
            4 => (Event::Principal(self.input.text()?), none),
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
                let job = self.sequence()?;
                let flags = self.input.byte()?;
                let due = self.input.timestamp(self.time)?;
                let (work, expires, at) = self.work(flags)?;
                (Event::Put { job, due, expires, work }, at)
            }
            17..=29 | 40 => return self.job(kind),
            32 => return self.scheduled(),
            33 => {
                let name = self.input.text()?;
                let last = self.input.timestamp(self.time)?;
                let next = self.next_timestamp()?;
                (Event::Fired { name, last, next, job: self.sequence()? }, none)
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
            44 => {
                let (number, queue, due, expires, work, at) = self.sending()?;
                (Event::Dispatched { number, queue, due, expires, work }, at)
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

    fn sequence(&mut self) -> Result<u64, Corrupt> {
        sequence(self.input.number()?)
    }

    fn job(&mut self, kind: u8) -> Result<(Event<'a>, PayloadAt), Corrupt> {
        let job = self.sequence()?;
        let back = self.input.number()?;
        if back > self.at {
            return Err(corrupt(format!("job {job} points {back} bytes back from record {}", self.at)));
        }
        let mut payload_at = PayloadAt::default();
        let what = match kind {
            17 => {
                let reservation = self.input.small()?;
                let attempt = self.input.small()?;
                JobEvent::Reserved { reservation, attempt, until: self.input.timestamp(self.time)? }
            }
            18 => JobEvent::Settled,
            19 => {
                let queue = self.input.text()?;
                JobEvent::Forwarded { queue, to: self.sequence()? }
            }
            20 => {
                let attempts = self.input.small()?;
                JobEvent::Released { attempts, due: self.input.timestamp(self.time)? }
            }
            21 => {
                let attempts = self.input.small()?;
                JobEvent::Lapsed { attempts, due: self.input.timestamp(self.time)? }
            }
            22 => JobEvent::Extended { until: self.input.timestamp(self.time)? },
            23 => JobEvent::Buried,
            24 => {
                let disposition = match self.input.byte()? {
                    0 => Disposition::Stays,
                    1 => Disposition::IsGone,
                    2 => Disposition::GoesOn,
                    other => return Err(corrupt(format!("disposition {other} is none"))),
                };
                JobEvent::Dead { disposition, expires: self.input.timestamp(self.time)? }
            }
            25 => JobEvent::Revived { due: self.input.timestamp(self.time)? },
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
                let (number, queue, due, expires, work, at) = self.sending()?;
                payload_at = at;
                JobEvent::Sent { number, queue, due, expires, work }
            }
        };
        Ok((Event::Job { job, back, what }, payload_at))
    }

    #[expect(clippy::type_complexity, reason = "the parts of two events, in their order")]
    fn sending(&mut self) -> Result<(u64, &'a str, Time, Option<Time>, Work<'a>, PayloadAt), Corrupt> {
        let number = self.input.number()?;
        let queue = self.input.text()?;
        let flags = self.input.byte()?;
        let due = self.input.timestamp(self.time)?;
        let (work, expires, at) = self.work(flags)?;
        Ok((number, queue, due, expires, work, at))
    }

    fn scheduled(&mut self) -> Result<(Event<'a>, PayloadAt), Corrupt> {
        let name = self.input.text()?;
        let cron = self.input.text()?;
        let time_zone = self.input.text()?;
        let missed = match self.input.byte()? {
            0 => Missed::Once,
            1 => Missed::Skip,
            2 => Missed::All,
            other => return Err(corrupt(format!("{other} is no treatment of missed occurrences"))),
        };
        let flags = self.input.byte()?;
        let priority = self.priority()?;
        let attempts_max = self.input.small()?;
        let key = (flags & flag::KEY != 0).then(|| self.input.text()).transpose()?;
        let time_to_live = (flags & flag::EXPIRES != 0).then(|| self.input.number()).transpose()?;
        let next = self.next_timestamp()?;
        let (bytes, at) = self.payload()?;
        let work =
            Work { priority, attempts_max, at_once: false, key, dedup: None, payload: Payload::Bytes(bytes) };
        Ok((Event::Scheduled { name, cron, time_zone, missed, time_to_live, work, next }, at))
    }

    fn next_timestamp(&mut self) -> Result<Option<Time>, Corrupt> {
        let next = self.input.timestamp(self.time)?;
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
        let expires = (flags & flag::EXPIRES != 0).then(|| self.input.timestamp(self.time)).transpose()?;
        let dedup = if flags & flag::DEDUP == 0 {
            None
        } else {
            let id = self.input.text()?;
            let content = u64::from_le_bytes(self.input.array()?);
            Some(DedupPart { id, content, until: self.input.timestamp(self.time)? })
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
        let expires = has(flag::EXPIRES).then(|| self.input.timestamp(self.time)).transpose()?;
        let due = has(flag::DUE).then(|| self.input.timestamp(self.time)).transpose()?;
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
        other => return Err(corrupt(format!("{other} is no treatment of dead letters"))),
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

/// A job's number at its shard. Those that leave no room for the shard in a [`JobId`] are damage.
///
/// [`JobId`]: crate::JobId
pub(crate) fn sequence(number: u64) -> Result<u64, Corrupt> {
    if number >> crate::JobId::SEQUENCE_BITS != 0 {
        return Err(corrupt(format!("{number} is not the number of a job: no shard counts that far")));
    }
    Ok(number)
}
