//! All shards of a server or a cluster in one place, and the cuts over them.
//!
//! The number of shards is fixed when the archive is made. Each shard is kept by a
//! [`ShardArchive`].

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStoreExt as _;
use stadium_journal::shards::COUNT_MAX;
use stadium_objects::{Access, Error as StoreError, Pace, Place};

use crate::clock::System;
use crate::layout::ROOT;
use crate::root::{Root, now_ms};
use crate::series::{self, Created, Refusal};
use crate::wire::{Reader, Writer};
use crate::{Clock, Cut, Error, ShardArchive};

const MAGIC: &[u8; 8] = b"STADARCH";

/// How an archive is used.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long an object stays that no kept manifest names, and a manifest or cut that was
    /// replaced. Longer than an upload or a restore of a shard takes: both would fail otherwise. An
    /// hour by default.
    pub grace: Duration,
    /// Bytes a second that all uploads together send at most, on average; no bound by default.
    pub upload_bytes_per_second: Option<NonZeroU64>,
    /// A backup waits this long for a removal of old ones to end, and the other way round. A minute
    /// by default.
    pub patience: Duration,
    /// The clock of that: the system's by default.
    pub clock: Arc<dyn Clock>,
    /// The moment that a cut shows, milliseconds since 1970, where its state was taken before it is
    /// stored; now by default.
    pub moment_ms: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(3_600),
            upload_bytes_per_second: None,
            patience: Duration::from_secs(60),
            clock: Arc::new(System),
            moment_ms: None,
        }
    }
}

/// An archive of a fixed number of shards. Clones share the bound on the bandwidth.
#[derive(Clone, Debug)]
pub struct Archive {
    pub(crate) root: Arc<Root>,
}

impl Archive {
    /// Opens the archive of so many shards to write into it, and makes it where there is none.
    ///
    /// # Errors
    /// Of the store; `Foreign` where it has another number of shards; `Unconditional` where the
    /// store does not keep its promise to create an object only once.
    pub async fn create(place: Place, shards: u16, settings: &Settings) -> Result<Self, Error> {
        if shards == 0 || shards > COUNT_MAX {
            return Err(Error::Books(format!("there can be 1 to {COUNT_MAX} shards, not {shards}")));
        }
        match series::create(&place, ROOT, root(shards)).await {
            // Manifests depend on it, so it is tried with an object that nobody misses.
            Ok(()) => match series::create(&place, ROOT, root(shards)).await {
                Err(Refusal::Exists) => {}
                Err(Refusal::Failed(error)) => return Err(error),
                Ok(()) => return Err(unconditional()),
            },
            Err(Refusal::Exists) => {}
            Err(Refusal::Failed(error)) => return Err(error),
        }
        let archive = Self::open(place, settings).await?;
        if archive.shards() != shards {
            return Err(Error::Foreign(format!(
                "the archive is of {} shards, not {shards}: use another prefix",
                archive.shards()
            )));
        }
        Ok(archive)
    }

    /// Opens an archive that exists.
    ///
    /// # Errors
    /// Of the store; `Incomplete` where there is none; `Damaged`, `Foreign`.
    pub async fn open(place: Place, settings: &Settings) -> Result<Self, Error> {
        let found = match place.store.get(&place.object(ROOT)).await {
            Ok(found) => found.bytes().await,
            Err(error) => Err(error),
        };
        let object = found.map_err(|error| match place.failed(ROOT, &error) {
            StoreError::Missing(_) => {
                Error::Incomplete("there is no archive: look at the bucket and the prefix".to_owned())
            }
            other => other.into(),
        })?;
        let mut from = Reader::new(ROOT, MAGIC, &object)?;
        let shards = from.u16()?;
        if shards == 0 || shards > COUNT_MAX {
            return Err(from.wrong("its number of shards is out of bounds"));
        }
        from.end()?;
        let pace = Pace::new(settings.upload_bytes_per_second);
        let grace_ms = i64::try_from(settings.grace.as_millis()).unwrap_or(i64::MAX);
        let (patience, clock, moment_ms) =
            (settings.patience, Arc::clone(&settings.clock), settings.moment_ms);
        Ok(Self { root: Arc::new(Root { place, pace, grace_ms, patience, clock, shards, moment_ms }) })
    }

    /// Opens the archive at a URL and works with it on this thread, to the end.
    ///
    /// # Errors
    /// As for [`Self::open`], and those of the work.
    pub fn at<T>(
        url: &str,
        access: &Access,
        settings: &Settings,
        work: impl AsyncFnOnce(Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        crate::blocking::run(async {
            let archive = Self::open(Place::find(url, access).await?, settings).await?;
            work(archive).await
        })
    }

    /// The number of shards.
    #[must_use]
    pub fn shards(&self) -> u16 {
        self.root.shards
    }

    /// The archive of one shard.
    ///
    /// # Errors
    /// `Books` where there is no such shard.
    pub fn shard(&self, shard: u16) -> Result<ShardArchive, Error> {
        if shard >= self.shards() {
            return Err(Error::Books(format!("there is no shard {shard}, only {}", self.shards())));
        }
        Ok(ShardArchive::new(Arc::clone(&self.root), shard))
    }

    /// The newest cut, if there is one.
    ///
    /// # Errors
    /// Of the store; `Damaged`, `Foreign`.
    pub async fn newest_cut(&self) -> Result<Option<Cut>, Error> {
        match self.root.cuts().list().await?.last() {
            Some(newest) => self.root.read_cut(newest.number).await.map(Some),
            None => Ok(None),
        }
    }

    /// Names a manifest of each shard, in their order: they are one state of the server. The caller
    /// has stored these manifests within the time of grace.
    ///
    /// # Errors
    /// Of the store; `Books` for another number of manifests; `Conflict` where another cut was made
    /// meanwhile.
    pub async fn cut(&self, manifests: Vec<u64>) -> Result<Cut, Error> {
        if manifests.len() != usize::from(self.shards()) {
            return Err(Error::Books(format!(
                "a cut of {} shards was asked for {} of them",
                self.shards(),
                manifests.len()
            )));
        }
        let newest = self.root.cuts().list().await?.last().map_or(0, |entry| entry.number);
        let number = newest + 1;
        let cut = Cut {
            number,
            random: fastrand::u64(..),
            stored_ms: self.root.moment_ms.unwrap_or_else(now_ms),
            manifests,
        };
        match self.root.cuts().create(number, cut.encode()).await? {
            Created::Newest => Ok(cut),
            Created::Taken => Err(Error::Conflict("a cut".to_owned())),
        }
    }

    /// Removes cuts that were replaced longer ago than the time of grace. Returns their number.
    ///
    /// # Errors
    /// Of the store.
    pub async fn collect_cuts(&self) -> Result<u64, Error> {
        let cuts = self.root.cuts();
        let entries = cuts.list().await?;
        let old = &entries[..series::kept(&entries, self.root.grace_ms).start];
        for entry in old {
            cuts.remove(entry.number).await?;
        }
        Ok(old.len() as u64)
    }
}

fn root(shards: u16) -> Vec<u8> {
    let mut to = Writer::new(MAGIC);
    to.u16(shards);
    to.end()
}

fn unconditional() -> Error {
    Error::Unconditional(
        "the store overwrote an object that was to be created only (If-None-Match): two writers could \
         overwrite each other's manifests, so it is not used"
            .to_owned(),
    )
}
