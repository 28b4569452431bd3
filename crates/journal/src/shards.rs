//! The folder of all shards of a server, and the number that is fixed in it.
//!
//! ```text
//! shards            version and number of shards, written when the directory is made
//! shard-0000/       journal/ and checkpoints/ of the first shard
//! shard-0001/       ...
//! ```
//!
//! A job's id contains its shard, and a queue's name hashes to one: so their number cannot change.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Shards at most: a job's id has ten bits for them.
pub const COUNT_MAX: u16 = 1_024;

/// The version of the file that this code writes and reads.
pub const VERSION: u32 = 1;

const FILE: &str = "shards";
const FILE_NEW: &str = "shards.new";

/// The file that states the number of shards.
#[must_use]
pub fn file(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

/// The folder of a shard.
#[must_use]
pub fn folder(directory: &Path, shard: u16) -> PathBuf {
    directory.join(format!("shard-{shard:04}"))
}

/// For how many shards the directory was made.
///
/// # Errors
/// Of the file system; `InvalidData` where the file states no number, or is of another version.
pub fn count(directory: &Path) -> io::Result<u16> {
    let text = fs::read_to_string(file(directory))?;
    parse(&text).map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what))
}

/// Writes the number of shards, so that it is there after a crash.
///
/// # Errors
/// Of the file system.
pub fn write(directory: &Path, count: u16) -> io::Result<()> {
    let new = directory.join(FILE_NEW);
    let mut made = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    write!(made, "version = {VERSION}\ncount = {count}\n")?;
    made.sync_all()?;
    fs::rename(&new, file(directory))?;
    File::open(directory)?.sync_all()
}

fn parse(text: &str) -> Result<u16, String> {
    let value = |name: &str| {
        text.lines().find_map(|line| {
            line.split_once('=').filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
        })
    };
    match value("version").and_then(|version| version.parse::<u32>().ok()) {
        Some(VERSION) => {}
        Some(version) => return Err(format!("it has version {version}; known is {VERSION}")),
        None => return Err("it has no version".into()),
    }
    let count = value("count").and_then(|count| count.parse().ok());
    count.filter(|count| (1..=COUNT_MAX).contains(count)).ok_or_else(|| "it has no number of shards".into())
}
