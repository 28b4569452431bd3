//! The promises of every journal, and the further abilities of one that is kept in segments.
//!
//! One owner appends; other threads read through [`Reader`]s. The promises of both parts are tested
//! by [`crate::conformance`], which each implementation calls.

use std::sync::Arc;
use std::time::Duration;

use crate::{Epoch, Error, JournalId, Metrics, Position, SegmentNumber};

/// Called after each commit, also a failed one, by the journal's thread; by the owner's within
/// [`Journal::commit`] where the log has no thread. It must only wake somebody.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// The log of a shard, held by its one writer.
///
/// Append, commit, go on working; records before [`Journal::durable`] may be acknowledged. Nothing
/// is durable by being appended, and nothing becomes so without [`Journal::commit`]. Dropping a
/// journal loses the records that were not committed.
pub trait Journal: Send {
    /// Puts a record into the open batch and gives it its position. Never waits for the disk.
    ///
    /// # Errors
    /// `Busy`, `Full`, `TooLarge`: nothing happened. `Failed`, `Fenced`, `Unknown`: this handle is at
    /// its end.
    fn append(&mut self, record: &[u8]) -> Result<Position, Error>;

    /// Like [`Journal::append`], and may use the room set aside, so that records that free room
    /// work on a full disk.
    ///
    /// # Errors
    /// As for `append`; `Full` only when the room set aside is used up as well.
    fn append_reserved(&mut self, record: &[u8]) -> Result<Position, Error>;

    /// Returns the position of the next record, if it has at most `bytes` bytes and is appended
    /// with the same `room`.
    ///
    /// Begins a new segment where the current one can't take that many. A refusal here comes before
    /// anything was decided; after this call, that append can fail only because the handle did.
    ///
    /// # Errors
    /// As for [`Journal::append`].
    fn make_room(&mut self, bytes: usize, room: Room) -> Result<Position, Error>;

    /// Starts to make durable all that was appended; returns at once.
    ///
    /// While one commit runs others wait and become one. Calling it with nothing new is cheap.
    ///
    /// # Errors
    /// `Failed`, `Fenced`, `Unknown`.
    fn commit(&mut self) -> Result<(), Error>;

    /// All before the position is on disk. Call it after each wake: it also starts a commit that had to wait for others.
    ///
    /// # Errors
    /// A commit failed, now and for ever on this handle. `Failed`: the records behind the durable
    /// position are cut when the journal is opened again. `Fenced`: somebody else is the owner.
    /// `Unknown`: nobody can tell here which records behind the durable position count.
    fn durable(&mut self) -> Result<Position, Error>;

    /// Waits until all that was committed is durable, or `timeout` is over; then returns the
    /// durable position.
    ///
    /// # Errors
    /// As for [`Journal::durable`].
    fn wait(&mut self, timeout: Duration) -> Result<Position, Error>;

    /// Ends the writing: the records that were handed over become durable or do not, and none
    /// becomes so any more. Returns the durable position then, where it is known; records behind it
    /// that are cut when the journal is opened again did not happen. `None`: records behind the last
    /// durable position may have happened. Afterwards there are only reads.
    ///
    /// A replicated log cuts nothing. If it returns the position, the records behind it do not count
    /// and never will, also after `Fenced`.
    fn stop(&mut self) -> Option<Position> {
        match self.durable() {
            Ok(durable) | Err(Error::Failed { durable, .. }) => Some(durable),
            Err(_) => None,
        }
    }

    /// Has `wake` called after each commit. Replaces the one before.
    fn on_durable(&mut self, wake: Wake);

    /// The position after the last record appended; the next record's is this or greater.
    fn end(&self) -> Position;

    /// Reads a part of a record's body, from memory or the disk; it need not be durable. The record's checksum is not looked
    /// at: what matters carries its own. `offset` counts from the body's first byte.
    ///
    /// # Errors
    /// `Gone`, `NoRecord` past the end, `Io`.
    fn read_at(&self, record: Position, offset: u32, into: &mut [u8]) -> Result<(), Error>;

    /// A reader for any thread: recovery, history, dump. It sees what is durable.
    fn reader(&self) -> Box<dyn Reader>;

    /// Where the log begins: what stood before it was trimmed. Not after [`Journal::end`]. A log
    /// that is opened again may begin earlier than it did, where the space was not given back in
    /// time.
    fn start(&self) -> Position;

    /// Gives back the space of what stands before `below`, which nobody needs any more.
    ///
    /// A log gives space back in pieces, so it may keep more than it is asked to;
    /// [`Journal::start`] shows the result. It keeps the records at `below` and after it, and those
    /// that are not durable. Trimming again, or beyond the end, is allowed.
    ///
    /// # Errors
    /// `Failed`, `Fenced`.
    fn trim(&mut self, below: Position) -> Result<(), Error>;

    /// The abilities of a log that is kept in segments; `None` where it can only be trimmed.
    fn segmented(&self) -> Option<&dyn Segmented> {
        None
    }

    /// Like [`Journal::segmented`], to change something.
    fn segmented_mut(&mut self) -> Option<&mut dyn Segmented> {
        None
    }

    /// Which records of up to 4 KiB an append takes now; `None`: none at all.
    fn room(&self) -> Option<Room>;

    /// Which journal this is.
    fn id(&self) -> JournalId;

    /// Which writer this is.
    fn epoch(&self) -> Epoch;

    /// Counts since this handle was opened.
    fn metrics(&self) -> Metrics;
}

/// The further abilities of a log whose segments can be removed one by one, such as files on a local
/// disk.
///
/// A log on a message broker or in memory has only [`Journal::trim`]. Appending and committing
/// never go through this trait.
pub trait Segmented {
    /// The segments there are, oldest first; the last one is being written.
    fn segments(&self) -> Vec<Segment>;

    /// Removes a sealed segment, wherever it stands. Its space is used again or given back.
    ///
    /// The caller has made sure that nothing in it is needed: no payload, and no record from the
    /// older kept checkpoint's position on.
    ///
    /// # Errors
    /// `NoRecord` if there is no such segment or it is being written.
    fn remove(&mut self, segment: SegmentNumber) -> Result<(), Error>;

    /// Lets the next record begin a new segment, so that the current one can be removed one day.
    /// Does nothing if it is empty.
    ///
    /// It belongs here because it ends a segment, which other logs do not have. The writing of a
    /// whole log is ended by [`Journal::stop`], and by an opening that fences
    /// ([`crate::Holder::Fence`]).
    ///
    /// # Errors
    /// As for [`Journal::append`].
    fn seal(&mut self) -> Result<(), Error>;
}

/// Which room a record may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// What everybody may use.
    Ordinary,
    /// Also what is set aside for records that free room.
    Reserved,
}

/// One segment, as its owner sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its number.
    pub number: SegmentNumber,
    /// The position of its first byte.
    pub start: Position,
    /// The position after its last frame.
    pub end: Position,
    /// Records before this position are in this segment or an earlier one; later segments begin
    /// here or after it.
    pub limit: Position,
    /// Bytes of disk that it takes.
    pub bytes: u64,
    /// Whether nothing is appended to it any more.
    pub is_sealed: bool,
}

/// Reads records in their order, from any thread.
pub trait Reader: Send {
    /// Goes to the first record at or after `to`, which is a record's position, an earlier
    /// [`Journal::end`], or [`Position::START`]. Where the log was trimmed or segments were removed
    /// it goes to the next record.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    fn seek(&mut self, to: Position) -> Result<(), Error>;

    /// The next durable record; `None` at the durable end, later perhaps more. Trimmed and removed
    /// records are skipped.
    ///
    /// # Errors
    /// `Corrupt`, `Io`; the reader stays where it is.
    fn next(&mut self) -> Result<Option<Record<'_>>, Error>;

    /// The durable record at exactly this position; the next [`Reader::next`] gives the one after it.
    ///
    /// # Errors
    /// `Gone`, `NoRecord`, `Corrupt`, `Io`.
    fn record(&mut self, at: Position) -> Result<Record<'_>, Error>;
}

/// A record, its checksum verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// Where it stands.
    pub position: Position,
    /// The position after it.
    pub end: Position,
    /// What was appended.
    pub body: &'a [u8],
}
