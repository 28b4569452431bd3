//! The messages that streams may still read, of the whole node: one ring, bounded in bytes and time.
//!
//! ```text
//! ring   7:a/1  8:b  9:a/2           numbers of messages, the oldest leaves first
//! log of a/+   7  9                  what a filter matches, in the same order
//! log of #     7  8  9
//! ```
//!
//! A reader is a number: it has read all up to it. Messages that may be missing to
//! it are reported ([`Ring::gap`]). Without I/O and clocks: the caller gives the time.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The bounds of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingLimits {
    /// Bytes of all messages.
    pub bytes_max: usize,
    /// How long a message stays, in milliseconds.
    pub age_ms_max: u64,
}

/// The reason that messages may be missing to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// They are older than what the ring holds.
    Expired,
    /// Nobody read these topics then, so they were not kept.
    Unwatched,
    /// The node was too busy to keep them.
    Overload,
}

/// The ring and its logs. `L` names a log.
#[derive(Debug)]
pub(crate) struct Ring<L, T> {
    limits: RingLimits,
    slots: VecDeque<Slot<L>>,
    logs: HashMap<L, Log<T>>,
    /// The number given last.
    last: u64,
    /// The last number of which messages of any log may be missing.
    hole: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Slot<L> {
    number: u64,
    bytes: usize,
    at_ms: u64,
    logs: Box<[L]>,
}

#[derive(Debug)]
struct Log<T> {
    messages: VecDeque<(u64, Arc<T>)>,
    /// It has all messages behind this number, as far as they have not left.
    begins: u64,
    /// The last message that has left.
    left: u64,
}

impl<L, T> Ring<L, T>
where
    L: Copy + Eq + std::hash::Hash,
{
    pub(crate) fn new(limits: RingLimits) -> Self {
        Self { limits, slots: VecDeque::new(), logs: HashMap::new(), last: 0, hole: 0, bytes: 0 }
    }

    /// The number given last: a reader that begins here misses nothing.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Messages that it holds, and their bytes.
    pub(crate) fn held(&self) -> (usize, usize) {
        (self.slots.len(), self.bytes)
    }

    /// A log keeps what is appended to it from now on.
    pub(crate) fn open(&mut self, log: L) {
        // A number of its own: a reader of before knows nothing of what came in between.
        self.last += 1;
        let begins = self.last;
        self.logs.insert(log, Log { messages: VecDeque::new(), begins, left: 0 });
    }

    /// A log keeps nothing any more.
    pub(crate) fn close(&mut self, log: L) {
        self.logs.remove(&log);
    }

    /// Appends a message of so many bytes to logs that are open; returns its number. What is too
    /// old, or too much, leaves.
    pub(crate) fn append(&mut self, logs: &[L], message: Arc<T>, bytes: usize, now_ms: u64) -> u64 {
        self.last += 1;
        for log in logs {
            if let Some(log) = self.logs.get_mut(log) {
                log.messages.push_back((self.last, Arc::clone(&message)));
            }
        }
        self.bytes += bytes;
        self.slots.push_back(Slot { number: self.last, bytes, at_ms: now_ms, logs: logs.into() });
        self.expire(now_ms);
        self.last
    }

    /// Messages were lost before they were appended; nobody knows to which logs.
    pub(crate) fn lose(&mut self) {
        self.last += 1;
        self.hole = self.last;
    }

    /// Removes messages that are too old, and the oldest beyond the bound.
    pub(crate) fn expire(&mut self, now_ms: u64) {
        while let Some(slot) = self.slots.front()
            && (self.bytes > self.limits.bytes_max
                || now_ms.saturating_sub(slot.at_ms) >= self.limits.age_ms_max)
        {
            let Some(slot) = self.slots.pop_front() else { return };
            self.bytes -= slot.bytes;
            for log in slot.logs {
                // A log that was closed and opened again does not have it.
                if let Some(log) = self.logs.get_mut(&log)
                    && log.messages.front().is_some_and(|(front, _)| *front == slot.number)
                {
                    log.messages.pop_front();
                    log.left = slot.number;
                }
            }
        }
    }

    /// Whether messages may be missing to a reader of these logs that has read up to `place`, and up
    /// to which number.
    pub(crate) fn gap(&self, logs: &[L], place: u64) -> Option<(Gap, u64)> {
        // A place that was never given is not one of this ring.
        if place > self.last {
            return Some((Gap::Unwatched, self.last));
        }
        let of = |log: &L| match self.logs.get(log) {
            None => (Gap::Unwatched, self.last),
            Some(log) if place < log.begins => (Gap::Unwatched, log.begins.max(log.left)),
            Some(log) => (Gap::Expired, log.left),
        };
        let all = logs.iter().map(of).chain([(Gap::Overload, self.hole)]);
        all.filter(|(_, until)| place < *until).max_by_key(|(_, until)| *until)
    }

    /// Whether there are messages behind `place` in these logs.
    pub(crate) fn has_behind(&self, logs: &[L], place: u64) -> bool {
        logs.iter().any(|log| self.logs.get(log).is_some_and(|log| log.behind(place).is_some()))
    }

    /// Appends the next messages behind `place` in these logs, each once and in order, at most so
    /// many. Returns the place up to which the reader has read then.
    pub(crate) fn read(
        &self,
        logs: &[L],
        place: u64,
        messages_max: usize,
        into: &mut Vec<(u64, Arc<T>)>,
    ) -> u64 {
        let mut place = place;
        for _ in 0..messages_max {
            let next = logs.iter().filter_map(|log| self.logs.get(log)?.behind(place));
            let Some((number, message)) = next.min_by_key(|(number, _)| *number) else {
                return place.max(self.last);
            };
            place = *number;
            into.push((place, Arc::clone(message)));
        }
        place
    }
}

impl<T> Log<T> {
    /// The first message behind a number.
    fn behind(&self, place: u64) -> Option<&(u64, Arc<T>)> {
        // Most readers are at the end.
        if self.messages.back().is_none_or(|(last, _)| *last <= place) {
            return None;
        }
        self.messages.get(self.messages.partition_point(|(number, _)| *number <= place))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOGS: u8 = 3;

    #[derive(Clone, Debug)]
    enum Step {
        Open(u8),
        Close(u8),
        /// To the logs whose bits are set, and how many bytes.
        Append(u8, u8),
        Lose,
        Wait(u16),
        /// A reader of these logs comes from the beginning of now.
        Join(u8),
        /// The reader at this place goes on.
        Read(u8, u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            2 => (0..LOGS).prop_map(Step::Open),
            1 => (0..LOGS).prop_map(Step::Close),
            12 => (0..1_u8 << LOGS, 1..40_u8).prop_map(|(logs, bytes)| Step::Append(logs, bytes)),
            1 => Just(Step::Lose),
            2 => (1..400_u16).prop_map(Step::Wait),
            2 => (1..1_u8 << LOGS).prop_map(Step::Join),
            10 => (any::<u8>(), 1..5_u8).prop_map(|(reader, count)| Step::Read(reader, count)),
        ]
    }

    /// A reader of the model: what it must still see, and whether it may have missed something.
    struct Reader {
        logs: Vec<u8>,
        place: u64,
        known: u64,
        /// Numbers of all messages of its topics since it came, whether they were kept or not.
        owed: VecDeque<usize>,
    }

    fn logs_of(bits: u8) -> Vec<u8> {
        (0..LOGS).filter(|log| bits & (1 << log) != 0).collect()
    }

    proptest! {
        #[test]
        fn a_reader_sees_every_message_once_and_in_order_or_a_gap(
            steps in proptest::collection::vec(step(), 1..200),
        ) {
            let mut ring = Ring::new(RingLimits { bytes_max: 200, age_ms_max: 1_000 });
            let (mut now, mut published) = (0_u64, 0_usize);
            let mut open = [false; LOGS as usize];
            let mut readers: Vec<Reader> = Vec::new();
            for step in steps {
                match step {
                    Step::Open(log) if !open[log as usize] => {
                        open[log as usize] = true;
                        ring.open(log);
                    }
                    Step::Open(_) => {}
                    Step::Close(log) => {
                        open[log as usize] = false;
                        ring.close(log);
                    }
                    Step::Append(bits, bytes) => {
                        // A message that matches a filter which nobody reads reaches no log.
                        let logs = logs_of(bits);
                        let kept: Vec<u8> =
                            logs.iter().copied().filter(|log| open[*log as usize]).collect();
                        published += 1;
                        if !kept.is_empty() {
                            ring.append(&kept, Arc::new(published), bytes.into(), now);
                        }
                        for reader in readers.iter_mut().filter(|reader| {
                            reader.logs.iter().any(|log| logs.contains(log))
                        }) {
                            reader.owed.push_back(published);
                        }
                        prop_assert!(ring.held().1 <= 200);
                    }
                    Step::Lose => {
                        published += 1;
                        ring.lose();
                        readers.iter_mut().for_each(|reader| reader.owed.push_back(published));
                    }
                    Step::Wait(ms) => {
                        now += u64::from(ms);
                        ring.expire(now);
                    }
                    Step::Join(bits) => {
                        let logs = logs_of(bits);
                        for log in &logs {
                            if !open[*log as usize] {
                                open[*log as usize] = true;
                                ring.open(*log);
                            }
                        }
                        let place = ring.last();
                        prop_assert_eq!(ring.gap(&logs, place), None, "it misses nothing yet");
                        readers.push(Reader { logs, place, known: place, owed: VecDeque::new() });
                    }
                    Step::Read(at, count) => {
                        if readers.is_empty() {
                            continue;
                        }
                        let at = usize::from(at) % readers.len();
                        let reader = &mut readers[at];
                        // As the hub does for a reader that reconnects.
                        for log in &reader.logs {
                            if !std::mem::replace(&mut open[*log as usize], true) {
                                ring.open(*log);
                            }
                        }
                        if let Some((_, until)) = ring.gap(&reader.logs, reader.place.max(reader.known)) {
                            reader.known = until;
                        }
                        let mut found = Vec::new();
                        let before = reader.place;
                        reader.place = ring.read(&reader.logs, before, count.into(), &mut found);
                        prop_assert!(reader.place >= before);
                        for (number, message) in found {
                            prop_assert!(number > before);
                            // All before it that it was owed is missing; a gap was reported, if ever.
                            while let Some(next) = reader.owed.pop_front() {
                                if next == *message {
                                    break;
                                }
                                prop_assert!(next < *message, "a message twice, or out of order");
                                prop_assert!(reader.known > before, "a silent hole");
                            }
                        }
                        let is_at_end = reader.place == ring.last();
                        if is_at_end && !reader.owed.is_empty() {
                            prop_assert!(reader.known > before, "a silent hole at the end");
                            reader.owed.clear();
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_place_of_a_closed_log_is_not_taken_up_again() {
        let mut ring = Ring::new(RingLimits { bytes_max: 1_000, age_ms_max: 1_000 });
        ring.open(0);
        ring.append(&[0], Arc::new("one"), 10, 0);
        let place = ring.last();
        ring.close(0);
        // A message that is published now reaches no log, and no number is given.
        ring.open(0);
        assert_eq!(ring.gap(&[0], place), Some((Gap::Unwatched, place + 1)));
        assert_eq!(ring.gap(&[0], ring.last()), None);
        assert_eq!(ring.gap(&[0], u64::MAX).map(|(gap, _)| gap), Some(Gap::Unwatched));
    }

    #[test]
    fn messages_leave_by_age_and_by_bytes_and_slow_readers_are_told() {
        let mut ring = Ring::new(RingLimits { bytes_max: 25, age_ms_max: 1_000 });
        ring.open('a');
        ring.open('b');
        let start = ring.last();
        ring.append(&['a'], Arc::new(1), 10, 0);
        ring.append(&['b'], Arc::new(2), 10, 0);
        assert_eq!(ring.gap(&['a', 'b'], start), None);
        ring.append(&['a', 'b'], Arc::new(3), 10, 500);
        assert_eq!(ring.held(), (2, 20));
        assert_eq!(ring.gap(&['a'], start), Some((Gap::Expired, start + 1)));
        assert_eq!(ring.gap(&['b'], start), None, "nothing of its own has left");
        let mut found = Vec::new();
        assert_eq!(ring.read(&['a', 'b'], start, 9, &mut found), ring.last());
        assert_eq!(found.iter().map(|(_, message)| **message).collect::<Vec<_>>(), [2, 3], "each once");
        ring.expire(1_500);
        assert_eq!(ring.held(), (0, 0));
    }
}
