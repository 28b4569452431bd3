//! Where the journals of a data directory are.
//!
//! ```text
//! DIRECTORY/shards/shards           text: `count = N`
//! DIRECTORY/shards/shard-0000/      journal/ and checkpoints/
//! ```
//!
//! The folder `shards` itself may be named as well, and the folder `shard-NUMBER` of one replica of a
//! node of a cluster: it holds one shard, and does not say how many there are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// One shard's folders.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) shard: u16,
    pub(crate) journal: PathBuf,
    pub(crate) checkpoints: PathBuf,
}

/// The journals that are audited together.
#[derive(Debug)]
pub(crate) struct Places {
    /// In the order of their numbers.
    pub(crate) shards: Vec<Place>,
    /// The number of all shards, which are all here; `None` for a replica of one.
    pub(crate) count: Option<u16>,
}

/// All shards of a data directory, or the one of a replica. One that is missing is an error: sums would
/// be wrong.
pub(crate) fn shards(directory: &Path) -> Result<Places, Error> {
    let inner = directory.join("shards");
    let all = if inner.is_dir() { inner } else { directory.to_owned() };
    let file = all.join("shards");
    if !file.exists()
        && let Some(replica) = replica(directory)
    {
        return Ok(Places { shards: vec![replica], count: None });
    }
    let text = fs::read_to_string(&file)
        .map_err(|error| Error::Directory(format!("{}: {error}", file.display())))?;
    let count =
        count(&text).ok_or_else(|| Error::Directory(format!("{} has no count of shards", file.display())))?;
    let places = (0..count)
        .map(|shard| {
            let place = Place::of(shard, &all.join(format!("shard-{shard:04}")));
            if place.journal.is_dir() {
                Ok(place)
            } else {
                Err(Error::Directory(format!(
                    "{} is missing: it should hold {count} shards",
                    place.journal.display()
                )))
            }
        })
        .collect::<Result<_, _>>()?;
    Ok(Places { shards: places, count: Some(count) })
}

/// The folder of one shard.
fn replica(folder: &Path) -> Option<Place> {
    let folder = fs::canonicalize(folder).ok()?;
    let shard = folder.file_name()?.to_str()?.strip_prefix("shard-")?.parse().ok()?;
    Some(Place::of(shard, &folder)).filter(|place| place.journal.is_dir())
}

impl Place {
    fn of(shard: u16, folder: &Path) -> Self {
        Self { shard, journal: folder.join("journal"), checkpoints: folder.join("checkpoints") }
    }
}

fn count(text: &str) -> Option<u16> {
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "count").then(|| value.trim())
    })?;
    value.parse().ok().filter(|&count| (1..=1_024).contains(&count))
}

#[cfg(test)]
mod tests {
    use super::shards;

    #[test]
    fn a_missing_shard_is_reported() {
        let data = tempfile::tempdir().expect("a temporary folder");
        let all = data.path().join("shards");
        std::fs::create_dir_all(all.join("shard-0000/journal")).expect("made");
        assert!(shards(data.path()).is_err(), "the count of shards is missing");
        std::fs::write(all.join("shards"), "version = 1\ncount = 2\n").expect("written");
        let error = shards(data.path()).expect_err("the second is missing").to_string();
        assert!(error.contains("shard-0001"), "{error}");
        std::fs::create_dir_all(all.join("shard-0001/journal")).expect("made");
        for directory in [data.path(), &all] {
            let both = shards(directory).expect("both");
            assert_eq!((both.shards.len(), both.count), (2, Some(2)));
        }
    }

    #[test]
    fn a_replica_is_one_shard_of_an_unknown_number() {
        let node = tempfile::tempdir().expect("a temporary folder");
        let replica = node.path().join("shard-7");
        std::fs::create_dir_all(replica.join("journal")).expect("made");
        let one = shards(&replica).expect("a replica");
        assert_eq!((one.shards.len(), one.shards[0].shard, one.count), (1, 7, None));
        assert!(shards(node.path()).is_err(), "replicas of a node are no whole directory");
    }
}
