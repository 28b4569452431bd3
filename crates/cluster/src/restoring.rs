//! Makes sure that a replica's folder can be followed from; restores it from the store otherwise.
//!
//! It cannot where the log was trimmed behind all that the folder has, as for a folder that was
//! deleted. The restored folder is written under other names. The replica's folder is replaced only
//! after the restored one is whole and durable. So after a crash there is the old folder, or the
//! restored one, and never half of one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stadium_archive::{Archive, Error as ArchiveError, Restored};
use stadium_journal::{Checkpoints as _, Error, FileCheckpoints, FolderDisk, copy};
use stadium_journal_log::{Log, Offset, Partition};
use stadium_journal_replicated::{Reach, ReplicatedOptions, ResumePoint, journal_id, reach};
use stadium_objects::Place;
use stadium_shard::core::checkpoint_mark;

use crate::archive::ArchiveSettings;

/// The time that the log has to state where it begins. A replica whose log does not answer is opened
/// without knowing it: to follow waits for the log anyway.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Opens a log for one more reader and writer.
pub(crate) type OpenLog<'a> = dyn Fn() -> Result<Box<dyn Partition>, Error> + 'a;

/// The end of the name of a folder that is whole and not in its place yet.
const RESTORED: &str = "restored";
/// The end of the name of a folder that another one replaced.
const REPLACED: &str = "replaced";

/// Restores the folder of a replica where it lacks what the log no longer has, or has nothing.
/// `partition` opens the log for one more reader.
pub(crate) fn prepare(
    folder: &Path,
    log: Log,
    archive: Option<&ArchiveSettings>,
    partition: &OpenLog<'_>,
) -> Result<(), Error> {
    put_in_place(folder)?;
    let trimmed = match trimmed(folder, log, partition) {
        Ok(trimmed) => trimmed,
        Err(Error::Io { kind: io::ErrorKind::TimedOut, .. } | Error::Failed { .. }) => None,
        Err(error) => return Err(error),
    };
    if trimmed.is_none() && !is_empty(folder)? {
        return Ok(());
    }
    let shard = log.shard;
    let restored = archive.map(|archive| restore(archive, folder, log)).transpose();
    match (restored, trimmed) {
        (Ok(Some(Some(restored))), _) => {
            tracing::info!(
                shard,
                manifest = restored.manifest,
                checkpoint = %restored.checkpoint,
                "Replica restored from the store"
            );
            Ok(())
        }
        (Ok(_), None) => Ok(()),
        (Err(error), None) => {
            tracing::warn!(shard, error, "Replica begins with its log, not with the store");
            Ok(())
        }
        (Ok(found), Some((newest, start))) => {
            let store = match found {
                None => "no store is configured",
                Some(_) => "the store has nothing of the shard",
            };
            Err(Error::Setting(format!(
                "shard {shard}: the log was trimmed up to offset {start}, this replica reads on from \
                 {newest}, and {store}: configure the store that the shard's owner uses, or copy \
                 {} from another node that is stopped (CLU-301)",
                folder.display()
            )))
        }
        (Err(error), Some((newest, start))) => Err(Error::Setting(format!(
            "shard {shard}: the log was trimmed up to offset {start}, this replica reads on from {newest}, \
             and it cannot be restored from the store: {error} (CLU-302)"
        ))),
    }
}

/// The offset of the newest point that the replica has, and that at which the log begins, where the
/// log was trimmed behind all of its points.
fn trimmed(folder: &Path, log: Log, partition: &OpenLog<'_>) -> Result<Option<(Offset, Offset)>, Error> {
    let journal = folder.join("journal");
    let disk = FolderDisk::create(&journal)
        .map_err(|error| Error::io(format!("making {}", journal.display()), &error))?;
    let mut options =
        ReplicatedOptions { claim_timeout: ANSWERS_WITHIN, start: None, ..ReplicatedOptions::new(log) };
    let of_mirror = reach(partition()?, &disk, &options)?;
    let Reach::Trimmed { start, .. } = of_mirror else { return Ok(None) };
    // The points of the mirror are newer as a rule: a checkpoint is read to its end to be believed.
    let checkpoints = FileCheckpoints::read_only(&folder.join("checkpoints"), log.shard);
    if checkpoint_count(folder)? > 0
        && let Some(newest) = checkpoints.newest()?
        && let Ok(mark) = checkpoint_mark(newest)
    {
        options.start = ResumePoint::decode(&mark).ok();
    }
    match reach(partition()?, &disk, &options)? {
        Reach::Reached => Ok(None),
        Reach::Trimmed { newest, .. } => Ok(Some((newest, start))),
    }
}

fn checkpoint_count(folder: &Path) -> Result<usize, Error> {
    let folder = folder.join("checkpoints");
    match folder.is_dir() {
        true => FileCheckpoints::read_only(&folder, 0).list().map(|listed| listed.len()),
        false => Ok(0),
    }
}

/// Whether a replica has nothing to begin with.
fn is_empty(folder: &Path) -> Result<bool, Error> {
    Ok(checkpoint_count(folder)? == 0 && copy::segments(&folder.join("journal"))?.is_empty())
}

/// Writes the folder anew from the newest manifest; `None` where the store has nothing of the shard.
fn restore(settings: &ArchiveSettings, folder: &Path, log: Log) -> Result<Option<Restored>, String> {
    let number = u16::try_from(log.shard).map_err(|_| format!("there is no shard {}", log.shard))?;
    let whole = named(folder, RESTORED);
    let runtime = stadium_objects::runtime().map_err(|error| error.to_string())?;
    let restored = runtime.block_on(async {
        let place = Place::find(&settings.url, &settings.access).await?;
        let archive = Archive::open(place, &settings.archive).await?;
        let archive = archive.shard(number)?;
        let journal = archive.newest().await?.map_or(journal_id(log), |newest| newest.journal());
        if journal != journal_id(log) {
            let what = format!("the store has journal {journal}, which is not of {log}: correct the URL");
            return Err(ArchiveError::Foreign(what));
        }
        archive.restore(&whole, &mut |_| ()).await
    });
    let restored = match restored {
        Ok(restored) => restored,
        Err(ArchiveError::Incomplete(_)) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    put_in_place(folder).map_err(|error| error.to_string())?;
    Ok(Some(restored))
}

/// Gives a restored folder its name, if there is one, and removes the folder that it replaces.
fn put_in_place(folder: &Path) -> Result<(), Error> {
    let (whole, replaced) = (named(folder, RESTORED), named(folder, REPLACED));
    if whole.is_dir() {
        // Nobody may have the mirror open, or write to files that are being replaced.
        let journal = folder.join("journal");
        let _held = if journal.is_dir() { Some(copy::hold(&journal)?) } else { None };
        remove(&replaced)?;
        if folder.is_dir() {
            rename(folder, &replaced)?;
        }
        rename(&whole, folder)?;
    }
    remove(&replaced)
}

fn named(folder: &Path, end: &str) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(end);
    folder.with_file_name(name)
}

fn remove(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(format!("removing {}", folder.display()), &error))
        }
        _ => Ok(()),
    }
}

/// Renames a folder, durably.
fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    let parent = to.parent().unwrap_or(Path::new("."));
    let renamed = fs::rename(from, to).and_then(|()| fs::File::open(parent)?.sync_all());
    renamed.map_err(|error| Error::io(format!("renaming {} to {}", from.display(), to.display()), &error))
}
