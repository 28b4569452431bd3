//! The journals that `verify`, `receipt`, `roots` and `reconcile` read: those of a data directory,
//! with the segments that its server moved to the backups, or those of the newest backup alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use stadium_archive::{Access, Moved, StoredJournal, stored_journals};
use stadium_audit::{HexHash, Journal, NotedSeal, Source};
use stadium_journal::shards;
use tempfile::TempDir;

use crate::command::journal::archive::failure;
use crate::failure::{Context, Failure};

/// The place of segments that the data directory does not have.
#[derive(Debug, Args)]
#[command(next_help_heading = "Backups")]
pub(super) struct BackupFlags {
    /// The backups to which the server moved old segments: s3://, gs://, az:// or file:// and a
    /// path
    #[arg(long, value_name = "URL")]
    backup: Option<String>,
    /// A folder with room for a gigabyte of segments of the backups; that of temporary files if
    /// none is named
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

/// The journals, and the folder in which their segments are while they are read.
pub(super) struct Journals {
    source: Source,
    _scratch: Option<TempDir>,
}

impl Journals {
    /// The journals, for the audit.
    pub(super) fn source(&self) -> Source {
        self.source.clone()
    }
}

impl BackupFlags {
    /// Whether one of them is there.
    pub(super) fn is_given(&self) -> bool {
        self.backup.is_some() || self.scratch.is_some()
    }

    /// Opens the journals of a data directory, or of backups where it is a URL.
    pub(super) fn open(&self, directory: &Path) -> Result<Journals, Failure> {
        let alone = directory.to_str().filter(|text| text.contains("://"));
        match (alone, &self.backup) {
            (Some(_), Some(_)) => Err(Failure::Usage(
                "name a data directory with --backup, or the URL of backups alone".to_owned(),
            )),
            (Some(url), None) => self.stored(url, None),
            (None, Some(url)) => self.stored(url, Some(&all(directory))),
            (None, None) => {
                refuse_moved(directory)?;
                Ok(Journals { source: Source::from(directory), _scratch: None })
            }
        }
    }

    fn stored(&self, url: &str, directory: Option<&Path>) -> Result<Journals, Failure> {
        let parent = self.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let scratch = tempfile::Builder::new().prefix("stadium-wallet-").tempdir_in(&parent);
        let scratch = scratch.context(parent.display())?;
        let journals =
            stored_journals(url, &Access::default(), directory, scratch.path()).map_err(failure)?;
        let journals = journals.into_iter().map(journal).collect::<Result<_, _>>()?;
        Ok(Journals { source: Source::of(journals), _scratch: Some(scratch) })
    }
}

fn journal(stored: StoredJournal) -> Result<Journal, Failure> {
    let mut seals = Vec::with_capacity(stored.seals.len());
    for (seal, by) in &stored.seals {
        let root: HexHash = seal.root.parse().context(format_args!("a root in {by}"))?;
        seals.push(NotedSeal { number: seal.number, root, by: by.clone() });
    }
    Ok(Journal {
        shard: stored.shard,
        disk: Arc::clone(&stored.disk),
        in_use_by: stored.in_use_by,
        checkpoint: stored.checkpoint,
        seals,
        damages: Arc::new(move || stored.damages()),
    })
}

/// The folder of all shards, which may be named itself.
fn all(directory: &Path) -> PathBuf {
    let inner = directory.join("shards");
    if inner.is_dir() { inner } else { directory.to_owned() }
}

/// A directory without its old segments proves nothing.
fn refuse_moved(directory: &Path) -> Result<(), Failure> {
    let all = all(directory);
    // A directory that is none is refused by its reader.
    for shard in 0..shards::count(&all).unwrap_or(0) {
        let folder = shards::folder(&all, shard);
        let moved = Moved::read(&folder).map_err(failure)?;
        let gone = moved.gone(&folder).map_err(failure)?;
        if let (Some(first), Some(last)) = (gone.first(), gone.last()) {
            let (from, to) = (first.positions().start, last.positions().end);
            return Err(Failure::new(format!(
                "{}: the segments of shard {shard} from position {from} to {to} were moved to the backups, up to \
                 seal {}: read them there with --backup {}",
                directory.display(),
                last.seal,
                moved.to
            )));
        }
    }
    Ok(())
}
