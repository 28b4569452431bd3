//! Segments whose records stay, after they moved to the store: which ones a shard has moved.
//!
//! The file `moved.json` in a shard's folder names them, durably before the first of them is
//! removed. It shows that a directory is not the whole history, and whether a store is the one that
//! has the rest. The store keeps these segments by itself: each manifest names those of the one
//! before it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stadium_journal::{Position, SegmentNumber};

use crate::Error;

const FILE: &str = "moved.json";
const FILE_NEW: &str = "moved.json.new";
const VERSION: u32 = 1;

/// The segments that a shard has moved, oldest first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Moved {
    version: u32,
    /// The URL of the backups.
    pub to: String,
    /// Each of them.
    pub segments: Vec<MovedSegment>,
}

/// A segment that a shard has moved, or is about to remove.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MovedSegment {
    /// Its number.
    pub number: u64,
    /// The position of its first byte.
    pub base: u64,
    /// Records from here on are in later segments.
    pub limit: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// The SHA-256 of the file without the zeros at its end, 64 hexadecimal digits.
    pub sha256: String,
    /// The number of a seal of the wallets whose record is behind all of its records.
    pub seal: u64,
    /// The root of that seal, 64 hexadecimal digits.
    pub root: String,
}

impl Moved {
    /// Reads the file in the folder of a shard. None of its segments may have been removed yet.
    ///
    /// # Errors
    /// `File`, also where it cannot be understood.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let read = || -> io::Result<Self> {
            let text = match fs::read(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Self { version: VERSION, to: String::new(), segments: Vec::new() });
                }
                read => read?,
            };
            let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
            let moved: Self = serde_json::from_slice(&text).map_err(|error| invalid(error.to_string()))?;
            match moved.version {
                VERSION => Ok(moved),
                other => Err(invalid(format!("it has version {other}; known is {VERSION}"))),
            }
        };
        read().map_err(Error::file(&path))
    }

    /// Writes the file, durably.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        let (path, new) = (folder.join(FILE), folder.join(FILE_NEW));
        let write = || -> io::Result<()> {
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
            serde_json::to_writer(&mut file, self).map_err(io::Error::other)?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            File::open(folder)?.sync_all()
        };
        write().map_err(Error::file(&path))
    }

    /// Adds segments, in the place of those with the same numbers.
    pub(crate) fn add(&mut self, to: &str, segments: Vec<MovedSegment>) {
        to.clone_into(&mut self.to);
        self.segments.retain(|known| segments.iter().all(|new| new.number != known.number));
        self.segments.extend(segments);
        self.segments.sort_unstable_by_key(|segment| segment.number);
    }

    /// The numbers of the segments.
    pub fn numbers(&self) -> impl Iterator<Item = SegmentNumber> {
        self.segments.iter().map(|segment| SegmentNumber(segment.number))
    }

    /// Those that are no longer in the folder of the shard.
    ///
    /// # Errors
    /// `Journal`.
    pub fn gone(&self, folder: &Path) -> Result<Vec<&MovedSegment>, Error> {
        let here = stadium_journal::copy::segments(&folder.join("journal"))?;
        let is_gone = |segment: &&MovedSegment| here.binary_search(&SegmentNumber(segment.number)).is_err();
        Ok(self.segments.iter().filter(is_gone).collect())
    }
}

impl MovedSegment {
    /// The positions of its records.
    #[must_use]
    pub fn positions(&self) -> std::ops::Range<Position> {
        Position(self.base)..Position(self.limit)
    }
}
