//! Messages with stamps, as one connection hears them: latency, loss, duplicates and order of each stream.
//!
//! A gap counts as lost at once, and a message that comes late after all is taken out again: so
//! nothing has to be settled when a connection ends. Messages without a stamp count nowhere here.
//! See [`crate::stamp`].

use crate::engine::tally::MessageCounter;
use crate::stamp::Stamp;

/// Streams that one connection follows.
///
/// A chat of four thousand senders costs a receiver 128 KiB; of streams beyond, only the latency is measured.
const STREAMS_MAX: usize = 4096;
/// How far back a number is known to have come or not.
const WINDOW: u32 = u128::BITS;

/// What a connection knows of the streams that it hears.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    /// By stream, in its order.
    windows: Vec<(u32, Window)>,
}

/// The numbers of one stream that came.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// Bit k: `highest - k` came.
    seen: u128,
    highest: u32,
    /// The first that came: what is before it was not for us.
    first: u32,
}

/// The meaning of a number for its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// The highest so far; so many before it have not come.
    Next { missing: u32 },
    /// One that had not come, after a later one. Whether it had been counted as missing.
    Late { was_missing: bool },
    /// It came before, or is so old that nobody knows.
    Again,
}

impl Stamps {
    /// Counts a message. Returns whether it came for the first time, as far as its stamp shows.
    pub(crate) fn hear(
        &mut self,
        payload: &[u8],
        counter: &mut MessageCounter,
        now_ns: impl FnOnce() -> u64,
    ) -> bool {
        let Some(stamp) = Stamp::decode(payload) else { return true };
        match self.place(stamp) {
            Some(Heard::Again) => {
                counter.duplicates += 1;
                return false;
            }
            Some(Heard::Next { missing }) => counter.lost += i64::from(missing),
            Some(Heard::Late { was_missing }) => {
                counter.reordered += 1;
                counter.lost -= i64::from(was_missing);
            }
            None => {}
        }
        counter.received += 1;
        counter.latency.record(now_ns().saturating_sub(stamp.sent_ns));
        true
    }

    fn place(&mut self, stamp: Stamp) -> Option<Heard> {
        if stamp.stream == 0 {
            return None;
        }
        match self.windows.binary_search_by_key(&stamp.stream, |(stream, _)| *stream) {
            Ok(at) => Some(self.windows[at].1.hear(stamp.sequence)),
            Err(_) if self.windows.len() == STREAMS_MAX => None,
            Err(at) => {
                self.windows.insert(at, (stamp.stream, Window::from(stamp.sequence)));
                Some(Heard::Next { missing: 0 })
            }
        }
    }
}

impl Window {
    fn from(sequence: u32) -> Self {
        Window { seen: 1, highest: sequence, first: sequence }
    }

    fn hear(&mut self, sequence: u32) -> Heard {
        if sequence > self.highest {
            let ahead = sequence - self.highest;
            self.seen = self.seen.checked_shl(ahead).unwrap_or(0) | 1;
            self.highest = sequence;
            return Heard::Next { missing: ahead - 1 };
        }
        let behind = self.highest - sequence;
        if behind >= WINDOW || self.seen & (1 << behind) != 0 {
            return Heard::Again;
        }
        self.seen |= 1 << behind;
        Heard::Late { was_missing: sequence > self.first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Received, lost, duplicates, reordered.
    fn counted(numbers: &[u32]) -> (u64, i64, u64, u64) {
        let mut stamps = Stamps::default();
        let mut counter = MessageCounter::default();
        for &sequence in numbers {
            stamps.hear(&Stamp { sent_ns: 5, stream: 9, sequence }.encode(), &mut counter, || 12);
        }
        (counter.received, counter.lost, counter.duplicates, counter.reordered)
    }

    #[test]
    fn lost_numbers_are_distinguished_from_received_ones() {
        let table: [(&[u32], _); 9] = [
            (&[1, 2, 3], (3, 0, 0, 0)),
            (&[5, 6, 7], (3, 0, 0, 0)),
            (&[1, 4], (2, 2, 0, 0)),
            (&[1, 4, 3], (3, 1, 0, 1)),
            (&[1, 4, 3, 2], (4, 0, 0, 2)),
            (&[2, 1, 3], (3, 0, 0, 1)),
            (&[1, 2, 2, 1], (2, 0, 2, 0)),
            (&[1, 1_000], (2, 998, 0, 0)),
            (&[1, 200, 1], (2, 198, 1, 0)),
        ];
        for (numbers, expected) in table {
            assert_eq!(counted(numbers), expected, "{numbers:?}");
        }
    }

    #[test]
    fn every_number_came_or_is_missing() {
        for seed in 0..100 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut numbers: Vec<u32> = (2..=500).filter(|_| random.u8(..) > 60).collect();
            numbers.chunks_mut(20).for_each(|chunk| random.shuffle(chunk));
            numbers.insert(0, 1);
            let (received, lost, duplicates, _) = counted(&numbers);
            let highest = *numbers.iter().max().expect("one at least");
            assert_eq!(received, numbers.len() as u64, "seed {seed}");
            assert_eq!(received as i64 + lost, i64::from(highest), "seed {seed}");
            assert_eq!(duplicates, 0, "seed {seed}");
        }
    }

    #[test]
    fn streams_do_not_mix_and_latency_is_measured_without_one() {
        let mut stamps = Stamps::default();
        let mut counter = MessageCounter::default();
        for (stream, sequence) in [(1, 1), (2, 7), (1, 2), (2, 8), (0, 1), (0, 1)] {
            assert!(
                stamps.hear(&Stamp { sent_ns: 1_000, stream, sequence }.encode(), &mut counter, || 3_000)
            );
        }
        assert!(stamps.hear(b"no stamp", &mut counter, || unreachable!("nothing is measured")));
        assert_eq!((counter.received, counter.lost, counter.duplicates), (6, 0, 0));
        let latency = counter.latency.take().summary();
        assert!((latency.p50_ms - 0.002).abs() < 1e-4, "{latency:?}");
    }

    #[test]
    fn streams_beyond_the_bound_are_measured_only() {
        let mut stamps = Stamps::default();
        let mut counter = MessageCounter::default();
        for stream in 1..=STREAMS_MAX as u32 + 1 {
            for sequence in [1, 3] {
                stamps.hear(&Stamp { sent_ns: 0, stream, sequence }.encode(), &mut counter, || 1);
            }
        }
        assert_eq!(counter.received, 2 * (STREAMS_MAX as u64 + 1));
        assert_eq!(counter.lost, STREAMS_MAX as i64);
    }
}
