//! Copies of a journal's files: which files there are, which journal they belong to, and the file
//! `control` of a copy.
//!
//! A copy of a folder consists of its segments and `control`; the other files are made again when
//! the journal is opened. The layout is in docs/formats/journal.md.

use std::io;
use std::path::Path;

use crate::disk::{Disk, LockError};
use crate::file::recover::{CONTROL, read_control};
use crate::file::segments::segment_number;
use crate::folder::FolderDisk;
use crate::header::Slot;
use crate::inspect::read_header;
use crate::{Epoch, Error, JournalId, LockGuard, Position, SegmentNumber};

pub use crate::file::segments::segment_name;

/// The statements of a segment's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentHead {
    /// The shard.
    pub shard: u32,
    /// The journal.
    pub journal: JournalId,
    /// Its number.
    pub number: SegmentNumber,
    /// The position of the file's first byte.
    pub base: Position,
    /// The next segment's base is this many bytes further on.
    pub capacity: u64,
    /// The checksum of the header. A file that is used again for another segment gets another one.
    pub seed: u32,
}

/// Reads the header of a segment, and the length of its file.
///
/// # Errors
/// `Foreign` where the file is no segment of this number, or of a newer version; `Io`.
pub fn segment_head(folder: &Path, number: SegmentNumber) -> Result<(SegmentHead, u64), Error> {
    let disk = FolderDisk::read_only(folder);
    let name = segment_name(number);
    let foreign = |what: String| Error::Foreign(format!("{}/{name}: {what}", disk.place()));
    let (header, seed, bytes) = read_header(&disk, &name)?.map_err(|wrong| foreign(wrong.to_string()))?;
    if header.number != number {
        return Err(foreign(format!("it is segment {}", header.number)));
    }
    let head = SegmentHead {
        shard: header.shard,
        journal: header.journal,
        number,
        base: header.base,
        capacity: header.capacity,
        seed,
    };
    Ok((head, bytes))
}

/// The numbers of all segments in a folder, oldest first.
///
/// # Errors
/// `Io`.
pub fn segments(folder: &Path) -> Result<Vec<SegmentNumber>, Error> {
    let disk = FolderDisk::read_only(folder);
    let names = disk.list().map_err(|error| listing(&disk, &error))?;
    let mut numbers: Vec<_> = names.iter().filter_map(|name| segment_number(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Which journal a folder holds, of which shard, and how often it was opened.
///
/// # Errors
/// `Foreign` where it holds none, or one of a newer version; `Corrupt`, `Io`.
pub fn identity(folder: &Path) -> Result<(u32, JournalId, Epoch), Error> {
    let disk = FolderDisk::read_only(folder);
    let names = disk.list().map_err(|error| listing(&disk, &error))?;
    match read_control(&disk, &names)?.1 {
        Some(Slot { shard, journal, epoch }) => Ok((shard, journal, epoch)),
        None => Err(Error::Foreign(format!("{} holds no journal", disk.place()))),
    }
}

/// Keeps everybody from opening the journal in a folder until the guard is dropped.
///
/// # Errors
/// `InUse`, `Io`.
pub fn hold(folder: &Path) -> Result<LockGuard, Error> {
    let disk = FolderDisk::read_only(folder);
    disk.lock().map_err(|error| match error {
        LockError::Held(process) => Error::InUse { place: disk.place(), process },
        LockError::Io(error) => Error::io(format!("cannot lock {}", disk.place()), &error),
    })
}

/// Writes `control` into a folder of copied segments and makes it durable: the journal was opened
/// `epoch` times, and the next opening has a greater epoch.
///
/// # Errors
/// `Full`, `Io`.
pub fn write_control(folder: &Path, shard: u32, journal: JournalId, epoch: Epoch) -> Result<(), Error> {
    let write = || -> io::Result<()> {
        let disk = FolderDisk::create(folder)?;
        let file = disk.create(CONTROL)?;
        file.write_at(&Slot { shard, journal, epoch }.control(), 0)?;
        file.sync()?;
        disk.sync_folder()
    };
    write().map_err(|error| Error::io(format!("writing {}/{CONTROL} failed", folder.display()), &error))
}

fn listing(disk: &FolderDisk, error: &io::Error) -> Error {
    Error::io(format!("listing the files of {} failed", disk.place()), error)
}
