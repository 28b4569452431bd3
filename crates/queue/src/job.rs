//! A job as it stands in memory: 48 bytes, whatever its payload.
//!
//! Fields that a job needs once something happened to it are in its rest: see [`crate::rests`]. Where it
//! hangs in lists and timers is not part of it: see [`crate::state`].

use stadium_table::{Damaged, Divided, take};

use crate::rests::{Rest, Rests};
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
/// due       time 48   | principal's high half 6 | attempts 10
/// put       time 48   | principal's low half 6  | attempts at most 10
/// offset, length      of the payload in its record
/// lane                whose turn decides when it is its turn; the lane knows queue and key
/// rest                the place of its rest, where it has one
/// ```
///
/// A checkpoint holds the job and its rest as one entry of 64 bytes, whether it has a rest or not.
pub(crate) struct Job {
    id: u64,
    record: u64,
    due: u64,
    put: u64,
    offset: u32,
    length: u32,
    pub(crate) lane: u32,
    rest: u32,
}

impl Job {
    pub(crate) fn new(sequence: u64, priority: u8, put: Time, due: Time, attempts_max: u16) -> Job {
        let mut job = Job {
            id: sequence << 10 | u64::from(priority) << 6,
            record: 0,
            due: 0,
            put: put.0.min(TIMESTAMP_MAX) << 16,
            offset: 0,
            length: 0,
            lane: NONE,
            rest: NONE,
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

    /// The payload's place, of a job without a rest: its newest event is in that record too.
    pub(crate) fn put_with(&mut self, at: PayloadAt) {
        self.record = at.record;
        self.offset = at.offset;
        self.length = at.length;
    }

    /// The payload's new place. The position of the newest event stays as it is.
    pub(crate) fn payload_at(&mut self, at: PayloadAt, rests: &mut Rests) {
        let rest = self.rest(rests);
        self.put_with(at);
        self.store_rest(rest, rests);
    }

    /// Its rest; that of the record with the payload where it has none.
    #[inline]
    pub(crate) fn rest(&self, rests: &Rests) -> Rest {
        if self.rest == NONE { Rest::of_record(self.record) } else { rests.at(self.rest) }
    }

    /// Its rest, made where it has none.
    #[inline]
    pub(crate) fn rest_mut<'r>(&mut self, rests: &'r mut Rests) -> &'r mut Rest {
        if self.rest == NONE {
            self.rest = rests.insert(Rest::of_record(self.record));
        }
        rests.at_mut(self.rest)
    }

    /// Its rest, which it has no more: it is about to be removed.
    #[inline]
    pub(crate) fn take_rest(&mut self, rests: &mut Rests) -> Rest {
        match std::mem::replace(&mut self.rest, NONE) {
            NONE => Rest::of_record(self.record),
            place => rests.remove(place),
        }
    }

    fn store_rest(&mut self, rest: Rest, rests: &mut Rests) {
        if rest == Rest::of_record(self.record) {
            self.take_rest(rests);
        } else {
            *self.rest_mut(rests) = rest;
        }
    }
}

impl Divided for Job {
    type Beside = Rests;

    fn vacant() -> Self {
        Job::new(0, 0, Time(0), Time(0), 0)
    }

    fn encode(&self, rests: &Rests, out: &mut Vec<u8>) {
        let Rest { last, reservation, lease_until, extra } = self.rest(rests);
        let mut bytes = [0; 64];
        let words = [self.id, self.record, last, self.due, self.put];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let halves = [self.offset, self.length, self.lane, extra, reservation, lease_until];
        for (place, half) in bytes[40..].chunks_exact_mut(4).zip(halves) {
            place.copy_from_slice(&half.to_le_bytes());
        }
        out.extend_from_slice(&bytes);
    }

    fn decode(input: &mut &[u8], rests: &mut Rests) -> Result<Self, Damaged> {
        let bytes = take::<64>(input)?;
        let word = |n: usize| u64::from_le_bytes(bytes[n * 8..][..8].try_into().expect("eight bytes"));
        let half = |n: usize| u32::from_le_bytes(bytes[40 + n * 4..][..4].try_into().expect("four bytes"));
        let mut job = Job {
            id: word(0),
            record: word(1),
            due: word(3),
            put: word(4),
            offset: half(0),
            length: half(1),
            lane: half(2),
            rest: NONE,
        };
        let rest = Rest { last: word(2), extra: half(3), reservation: half(4), lease_until: half(5) };
        job.store_rest(rest, rests);
        Ok(job)
    }
}

const _: () = assert!(size_of::<Job>() == 48, "a job takes 48 bytes");
const _: () = assert!(crate::Bounds::ATTEMPTS_MAX as u64 <= ATTEMPTS, "its attempts fit");
const _: () =
    assert!((crate::principals::PRINCIPALS_MAX as u64) < 1 << (2 * HALF_BITS), "its principal fits");

#[cfg(test)]
mod tests {
    use stadium_table::Divided as _;

    use super::{Job, NONE};
    use crate::principals::PRINCIPALS_MAX;
    use crate::rests::{Rest, Rests};
    use crate::{JobState, PayloadAt, Time};

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
    /// A job in a checkpoint, by its fields.
    fn saved(words: [u64; 5], halves: [u32; 6]) -> Vec<u8> {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(halves.iter().flat_map(|half| half.to_le_bytes()));
        bytes
    }

    fn decoded(bytes: &[u8], rests: &mut Rests) -> Job {
        Job::decode(&mut &*bytes, rests).expect("any 64 bytes are a job")
    }

    fn encoded(job: &Job, rests: &Rests) -> Vec<u8> {
        let mut bytes = Vec::new();
        job.encode(rests, &mut bytes);
        bytes
    }

    #[test]
    fn every_job_that_was_ever_saved_is_saved_as_the_same_bytes() {
        let mut rests = Rests::default();
        let words = [0, 1, 1 << 32, 1 << 62, u64::MAX];
        let halves = [0, 1, 1 << 31, u32::MAX];
        for record in words {
            for last in words {
                for half in halves {
                    for (reservation, lease_until, extra) in
                        [(half, 0, NONE), (0, half, NONE), (0, 0, half), (half, half, half)]
                    {
                        let bytes = saved(
                            [!last, record, last, !record, last],
                            [half, !half, half, extra, reservation, lease_until],
                        );
                        let mut job = decoded(&bytes, &mut rests);
                        assert_eq!(encoded(&job, &rests), bytes);
                        assert_eq!(job.rest(&rests), Rest { last, reservation, lease_until, extra });
                        let has_rest = last != record || (reservation, lease_until, extra) != (0, 0, NONE);
                        assert_eq!(job.rest != NONE, has_rest, "only a job that needs a rest has one");
                        job.take_rest(&mut rests);
                    }
                }
            }
        }
    }

    #[test]
    fn a_job_holds_the_highest_value_of_every_field() {
        let mut rests = Rests::default();
        let (sequence, time) = ((1 << 54) - 1, Time((1 << 48) - 1));
        let payload = PayloadAt { record: u64::MAX, offset: u32::MAX, length: u32::MAX };
        let rest = Rest { last: u64::MAX - 1, reservation: u32::MAX, lease_until: u32::MAX, extra: NONE - 1 };
        let mut job = Job::new(sequence, 9, time, time, 1_000);
        job.put_with(payload);
        job.put_by(PRINCIPALS_MAX);
        job.attempted(1_000);
        job.become_state(JobState::Dead);
        job.set_retry(true);
        job.lane = NONE - 1;
        *job.rest_mut(&mut rests) = rest;
        let job = decoded(&encoded(&job, &rests), &mut rests);
        assert_eq!((job.sequence(), job.priority(), job.state()), (sequence, 9, JobState::Dead));
        assert_eq!((job.put_at(), job.due(), job.retry()), (time, time, true));
        assert_eq!((job.attempts(), job.attempts_max(), job.principal()), (1_000, 1_000, PRINCIPALS_MAX));
        assert_eq!((job.payload(), job.lane, job.rest(&rests)), (payload, NONE - 1, rest));
    }

    #[test]
    fn a_payload_that_moves_leaves_the_newest_event_where_it_is() {
        let mut rests = Rests::default();
        let at = |record| PayloadAt { record, offset: 20, length: 3 };
        let mut job = Job::new(7, 4, Time(1), Time(2), 3);
        job.put_with(at(100));
        assert_eq!((job.rest, job.rest(&rests)), (NONE, Rest::of_record(100)));
        job.payload_at(at(90), &mut rests);
        assert_eq!(job.rest(&rests), Rest::of_record(100));
        // A move is the newest event itself, and its record holds the payload: there is no rest again.
        job.rest_mut(&mut rests).last = 200;
        job.payload_at(at(200), &mut rests);
        assert_eq!((job.rest, job.rest(&rests)), (NONE, Rest::of_record(200)));
        job.rest_mut(&mut rests).reservation = 5;
        job.payload_at(at(300), &mut rests);
        assert_eq!(job.rest(&rests), Rest { reservation: 5, ..Rest::of_record(200) });
    }
}
