//! The files of a shard that are to be stored, as the shard's owner lists them.
//!
//! The owner knows which segments are needed: those with records behind the older checkpoint, with
//! living payloads, or pinned. A journal that nobody has open needs all that are there
//! ([`Books::of_stopped`]).

use std::path::{Path, PathBuf};

use stadium_journal::inspect::{Inspection, SegmentState as Found};
use stadium_journal::{Epoch, FileCheckpoints, JournalId, Position, SegmentNumber, copy};

use crate::Error;
use crate::manifest::{CHECKPOINTS_MAX, SegmentState};
use crate::moved::Moved;

/// The files of a shard that are to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Books {
    /// The folder of the shard, with `journal/` and `checkpoints/`.
    pub folder: PathBuf,
    /// The journal.
    pub journal: JournalId,
    /// The epoch of the writer. Of two writers that with the greater one wins.
    pub epoch: Epoch,
    /// The newest checkpoint, and the one before it if it is there. It may be only in the store.
    pub checkpoints: Vec<CheckpointSource>,
    /// The segments, oldest first. Those of a running journal must be sealed. With a mark, the
    /// replicated log behind it has all records that stand in none of them.
    pub segments: Vec<SegmentSource>,
    /// Segments that are no longer here, and that the newest manifest names: the next one names them
    /// too, since a checkpoint here may need their payloads.
    pub carried: Vec<SegmentNumber>,
    /// Segments that this manifest and each later one name, though their files may be gone: they
    /// hold records that stay. They are here, or in the newest manifest.
    pub moved: Vec<SegmentNumber>,
    /// When a file counts as stored.
    pub reuse: Reuse,
}

/// A checkpoint that is to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckpointSource {
    /// Its position, which names its file.
    pub position: Position,
    /// Where the replicated log is read on from; at most 256 bytes, which nobody here interprets.
    /// Empty without such a log: segments have all records then.
    pub mark: Vec<u8>,
}

/// A segment that is to be stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentSource {
    /// Its number, which names its file.
    pub number: SegmentNumber,
    /// Whether its file can still change.
    pub state: SegmentState,
    /// How many of its bytes are stored, where not all are: those after them may be being written,
    /// and those before them never change.
    pub until: Option<u64>,
}

/// When a file counts as the one that was stored before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reuse {
    /// When header and length are the same: a sealed segment never changes but by a repair, which
    /// leaves records out that the stored one has.
    ByHeader,
    /// When each byte is the same.
    ByContent,
}

/// How far an upload or a restore is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The shard.
    pub shard: u16,
    /// Bytes of it that were transferred, or did not have to be.
    pub bytes: u64,
    /// Bytes of all its files.
    pub of_bytes: u64,
}

impl Books {
    /// Everything in the folder of a shard whose journal nobody has open; the caller holds its lock
    /// ([`copy::hold`]). All of it is read and verified.
    ///
    /// # Errors
    /// `Journal` where the journal is damaged, or no checkpoint of several can be read.
    pub fn of_stopped(folder: &Path) -> Result<Self, Error> {
        let journal_folder = folder.join("journal");
        let (shard, journal, epoch) = copy::identity(&journal_folder)?;
        let mut checkpoints = Vec::new();
        if folder.join("checkpoints").is_dir() {
            let files = FileCheckpoints::read_only(&folder.join("checkpoints"), shard);
            let mut damaged = None;
            for (info, error) in files.verify_all()? {
                match error {
                    None => checkpoints.push(CheckpointSource { position: info.position, mark: Vec::new() }),
                    Some(error) => {
                        tracing::warn!(position = %info.position, %error, "A checkpoint cannot be read and is not stored");
                        damaged.get_or_insert(error);
                    }
                }
            }
            if let Some(error) = damaged.filter(|_| checkpoints.is_empty()) {
                return Err(error.into());
            }
            checkpoints.truncate(CHECKPOINTS_MAX);
        }
        let newest = checkpoints.first().map_or(Position::START, |newest| newest.position);
        let report = Inspection::open(&journal_folder)?.verify(newest)?;
        if let Some(damage) = report.damages.into_iter().next() {
            return Err(stadium_journal::Error::Corrupt(damage).into());
        }
        let segments = report.segments.iter().map(|segment| {
            let state = match segment.state {
                Found::Sealed | Found::Recovered => SegmentState::Sealed,
                Found::Open | Found::Empty | Found::Damaged => SegmentState::Open,
            };
            SegmentSource { number: segment.number, state, until: None }
        });
        Ok(Self {
            folder: folder.to_owned(),
            journal,
            epoch,
            checkpoints,
            segments: segments.collect(),
            carried: Vec::new(),
            moved: Moved::read(folder)?.numbers().collect(),
            reuse: Reuse::ByContent,
        })
    }

    pub(crate) fn checkpoint_file(&self, position: Position) -> PathBuf {
        self.folder.join("checkpoints").join(FileCheckpoints::file_name(position))
    }

    pub(crate) fn journal_folder(&self) -> PathBuf {
        self.folder.join("journal")
    }
}
