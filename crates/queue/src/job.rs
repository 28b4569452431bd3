//! A job as it stands in memory: 64 bytes, whatever its payload.
//!
//! Where it hangs in lists and timers is not part of it: see [`crate::state`].

use stadium_table::{Damaged, Entry, take};

use crate::{JobState, PayloadAt, Time};

/// Nothing, where an index is meant.
pub(crate) const NONE: u32 = u32::MAX;

const TIMESTAMP_MAX: u64 = (1 << 48) - 1;

/// Bits of a number of attempts.
const ATTEMPTS_BITS: u32 = 10;
const ATTEMPTS: u64 = (1 << ATTEMPTS_BITS) - 1;

/// Bits of half of a principal's number.
const HALF_BITS: u32 = 6;
const HALF: u64 = 0xffff & !ATTEMPTS;

/// A job.
///
/// ```text
/// id        sequence 54 | priority 4 | state 3 | retry 1 | - 2
/// record    position of the record that holds the payload
/// last      position of the record with its newest event
/// due       time 48   | principal's high half 6 | attempts 10
/// put       time 48   | principal's low half 6  | attempts at most 10
/// offset, length      of the payload in its record
/// lane                whose turn decides when it is its turn; the lane knows queue and key
/// extra               what few jobs have: a time to live, a reason
/// reservation         how many times it was reserved
/// lease until         low 32 bits of the time; leases are shorter than 2^31 ms
/// ```
#[derive(Clone, Copy)]
pub(crate) struct Job {
    id: u64,
    record: u64,
    pub(crate) last: u64,
    due: u64,
    put: u64,
    offset: u32,
    length: u32,
    pub(crate) lane: u32,
    pub(crate) extra: u32,
    pub(crate) reservation: u32,
    pub(crate) lease_until: u32,
}

impl Job {
    pub(crate) fn new(sequence: u64, priority: u8, put: Time, due: Time, attempts_max: u16) -> Job {
        let mut job = Job {
            id: sequence << 10 | u64::from(priority) << 6,
            record: 0,
            last: 0,
            due: 0,
            put: put.0.min(TIMESTAMP_MAX) << 16,
            offset: 0,
            length: 0,
            lane: NONE,
            extra: NONE,
            reservation: 0,
            lease_until: 0,
        };
        job.due_at(due);
        job.limit_attempts(attempts_max);
        job
    }

    #[inline]
    pub(crate) fn sequence(&self) -> u64 {
        self.id >> 10
    }

    #[inline]
    pub(crate) fn priority(&self) -> u8 {
        (self.id >> 6 & 0xf) as u8
    }

    pub(crate) fn prioritise(&mut self, priority: u8) {
        self.id = self.id & !(0xf << 6) | u64::from(priority & 0xf) << 6;
    }

    #[inline]
    pub(crate) fn state(&self) -> JobState {
        match self.id >> 3 & 7 {
            0 => JobState::Delayed,
            1 => JobState::Due,
            2 => JobState::Reserved,
            3 => JobState::Buried,
            _ => JobState::Dead,
        }
    }

    #[inline]
    pub(crate) fn become_state(&mut self, state: JobState) {
        self.id = self.id & !(7 << 3) | (state as u64) << 3;
    }

    /// Whether it stands before all others of its key, because it was handed out before.
    #[inline]
    pub(crate) fn retry(&self) -> bool {
        self.id >> 2 & 1 == 1
    }

    pub(crate) fn set_retry(&mut self, retry: bool) {
        self.id = self.id & !(1 << 2) | u64::from(retry) << 2;
    }

    #[inline]
    pub(crate) fn due(&self) -> Time {
        Time(self.due >> 16)
    }

    pub(crate) fn due_at(&mut self, due: Time) {
        self.due = due.0.min(TIMESTAMP_MAX) << 16 | self.due & 0xffff;
    }

    pub(crate) fn put_at(&self) -> Time {
        Time(self.put >> 16)
    }

    #[inline]
    pub(crate) fn attempts(&self) -> u16 {
        (self.due & ATTEMPTS) as u16
    }

    pub(crate) fn attempted(&mut self, attempts: u16) {
        self.due = self.due & !ATTEMPTS | u64::from(attempts).min(ATTEMPTS);
    }

    pub(crate) fn attempts_max(&self) -> u16 {
        (self.put & ATTEMPTS) as u16
    }

    pub(crate) fn limit_attempts(&mut self, attempts_max: u16) {
        self.put = self.put & !ATTEMPTS | u64::from(attempts_max).min(ATTEMPTS);
    }

    /// The number of who put it: see [`crate::principals`].
    pub(crate) fn principal(&self) -> u16 {
        let half = |word: u64| (word & HALF) >> ATTEMPTS_BITS;
        (half(self.due) << HALF_BITS | half(self.put)) as u16
    }

    pub(crate) fn put_by(&mut self, principal: u16) {
        let number = u64::from(principal);
        self.due = self.due & !HALF | number >> HALF_BITS << ATTEMPTS_BITS & HALF;
        self.put = self.put & !HALF | number << ATTEMPTS_BITS & HALF;
    }

    #[inline]
    pub(crate) fn payload(&self) -> PayloadAt {
        PayloadAt { record: self.record, offset: self.offset, length: self.length }
    }

    pub(crate) fn payload_at(&mut self, at: PayloadAt) {
        self.record = at.record;
        self.offset = at.offset;
        self.length = at.length;
    }
}

impl Entry for Job {
    fn vacant() -> Self {
        Job::new(0, 0, Time(0), Time(0), 0)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let mut bytes = [0; 64];
        let words = [self.id, self.record, self.last, self.due, self.put];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let halves = [self.offset, self.length, self.lane, self.extra, self.reservation, self.lease_until];
        for (place, half) in bytes[40..].chunks_exact_mut(4).zip(halves) {
            place.copy_from_slice(&half.to_le_bytes());
        }
        out.extend_from_slice(&bytes);
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        let bytes = take::<64>(input)?;
        let word = |n: usize| u64::from_le_bytes(bytes[n * 8..][..8].try_into().expect("eight bytes"));
        let half = |n: usize| u32::from_le_bytes(bytes[40 + n * 4..][..4].try_into().expect("four bytes"));
        Ok(Job {
            id: word(0),
            record: word(1),
            last: word(2),
            due: word(3),
            put: word(4),
            offset: half(0),
            length: half(1),
            lane: half(2),
            extra: half(3),
            reservation: half(4),
            lease_until: half(5),
        })
    }
}

const _: () = assert!(size_of::<Job>() == 64, "a job takes 64 bytes");
const _: () = assert!(crate::Bounds::ATTEMPTS_MAX as u64 <= ATTEMPTS, "its attempts fit");
const _: () =
    assert!((crate::principals::PRINCIPALS_MAX as u64) < 1 << (2 * HALF_BITS), "its principal fits");

#[cfg(test)]
mod tests {
    use super::Job;
    use crate::Time;
    use crate::principals::PRINCIPALS_MAX;

    #[test]
    fn times_attempts_and_principal_do_not_touch_each_other() {
        let (put, due) = (Time(1_800_000_000_123), Time(1_800_000_000_456));
        for number in [0, 1, 63, 64, 65, 0x555, 0xaaa, PRINCIPALS_MAX] {
            let mut job = Job::new(7, 4, put, due, 1_000);
            job.put_by(number);
            job.attempted(999);
            job.due_at(Time(due.0 + 1));
            assert_eq!((job.principal(), job.attempts(), job.attempts_max()), (number, 999, 1_000));
            assert_eq!((job.put_at(), job.due()), (put, Time(due.0 + 1)));
            job.attempted(0);
            job.limit_attempts(1);
            assert_eq!((job.principal(), job.attempts(), job.attempts_max()), (number, 0, 1));
            job.put_by(0);
            assert_eq!((job.principal(), job.put_at(), job.due()), (0, put, Time(due.0 + 1)));
        }
    }
}
