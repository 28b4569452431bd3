//! Backups of the running server: a thread that stores one now and then, and removes old ones.
//!
//! It reads the files of the shards and asks them for a moment; no shard ever waits for it. While the
//! store is away the shards keep the segments that no backup has, up to a bound, and the thread tries
//! again with growing delays. Old segments with records of wallets move to the store, where the
//! settings say so ([`moving`]).

mod moving;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use stadium_archive::{
    Access, Backup, Configured, Creation, Error, Inventory, Keep, SealOf, SecretsKey, Settings, State, prune,
};
use stadium_http::fleet::BackupStats;
use stadium_journal::{Position, SegmentNumber};
use stadium_queue::Milliseconds;
use stadium_shard::Shards;

use crate::settings::Backup as Wanted;

/// The first and the longest delay after a failure.
const AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How often old backups are removed: the whole archive is listed for it.
const PRUNE_EVERY: Duration = Duration::from_secs(6 * 3_600);

/// How long a shard is given to say which records are durable.
const MOMENT_WITHIN: Duration = Duration::from_secs(30);

/// How often an error of the same kind is logged.
const WARN_EVERY: Duration = Duration::from_secs(60);

const DAY_MS: u64 = 86_400_000;

/// The figures of backups, for metrics.
#[derive(Default)]
pub(crate) struct Figures(Mutex<Option<Counted>>);

struct Counted {
    shards: Shards,
    /// Since when nothing newer is stored: the newest moment, or the start.
    since_ms: u64,
    last_success_ms: Option<u64>,
    /// Records of all shards at that moment, counted since the start of the process.
    records: u64,
    succeeded: u64,
    failed: u64,
    took: Duration,
    /// The code of the last failure, until a backup succeeds.
    failing: Option<&'static str>,
    /// Bytes of segments with records of wallets that only the store has.
    moved_bytes: u64,
}

impl Figures {
    /// The figures, where backups are on.
    pub(crate) fn stats(&self) -> Option<BackupStats> {
        let counted = self.0.lock();
        let counted = counted.as_ref()?;
        let records: u64 = counted.shards.metrics().iter().map(|shard| shard.records).sum();
        Some(BackupStats {
            last_success_s: counted.last_success_ms.map_or(0, |at| at / 1_000),
            behind: Duration::from_millis(now_ms().saturating_sub(counted.since_ms)),
            behind_records: records.saturating_sub(counted.records),
            succeeded_total: counted.succeeded,
            failed_total: counted.failed,
            took: counted.took,
            failing: counted.failing,
            moved_bytes: counted.moved_bytes,
        })
    }
}

/// The thread. Dropping it ends it; a backup under way is given up.
#[derive(Debug)]
pub(crate) struct Backups {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    configuration: Arc<Mutex<Vec<Configured>>>,
}

impl Backups {
    /// Starts it where the settings name a place.
    ///
    /// # Errors
    /// In words: the key of the secrets cannot be read, or the thread not be started.
    pub(crate) fn start(
        (wanted, configuration): (&Wanted, Vec<Configured>),
        data: &Path,
        shards: Shards,
        figures: Arc<Figures>,
    ) -> Result<Option<Self>, String> {
        let Some(url) = wanted.to.clone() else { return Ok(None) };
        let key = wanted.secrets_key_file.as_deref().map(SecretsKey::read).transpose();
        let key = key.map_err(|error| format!("backup.secrets_key_file: {error}"))?;
        for shard in 0..shards.count() {
            shards.hold_segments(shard, Position::START);
            if wanted.wallet_local_s > 0
                && let Some(moves) = shards.moves(shard)
            {
                moves.start();
            }
        }
        *figures.0.lock() = Some(Counted {
            shards: shards.clone(),
            since_ms: now_ms(),
            last_success_ms: None,
            records: 0,
            succeeded: 0,
            failed: 0,
            took: Duration::ZERO,
            failing: None,
            moved_bytes: moving::moved_bytes(data, shards.count()),
        });
        let (stop, stopped) = channel();
        let configuration = Arc::new(Mutex::new(configuration));
        let mut storing = Storing {
            url,
            settings: Settings {
                upload_bytes_per_second: NonZeroU64::new(wanted.upload_bytes_per_second),
                ..Settings::default()
            },
            keep: Keep {
                count: (wanted.keep_max > 0).then_some(wanted.keep_max),
                age_ms: (wanted.keep_days > 0).then_some(u64::from(wanted.keep_days) * DAY_MS),
            },
            every: Duration::from_secs(u64::from(wanted.every_s)),
            wallet_local: (wanted.wallet_local_s > 0).then_some(u64::from(wanted.wallet_local_s) * 1_000),
            data: data.to_owned(),
            shards,
            key,
            configuration: Arc::clone(&configuration),
            figures,
            inventory: None,
            pruned: None,
            warned: None,
        };
        let thread = std::thread::Builder::new().name("backup".to_owned());
        let thread = thread.spawn(move || storing.run(&stopped));
        let thread = thread.map_err(|error| format!("the thread of backups cannot start: {error}"))?;
        Ok(Some(Self { stop: Some(stop), thread: Some(thread), configuration }))
    }

    /// Adds a part of the configuration, or replaces it, in the backups that begin from now on.
    pub(crate) fn add(&self, part: Configured) {
        let mut configuration = self.configuration.lock();
        configuration.retain(|other| other.setting != part.setting);
        configuration.push(part);
    }
}

impl Drop for Backups {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Storing {
    url: String,
    settings: Settings,
    keep: Keep,
    every: Duration,
    /// Segments with records of wallets move to the store at this age, milliseconds; none do
    /// without it.
    wallet_local: Option<Milliseconds>,
    data: PathBuf,
    shards: Shards,
    key: Option<SecretsKey>,
    configuration: Arc<Mutex<Vec<Configured>>>,
    figures: Arc<Figures>,
    inventory: Option<Inventory>,
    pruned: Option<Instant>,
    warned: Option<Instant>,
}

impl Storing {
    fn run(&mut self, stopped: &Receiver<()>) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        // Its threads, which read and write files, are seen under this name.
        let runtime = match runtime.enable_all().thread_name("backup").build() {
            Ok(runtime) => runtime,
            Err(error) => {
                tracing::error!(%error, "The thread of backups has no runtime");
                return;
            }
        };
        let mut pause = AGAIN.0;
        loop {
            let began = Instant::now();
            // Given up where the server stops: the next start stores what is missing.
            let stored = runtime.block_on(async {
                tokio::select! {
                    biased;
                    () = ended(stopped) => None,
                    stored = self.store() => Some(stored),
                }
            });
            let wait = match stored {
                None => return,
                Some(Ok(())) => {
                    pause = AGAIN.0;
                    self.every.saturating_sub(began.elapsed())
                }
                Some(Err(error)) => {
                    self.failed(&error);
                    let wait = pause.mul_f64(0.5 + fastrand::f64() / 2.0);
                    pause = (pause * 2).min(AGAIN.1);
                    wait
                }
            };
            match stopped.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    async fn store(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        let count = self.shards.count();
        let inventory = match &mut self.inventory {
            Some(inventory) => inventory,
            none => none.insert(Inventory::open(&self.url, &Access::default(), count, &self.settings).await?),
        };
        let creation = Creation::begin(inventory, &self.data).await?;
        hold(&self.shards, creation.stored().as_deref());
        // Both are of a time before the moment.
        let (mut seals, mut records, mut closed) = (Vec::new(), 0, Vec::new());
        for shard in self.shards.metrics() {
            records += shard.records;
            closed.push(shard.newest_seal.map(|seal| Position(seal.position)));
            seals.push(shard.newest_seal.map(|seal| SealOf {
                number: seal.number,
                root: seal.root.iter().map(|byte| format!("{byte:02x}")).collect(),
            }));
        }
        let shards = self.shards.clone();
        let asked = tokio::task::spawn_blocking(move || shards.moment(MOMENT_WITHIN)).await;
        let Some(moment_ms) = asked.ok().flatten() else {
            creation.give_up().await;
            let why = "a shard does not say which of its records are durable";
            return Err(Error::Incomplete(why.to_owned()));
        };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let configuration = self.configuration.lock().clone();
        let moving = match self.wallet_local {
            Some(age) => moving::movable(&self.shards, &self.data, &closed, moment_ms.saturating_sub(age)),
            None => Ok(Vec::new()),
        };
        // Nothing moves then, and the backup is stored.
        let moving = moving.unwrap_or_else(|error| {
            tracing::warn!(%error, "Old segments of wallets cannot be read, and do not move to the store");
            Vec::new()
        });
        let state = State { moment_ms, seals, version, configuration, moving: moving.clone() };
        let backup = creation.finish(state, self.key.as_ref(), &self.data, &mut |_| {}).await?;
        self.succeeded(&backup, records, began.elapsed());
        if self.pruned.is_none_or(|pruned| pruned.elapsed() >= PRUNE_EVERY)
            && let Some(inventory) = &self.inventory
        {
            let pruned = prune(inventory.archive(), self.keep).await;
            // Another program writes a backup there: the next backup tries again.
            if !matches!(pruned, Err(Error::Busy(_))) {
                self.pruned = Some(Instant::now());
            }
            match pruned {
                Ok(pruned) => tracing::info!(
                    backups = pruned.backups,
                    objects = pruned.objects,
                    bytes = pruned.bytes,
                    "Old backups are removed"
                ),
                Err(error) => tracing::warn!(%error, "Old backups are not removed"),
            }
        }
        self.remove_moved(&backup, &moving).await
    }

    /// Has the shards remove the segments that this backup moved, when they were read back from the
    /// store.
    async fn remove_moved(&mut self, backup: &Backup, moving: &[Vec<SegmentNumber>]) -> Result<(), Error> {
        let Some(inventory) = &mut self.inventory else { return Ok(()) };
        for (shard, segments) in (0..).zip(moving) {
            let from = (self.data.as_path(), self.url.as_str());
            let confirmed = inventory.confirm_moved(from, backup, shard, segments).await?;
            if let (Some(moves), false) = (self.shards.moves(shard), confirmed.is_empty()) {
                moves.remove(&confirmed);
                tracing::info!(
                    shard,
                    segments = confirmed.len(),
                    "Old segments of wallets are in the store only"
                );
            }
        }
        let moved_bytes = moving::moved_bytes(&self.data, self.shards.count());
        if let Some(counted) = self.figures.0.lock().as_mut() {
            counted.moved_bytes = moved_bytes;
        }
        Ok(())
    }

    fn succeeded(&mut self, backup: &Backup, records: u64, took: Duration) {
        let stored: Vec<_> = backup.shards.iter().map(|shard| Position(shard.end)).collect();
        hold(&self.shards, Some(&stored));
        self.warned = None;
        if let Some(counted) = self.figures.0.lock().as_mut() {
            counted.since_ms = backup.moment_ms;
            counted.last_success_ms = Some(backup.stored_ms);
            counted.records = records;
            counted.succeeded += 1;
            counted.took = took;
            counted.failing = None;
        }
        tracing::debug!(backup = backup.number, took_ms = took.as_millis(), "Backup is stored");
    }

    fn failed(&mut self, error: &Error) {
        if let Some(counted) = self.figures.0.lock().as_mut() {
            counted.failed += 1;
            counted.failing = Some(error.code());
        }
        if self.warned.is_none_or(|warned| warned.elapsed() >= WARN_EVERY) {
            self.warned = Some(Instant::now());
            tracing::warn!(%error, "Backup is not stored; it is tried again");
        }
    }
}

/// Segments before these positions are stored.
fn hold(shards: &Shards, stored: Option<&[Position]>) {
    for (shard, position) in (0..).zip(stored.unwrap_or_default()) {
        shards.hold_segments(shard, *position);
    }
}

/// Ends when the server stops.
async fn ended(stopped: &Receiver<()>) {
    let is_over = || !matches!(stopped.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty));
    while !is_over() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
