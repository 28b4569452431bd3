//! How a message for many spread: when the first device had it, when the last, and how many.
//!
//! Each loop follows the messages it hears of and hands on what it learned since last time; [`Spreads`] puts the
//! parts of all loops together.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::latency::{Latency, Summary};
use crate::stamp::Stamp;

/// Messages that a loop follows at once. A hundred a second over ten seconds; the oldest gives way, and a copy of
/// it that comes later still counts, but no more as expected.
const FOLLOWED_MAX: usize = 1_024;
/// Messages that a report keeps apart before the oldest are summed up: a hundred bytes each.
const KEPT_MAX: usize = 10_000;
/// Messages that a report lists.
const LISTED_MAX: usize = 100;

/// What was heard of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// Its stream.
    pub stream: u32,
    /// Its number.
    pub sequence: u32,
    /// When its sending was intended, in [`crate::clock::monotonic_ns`], as the others.
    pub sent_ns: u64,
    /// When the first device had it.
    pub first_ns: u64,
    /// When the last device had it.
    pub last_ns: u64,
    /// Devices that had it.
    pub received: u32,
    /// Devices that were up when the loop's first one had it.
    pub expected: u32,
}

impl Spread {
    fn add(&mut self, other: &Spread) {
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
        self.received += other.received;
        self.expected += other.expected;
    }
}

/// A loop's view: the messages it has heard of since the last tally, and those it knew before.
#[derive(Debug, Default)]
pub(crate) struct Following {
    fresh: Vec<Spread>,
    /// Place in `fresh` of the message heard last: most deliveries are of the same one.
    latest: usize,
    places: HashMap<(u32, u32), usize>,
    /// Messages whose devices were counted already, oldest first.
    known: std::collections::VecDeque<(u32, u32)>,
}

impl Following {
    /// A device heard a message for the first time; so many are up on this loop.
    pub(crate) fn hear(&mut self, stamp: Stamp, now_ns: u64, up: u32) {
        let key = (stamp.stream, stamp.sequence);
        let place = match self.fresh.get(self.latest) {
            Some(latest) if (latest.stream, latest.sequence) == key => self.latest,
            _ => self.place(key, stamp, now_ns, up),
        };
        self.latest = place;
        let spread = &mut self.fresh[place];
        spread.last_ns = spread.last_ns.max(now_ns);
        spread.received += 1;
    }

    fn place(&mut self, key: (u32, u32), stamp: Stamp, now_ns: u64, up: u32) -> usize {
        if let Some(&place) = self.places.get(&key) {
            return place;
        }
        let known = self.known.contains(&key);
        if !known {
            if self.known.len() == FOLLOWED_MAX {
                self.known.pop_front();
            }
            self.known.push_back(key);
        }
        let place = self.fresh.len();
        self.fresh.push(Spread {
            stream: stamp.stream,
            sequence: stamp.sequence,
            sent_ns: stamp.sent_ns,
            first_ns: now_ns,
            last_ns: now_ns,
            received: 0,
            expected: if known { 0 } else { up },
        });
        self.places.insert(key, place);
        place
    }

    /// What was heard since last time.
    pub(crate) fn take(&mut self) -> Vec<Spread> {
        self.places.clear();
        self.latest = 0;
        std::mem::take(&mut self.fresh)
    }
}

/// The parts of all loops, put together.
#[derive(Debug, Default)]
pub(crate) struct Spreads {
    open: BTreeMap<(u32, u32), Spread>,
    listed: Vec<BroadcastRow>,
    done: u64,
    received: u64,
    missing: u64,
    to_first: Latency,
    to_last: Latency,
    across: Latency,
}

impl Spreads {
    pub(crate) fn add(&mut self, part: &Spread) {
        self.open.entry((part.stream, part.sequence)).and_modify(|whole| whole.add(part)).or_insert(*part);
        if self.open.len() > KEPT_MAX
            && let Some((_, oldest)) = self.open.pop_first()
        {
            self.finish(&oldest);
        }
    }

    /// The newest message, as far as it has come.
    pub(crate) fn newest(&self) -> Option<BroadcastRow> {
        self.open.last_key_value().map(|(_, spread)| BroadcastRow::of(spread))
    }

    fn finish(&mut self, spread: &Spread) {
        let row = BroadcastRow::of(spread);
        self.done += 1;
        self.received += u64::from(spread.received);
        self.missing += u64::from(row.missing);
        self.to_first.record(spread.first_ns.saturating_sub(spread.sent_ns));
        self.to_last.record(spread.last_ns.saturating_sub(spread.sent_ns));
        self.across.record(spread.last_ns - spread.first_ns);
        if self.listed.len() < LISTED_MAX {
            self.listed.push(row);
        }
    }

    pub(crate) fn report(mut self) -> BroadcastReport {
        for (_, spread) in std::mem::take(&mut self.open) {
            self.finish(&spread);
        }
        BroadcastReport {
            messages: self.done,
            received: self.received,
            missing: self.missing,
            to_first: self.to_first.summary(),
            to_last: self.to_last.summary(),
            first_to_last: self.across.summary(),
            first_messages: self.listed,
        }
    }
}

/// How the messages of streams spread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BroadcastReport {
    /// Messages that at least one device heard of.
    pub messages: u64,
    /// Copies received.
    pub received: u64,
    /// Copies that devices should have had and did not, by the number of devices up.
    pub missing: u64,
    /// From the intended sending to the first device.
    pub to_first: Summary,
    /// From the intended sending to the last device.
    pub to_last: Summary,
    /// From the first device to the last.
    pub first_to_last: Summary,
    /// The first hundred, one by one.
    pub first_messages: Vec<BroadcastRow>,
}

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BroadcastRow {
    /// Its stream.
    pub stream: u32,
    /// Its number in the stream.
    pub sequence: u32,
    /// Devices that had it.
    pub received: u32,
    /// Devices that should have.
    pub missing: u32,
    /// From the intended sending to the first device.
    pub to_first_ms: f64,
    /// From the intended sending to the last device.
    pub to_last_ms: f64,
}

impl BroadcastRow {
    fn of(spread: &Spread) -> Self {
        let since_sent = |ns: u64| ns.saturating_sub(spread.sent_ns) as f64 / 1e6;
        BroadcastRow {
            stream: spread.stream,
            sequence: spread.sequence,
            received: spread.received,
            missing: spread.expected.saturating_sub(spread.received),
            to_first_ms: since_sent(spread.first_ns),
            to_last_ms: since_sent(spread.last_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_message_add_up_over_loops_and_time() {
        let stamp = Stamp { sent_ns: 1_000_000, stream: 9, sequence: 1 };
        let mut loops = [Following::default(), Following::default()];
        let mut spreads = Spreads::default();
        let mut at_ns = 2_000_000;
        for _round in 0..2 {
            for following in &mut loops {
                for _device in 0..5 {
                    following.hear(stamp, at_ns, 11);
                    at_ns += 1_000_000;
                }
                following.take().iter().for_each(|part| spreads.add(part));
            }
        }
        let report = spreads.report();
        assert_eq!((report.messages, report.received, report.missing), (1, 20, 2));
        let row = report.first_messages[0];
        assert_eq!((row.to_first_ms, row.to_last_ms), (1.0, 20.0));
    }

    #[test]
    fn memory_is_bounded_however_many_messages_come() {
        let mut following = Following::default();
        let mut spreads = Spreads::default();
        for sequence in 1..=30_000 {
            following.hear(Stamp { sent_ns: 0, stream: 1, sequence }, 1, 1);
            following.take().iter().for_each(|part| spreads.add(part));
        }
        assert!(following.known.len() <= FOLLOWED_MAX);
        assert!(spreads.open.len() <= KEPT_MAX);
        let report = spreads.report();
        assert_eq!((report.messages, report.missing), (30_000, 0));
        assert_eq!(report.first_messages.len(), LISTED_MAX);
    }
}
