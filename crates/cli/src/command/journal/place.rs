//! Where journals are: found from a data directory, the folder of all shards, one shard's, or a journal's own.

use std::path::{Path, PathBuf};

use clap::Args;
use stadium_journal::inspect::Inspection;
use stadium_journal::{Checkpoints, FileCheckpoints, Position};
use stadium_node::replay::{Refused, Replayed};

use crate::failure::{Context, Failure};

/// Which journals.
#[derive(Debug, Args)]
pub(super) struct PlaceArguments {
    /// A server's data directory, or one shard's folder in it
    pub(super) directory: PathBuf,
    /// Only this shard
    #[arg(long, value_name = "N")]
    pub(super) shard: Option<u16>,
}

/// A shard's folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shard {
    /// Its number, from its folder's name.
    pub(super) number: u16,
    /// Its journal.
    pub(super) journal: PathBuf,
    checkpoints: PathBuf,
}

impl PlaceArguments {
    /// The shards, in their order; at least one.
    pub(super) fn shards(&self) -> Result<Vec<Shard>, Failure> {
        let found =
            find(&self.directory).context(format_args!("{} cannot be listed", self.directory.display()))?;
        let wanted: Vec<Shard> = found
            .into_iter()
            .filter(|shard| self.shard.is_none_or(|number| shard.number == number))
            .collect();
        if wanted.is_empty() {
            let which = self.shard.map(|number| format!(" of shard {number}")).unwrap_or_default();
            return Err(Failure::new(format!(
                "there is no journal{which} in {}: name a server's data directory, or a shard's folder in it",
                self.directory.display()
            )));
        }
        Ok(wanted)
    }
}

fn find(directory: &Path) -> std::io::Result<Vec<Shard>> {
    let all = directory.join("shards");
    let all = if all.is_dir() { all } else { directory.to_owned() };
    let mut shards = Vec::new();
    for entry in std::fs::read_dir(&all)? {
        let path = entry?.path();
        if number_of(&path).is_some() && path.join("journal").is_dir() {
            shards.push(of_folder(&path));
        }
    }
    shards.sort_by_key(|shard| shard.number);
    if shards.is_empty() && directory.join("journal").is_dir() {
        shards.push(of_folder(directory));
    } else if shards.is_empty() && directory.file_name().is_some_and(|name| name == "journal") {
        shards.extend(directory.parent().map(of_folder));
    }
    Ok(shards)
}

fn of_folder(path: &Path) -> Shard {
    Shard {
        number: number_of(path).unwrap_or(0),
        journal: path.join("journal"),
        checkpoints: path.join("checkpoints"),
    }
}

/// `shard-0007` is shard 7.
fn number_of(path: &Path) -> Option<u16> {
    path.file_name()?.to_str()?.strip_prefix("shard-")?.parse().ok()
}

impl Shard {
    /// Checkpoints that cannot be read, in words. Recovery passes them over as long as one is whole.
    pub(super) fn damaged_checkpoints(&self) -> Result<Vec<String>, Failure> {
        if !self.checkpoints.is_dir() {
            return Ok(Vec::new());
        }
        let checkpoints = FileCheckpoints::read_only(&self.checkpoints, u32::from(self.number));
        let all = checkpoints.verify_all().context(self.checkpoints.display())?;
        Ok(all.into_iter().filter_map(|(_, error)| error).map(|error| error.to_string()).collect())
    }

    /// Where its newest whole checkpoint is; the start where there is none.
    pub(super) fn checkpoint(&self) -> Result<Position, Failure> {
        if !self.checkpoints.is_dir() {
            return Ok(Position::START);
        }
        let checkpoints = FileCheckpoints::read_only(&self.checkpoints, u32::from(self.number));
        let newest = checkpoints.newest().context(self.checkpoints.display())?;
        Ok(newest.map_or(Position::START, |reader| reader.info().position))
    }

    /// Reads it as a start does, through every state machine, and changes nothing. None where it does not lie in a directory of shards,
    /// which says how many there are.
    pub(super) fn replay(&self) -> Option<Result<Replayed, Refused>> {
        let folder = std::path::absolute(self.journal.parent()?).ok()?;
        let all = folder.parent()?;
        (all.join("shards").is_file() && number_of(&folder) == Some(self.number))
            .then(|| stadium_node::replay::replay(all, self.number))
    }

    /// Looks at the journal.
    pub(super) fn inspect(&self) -> Result<Inspection, Failure> {
        Inspection::open(&self.journal).context(self.shown())
    }

    /// Its folder, as it was named.
    pub(super) fn shown(&self) -> String {
        self.journal.display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_found_from_wherever_one_stands() {
        let data = tempfile::tempdir().expect("a temporary directory can be made");
        for number in [1, 0] {
            let folder = data.path().join(format!("shards/shard-000{number}/journal"));
            std::fs::create_dir_all(folder).expect("the directory is writable");
        }
        let numbers = |directory: &Path| -> Vec<u16> {
            find(directory).expect("it can be listed").iter().map(|shard| shard.number).collect()
        };
        assert_eq!(numbers(data.path()), [0, 1]);
        assert_eq!(numbers(&data.path().join("shards")), [0, 1]);
        assert_eq!(numbers(&data.path().join("shards/shard-0001")), [1]);
        assert_eq!(numbers(&data.path().join("shards/shard-0001/journal")), [1]);
        let elsewhere = tempfile::tempdir().expect("a temporary directory can be made");
        assert_eq!(numbers(elsewhere.path()), [] as [u16; 0]);
    }
}
