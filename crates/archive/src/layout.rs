//! Names of objects, and the numbers in them.
//!
//! The name of a file's object contains the epoch of its writer and a random number. So no writer
//! ever replaces an object that another one has stored, and the epoch is known from a listing.

use stadium_journal::{Epoch, Position, SegmentNumber};

/// The object that states the number of shards.
pub(crate) const ROOT: &str = "archive";
/// The folder of cuts, and the end of their names.
pub(crate) const CUTS: (&str, &str) = ("cuts", "cut");
/// The folder of a shard's manifests, and the end of their names.
pub(crate) const MANIFESTS: (&str, &str) = ("manifests", "manifest");
/// The folder of backups, and the end of their names.
pub(crate) const BACKUPS: (&str, &str) = ("backups", "backup");
/// The folder of the pieces of small files.
pub(crate) const FILES: &str = "files";
/// The folder of markers of backups and removals that are under way.
pub(crate) const UNDER_WAY: &str = "under-way";
const CHECKPOINTS: &str = "checkpoints";
const SEGMENTS: &str = "segments";

/// The folder of a shard.
pub(crate) fn shard(shard: u16) -> String {
    format!("shard-{shard:04}")
}

/// The folders of a shard in which files are kept.
pub(crate) fn file_folders(of: u16) -> [String; 2] {
    [CHECKPOINTS, SEGMENTS].map(|folder| format!("{}/{folder}", shard(of)))
}

/// Distinguishes an object from all others of the same file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Upload {
    /// The epoch of the writer.
    pub(crate) epoch: Epoch,
    /// Drawn for each object.
    pub(crate) random: u64,
}

impl Upload {
    pub(crate) fn new(epoch: Epoch) -> Self {
        Self { epoch, random: fastrand::u64(..) }
    }

    /// Reads it from the name of an object; `None` if it is none of a file.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let mut parts = name.rsplit('.');
        let (_suffix, random, epoch, rest) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        (!rest.is_empty() && parts.next().is_none()).then_some(())?;
        Some(Self { epoch: Epoch(hex(epoch)?), random: hex(random)? })
    }
}

impl std::fmt::Display for Upload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}.{:016x}", self.epoch.0, self.random)
    }
}

/// The name of a checkpoint's object.
pub(crate) fn checkpoint(of: u16, position: Position, upload: Upload) -> String {
    format!("{}/{CHECKPOINTS}/{:016x}.{upload}.checkpoint", shard(of), position.0)
}

/// The name of a segment's object.
pub(crate) fn segment(of: u16, number: SegmentNumber, upload: Upload) -> String {
    format!("{}/{SEGMENTS}/{:012}.{upload}.segment", shard(of), number.0)
}

/// A number of sixteen hexadecimal digits.
pub(crate) fn hex(digits: &str) -> Option<u64> {
    let is_number = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_number.then(|| u64::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upload_is_read_from_a_name() {
        let upload = Upload { epoch: Epoch(7), random: 0xfeed };
        for name in [checkpoint(3, Position(0xa81000), upload), segment(3, SegmentNumber(12), upload)] {
            let file = name.rsplit('/').next().expect("it has a last part");
            assert_eq!(Upload::of_name(file), Some(upload), "{name}");
        }
        for other in ["archive", "a.b", "000000000001.segment", "x.7.feed.segment", ".0.0.segment"] {
            assert_eq!(Upload::of_name(other), None, "{other}");
        }
    }
}
