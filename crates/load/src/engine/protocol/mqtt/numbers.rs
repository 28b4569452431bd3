//! Numbers of the messages that a connection publishes with stamps: a stream for each topic.
//!
//! A subscriber that receives a topic from all of its publishers knows by them what was lost. A
//! stream belongs to one connection: a user that comes back begins others, so that its first
//! message is nobody's duplicate.

use std::hash::{DefaultHasher, Hasher};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::stamp::Stamp;

/// Topics that a connection counts in; the one begun first then begins a new stream.
const TOPICS_MAX: usize = 16;

/// The next stream of this process. They begin anywhere, so that those of several processes do not meet.
static STREAMS: LazyLock<AtomicU32> = LazyLock::new(|| AtomicU32::new(fastrand::u32(..)));

/// The streams of one connection.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    topics: Vec<Stream>,
}

#[derive(Debug)]
struct Stream {
    /// Hash of its topic.
    topic: u64,
    stream: u32,
    /// The last number.
    sequence: u32,
}

impl Numbers {
    /// The stamp of the next message on a topic.
    pub(super) fn next(&mut self, topic: &[u8], sent_ns: u64) -> Stamp {
        let mut hasher = DefaultHasher::new();
        hasher.write(topic);
        let topic = hasher.finish();
        let at = self.topics.iter().position(|known| known.topic == topic).unwrap_or_else(|| {
            if self.topics.len() == TOPICS_MAX {
                self.topics.remove(0);
            }
            self.topics.push(Stream { topic, stream: new_stream(), sequence: 0 });
            self.topics.len() - 1
        });
        let stream = &mut self.topics[at];
        if stream.sequence == u32::MAX {
            *stream = Stream { topic, stream: new_stream(), sequence: 0 };
        }
        stream.sequence += 1;
        Stamp { sent_ns, stream: stream.stream, sequence: stream.sequence }
    }
}

/// Never 0: that is a message outside any stream.
fn new_stream() -> u32 {
    loop {
        let stream = STREAMS.fetch_add(1, Ordering::Relaxed);
        if stream != 0 {
            return stream;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_topic_of_each_connection_counts_for_itself() {
        let (mut one, mut other) = (Numbers::default(), Numbers::default());
        let first = one.next(b"a", 5);
        assert_eq!((first.sent_ns, first.sequence), (5, 1));
        assert_ne!(first.stream, 0);
        assert_eq!(one.next(b"b", 5).sequence, 1);
        assert_eq!(one.next(b"a", 6), Stamp { sent_ns: 6, sequence: 2, ..first });
        assert_ne!(other.next(b"a", 5).stream, first.stream);
    }

    #[test]
    fn topics_beyond_the_bound_begin_anew_without_a_gap() {
        let mut numbers = Numbers::default();
        let first = numbers.next(b"a", 0);
        for topic in 0..TOPICS_MAX as u8 {
            numbers.next(&[topic], 0);
        }
        let again = numbers.next(b"a", 0);
        assert_eq!(again.sequence, 1);
        assert_ne!(again.stream, first.stream);
        assert_eq!(numbers.topics.len(), TOPICS_MAX);
    }
}
