//! Which loops may have a subscription that matches a topic.
//!
//! Each loop counts its own filters in tables that all may read: filters without wildcards by a hash of
//! their text, the others by a hash of their first level, or all together where that is a wildcard. A
//! publish goes to every loop whose counts are not zero. A collision costs a message that nobody wants;
//! a zero is never wrong, because a filter is counted before its SUBACK leaves.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, Ordering};

use foldhash::fast::FixedState;
use stadium_mqtt::broker::Interest as Change;
use stadium_mqtt::topic::is_of_server;

/// Places in the table of whole topics; 256 KB a loop. With a million filters nearly every place is
/// taken and every loop gets every message, which is what it would cost without the table.
const TOPICS: usize = 1 << 16;

/// Places in the table of first levels.
const FIRST_LEVELS: usize = 1 << 12;

/// Loops that a set of them has room for.
pub(crate) const LOOPS_MAX: usize = 64;

/// The counts of all loops.
#[derive(Debug)]
pub(crate) struct Interests {
    loops: Box<[LoopInterests]>,
    hasher: FixedState,
}

#[derive(Debug)]
struct LoopInterests {
    topics: Box<[AtomicU32]>,
    first_levels: Box<[AtomicU32]>,
    wildcards: AtomicU32,
    of_server: AtomicU32,
    anything: AtomicU32,
}

impl Interests {
    pub(crate) fn new(loops: usize) -> Self {
        let zeros = |len: usize| (0..len).map(|_| AtomicU32::new(0)).collect();
        let one = || LoopInterests {
            topics: zeros(TOPICS),
            first_levels: zeros(FIRST_LEVELS),
            wildcards: AtomicU32::new(0),
            of_server: AtomicU32::new(0),
            anything: AtomicU32::new(0),
        };
        Self { loops: (0..loops).map(|_| one()).collect(), hasher: FixedState::default() }
    }

    /// A loop's filter got its first subscription, or lost its last one.
    pub(crate) fn change(&self, loop_index: usize, filter: &str, change: Change) {
        let counts = &self.loops[loop_index];
        let add = |count: &AtomicU32| match change {
            Change::Gained => count.fetch_add(1, Ordering::Release),
            Change::Lost => count.fetch_sub(1, Ordering::Release),
        };
        if is_of_server(filter) {
            add(&counts.of_server);
        }
        if !filter.contains(['+', '#']) {
            add(&counts.topics[self.place(filter, TOPICS)]);
            return;
        }
        let first = first_level(filter);
        if matches!(first, "+" | "#") {
            add(&counts.anything);
        } else {
            add(&counts.first_levels[self.place(first, FIRST_LEVELS)]);
        }
        add(&counts.wildcards);
    }

    /// The loops other than this one that may want a topic, one bit each.
    pub(crate) fn others(&self, loop_index: usize, topic: &str) -> u64 {
        if self.loops.len() == 1 {
            return 0;
        }
        let topic_place = self.place(topic, TOPICS);
        let mut wanted = 0;
        for (index, counts) in self.loops.iter().enumerate() {
            if index != loop_index && self.wants(counts, topic, topic_place) {
                wanted |= 1 << index;
            }
        }
        wanted
    }

    /// Whether the loop may want a topic.
    pub(crate) fn wanted_by(&self, loop_index: usize, topic: &str) -> bool {
        self.wants(&self.loops[loop_index], topic, self.place(topic, TOPICS))
    }

    /// Whether the loop has a filter of topics of the server's own.
    pub(crate) fn has_of_server(&self, loop_index: usize) -> bool {
        self.loops[loop_index].of_server.load(Ordering::Acquire) > 0
    }

    fn wants(&self, counts: &LoopInterests, topic: &str, topic_place: usize) -> bool {
        if counts.topics[topic_place].load(Ordering::Acquire) > 0 {
            return true;
        }
        if counts.wildcards.load(Ordering::Acquire) == 0 {
            return false;
        }
        counts.anything.load(Ordering::Acquire) > 0
            || counts.first_levels[self.place(first_level(topic), FIRST_LEVELS)].load(Ordering::Acquire) > 0
    }

    fn place(&self, text: &str, places: usize) -> usize {
        // The places are a power of two that fits any usize.
        (self.hasher.hash_one(text) as usize) & (places - 1)
    }
}

fn first_level(topic: &str) -> &str {
    topic.split('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_wanted_while_it_has_a_matching_filter() {
        let interests = Interests::new(3);
        for filter in ["inbox/a", "channels/+", "sensors/#", "+/x", "#"] {
            let topic = filter.replace('+', "news").replace('#', "deep/down");
            assert_eq!(interests.others(0, &topic), 0, "{filter}");
            interests.change(2, filter, Change::Gained);
            assert_eq!(interests.others(0, &topic), 0b100, "{filter}");
            assert_eq!(interests.others(2, &topic), 0, "{filter}");
            interests.change(2, filter, Change::Lost);
            assert_eq!(interests.others(0, &topic), 0, "{filter}");
        }
    }
}
