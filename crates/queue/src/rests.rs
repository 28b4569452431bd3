//! The rest of a job: fields that most delayed jobs do without, beside the table of jobs.
//!
//! A job without a rest was never reserved, has no extra, and its newest event is in the record that
//! holds its payload. All rests are in one slab. It belongs to the table of jobs, so that a checkpoint
//! saves a job and its rest together.

use crate::job::NONE;

/// Rests of a page.
const PAGE: usize = 256;

/// Fields of a job that something happened to since it was put. Packed: 20 bytes instead of 24.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(Rust, packed(4))]
pub(crate) struct Rest {
    /// The position of the record with the job's newest event.
    pub(crate) last: u64,
    /// The number of reservations. In a vacant place: the next vacant place.
    pub(crate) reservation: u32,
    /// The low 32 bits of the time at which the lease ends; leases are shorter than 2^31 ms.
    pub(crate) lease_until: u32,
    /// The place of the job's extra: a time to live, a reason.
    pub(crate) extra: u32,
}

impl Rest {
    /// The fields of a job without a rest, whose payload is in that record.
    #[inline]
    pub(crate) const fn of_record(record: u64) -> Self {
        Self { last: record, reservation: 0, lease_until: 0, extra: NONE }
    }
}

/// Rests by place. Places of removed rests are given out again, the newest first.
pub(crate) struct Rests {
    /// Pages. They are added one at a time, so that no growth moves rests.
    pages: Vec<Box<[Rest; PAGE]>>,
    /// The place behind the last one that was ever taken.
    end: u32,
    /// The first vacant place; `NONE` where all are taken.
    vacant: u32,
}

impl Default for Rests {
    fn default() -> Self {
        Self { pages: Vec::new(), end: 0, vacant: NONE }
    }
}

impl Rests {
    #[inline]
    pub(crate) fn at(&self, place: u32) -> Rest {
        self.pages[place as usize / PAGE][place as usize % PAGE]
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, place: u32) -> &mut Rest {
        &mut self.pages[place as usize / PAGE][place as usize % PAGE]
    }

    #[inline]
    pub(crate) fn insert(&mut self, rest: Rest) -> u32 {
        let place = self.vacant;
        if place == NONE {
            return self.append(rest);
        }
        let vacant = std::mem::replace(self.at_mut(place), rest);
        self.vacant = vacant.reservation;
        place
    }

    #[cold]
    fn append(&mut self, rest: Rest) -> u32 {
        let place = self.end;
        if place as usize / PAGE == self.pages.len() {
            self.pages.push(Box::new([Rest::of_record(0); PAGE]));
        }
        *self.at_mut(place) = rest;
        self.end += 1;
        place
    }

    #[inline]
    pub(crate) fn remove(&mut self, place: u32) -> Rest {
        let vacant = Rest { reservation: self.vacant, ..Rest::of_record(0) };
        self.vacant = place;
        std::mem::replace(self.at_mut(place), vacant)
    }

    /// Bytes of memory that they take.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.len() * PAGE * size_of::<Rest>() + self.pages.capacity() * size_of::<Box<[Rest; PAGE]>>()
    }
}

const _: () = assert!(size_of::<Rest>() == 20, "a rest takes 20 bytes");

#[cfg(test)]
mod tests {
    use super::{Rest, Rests};

    #[test]
    fn places_of_removed_rests_are_taken_again() {
        let mut rests = Rests::default();
        let places: Vec<u32> = (0..1_000).map(|at| rests.insert(Rest::of_record(at))).collect();
        assert_eq!(places, (0..1_000).collect::<Vec<_>>());
        let bytes = rests.bytes();
        for place in [3, 999, 0] {
            rests.remove(place);
        }
        let again = [7, 8, 9].map(|at| rests.insert(Rest::of_record(at)));
        assert_eq!(again, [0, 999, 3]);
        assert_eq!(again.map(|place| rests.at(place)), [7, 8, 9].map(Rest::of_record));
        assert_eq!((rests.at(1), rests.bytes()), (Rest::of_record(1), bytes));
        assert_eq!(rests.insert(Rest::of_record(5)), 1_000);
    }
}
