//! What checkpoints promise, whatever they are kept on.
//!
//! A checkpoint is the state after all records before a position. It exists when its writer has
//! finished, and not before; a damaged one is skipped for the one before it.

use crate::{Error, Position};

/// The longest chunk, bytes: a reader may have to hold as many at once.
pub const CHUNK_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Where a shard's checkpoints are. The newest two that are whole are kept.
pub trait Checkpoints: Send {
    /// Begins a checkpoint of the state at `position`. The writer may go to another thread.
    ///
    /// # Errors
    /// `Full`, `Io`.
    fn begin(&self, position: Position) -> Result<Box<dyn CheckpointWriter>, Error>;

    /// The newest checkpoint that is whole: all its checksums were verified. One that is damaged,
    /// or that the disk does not read, is skipped and logged as an error.
    ///
    /// # Errors
    /// `Descriptors`, `Foreign`; `Corrupt` or `Io` where checkpoints exist and none can be read.
    fn newest(&self) -> Result<Option<Box<dyn CheckpointReader>>, Error>;

    /// What is kept, newest first. Records from the last one's position on must stay in the journal.
    ///
    /// # Errors
    /// `Io`.
    fn list(&self) -> Result<Vec<CheckpointInfo>, Error>;
}

/// One checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointInfo {
    /// The state in it is that before this position.
    pub position: Position,
    /// Bytes on disk.
    pub bytes: u64,
}

/// Writes one checkpoint. Dropping it unfinished leaves no trace.
pub trait CheckpointWriter: Send {
    /// Adds a chunk of 1 to [`CHUNK_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// `Full`, `TooLarge`, `Io`; give it up then.
    fn chunk(&mut self, body: &[u8]) -> Result<(), Error>;

    /// Makes it durable and gives it its name; removes what is neither it nor the newest whole one before it. The journal must be durable up to its position before.
    ///
    /// # Errors
    /// `Full`, `Io`: the checkpoint does not exist.
    fn finish(self: Box<Self>) -> Result<CheckpointInfo, Error>;
}

/// Reads one checkpoint, chunk by chunk as they were written.
pub trait CheckpointReader: Send {
    /// Which one this is.
    fn info(&self) -> CheckpointInfo;

    /// The next chunk; `None` after the last.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    fn next(&mut self) -> Result<Option<&[u8]>, Error>;
}
