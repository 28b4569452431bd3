//! Fills the logs and the store of a cluster without data from the shards of a standalone server.
//!
//! Each log gets a claim and nothing else, and is trimmed behind it. The store gets the books: all
//! segments, and a checkpoint whose mark says that the log goes on behind the claim, at the position
//! after the last segment. So each replica begins with the store, as one whose log was trimmed. None
//! can begin with the empty log by mistake.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stadium_archive::{
    Archive, Books, CheckpointSource, Error as ArchiveError, Reuse, SegmentSource, SegmentState,
};
use stadium_journal::adoption::{Adopted, Ending, adopt};
use stadium_journal::mirror::PointSegment;
use stadium_journal::{
    Checkpoints as _, Epoch, FileCheckpoints, FolderDisk, Journal as _, LockGuard, copy, make_folder, shards,
};
use stadium_journal_log::{Mark, Offset};
use stadium_journal_replicated::{ReplicatedJournal, ResumePoint, ends, journal_id, trim};
use stadium_objects::Place;
use stadium_shard::core::{CoreSettings, copy_checkpoint};
use stadium_state_machine::Place as ShardPlace;

use super::{CopyError, CopyProgress, CopySettings, OnCopy, ShardCopied};
use crate::archive::ArchiveSettings;

/// Fills the logs and the store of a cluster, which must be without data, from the folder of all
/// shards of a stopped server. No node may know the cluster yet. `scratch` is a folder with room for
/// one shard; what is written there is removed.
///
/// All shards are verified, and all places are looked at, before anything is written. The source is
/// never changed.
///
/// # Errors
/// `Refused`; `Half` where logs and store must be deleted before it is repeated; `Journal` where a server has a journal open, or one is damaged; `Shard` where records
/// cannot be applied; `Archive`.
pub fn copy_in(
    settings: &CopySettings,
    directory: &Path,
    scratch: &Path,
    tell: &mut OnCopy<'_>,
) -> Result<Vec<ShardCopied>, CopyError> {
    let all = settings.shards;
    let count = shards::count(directory).map_err(CopyError::file(&shards::file(directory)))?;
    if count != all {
        return Err(CopyError::Refused(format!(
            "{} has {count} shards, and the cluster {all}: a job's id has its shard, so their number cannot change",
            directory.display()
        )));
    }
    let Some(store) = &settings.archive else {
        return Err(CopyError::Refused(
            "no store is configured: replicas of a cluster with former data begin with its store, so set \
             cluster.store"
                .to_owned(),
        ));
    };
    let folders: Vec<PathBuf> = (0..all).map(|shard| shards::folder(directory, shard)).collect();
    for (shard, folder) in (0..all).zip(&folders) {
        tell(CopyProgress { step: "verifying the shards", done: shard, all });
        // The tail of a journal that is held is not judged.
        Books::of_stopped(folder)?;
        stadium_shard::replay(directory, shard)?;
    }
    let held = folders.iter().map(|folder| copy::hold(&folder.join("journal")));
    let _held: Vec<LockGuard> = held.collect::<Result<_, _>>()?;
    check_logs(settings)?;
    let runtime = stadium_objects::runtime().map_err(CopyError::file(scratch))?;
    let archive = runtime.block_on(open_empty(store, all))?;
    let mut copied = Vec::with_capacity(all.into());
    for (shard, folder) in (0..all).zip(&folders) {
        tell(CopyProgress { step: "filling the store", done: shard, all });
        let mine = scratch.join(format!("shard-{shard}"));
        let one = Shard { settings, shard, folder, scratch: &mine };
        let filled = one.prepare().and_then(|prepared| {
            let mut archive = archive.shard(shard)?;
            runtime.block_on(archive.store(&prepared.books, &mut |_| ()))?;
            trim(settings.partition(shard)?, &prepared.point, &settings.options(shard))?;
            Ok(prepared.copied(shard))
        });
        let removed = match fs::remove_dir_all(&mine) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        let filled = filled.and_then(|filled| {
            removed.map_err(CopyError::file(&mine))?;
            Ok(filled)
        });
        copied.push(filled.map_err(|error| CopyError::Half(Box::new(error)))?);
    }
    Ok(copied)
}

/// A log has nothing, or it is that of another cluster, or of a copy that failed.
fn check_logs(settings: &CopySettings) -> Result<(), CopyError> {
    for shard in 0..settings.shards {
        let ends = ends(settings.partition(shard)?, &settings.options(shard))?;
        if ends != (Offset(0)..=Offset(0)) {
            return Err(CopyError::Refused(format!(
                "the log of shard {shard} has messages: delete the topic if nothing needs it, or name another cluster"
            )));
        }
    }
    Ok(())
}

/// The store, if it has nothing of any shard.
async fn open_empty(store: &ArchiveSettings, shards: u16) -> Result<Archive, CopyError> {
    let place = Place::find(&store.url, &store.access).await.map_err(ArchiveError::from)?;
    let archive = Archive::create(place, shards, &store.archive).await?;
    for shard in 0..shards {
        if let Some(there) = archive.shard(shard)?.newest().await? {
            return Err(CopyError::Refused(format!(
                "the store {} has shard {shard} of journal {} already: name another prefix in cluster.store, or delete \
                 its objects if nothing needs them",
                store.url,
                there.journal()
            )));
        }
    }
    Ok(archive)
}

/// A shard to be copied.
struct Shard<'a> {
    settings: &'a CopySettings,
    shard: u16,
    folder: &'a Path,
    scratch: &'a Path,
}

/// The books of a shard, and where its log goes on behind them.
struct Prepared {
    books: Books,
    point: ResumePoint,
    epoch: Epoch,
}

impl Shard<'_> {
    /// Writes the books of the shard, and claims its log.
    fn prepare(&self) -> Result<Prepared, CopyError> {
        let &Self { settings, shard, folder, scratch } = self;
        let log = settings.log(shard);
        let id = journal_id(log);
        let journal = scratch.join("journal");
        for folder in [scratch, &journal] {
            make_folder(folder).map_err(CopyError::file(folder))?;
        }
        let adopted = adopt(&folder.join("journal"), &journal, id, Ending::Followed)?;
        let Some(Adopted { header, end }) = adopted else {
            return Err(CopyError::Refused(format!("{} has no segments", folder.display())));
        };
        let (claimed, epoch) = self.claim()?;
        let segment = Some(PointSegment { header, is_sealed: true });
        let point = ResumePoint { log, mark: Mark { end, ..claimed.mark }, segment };
        let mark = point.encode().to_vec();
        let checkpoints = folder.join("checkpoints");
        let newest = match checkpoints.is_dir() {
            true => FileCheckpoints::read_only(&checkpoints, log.shard).newest()?,
            false => None,
        };
        let into = FileCheckpoints::open(&scratch.join("checkpoints"), log.shard, Some(id))?;
        let core = CoreSettings::for_shard(ShardPlace { shard, shards: settings.shards, hash_seed: 0 });
        let position = copy_checkpoint(&core, newest, &into, mark.clone())?.position;
        let numbers = copy::segments(&journal)?.into_iter();
        let segments =
            numbers.map(|number| SegmentSource { number, state: SegmentState::Sealed, until: None });
        let books = Books {
            folder: scratch.to_owned(),
            journal: id,
            epoch,
            checkpoints: vec![CheckpointSource { position, mark }],
            segments: segments.collect(),
            carried: Vec::new(),
            moved: Vec::new(),
            reuse: Reuse::ByHeader,
        };
        Ok(Prepared { books, point, epoch })
    }

    /// Claims the log, which has nothing. Returns where it goes on.
    fn claim(&self) -> Result<(ResumePoint, Epoch), CopyError> {
        let folder = self.scratch.join("claim");
        let disk = FolderDisk::create(&folder).map_err(CopyError::file(&folder))?;
        let partition = self.settings.partition(self.shard)?;
        let options = self.settings.options(self.shard);
        let mut journal = ReplicatedJournal::open(partition, Arc::new(disk), &options)?;
        let claimed = (journal.resume_point(), journal.epoch());
        journal.stop();
        Ok(claimed)
    }
}

impl Prepared {
    fn copied(&self, shard: u16) -> ShardCopied {
        let checkpoint = self.books.checkpoints.first().map(|checkpoint| checkpoint.position);
        ShardCopied {
            shard,
            position: self.point.mark.end,
            checkpoint: checkpoint.unwrap_or_default(),
            offset: self.point.mark.offset,
            epoch: self.epoch,
        }
    }
}
