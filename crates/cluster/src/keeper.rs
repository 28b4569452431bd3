//! The thread `archive` of a node: it stores the shards that the node owns, and trims their logs.
//!
//! After a shard has written a checkpoint, the checkpoint is uploaded with all segments that begin
//! before its resume point. The shard has removed those that nothing needs. A manifest is created,
//! for which the epoch of the owner decides. Then the log is trimmed to the resume point of the
//! older checkpoint of that manifest, and never further: the store has all that was before it.
//! A store that is away holds up nothing but that.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Condvar, Mutex};
use stadium_archive::{
    Archive, Books, CheckpointSource, Error as ArchiveError, Reuse, SegmentSource, SegmentState, ShardArchive,
};
use stadium_journal::{Checkpoints as _, Epoch, FileCheckpoints, Position, copy};
use stadium_journal_log::{ClusterId, Log, Topic};
use stadium_journal_replicated::{ReplicatedOptions, ResumePoint, trim};
use stadium_membership::Error;
use stadium_objects::Place;
use stadium_shard::ReplicaState;
use stadium_shard::core::checkpoint_mark;

use crate::archive::{ArchiveFigures, ArchiveSettings, ShardArchived};
use crate::store::folder_of;

/// The pause between two looks for checkpoints.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The first and the longest pause after a failure.
const AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The least time between two warnings.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// The time that the log has for a trim. The next manifest makes up for one that failed.
const TRIMS_WITHIN: Duration = Duration::from_secs(5);

/// The thread `archive`. Dropping it ends an upload that is under way.
pub struct Keeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The state that the thread shares with the node.
#[derive(Default)]
struct Shared {
    /// The epochs of the claims by which the node serves shards.
    owned: Mutex<BTreeMap<u16, Epoch>>,
    ends: Ends,
    rung: Condvar,
    figures: Mutex<ArchiveFigures>,
}

/// Ends an upload that is under way.
#[derive(Default)]
struct Ends {
    is_set: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Ends {
    fn set(&self) {
        self.is_set.store(true, Ordering::Release);
        if let Some(waker) = self.waker.lock().take() {
            waker.wake();
        }
    }

    fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// The result of the work; `None` where the end came first.
    async fn or<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        std::future::poll_fn(|context| {
            *self.waker.lock() = Some(context.waker().clone());
            match self.is_set() {
                true => Poll::Ready(None),
                false => work.as_mut().poll(context).map(Some),
            }
        })
        .await
    }
}

impl Keeper {
    /// Starts the thread. `folder` has the replicas of the node, of a cluster of so many shards. It
    /// does not wait for the store.
    ///
    /// # Errors
    /// [`Error::Ended`] when the thread could not be started.
    pub fn start(
        settings: ArchiveSettings,
        topic: Arc<dyn Topic>,
        cluster: ClusterId,
        folder: PathBuf,
        shards: u16,
    ) -> Result<Self, Error> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let work =
            Work { settings, topic, cluster, folder, shards, shared: of_thread, archive: None, warned: None };
        let thread = std::thread::Builder::new().name("archive".to_owned()).spawn(move || work.run());
        let thread =
            thread.map_err(|why| Error::Ended(format!("cannot start the thread `archive`: {why}")))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Takes the state of a replica of the node: only shards that it serves are stored.
    pub fn on_state(&self, shard: u16, state: &ReplicaState) {
        let mut owned = self.shared.owned.lock();
        match state {
            ReplicaState::Serving { epoch } => _ = owned.insert(shard, Epoch(*epoch)),
            _ => _ = owned.remove(&shard),
        }
    }

    /// How far the node is with storing its shards.
    #[must_use]
    pub fn figures(&self) -> ArchiveFigures {
        self.shared.figures.lock().clone()
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").finish_non_exhaustive()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        {
            let _owned = self.shared.owned.lock();
            self.shared.ends.set();
            self.shared.rung.notify_all();
        }
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            _ = thread.join();
        }
    }
}

/// The thread's own state.
struct Work {
    settings: ArchiveSettings,
    topic: Arc<dyn Topic>,
    cluster: ClusterId,
    folder: PathBuf,
    shards: u16,
    shared: Arc<Shared>,
    /// `None` until the store has answered.
    archive: Option<Archive>,
    warned: Option<Instant>,
}

/// A shard that the node owns.
struct Kept {
    epoch: Epoch,
    /// `None` until the store has answered.
    archive: Option<ShardArchive>,
    figures: ShardArchived,
    /// The pause after the next failure.
    pause: Duration,
    not_before: Option<Instant>,
}

/// The reason for which a shard was not stored.
enum Trouble {
    /// The store has a manifest of a newer owner.
    Fenced,
    /// It is tried again.
    Failed(String),
    /// The node ends.
    Ended,
}

impl From<ArchiveError> for Trouble {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::Fenced { .. } => Self::Fenced,
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<stadium_journal::Error> for Trouble {
    fn from(error: stadium_journal::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Work {
    fn run(mut self) {
        let runtime = match stadium_objects::runtime() {
            Ok(runtime) => runtime,
            Err(error) => {
                tracing::error!(%error, "The thread `archive` cannot run: nothing is stored, and no log is trimmed");
                return;
            }
        };
        let mut kept: BTreeMap<u16, Kept> = BTreeMap::new();
        while let Some(owned) = self.wait() {
            kept.retain(|shard, one| owned.get(shard) == Some(&one.epoch));
            for (shard, epoch) in owned {
                let one = kept.entry(shard).or_insert_with(|| Kept::new(epoch));
                if self.look(shard, one) {
                    let stored = runtime.block_on(async {
                        let ends = Arc::clone(&self.shared);
                        ends.ends.or(self.store(shard, one)).await
                    });
                    self.take(shard, one, stored.unwrap_or(Err(Trouble::Ended)));
                }
                self.shared.figures.lock().shards.insert(shard, one.figures.clone());
            }
            self.shared.figures.lock().shards.retain(|shard, _| kept.contains_key(shard));
        }
    }

    /// The shards that are owned now, after a pause; `None` where the node ends.
    fn wait(&self) -> Option<BTreeMap<u16, Epoch>> {
        let mut owned = self.shared.owned.lock();
        if !self.shared.ends.is_set() {
            self.shared.rung.wait_for(&mut owned, LOOK_EVERY);
        }
        (!self.shared.ends.is_set()).then(|| owned.clone())
    }

    /// Looks for a newer checkpoint. True where it is to be stored now.
    fn look(&self, shard: u16, kept: &mut Kept) -> bool {
        let folder = folder_of(&self.folder, shard).join("checkpoints");
        let listed = FileCheckpoints::read_only(&folder, u32::from(shard)).list();
        // The first checkpoint makes the folder.
        let newest = listed.ok().and_then(|listed| Some(listed.first()?.position));
        let figures = &mut kept.figures;
        figures.newest = newest;
        if newest <= figures.stored {
            figures.behind_since = None;
            return false;
        }
        figures.behind_since.get_or_insert_with(SystemTime::now);
        kept.not_before.is_none_or(|not_before| Instant::now() >= not_before)
    }

    /// Stores the newest checkpoint of a shard, and all segments that it needs; then trims the log.
    async fn store(&mut self, shard: u16, kept: &mut Kept) -> Result<(), Trouble> {
        if kept.archive.is_none() {
            let archive = match &self.archive {
                Some(archive) => archive,
                None => {
                    let place = Place::find(&self.settings.url, &self.settings.access).await;
                    let place = place.map_err(ArchiveError::from)?;
                    self.archive.insert(Archive::create(place, self.shards, &self.settings.archive).await?)
                }
            };
            kept.archive = Some(archive.shard(shard)?);
        }
        let Some(archive) = &mut kept.archive else { return Ok(()) };
        let books = books(&folder_of(&self.folder, shard), shard, kept.epoch)?;
        let position = books.checkpoints.first().map(|checkpoint| checkpoint.position);
        // A former owner may have stored this checkpoint or a later one.
        let there = archive.newest().await?.filter(|there| {
            let stored = there.checkpoints().first().map(|newest| newest.position);
            there.epoch() <= kept.epoch && stored >= position
        });
        let is_there = there.is_some();
        let manifest = match there {
            Some(there) => there,
            None => archive.store(&books, &mut |_| ()).await?,
        };
        kept.figures.stored = manifest.checkpoints().first().map(|newest| newest.position);
        if let Some(older) = manifest.trim_to() {
            let log = Log { cluster: self.cluster, shard: u32::from(shard) };
            match trim_log(&*self.topic, log, older) {
                Ok(position) => kept.figures.trimmed = Some(position),
                // The next manifest makes up for it.
                Err(error) => tracing::warn!(shard, error, "The log was not trimmed"),
            }
        }
        if is_there {
            return Ok(());
        }
        let removed = archive.collect(kept.epoch).await?;
        tracing::info!(
            shard,
            manifest = manifest.number(),
            checkpoint = position.map(tracing::field::display),
            removed = removed.objects,
            "Shard stored"
        );
        Ok(())
    }

    /// Takes the outcome of an attempt.
    fn take(&mut self, shard: u16, kept: &mut Kept, stored: Result<(), Trouble>) {
        let now = SystemTime::now();
        let what = match stored {
            Ok(()) => {
                (kept.pause, kept.not_before, kept.figures.error) = (AGAIN.0, None, None);
                if kept.figures.newest <= kept.figures.stored {
                    kept.figures.behind_since = None;
                }
                self.shared.figures.lock().last_success = Some(now);
                return;
            }
            Err(Trouble::Ended) => return,
            Err(Trouble::Fenced) => {
                // Another node owns the shard by now, which this one hears from the log.
                kept.not_before = Some(Instant::now() + AGAIN.1);
                kept.figures.error = Some("another owner stores the shard".to_owned());
                return;
            }
            Err(Trouble::Failed(what)) => what,
        };
        // Spread, so that the nodes of a cluster do not ask a store that returns all at once.
        let pause = kept.pause.mul_f64(0.5 + fastrand::f64() / 2.0);
        kept.not_before = Some(Instant::now() + pause);
        kept.pause = (kept.pause * 2).min(AGAIN.1);
        if self.warned.is_none_or(|warned| warned.elapsed() >= WARN_EVERY) {
            self.warned = Some(Instant::now());
            tracing::warn!(
                shard,
                error = what,
                "Shard not stored; it is tried again, and its log is not trimmed"
            );
        }
        kept.figures.error = Some(what.clone());
        self.shared.figures.lock().last_error = Some((now, what));
    }
}

impl Kept {
    fn new(epoch: Epoch) -> Self {
        let figures = ShardArchived::default();
        Self { epoch, archive: None, figures, pause: AGAIN.0, not_before: None }
    }
}

/// The books of a replica: its newest whole checkpoint, and all segments that begin before the
/// checkpoint's resume point. The archive keeps the checkpoint before it by itself.
fn books(folder: &Path, shard: u16, epoch: Epoch) -> Result<Books, Trouble> {
    let checkpoints = FileCheckpoints::read_only(&folder.join("checkpoints"), u32::from(shard));
    let newest = checkpoints.newest()?.ok_or_else(|| Trouble::Failed("there is no checkpoint".to_owned()))?;
    let position = newest.info().position;
    let mark = checkpoint_mark(newest).map_err(|error| Trouble::Failed(error.to_string()))?;
    let point = ResumePoint::decode(&mark)
        .map_err(|why| Trouble::Failed(format!("the checkpoint of position {position}: {why}")))?;
    let journal_folder = folder.join("journal");
    let (_, journal, _) = copy::identity(&journal_folder)?;
    let mut segments = Vec::new();
    for number in copy::segments(&journal_folder)? {
        let (head, _) = copy::segment_head(&journal_folder, number)?;
        // The log has all behind the point.
        if head.base < point.mark.end {
            let state = state(&point, head.base.plus(head.capacity));
            segments.push(SegmentSource { number, state, until: None });
        }
    }
    let checkpoints = vec![CheckpointSource { position, mark }];
    let (folder, carried, reuse) = (folder.to_owned(), Vec::new(), Reuse::ByHeader);
    let moved = Vec::new();
    Ok(Books { folder, journal, epoch, checkpoints, segments, carried, moved, reuse })
}

/// Whether the file of a segment that begins before the point may still be written. Records are
/// accepted in their order, so only the point's own segment may.
fn state(point: &ResumePoint, limit: Position) -> SegmentState {
    let is_sealed = point.segment.is_some_and(|segment| segment.is_sealed);
    match limit <= point.mark.end || is_sealed {
        true => SegmentState::Sealed,
        false => SegmentState::Open,
    }
}

/// Trims a log to an encoded resume point. Returns the position of the point.
fn trim_log(topic: &dyn Topic, log: Log, mark: &[u8]) -> Result<Position, String> {
    let point = ResumePoint::decode(mark).map_err(|why| why.to_string())?;
    let partition = topic.partition(log.shard).map_err(|failure| failure.to_string())?;
    let options = ReplicatedOptions { claim_timeout: TRIMS_WITHIN, ..ReplicatedOptions::new(log) };
    trim(partition, &point, &options).map_err(|error| error.to_string())?;
    Ok(point.mark.end)
}
