//! Where the journals of a data directory are.
//!
//! ```text
//! DIRECTORY/shards/shards           text: `count = N`
//! DIRECTORY/shards/shard-0000/      journal/ and checkpoints/
//! ```
//!
//! The folder `shards` itself may be named as well.

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

/// All shards of a data directory, in their order. One that is missing is an error: sums would be wrong.
pub(crate) fn shards(directory: &Path) -> Result<Vec<Place>, Error> {
    let inner = directory.join("shards");
    let all = if inner.is_dir() { inner } else { directory.to_owned() };
    let file = all.join("shards");
    let text = fs::read_to_string(&file)
        .map_err(|error| Error::Directory(format!("{}: {error}", file.display())))?;
    let count =
        count(&text).ok_or_else(|| Error::Directory(format!("{} has no count of shards", file.display())))?;
    (0..count)
        .map(|shard| {
            let folder = all.join(format!("shard-{shard:04}"));
            let place =
                Place { shard, journal: folder.join("journal"), checkpoints: folder.join("checkpoints") };
            if place.journal.is_dir() {
                Ok(place)
            } else {
                Err(Error::Directory(format!(
                    "{} is missing: it should hold {count} shards",
                    place.journal.display()
                )))
            }
        })
        .collect()
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
        assert_eq!(shards(data.path()).expect("both").len(), 2);
        assert_eq!(shards(&all).expect("both").len(), 2);
    }
}
