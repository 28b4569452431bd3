//! Finds the place of a job by its sequence.
//!
//! Sequences are given out in order, so jobs that were put one after another have neighbouring ones. The
//! places of 256 sequences in a row are a *run*, an array: 4 bytes a job. A run with few jobs left is
//! *thin*. These mostly end soon; where they do not, the run is dissolved: they go to an index by hash.
//!
//! ```text
//! runs     [p p p . p p p p]  [p p p p p p . p]  [p p p . . . . .]     p place, . none
//! few      p p p p                                ^ newest: it is never dissolved
//! ```

use std::collections::VecDeque;

use foldhash::quality::FixedState;
use hashbrown::{HashMap, HashTable};
use stadium_table::{Index, hash_of};

use crate::job::NONE;

/// Sequences of a run.
const RUN: usize = 256;

/// A run with fewer jobs is thin: with 96 it takes 10.7 bytes a job, as much as the index by hash may.
const RUN_JOBS_MIN: u32 = 96;
/// Jobs of a run that has just become thin.
const THIN: u32 = RUN_JOBS_MIN - 1;

/// Thin runs that are not dissolved yet, 1 KB each; beyond that the oldest one is. Of jobs that end about
/// in the order in which they were put, those of a thin run end before 64 others are thin.
const THIN_MAX: usize = 64;

/// Parts of the table of runs. They grow one at a time, so that no growth stops the shard.
const PARTS: usize = 64;

/// Runs that each part has room for from the start: the fewest that a table with memory can hold.
const PART_ROOM: usize = 3;
/// Jobs that the index by hash has room for from the start: three for each of its 1,024 parts, 50 KB in all.
const FEW_ROOM: usize = 3 * 1_024;

/// Dissolved runs that are kept to be used again. A warm machine dissolves about as many as it begins.
const SPARE_MAX: usize = 16;

struct Run {
    /// The sequence of the first place, divided by 256.
    number: u64,
    jobs: u32,
    places: [u32; RUN],
}

impl Run {
    fn new(number: u64) -> Box<Self> {
        Box::new(Run { number, jobs: 0, places: [NONE; RUN] })
    }

    #[inline]
    fn place(&self, sequence: u64) -> Option<u32> {
        Some(self.places[at(sequence)]).filter(|&place| place != NONE)
    }

    /// Adds a job; not where another one has the same sequence.
    #[inline]
    fn insert(&mut self, sequence: u64, place: u32) -> bool {
        let is_vacant = self.places[at(sequence)] == NONE;
        if is_vacant {
            self.places[at(sequence)] = place;
            self.jobs += 1;
        }
        is_vacant
    }

    /// Takes a job out, where it is in the run.
    #[inline]
    fn remove(&mut self, sequence: u64, place: u32) -> bool {
        let is_it = self.places[at(sequence)] == place;
        if is_it {
            self.places[at(sequence)] = NONE;
            self.jobs -= 1;
        }
        is_it
    }
}

#[inline]
fn at(sequence: u64) -> usize {
    sequence as usize % RUN
}

#[inline]
fn run_of(sequence: u64) -> u64 {
    sequence / RUN as u64
}

#[inline]
fn part_of(hash: u64) -> usize {
    (hash >> 40) as usize % PARTS
}

/// Places of jobs by sequence.
pub(crate) struct Sequences {
    /// The run of the highest sequence.
    newest: Box<Run>,
    runs: Box<[HashTable<Box<Run>>]>,
    /// The numbers of runs that became thin, the oldest first. Those without jobs are gone already.
    thin: VecDeque<u64>,
    /// Jobs of no run.
    few: Index,
    /// Without jobs; to be used again.
    #[expect(clippy::vec_box, reason = "a run goes to and from the table as a pointer, not as 1 KB")]
    spare: Vec<Box<Run>>,
}

impl Sequences {
    pub(crate) fn new() -> Self {
        // Without this room a machine with few jobs would allocate for one part after another, for long.
        let mut few = Index::new();
        few.reserve(FEW_ROOM);
        Self {
            newest: Run::new(0),
            runs: (0..PARTS).map(|_| HashTable::with_capacity(PART_ROOM)).collect(),
            thin: VecDeque::with_capacity(THIN_MAX + 1),
            few,
            spare: Vec::with_capacity(SPARE_MAX),
        }
    }

    /// Begins anew with the runs that jobs with these sequences make; none is above `newest`.
    pub(crate) fn begin(&mut self, newest: u64, sequences: impl Iterator<Item = u64>) {
        *self = Self::new();
        self.newest.number = run_of(newest);
        let mut jobs: HashMap<u64, u32, FixedState> = HashMap::with_hasher(FixedState::with_seed(0));
        let (mut number, mut in_a_row) = (run_of(newest), 0);
        for sequence in sequences {
            if run_of(sequence) != number {
                *jobs.entry(number).or_default() += std::mem::take(&mut in_a_row);
                number = run_of(sequence);
            }
            in_a_row += 1;
        }
        *jobs.entry(number).or_default() += in_a_row;
        jobs.remove(&self.newest.number);
        let few: u32 = jobs.values().filter(|&&jobs| jobs < RUN_JOBS_MIN).sum();
        self.few.reserve(few as usize);
        for (number, _) in jobs.into_iter().filter(|&(_, jobs)| jobs >= RUN_JOBS_MIN) {
            self.keep(Run::new(number));
        }
    }

    /// The place of a job; `is` accepts the one whose sequence it is.
    #[inline]
    pub(crate) fn find(&self, sequence: u64, is: impl FnMut(u32) -> bool) -> Option<u32> {
        let run = if run_of(sequence) == self.newest.number {
            Some(&self.newest)
        } else {
            let (number, hash) = (run_of(sequence), hash_of(run_of(sequence)));
            self.runs[part_of(hash)].find(hash, |run| run.number == number)
        };
        run.and_then(|run| run.place(sequence)).or_else(|| self.few.find(hash_of(sequence), is))
    }

    /// Adds a job that is not there; `sequence_of` gives the sequences of others.
    #[inline]
    pub(crate) fn insert(&mut self, sequence: u64, place: u32, sequence_of: impl Fn(u32) -> u64) {
        if run_of(sequence) > self.newest.number {
            self.begin_run(run_of(sequence), &sequence_of);
        }
        let run = self.run_mut(sequence);
        if !run.is_some_and(|run| run.insert(sequence, place)) {
            self.few.insert(hash_of(sequence), place, |of| hash_of(sequence_of(of)));
        }
    }

    /// Takes a job out; `sequence_of` gives the sequences of others.
    #[inline]
    pub(crate) fn remove(&mut self, sequence: u64, place: u32, sequence_of: impl Fn(u32) -> u64) {
        let newest = self.newest.number;
        if let Some(run) = self.run_mut(sequence)
            && run.remove(sequence, place)
        {
            let (number, jobs) = (run.number, run.jobs);
            match jobs {
                _ if number == newest => {}
                0 => self.dissolve(number, &sequence_of),
                THIN => self.became_thin(number, &sequence_of),
                _ => {}
            }
            return;
        }
        self.few.remove(hash_of(sequence), place);
    }

    /// Bytes of memory that they take.
    pub(crate) fn bytes(&self) -> usize {
        let runs = self.runs.iter().map(HashTable::len).sum::<usize>() + self.spare.len() + 1;
        self.few.bytes()
            + runs * size_of::<Run>()
            + self.runs.iter().map(HashTable::allocation_size).sum::<usize>()
            + size_of_val::<[HashTable<Box<Run>>]>(&self.runs)
            + self.spare.capacity() * size_of::<Box<Run>>()
            + self.thin.capacity() * size_of::<u64>()
    }

    #[inline]
    fn run_mut(&mut self, sequence: u64) -> Option<&mut Run> {
        if run_of(sequence) == self.newest.number {
            return Some(&mut self.newest);
        }
        let (number, hash) = (run_of(sequence), hash_of(run_of(sequence)));
        self.runs[part_of(hash)].find_mut(hash, |run| run.number == number).map(|run| &mut **run)
    }

    #[cold]
    fn begin_run(&mut self, number: u64, sequence_of: &impl Fn(u32) -> u64) {
        let mut run = self.spare.pop().unwrap_or_else(|| Run::new(number));
        run.number = number;
        let before = std::mem::replace(&mut self.newest, run);
        let (number, jobs) = (before.number, before.jobs);
        self.keep(before);
        match jobs {
            0 => self.dissolve(number, sequence_of),
            1..RUN_JOBS_MIN => self.became_thin(number, sequence_of),
            _ => {}
        }
    }

    fn keep(&mut self, run: Box<Run>) {
        let hash = hash_of(run.number);
        self.runs[part_of(hash)].insert_unique(hash, run, |run| hash_of(run.number));
    }

    #[cold]
    fn became_thin(&mut self, number: u64, sequence_of: &impl Fn(u32) -> u64) {
        self.thin.push_back(number);
        if self.thin.len() > THIN_MAX
            && let Some(oldest) = self.thin.pop_front()
        {
            self.dissolve(oldest, sequence_of);
        }
    }

    #[cold]
    fn dissolve(&mut self, number: u64, sequence_of: &impl Fn(u32) -> u64) {
        let hash = hash_of(number);
        let Ok(entry) = self.runs[part_of(hash)].find_entry(hash, |run| run.number == number) else {
            return;
        };
        let (mut run, _) = entry.remove();
        for (place, sequence) in run.places.iter_mut().zip(number * RUN as u64..) {
            if *place != NONE {
                let place = std::mem::replace(place, NONE);
                self.few.insert(hash_of(sequence), place, |of| hash_of(sequence_of(of)));
            }
        }
        run.jobs = 0;
        if self.spare.len() < SPARE_MAX {
            self.spare.push(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stadium_table::hash_of;

    use super::{SPARE_MAX, Sequences, THIN, THIN_MAX};

    /// Sequences beside a plain map, which both have the same jobs.
    struct Pair {
        sequences: Sequences,
        model: BTreeMap<u64, u32>,
        /// The sequence of each place that was ever given out.
        places: Vec<u64>,
        last: u64,
    }

    impl Pair {
        fn new() -> Self {
            Self { sequences: Sequences::new(), model: BTreeMap::new(), places: Vec::new(), last: 0 }
        }

        fn put(&mut self) {
            self.last += 1;
            let place = self.places.len() as u32;
            self.places.push(self.last);
            self.model.insert(self.last, place);
            self.sequences.insert(self.last, place, |of| self.places[of as usize]);
        }

        fn remove(&mut self, sequence: u64) {
            if let Some(place) = self.model.remove(&sequence) {
                self.sequences.remove(sequence, place, |of| self.places[of as usize]);
            }
        }

        fn restored(&self) -> Sequences {
            let mut sequences = Sequences::new();
            sequences.begin(self.last, self.model.keys().copied());
            for (&sequence, &place) in self.model.iter().rev() {
                sequences.insert(sequence, place, |of| self.places[of as usize]);
            }
            sequences
        }

        fn check(&self, sequences: &Sequences) {
            for sequence in 0..self.last + 300 {
                let found = sequences.find(sequence, |place| self.places[place as usize] == sequence);
                assert_eq!(found, self.model.get(&sequence).copied(), "sequence {sequence}");
            }
        }

        /// Runs beside the newest.
        fn runs(&self) -> usize {
            self.sequences.runs.iter().map(hashbrown::HashTable::len).sum()
        }

        fn bytes_each(&self, sequences: &Sequences) -> f64 {
            (sequences.bytes() - Sequences::new().bytes()) as f64 / self.model.len() as f64
        }
    }

    #[test]
    fn jobs_are_found_by_sequence_while_others_come_and_go() {
        for seed in 0..20 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut pair = Pair::new();
            for _ in 0..6_000 {
                if random.u8(..) < 140 {
                    pair.put();
                } else if random.bool() {
                    pair.remove(random.u64(..=pair.last));
                } else {
                    let first = pair.model.keys().next().copied();
                    first.into_iter().for_each(|sequence| pair.remove(sequence));
                }
            }
            pair.check(&pair.sequences);
            pair.check(&pair.restored());
        }
    }

    #[test]
    fn neighbours_take_little_more_than_their_places() {
        let mut pair = Pair::new();
        (0..100_000).for_each(|_| pair.put());
        for sequences in [&pair.sequences, &pair.restored()] {
            let each = pair.bytes_each(sequences);
            assert!(each < 4.3, "{each:.1} bytes a job");
        }
    }

    #[test]
    fn the_last_job_of_many_takes_no_array_of_its_own() {
        let mut pair = Pair::new();
        for last in 1..=1_000_000_u64 {
            pair.put();
            if last % 100 != 0 {
                pair.remove(last);
            }
        }
        pair.check(&pair.sequences);
        assert!(pair.runs() <= THIN_MAX && pair.sequences.spare.len() <= SPARE_MAX);
        for sequences in [&pair.sequences, &pair.restored()] {
            let each = pair.bytes_each(sequences);
            assert!(each < 20.0, "{each:.1} bytes a job, with those of runs that are thin");
        }
    }

    #[test]
    fn a_run_is_dissolved_once_many_others_are_thin() {
        let mut pair = Pair::new();
        let runs = THIN_MAX as u64 + 1;
        (0..runs * 256).for_each(|_| pair.put());
        assert_eq!(pair.runs() as u64, runs);
        let thins = |pair: &mut Pair, run: u64| {
            let first = (run * 256).max(1);
            (first..run * 256 + 256 - u64::from(THIN)).for_each(|sequence| pair.remove(sequence));
        };
        (0..runs - 1).for_each(|run| thins(&mut pair, run));
        assert_eq!(pair.runs() as u64, runs);
        thins(&mut pair, runs - 1);
        assert_eq!(pair.runs() as u64, runs - 1);
        assert_eq!(
            pair.sequences.few.find(hash_of(255), |place| pair.places[place as usize] == 255),
            Some(254)
        );
        pair.check(&pair.sequences);
    }

    #[test]
    fn a_run_goes_with_its_last_job() {
        let mut pair = Pair::new();
        (0..600).for_each(|_| pair.put());
        assert_eq!(pair.runs(), 2);
        (0..512).for_each(|sequence| pair.remove(sequence));
        assert_eq!((pair.runs(), pair.sequences.spare.len()), (0, 2));
        (512..=600).for_each(|sequence| pair.remove(sequence));
        assert_eq!(pair.sequences.newest.jobs, 0, "the newest stays");
        (0..600).for_each(|_| pair.put());
        pair.check(&pair.sequences);
    }

    /// No machine writes such a checkpoint; a damaged one may not break the count of a run.
    #[test]
    fn two_jobs_of_one_sequence_are_both_kept() {
        let mut sequences = Sequences::new();
        for place in [1, 2] {
            sequences.insert(9, place, |_| 9);
        }
        assert_eq!(sequences.find(9, |_| true), Some(1));
        sequences.remove(9, 1, |_| 9);
        assert_eq!(sequences.find(9, |_| true), Some(2));
        sequences.remove(9, 2, |_| 9);
        assert_eq!(sequences.find(9, |_| true), None);
    }
}
