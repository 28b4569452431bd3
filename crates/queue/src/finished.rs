//! Finds finished jobs by their sequences.
//!
//! Finished jobs stand in a ring: each new one takes the place of the oldest. To take that out of an
//! index would mean to wait for memory that nobody has looked at for long. So nothing is taken out: jobs
//! with the same hash are linked, the newest first. A link to a job that finished *later* ends the list.
//!
//! ```text
//! heads   [. a . b]        of each hash, the place of the newest
//! links   a -> c -> e      e was taken by a job that finished after c: the list ends at c
//! ```

use stadium_table::hash_of;

/// No place.
const NONE: u32 = u32::MAX;
/// Lists at least.
const HEADS_MIN: usize = 64;

#[derive(Clone, Copy)]
struct Link {
    /// The place of the job with the same hash that finished before this one, unless it was taken.
    before: u32,
    /// Counts jobs in the order in which they finished, modulo 2^32.
    turn: u32,
}

impl Link {
    fn is_later_than(self, other: Self) -> bool {
        self.turn.wrapping_sub(other.turn) as i32 > 0
    }
}

/// Places of finished jobs, by sequence.
#[derive(Default)]
pub(crate) struct FinishedIndex {
    heads: Vec<u32>,
    /// By place.
    links: Vec<Link>,
    /// Of the last one.
    turn: u32,
}

impl FinishedIndex {
    /// Begins anew with the jobs in the first so many places, from the oldest to the newest. Where the
    /// ring had another size before, the order is not quite that: some are forgotten earlier.
    pub(crate) fn begin(
        &mut self,
        places: u32,
        oldest_first: impl Iterator<Item = u32>,
        sequence_at: impl Fn(u32) -> u64,
    ) {
        *self = Self { links: vec![Link { before: NONE, turn: 0 }; places as usize], ..Self::default() };
        for place in oldest_first {
            self.turn += 1;
            self.links[place as usize].turn = self.turn;
        }
        self.grow(sequence_at);
    }

    /// A job was put into a place: that of the oldest one, or the first that was never taken.
    /// `sequence_at` gives the sequences of all jobs, this one included.
    #[inline]
    pub(crate) fn insert(&mut self, place: u32, sequence_at: impl Fn(u32) -> u64) {
        self.turn = self.turn.wrapping_add(1);
        let link = Link { before: NONE, turn: self.turn };
        if place as usize == self.links.len() {
            self.links.push(link);
            if self.links.len() > self.heads.len() {
                self.grow(&sequence_at);
                return;
            }
        } else {
            self.links[place as usize] = link;
        }
        self.link(place, sequence_at(place));
    }

    /// The place of a job.
    pub(crate) fn find(&self, sequence: u64, sequence_at: impl Fn(u32) -> u64) -> Option<u32> {
        let mut place = *self.heads.get(self.head_of(sequence))?;
        while place != NONE {
            if sequence_at(place) == sequence {
                return Some(place);
            }
            let link = self.links[place as usize];
            let before = self.links.get(link.before as usize)?;
            if !link.is_later_than(*before) {
                return None;
            }
            place = link.before;
        }
        None
    }

    /// Bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.heads.capacity() * size_of::<u32>() + self.links.capacity() * size_of::<Link>()
    }

    fn head_of(&self, sequence: u64) -> usize {
        // Heads are a power of two, or none.
        (hash_of(sequence) >> 32) as usize & self.heads.len().saturating_sub(1)
    }

    fn link(&mut self, place: u32, sequence: u64) {
        let head = self.head_of(sequence);
        self.links[place as usize].before = std::mem::replace(&mut self.heads[head], place);
    }

    /// As many lists as jobs at least, each again from the newest to the oldest.
    #[cold]
    fn grow(&mut self, sequence_at: impl Fn(u32) -> u64) {
        self.heads = vec![NONE; self.links.len().next_power_of_two().max(HEADS_MIN)];
        let mut places: Vec<u32> = (0..self.links.len() as u32).collect();
        places.sort_unstable_by_key(|&place| {
            std::cmp::Reverse(self.turn.wrapping_sub(self.links[place as usize].turn))
        });
        places.into_iter().for_each(|place| self.link(place, sequence_at(place)));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// A ring of jobs, and a list of those that must be found.
    struct Ring {
        index: FinishedIndex,
        sequences: Vec<u64>,
        next: usize,
        found: VecDeque<u64>,
    }

    impl Ring {
        fn new() -> Self {
            Self { index: FinishedIndex::default(), sequences: Vec::new(), next: 0, found: VecDeque::new() }
        }

        fn finish(&mut self, sequence: u64, max: usize) {
            let place = if self.sequences.len() < max {
                self.sequences.push(sequence);
                self.sequences.len() - 1
            } else {
                self.found.pop_front();
                self.sequences[self.next] = sequence;
                let place = self.next;
                self.next = (self.next + 1) % max;
                place
            };
            self.found.push_back(sequence);
            let sequences = &self.sequences;
            self.index.insert(place as u32, |of| sequences[of as usize]);
        }

        /// As after a restart.
        fn begin(&mut self) {
            let places = self.sequences.len() as u32;
            let next = self.next as u32;
            let sequences = &self.sequences;
            self.index.begin(places, (next..places).chain(0..next), |of| sequences[of as usize]);
        }

        fn find(&self, sequence: u64) -> bool {
            self.index.find(sequence, |of| self.sequences[of as usize]).is_some()
        }
    }

    #[test]
    fn the_newest_are_found_and_no_older_one() {
        for max in [1, 2, 7, 64, 1_000] {
            let mut ring = Ring::new();
            // Jobs don't finish in the order of their sequences.
            let sequence = |at: u64| at * 7 % 5_003;
            for at in 0..5_003 {
                ring.finish(sequence(at), max);
                if at % 61 == 0 {
                    ring.begin();
                }
                if at % 97 == 0 || at < 70 {
                    assert!(ring.found.iter().all(|&of| ring.find(of)), "{at} of {max}");
                    let oldest = at.checked_sub(max as u64);
                    assert!(oldest.is_none_or(|of| !ring.find(sequence(of))), "{at} of {max}");
                    assert!(!ring.find(6_000 + at));
                }
            }
        }
    }

    #[test]
    fn turns_may_wrap() {
        let mut ring = Ring::new();
        ring.index.turn = u32::MAX - 300;
        for sequence in 0..1_000 {
            ring.finish(sequence, 100);
            assert!(ring.found.iter().all(|&of| ring.find(of)), "{sequence}");
        }
        assert!(!ring.find(899) && ring.find(900));
    }

    #[test]
    fn no_job_and_an_empty_index() {
        let mut ring = Ring::new();
        assert!(!ring.find(1));
        ring.begin();
        assert!(!ring.find(1));
    }
}
