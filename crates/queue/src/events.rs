//! Events: what became of which job, as they stand in a record.
//!
//! The format is docs/formats/queue-events.md. Writing appends to the record's buffer. They are
//! read back by [`crate::decoding`]; [`crate::apply`] changes the state.

use crate::{DeadLetter, Missed, PayloadAt, QueueSettings, Time};
use stadium_state_machine::encoding::{number, text, timestamp};

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
    /// Due at once, whatever the clock shows: `due` is what keeps its turn.
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

/// The treatment of a job whose last attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disposition {
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
    Dead { disposition: Disposition, expires: Time },
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
    Principal(&'a str),
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
    Dispatched {
        number: u64,
        queue: &'a str,
        due: Time,
        expires: Option<Time>,
        work: Work<'a>,
    },
}

pub(crate) mod flag {
    pub(crate) const KEY: u8 = 1;
    pub(crate) const EXPIRES: u8 = 2;
    pub(crate) const DEDUP: u8 = 4;
    pub(crate) const ELSEWHERE: u8 = 8;
    pub(crate) const DUE: u8 = 16;
    pub(crate) const PRIORITY: u8 = 32;
    pub(crate) const ATTEMPTS: u8 = 64;
    pub(crate) const PAYLOAD: u8 = 128;
}

/// Milliseconds behind the record's time of a schedule without a next occurrence.
pub(crate) const NEVER: u64 = i64::MAX as u64;

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
            Event::Principal(principal) => self.named(4, principal),
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
                timestamp(self.out, self.time, due);
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
                timestamp(self.out, self.time, last);
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
            Event::Dispatched { number: n, queue, due, expires, ref work } => {
                self.out.push(44);
                self.sending(n, queue, due, expires, work)
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
                timestamp(self.out, self.time, until);
            }
            JobEvent::Settled | JobEvent::Buried | JobEvent::Deleted | JobEvent::Expired => {}
            JobEvent::Forwarded { queue, to } => {
                text(self.out, queue);
                number(self.out, to);
            }
            JobEvent::Released { attempts, due } | JobEvent::Lapsed { attempts, due } => {
                number(self.out, u64::from(attempts));
                timestamp(self.out, self.time, due);
            }
            JobEvent::Extended { until } => timestamp(self.out, self.time, until),
            JobEvent::Dead { disposition, expires } => {
                self.out.push(disposition as u8);
                timestamp(self.out, self.time, expires);
            }
            JobEvent::Revived { due } => timestamp(self.out, self.time, due),
            JobEvent::Edited(ref changes) => return self.changes(changes),
            JobEvent::Moved { payload } => return self.payload(payload),
            JobEvent::Sent { number: n, queue, due, expires, ref work } => {
                return self.sending(n, queue, due, expires, work);
            }
        }
        PayloadAt::default()
    }

    fn sending(
        &mut self,
        n: u64,
        queue: &str,
        due: Time,
        expires: Option<Time>,
        work: &Work<'_>,
    ) -> PayloadAt {
        number(self.out, n);
        text(self.out, queue);
        self.out.push(flags_of(work, expires.is_some()));
        timestamp(self.out, self.time, due);
        self.work(work, expires)
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
        timestamp(self.out, self.time, next.unwrap_or(Time(self.time.0.wrapping_add(NEVER))));
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
            timestamp(self.out, self.time, expires);
        }
        if let Some(dedup) = &work.dedup {
            text(self.out, dedup.id);
            self.out.extend(dedup.content.to_le_bytes());
            timestamp(self.out, self.time, dedup.until);
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
            timestamp(self.out, self.time, expires);
        }
        if let Some(due) = changes.due {
            timestamp(self.out, self.time, due);
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
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    flag(work.key.is_some(), flag::KEY)
        | flag(expires, flag::EXPIRES)
        | flag(work.at_once, flag::DUE)
        | flag(work.dedup.is_some(), flag::DEDUP)
        | flag(matches!(work.payload, Payload::At(_)), flag::ELSEWHERE)
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
