//! Making a backup from the files of a server, running or stopped.
//!
//! [`Creation::begin`] lists checkpoints and segments. Then the caller chooses the moment, which must
//! be later, and waits until every record up to it is durable. [`Creation::finish`] lists again and
//! uploads. A running server keeps segments that no backup names yet, so nothing is missing between
//! two listings; what goes all the same is noticed, and the attempt fails.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use stadium_journal::copy::{segment_head, segments};
use stadium_journal::inspect::Inspection;
use stadium_journal::{Checkpoints as _, FileCheckpoints, Position, SegmentNumber, copy, shards};
use stadium_objects::{Access, Place};

use super::files::{self, Configured};
use super::lease::{Lease, Side};
use super::record::{Backup, OfShard, SealOf};
use super::secrets_key::SecretsKey;
use super::unfinished::is_unfinished;
use crate::blocking::run;
use crate::manifest::CHECKPOINTS_MAX;
use crate::moved::Moved;
use crate::root::now_ms;
use crate::series::Created;
use crate::{
    Archive, Books, CheckpointSource, Error, Progress, Reuse, SegmentSource, SegmentState, Settings,
    ShardArchive, history,
};

/// Bytes of a segment's header, which are stored also where no record follows.
const HEADER_BYTES: u64 = 4_096;

/// The archive of a server's backups. Uploads that failed go on where they stopped as long as it
/// lives, a whole file at a time.
#[derive(Debug)]
pub struct Inventory {
    archive: Archive,
    pub(super) shards: Vec<ShardArchive>,
}

/// A backup that was begun.
#[derive(Debug)]
pub struct Creation<'a> {
    inventory: &'a mut Inventory,
    shards: PathBuf,
    history: String,
    newest: Option<Backup>,
    began_ms: u64,
    listed: Vec<Listed>,
    lease: Lease,
}

/// The state that the server reports.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The backup holds every record whose time is not later: milliseconds since 1970. Those records
    /// are durable, and each record written later has a later time.
    pub moment_ms: u64,
    /// The newest seal of the wallets of each shard, as it was before the moment.
    pub seals: Vec<Option<SealOf>>,
    /// The version of the program.
    pub version: String,
    /// The configuration, and the files that it names.
    pub configuration: Vec<Configured>,
    /// Segments of each shard that are named as moved from this backup on ([`super::moving`]); none
    /// for shards that are not listed.
    pub moving: Vec<Vec<SegmentNumber>>,
}

/// The files of a shard before the moment.
#[derive(Clone, Debug)]
struct Listed {
    checkpoints: Vec<Position>,
    segments: BTreeSet<SegmentNumber>,
}

impl Inventory {
    /// Opens the archive at a URL to write backups of a server of so many shards.
    ///
    /// # Errors
    /// As for [`Archive::create`].
    pub async fn open(url: &str, access: &Access, count: u16, settings: &Settings) -> Result<Self, Error> {
        Self::of(Archive::create(Place::find(url, access).await?, count, settings).await?)
    }

    /// The backups of an archive that is open.
    ///
    /// # Errors
    /// None: every shard of an archive is there.
    pub fn of(archive: Archive) -> Result<Self, Error> {
        let shards = (0..archive.shards()).map(|shard| archive.shard(shard)).collect::<Result<_, _>>()?;
        Ok(Self { archive, shards })
    }

    /// The archive.
    #[must_use]
    pub fn archive(&self) -> &Archive {
        &self.archive
    }
}

impl<'a> Creation<'a> {
    /// Begins a backup of a data directory.
    ///
    /// # Errors
    /// `OtherHistory`; of the store; `Journal`, `File`.
    pub async fn begin(inventory: &'a mut Inventory, data: &Path) -> Result<Self, Error> {
        let history = history(data)?;
        let lease = Lease::take(&inventory.archive.root, Side::Backup).await?;
        match Self::list(inventory, data, &history).await {
            Ok((newest, listed)) => {
                let shards = data.join("shards");
                Ok(Self { inventory, shards, history, newest, began_ms: now_ms(), listed, lease })
            }
            Err(error) => {
                lease.release().await;
                Err(error)
            }
        }
    }

    /// Reads the newest backup and lists the files of all shards.
    async fn list(
        inventory: &Inventory,
        data: &Path,
        history: &str,
    ) -> Result<(Option<Backup>, Vec<Listed>), Error> {
        let newest = inventory.archive.newest_backup().await?;
        if let Some(newest) = &newest
            && newest.history != history
        {
            return Err(Error::OtherHistory(format!(
                "the backups there are of history {}, and this data directory has history {history}: it was \
                 restored, or is of another server; use another prefix",
                newest.history
            )));
        }
        let all = data.join("shards");
        let mut listed = Vec::with_capacity(inventory.shards.len());
        for shard in 0..inventory.archive.shards() {
            listed.push(Listed::of(&shards::folder(&all, shard), shard)?);
        }
        Ok((newest, listed))
    }

    /// The end of each shard in the backup before this one: segments that end before it are stored.
    #[must_use]
    pub fn stored(&self) -> Option<Vec<Position>> {
        let newest = self.newest.as_ref()?;
        Some(newest.shards.iter().map(|shard| Position(shard.end)).collect())
    }

    /// Ends without a backup. Dropping it does so too, and lets removals wait for ten minutes.
    pub async fn give_up(self) {
        self.lease.release().await;
    }

    /// Uploads what is missing and creates the backup.
    ///
    /// # Errors
    /// As for [`ShardArchive::store`]; `ClockSetBack` where the moment is before that of the newest
    /// backup; `Busy` where old backups may have been removed meanwhile.
    pub async fn finish(
        mut self,
        state: State,
        key: Option<&SecretsKey>,
        data: &Path,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Backup, Error> {
        let created = self.create(state, key, data, progress).await;
        self.lease.release().await;
        created
    }

    async fn create(
        &mut self,
        state: State,
        key: Option<&SecretsKey>,
        data: &Path,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Backup, Error> {
        let State { moment_ms, seals, version, configuration, moving } = state;
        if self.newest.as_ref().is_some_and(|newest| newest.moment_ms >= moment_ms) {
            return Err(Error::ClockSetBack(
                "the newest backup has a later moment: the clock was set back, so no moment would be certain; the next \
                 backup succeeds when the clock has passed it"
                    .to_owned(),
            ));
        }
        let mut of_shards = Vec::with_capacity(self.listed.len());
        for (shard, (listed, seal)) in self.listed.iter().zip(seals).enumerate() {
            let number = u16::try_from(shard).expect("shards are bounded");
            let folder = shards::folder(&self.shards, number);
            let listed = listed.clone();
            let (mut books, end) = blocking(move || listed.books(&folder, number)).await?;
            books.moved.extend(moving.get(shard).into_iter().flatten());
            let manifest = self.inventory.shards[shard].store(&books, progress).await?;
            of_shards.push(OfShard { manifest: manifest.number(), end: end.0, seal });
        }
        let collected = files::collect(data, &configuration, key)?;
        let archive = &self.inventory.archive;
        let stored = files::store(archive, &collected).await?;
        let backup = Backup {
            number: self.newest.as_ref().map_or(0, |newest| newest.number) + 1,
            moment_ms,
            began_ms: self.began_ms,
            stored_ms: now_ms(),
            history: self.history.clone(),
            version,
            random: fastrand::u64(..),
            shards: of_shards,
            files: stored,
            left_out: collected.left_out,
            configuration: collected.configuration,
        };
        let series = archive.backup_series();
        match self.lease.hold(series.create(backup.number, backup.encode())).await? {
            Created::Newest => Ok(backup),
            Created::Taken => Err(Error::Conflict("a backup".to_owned())),
        }
    }
}

impl Listed {
    fn of(folder: &Path, shard: u16) -> Result<Self, Error> {
        let checkpoints = folder.join("checkpoints");
        let mut positions = Vec::new();
        if checkpoints.is_dir() {
            let files = FileCheckpoints::read_only(&checkpoints, u32::from(shard));
            positions = files.list()?.iter().map(|info| info.position).collect();
            positions.truncate(CHECKPOINTS_MAX);
        }
        let segments = segments(&folder.join("journal"))?.into_iter().collect();
        Ok(Self { checkpoints: positions, segments })
    }

    /// The files that are to be stored, and the position after the last record in them.
    fn books(&self, folder: &Path, shard: u16) -> Result<(Books, Position), Error> {
        let journal_folder = folder.join("journal");
        let (_, journal, epoch) = copy::identity(&journal_folder)?;
        let tail = Inspection::open(&journal_folder)?.tail()?;
        let (mut sources, mut here) = (Vec::new(), HashSet::new());
        for number in segments(&journal_folder)? {
            let (head, _) = segment_head(&journal_folder, number)?;
            // Later ones are prepared, or were begun after the tail was read.
            if head.base > tail || (head.base == tail && tail != Position::START) {
                continue;
            }
            here.insert(number);
            let is_sealed = head.base.plus(head.capacity) <= tail;
            sources.push(match is_sealed {
                true => SegmentSource { number, state: SegmentState::Sealed, until: None },
                false => {
                    let until = Some(tail.since(head.base).max(HEADER_BYTES));
                    SegmentSource { number, state: SegmentState::Open, until }
                }
            });
        }
        let last = sources.last().map(|source| source.number);
        let is_gone =
            |number: &&SegmentNumber| !here.contains(number) && last.is_some_and(|last| **number < last);
        let books = Books {
            folder: folder.to_owned(),
            journal,
            epoch,
            checkpoints: self
                .checkpoints
                .iter()
                .map(|position| CheckpointSource { position: *position, mark: Vec::new() })
                .collect(),
            segments: sources,
            carried: self.segments.iter().filter(is_gone).copied().collect(),
            moved: Moved::read(folder)?.numbers().collect(),
            reuse: Reuse::ByHeader,
        };
        tracing::debug!(shard, tail = %tail, segments = books.segments.len(), "Shard is listed for a backup");
        Ok((books, tail))
    }
}

/// Backs a stopped server's data directory up to a URL. No server can start meanwhile. `progress` is
/// called from this thread.
///
/// # Errors
/// `Journal` where a server has a journal open, or one is damaged. See [`Error`] for the others.
pub fn create_stopped(
    data: &Path,
    url: &str,
    (access, settings): (&Access, &Settings),
    (key, configuration): (Option<&SecretsKey>, Vec<Configured>),
    version: &str,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Backup, Error> {
    if is_unfinished(data) {
        return Err(Error::Incomplete(format!("{} is half a restore: restore it again", data.display())));
    }
    let all = data.join("shards");
    let count = shards::count(&all).map_err(Error::file(&shards::file(&all)))?;
    let folders: Vec<PathBuf> = (0..count).map(|shard| shards::folder(&all, shard)).collect();
    let held = folders.iter().map(|folder| copy::hold(&folder.join("journal")));
    let _held = held.collect::<Result<Vec<_>, _>>()?;
    for folder in &folders {
        // Damage is refused before anything is stored.
        Books::of_stopped(folder)?;
    }
    run(async {
        let mut inventory = Inventory::open(url, access, count, settings).await?;
        let creation = Creation::begin(&mut inventory, data).await?;
        let seals = vec![None; usize::from(count)];
        let version = version.to_owned();
        let state = State { moment_ms: now_ms(), seals, version, configuration, moving: Vec::new() };
        creation.finish(state, key, data, progress).await
    })
}

/// Runs what reads files on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let ended =
        |ended: tokio::task::JoinError| Err(Error::file(Path::new("a thread"))(std::io::Error::other(ended)));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(ended)
}
