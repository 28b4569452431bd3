//! Writes a data directory as it was at a moment.
//!
//! All is written in a folder of a marked directory ([`super::unfinished`]) and moves to its place
//! when it is whole, durable and proved by the caller. So no server ever serves half a restore, and
//! one that was interrupted begins again.

use std::path::{Path, PathBuf};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use stadium_journal::copy::{segment_name, write_control};
use stadium_journal::inspect::Inspection;
use stadium_journal::{Position, make_folder, shards};
use stadium_objects::{Access, Place, read_object};

use super::cut::cut;
use super::files;
use super::moment::{Moment, TimeOf, around, together};
use super::record::Backup;
use super::secrets_key::SecretsKey;
use super::unfinished::Unfinished;
use crate::blocking::run;
use crate::{Archive, Error, Manifest, Progress, Settings, layout};

/// Backups that are read at once.
const READS: usize = 16;

/// The result of a restore.
#[derive(Clone, Debug)]
pub struct Restoration {
    /// The state is that of this time, milliseconds since 1970.
    pub moment_ms: u64,
    /// The backup that was the first not before it.
    pub backup: Backup,
    /// Each shard, in their order.
    pub shards: Vec<RestoredShard>,
    /// Files with secrets that are sealed in the backup, and were not restored.
    pub sealed: Vec<String>,
}

/// A shard that was restored.
#[derive(Clone, Debug)]
pub struct RestoredShard {
    /// The position after its last record.
    pub end: Position,
    /// Checkpoints that were left out, and why.
    pub left_out: Vec<String>,
}

/// The backups at a URL, oldest first: the newest `count` of them, and how many there are in all.
///
/// # Errors
/// Of the store; `Incomplete`, `Damaged`, `Foreign`.
pub fn list(url: &str, access: &Access, count: usize) -> Result<(Vec<Backup>, usize), Error> {
    run(async {
        let archive = Archive::open(Place::find(url, access).await?, &Settings::default()).await?;
        let numbers = archive.backups().await?;
        let shown = &numbers[numbers.len().saturating_sub(count)..];
        Ok((read_all(&archive, shown).await?, numbers.len()))
    })
}

/// Reads backups, several at once, in their order.
pub(super) async fn read_all(archive: &Archive, numbers: &[u64]) -> Result<Vec<Backup>, Error> {
    let reads = numbers.iter().map(|number| archive.backup(*number));
    stream::iter(reads.collect::<Vec<_>>()).buffered(READS).try_collect().await
}

/// Writes the data directory of a server as it was at a moment. The directory must be empty, or not
/// there; after an error it is so again. `prove` looks at the whole state before it gets its place;
/// `progress` is called from this thread.
///
/// # Errors
/// `NotEmpty`; `Conflict` where another restore writes there; `NotCovered`; `ClockSetBack`;
/// `Damaged`; the error of `prove`. See [`Error`] for the others.
pub fn restore(
    data: &Path,
    url: &str,
    (access, key): (&Access, Option<&SecretsKey>),
    moment: Moment,
    time_of: TimeOf,
    progress: &mut (dyn FnMut(Progress) + Send),
    prove: &mut dyn FnMut(&Path, &Restoration) -> Result<(), Error>,
) -> Result<Restoration, Error> {
    // A directory that is refused is refused before the store is asked.
    let begun = Unfinished::begin(data)?;
    run(async {
        let archive = Archive::open(Place::find(url, access).await?, &Settings::default()).await?;
        write(begun, &archive, key, moment, time_of, progress, prove).await
    })
}

/// As [`restore()`], from an archive that is open.
///
/// # Errors
/// As for [`restore()`].
pub async fn restore_from(
    archive: &Archive,
    data: &Path,
    moment: Moment,
    time_of: TimeOf,
) -> Result<Restoration, Error> {
    let begun = Unfinished::begin(data)?;
    write(begun, archive, None, moment, time_of, &mut |_| {}, &mut |_, _| Ok(())).await
}

/// Writes the state into a directory that is marked, and finishes it.
async fn write(
    begun: Unfinished,
    archive: &Archive,
    key: Option<&SecretsKey>,
    moment: Moment,
    time_of: TimeOf,
    progress: &mut (dyn FnMut(Progress) + Send),
    prove: &mut dyn FnMut(&Path, &Restoration) -> Result<(), Error>,
) -> Result<Restoration, Error> {
    let unfinished = begun.work();
    let Chosen { before, at, moment_ms, newest } = choose(archive, moment, time_of, &unfinished).await?;
    let all = unfinished.join("shards");
    make_folder(&all).map_err(Error::file(&all))?;
    let mut restored = Vec::with_capacity(at.shards.len());
    for shard in 0..archive.shards() {
        let place = usize::from(shard);
        let of_shard = archive.shard(shard)?;
        let read = async |backup: &Backup| of_shard.read(backup.shards[place].manifest).await;
        let before = match &before {
            Some(before) => Some(read(before).await?),
            None => None,
        };
        let manifest = together(before.as_ref(), &read(&at).await?)?;
        let folder = shards::folder(&all, shard);
        let written = of_shard.write_folder(&manifest, &folder, progress).await?;
        let end = cut(&folder, written.checkpoint, moment_ms, time_of)?;
        restored.push(RestoredShard { end, left_out: written.left_out });
    }
    shards::write(&all, archive.shards()).map_err(Error::file(&all))?;
    let stored = Backup { files: files::with_present(&at.files, &newest.files), ..at.clone() };
    let sealed = files::restore(archive, &stored, &unfinished, key).await?;
    let restoration = Restoration { moment_ms, backup: at, shards: restored, sealed };
    prove(&unfinished, &restoration)?;
    begun.finish()?;
    Ok(restoration)
}

/// The backups around a moment.
struct Chosen {
    before: Option<Backup>,
    at: Backup,
    moment_ms: u64,
    /// The newest of all: files of the present are restored from it, whatever the moment.
    newest: Backup,
}

async fn choose(archive: &Archive, moment: Moment, time_of: TimeOf, scratch: &Path) -> Result<Chosen, Error> {
    let numbers = archive.backups().await?;
    let none = || Error::Incomplete("there is no backup: the first one has not ended".to_owned());
    let newest = archive.backup(*numbers.last().ok_or_else(none)?).await?;
    let exactly = |at: Backup| Chosen { before: None, moment_ms: at.moment_ms, at, newest: newest.clone() };
    match moment {
        Moment::Newest => Ok(exactly(newest.clone())),
        Moment::Backup(number) if numbers.contains(&number) => Ok(exactly(archive.backup(number).await?)),
        Moment::Backup(number) => Err(Error::NotCovered(format!("there is no backup {number}"))),
        Moment::At(time_ms) => at_time(&read_all(archive, &numbers).await?, time_ms),
        Moment::Record { shard, position } => {
            let backups = read_all(archive, &numbers).await?;
            let time_ms = time_of_record(archive, &backups, (shard, position), time_of, scratch).await?;
            at_time(&backups, time_ms)
        }
    }
}

fn at_time(backups: &[Backup], time_ms: u64) -> Result<Chosen, Error> {
    let moments: Vec<u64> = backups.iter().map(|backup| backup.moment_ms).collect();
    let (before, at) = around(&moments, time_ms)?;
    let before = before.map(|before| backups[before].clone());
    let newest = backups.last().unwrap_or(&backups[at]).clone();
    Ok(Chosen { before, at: backups[at].clone(), moment_ms: time_ms, newest })
}

/// The time of the record at a position of a shard's journal, read from the segment that has it.
async fn time_of_record(
    archive: &Archive,
    backups: &[Backup],
    (shard, position): (u16, u64),
    time_of: TimeOf,
    scratch: &Path,
) -> Result<u64, Error> {
    let no_record = || Error::NotCovered(format!("shard {shard} has no record at {position:#x} in a backup"));
    let of_shard = archive.shard(shard)?;
    let holder = backups
        .iter()
        .find(|backup| backup.shards[usize::from(shard)].end > position)
        .ok_or_else(no_record)?;
    let manifest = of_shard.read(holder.shards[usize::from(shard)].manifest).await?;
    let holds = |base: Position, capacity: u64| base.0 <= position && position < base.plus(capacity).0;
    let segment = manifest.segments.iter().find(|segment| holds(segment.base, segment.capacity));
    let only = Manifest {
        checkpoints: Vec::new(),
        segments: vec![*segment.ok_or_else(no_record)?],
        ..manifest.clone()
    };
    let folder = scratch.join("record");
    read_segment(archive, &only, &folder).await?;
    let mut reader = Inspection::open(&folder)?.reader()?;
    reader.seek(only.segments[0].base)?;
    let mut found = None;
    while let Some(record) = reader.next()? {
        if record.position.0 == position {
            found = time_of(record.body);
            break;
        }
    }
    std::fs::remove_dir_all(&folder).map_err(Error::file(&folder))?;
    found.ok_or_else(no_record)
}

/// Writes the one segment of a manifest as a journal of its own, to be looked at.
async fn read_segment(archive: &Archive, manifest: &Manifest, folder: &Path) -> Result<(), Error> {
    use std::io::Write as _;
    let segment = &manifest.segments[0];
    let name = layout::segment(manifest.shard, segment.number, segment.copy.upload);
    make_folder(folder).map_err(Error::file(folder))?;
    let path: PathBuf = folder.join(segment_name(segment.number));
    let mut file = std::fs::File::create(&path).map_err(Error::file(&path))?;
    let mut write = |part: bytes::Bytes| file.write_all(&part).map_err(Error::file(&path));
    read_object(&archive.root.place, &name, segment.stored_bytes, &mut write).await?;
    file.set_len(segment.bytes).map_err(Error::file(&path))?;
    write_control(folder, manifest.shard.into(), manifest.journal, manifest.epoch)?;
    Ok(())
}
