//! The contract of the partition that holds a log: the calls a driver makes, and their events.
//!
//! A client of a message broker implements it, and a partition in memory for tests. It only
//! declares: nothing here does I/O.

use std::fmt;

use stadium_journal::Wake;

use crate::claim::Offset;

/// One partition with dense offsets, as one reader and writer uses it.
///
/// No call waits. Outcomes arrive as events, in any order between calls of different kinds; the
/// wake is called when there may be some. Dropping it gives up all that is under way.
///
/// A temporary failure is reported after a pause, such as the client's own timeout or back-off. So
/// the driver, which has no clock, makes the call again at once.
pub trait Partition: Send {
    /// Starts to append a message. Reports [`Event::Appended`] or [`Event::NotAppended`] with the
    /// same tag, exactly once. The message is copied before the call returns.
    ///
    /// The client may not send it again by itself after it reported an outcome. Before that it may,
    /// and then the partition may hold it twice.
    fn append(&mut self, tag: u64, message: &[u8]);

    /// Finds where the partition begins and ends. Reports [`Event::Ends`] or [`Event::Failed`].
    ///
    /// The end is the offset behind the last replicated message. It is at least as new as the call.
    fn find_ends(&mut self);

    /// Reads from an offset on, in order: reports an [`Event::Message`] for each message until they
    /// have `bytes_max` bytes together, at least one message. At the end it waits for more.
    ///
    /// It replaces the read before it, whose remaining events never arrive. A read ends with
    /// [`Event::ReadEnded`], [`Event::OutOfRange`] or [`Event::Failed`].
    fn read(&mut self, from: Offset, bytes_max: usize);

    /// Gives back the space before an offset. Reports [`Event::Trimmed`] or [`Event::Failed`]. What
    /// is already gone does no harm.
    fn trim(&mut self, below: Offset);

    /// The next event, if there is one.
    fn next_event(&mut self) -> Option<Event>;

    /// Has `wake` called when there may be events, from any thread. Replaces the one before.
    fn on_event(&mut self, wake: Wake);
}

/// The topic whose partitions are the logs of a cluster's shards.
pub trait Topic: Send + Sync {
    /// The partition of a shard, for one more reader and writer.
    ///
    /// # Errors
    /// The topic has no such partition.
    fn partition(&self, shard: u32) -> Result<Box<dyn Partition>, Failure>;
}

/// An outcome that a [`Partition`] reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The message is replicated and stands at this offset.
    Appended {
        /// Which append.
        tag: u64,
        /// Where it stands.
        offset: Offset,
    },
    /// The message was refused or not acknowledged in time. It may stand in the log all the same,
    /// or arrive there later, unless the failure says otherwise.
    NotAppended {
        /// Which append.
        tag: u64,
        /// The cause.
        failure: Failure,
    },
    /// Where the partition begins and ends.
    Ends {
        /// The offset of its first message.
        start: Offset,
        /// The offset behind its last replicated message.
        end: Offset,
    },
    /// A message that was read.
    Message {
        /// Where it stands.
        offset: Offset,
        /// Its bytes.
        message: bytes::Bytes,
    },
    /// The read reported as many bytes as it was to. Read on from `next`.
    ReadEnded {
        /// The offset behind the last message reported.
        next: Offset,
    },
    /// The offset to read from is before the partition's start or behind its end.
    OutOfRange {
        /// The offset of its first message.
        start: Offset,
        /// The offset behind its last replicated message.
        end: Offset,
    },
    /// All before the offset, or somewhat less, is gone.
    Trimmed {
        /// Where the partition begins.
        start: Offset,
    },
    /// A call that finds, reads or trims failed.
    Failed {
        /// Which one.
        call: Call,
        /// The cause.
        failure: Failure,
    },
}

/// A call whose failure is reported by [`Event::Failed`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// [`Partition::find_ends`].
    FindEnds,
    /// [`Partition::read`].
    Read,
    /// [`Partition::trim`].
    Trim,
}

/// Why a call failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Whether the same call may succeed later, without a person's help.
    pub is_temporary: bool,
    /// Whether an append certainly left nothing in the log, and never will.
    pub is_certain: bool,
    /// The cause, with the broker's words.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Failure {}
