//! `backup`, `restore`, `export`, `import`: all shards of a cluster as an archive or a data
//! directory, and a cluster made of one.
//!
//! An archive is that of `stadium journal export`, and a data directory that of a standalone
//! server. So a backup can be imported into either, and a standalone server's export can be
//! restored into a cluster. docs/cluster.md, "Back up and restore", has the rules.

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use stadium_archive::{Access, Settings as Archive};
use stadium_cluster::{ArchiveSettings, CopyProgress, CopySettings, ShardCopied, copy_in, copy_out};
use stadium_journal::shards;
use stadium_journal_kafka::{Client, open};
use stadium_journal_log::{ClusterId, Topic};
use stadium_membership as membership;
use stadium_membership_etcd::{DocumentSettings, Documents, Texts};

use crate::admin::Admin;
use crate::error::Error;
use crate::init::{ClusterFacts, NewCluster};
use crate::waiting::Progress;

/// The archive of a backup.
#[derive(Clone, Debug)]
pub struct Backup {
    /// Its URL, as `stadium journal export --to` takes it.
    pub url: String,
    /// How long objects stay that nothing names any more.
    pub grace: Duration,
    /// Bytes a second that are sent at most, on average.
    pub upload_bytes_per_second: Option<NonZeroU64>,
}

/// A shard of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CopiedShard {
    /// Its number.
    pub shard: u16,
    /// The position up to which it has records.
    pub position: u64,
    /// The position of its checkpoint; 0 where it has none.
    pub checkpoint: u64,
    /// The offset in the cluster's log at which that position is.
    pub offset: u64,
    /// The epoch of the claim by which the log was read or made.
    pub epoch: u64,
}

/// The result of `backup` and of `export`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CopyReport {
    /// The cluster.
    pub cluster: ClusterFacts,
    /// The moment that the copy shows, milliseconds since 1970 by this machine's clock.
    pub taken_ms: u64,
    /// How long all of it took.
    pub took_ms: u64,
    /// Each shard, in their order.
    pub shards: Vec<CopiedShard>,
    /// The archive; `None` for a data directory.
    pub archive: Option<ArchiveReport>,
}

/// The archive that a backup has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ArchiveReport {
    /// The number of the cut.
    pub cut: u64,
    /// Bytes of all objects that it needs.
    pub bytes: u64,
    /// Objects that were removed, since nothing needs them any more.
    pub removed_objects: u64,
}

/// The result of `restore` and of `import`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FilledReport {
    /// The cluster that was made.
    pub cluster: ClusterFacts,
    /// Its topic in Kafka.
    pub topic: String,
    /// The moment that the archive shows, milliseconds since 1970; `None` for a data directory.
    pub stored_ms: Option<u64>,
    /// How long all of it took.
    pub took_ms: u64,
    /// Each shard, in their order.
    pub shards: Vec<CopiedShard>,
    /// A sentence for each thing that does no harm now and should be looked at.
    pub warnings: Vec<String>,
}

/// Called at each step of a copy.
pub type OnStep<'a> = &'a mut (dyn FnMut(&Progress) + Send);

impl Admin {
    /// Copies all shards, as they are at one moment, into an archive. `store` is the URL of the
    /// cluster's store. `scratch` is a folder with room for all shards, and once more for the
    /// largest.
    ///
    /// An interrupted backup leaves the one before it as it was.
    ///
    /// # Errors
    /// etcd, Kafka or a store does not answer or has damage; the disk is full; the archive is
    /// another cluster's. `CLU-304` where owners did not stop for long enough.
    pub fn backup(
        &mut self,
        store: Option<String>,
        to: &Backup,
        scratch: &Path,
        tell: OnStep<'_>,
    ) -> Result<CopyReport, Error> {
        let began = SystemTime::now();
        let folder = scratch.join("shards");
        let mut report = self.copy_out(store, &folder, tell)?;
        let settings = Archive {
            grace: to.grace,
            // Erasures that finish from now on are carried out again after a restore.
            moment_ms: Some(milliseconds_between(SystemTime::UNIX_EPOCH, began)),
            upload_bytes_per_second: to.upload_bytes_per_second,
            ..Archive::default()
        };
        let exported =
            stadium_archive::export(&folder, &to.url, &Access::default(), &settings, &mut |progress| {
                let step = format!("storing shard {}", progress.shard);
                tell(&Progress { step, done: count(progress.bytes), all: count(progress.of_bytes) });
            });
        let exported = exported.map_err(Error::copy)?;
        report.archive = Some(ArchiveReport {
            cut: exported.cut,
            bytes: exported.bytes,
            removed_objects: exported.removed.objects,
        });
        report.took_ms = milliseconds(began);
        Ok(report)
    }

    /// Copies all shards, as they are at one moment, into a data directory, from which a standalone
    /// server starts.
    ///
    /// # Errors
    /// As for [`Self::backup`]; the directory has shards.
    pub fn export(
        &mut self,
        store: Option<String>,
        data: &Path,
        tell: OnStep<'_>,
    ) -> Result<CopyReport, Error> {
        make(data)?;
        self.copy_out(store, &data.join("shards"), tell)
    }

    /// Makes the cluster with the shards of an archive. Its topic and its store must be new. The
    /// key that lets nodes join is made last. `shared` makes the documents that its nodes share
    /// from the beginning; it gets the moment that the archive shows, milliseconds since 1970.
    ///
    /// # Errors
    /// A cluster of the name exists, its topic or its store has data (`CLU-305`), the archive is
    /// damaged or has no cut. `CLU-306` where it failed in the middle.
    pub fn restore(
        &mut self,
        store: Option<String>,
        from: &str,
        scratch: &Path,
        shared: impl FnOnce(u64) -> Result<Texts, String>,
        tell: OnStep<'_>,
    ) -> Result<FilledReport, Error> {
        let began = SystemTime::now();
        self.check_is_new()?;
        let folder = scratch.join("shards");
        let imported = stadium_archive::import(&folder, from, &Access::default(), &mut |progress| {
            let step = format!("reading shard {}", progress.shard);
            tell(&Progress { step, done: count(progress.bytes), all: count(progress.of_bytes) });
        });
        let imported = imported.map_err(Error::copy)?;
        let shared = shared(imported.stored_ms).map_err(Error::Copy)?;
        let mut report = self.fill(store, &folder, scratch, &shared, tell)?;
        let left_out = imported.shards.iter().flat_map(|shard| &shard.left_out);
        report.warnings.extend(left_out.map(|why| format!("a checkpoint was left out: {why}")));
        report.stored_ms = Some(imported.stored_ms);
        report.took_ms = milliseconds(began);
        Ok(report)
    }

    /// Makes the cluster with the shards of a standalone server that is stopped. The data directory
    /// stays as it is.
    ///
    /// # Errors
    /// As for [`Self::restore`]; a server has a journal open.
    pub fn import(
        &mut self,
        store: Option<String>,
        data: &Path,
        scratch: &Path,
        tell: OnStep<'_>,
    ) -> Result<FilledReport, Error> {
        self.check_is_new()?;
        self.fill(store, &data.join("shards"), scratch, &Texts::new(), tell)
    }

    fn copy_out(
        &mut self,
        store: Option<String>,
        folder: &Path,
        tell: OnStep<'_>,
    ) -> Result<CopyReport, Error> {
        let began = SystemTime::now();
        let (_, cluster) = self.look()?;
        let count = u16::try_from(cluster.shards).map_err(|_| Error::Copy("too many shards".to_owned()))?;
        let settings = self.copy_settings(ClusterId(cluster.id.0), count, store)?;
        let mut taken_ms = None;
        let shards = copy_out(&settings, folder, &mut |progress| {
            if progress.step == "copying the shards" {
                taken_ms.get_or_insert_with(now_ms);
            }
            tell(&step(progress));
        });
        let shards = shards.map_err(Error::copy)?;
        Ok(CopyReport {
            cluster: ClusterFacts::new(&self.settings.cluster, &cluster),
            taken_ms: taken_ms.unwrap_or_else(now_ms),
            took_ms: milliseconds(began),
            shards: shards.iter().map(CopiedShard::of).collect(),
            archive: None,
        })
    }

    /// Makes the cluster with the shards of a folder.
    fn fill(
        &mut self,
        store: Option<String>,
        folder: &Path,
        scratch: &Path,
        shared: &Texts,
        tell: OnStep<'_>,
    ) -> Result<FilledReport, Error> {
        let began = SystemTime::now();
        let count = shards::count(folder)
            .map_err(|error| Error::copy(format!("{}: {error}", shards::file(folder).display())))?;
        let new = NewCluster { shards: count.into(), id: None };
        let (made, shards) = self.make(new, |admin, id| {
            let settings = admin.copy_settings(ClusterId(id.0), count, store)?;
            let filled = copy_in(&settings, folder, scratch, &mut |progress| tell(&step(progress)));
            let filled = filled.map_err(Error::copy)?;
            admin.share(id, &scratch.join("shared.json"), shared)?;
            Ok(filled)
        })?;
        Ok(FilledReport {
            cluster: made.cluster,
            topic: made.topic,
            stored_ms: None,
            took_ms: milliseconds(began),
            shards: shards.iter().map(CopiedShard::of).collect(),
            warnings: made.warnings,
        })
    }

    /// Has the nodes of a cluster that is made share these documents from the beginning.
    fn share(&self, id: membership::ClusterId, copy: &Path, shared: &Texts) -> Result<(), Error> {
        if shared.is_empty() {
            return Ok(());
        }
        let documents = Documents::start(DocumentSettings {
            etcd: self.settings.etcd.clone(),
            cluster: self.settings.cluster.clone(),
            id,
            copy: copy.to_owned(),
        })?;
        let changed = documents.change(&mut |texts| {
            texts.extend(shared.clone());
            true
        });
        changed.map(drop).map_err(|why| Error::Copy(format!("the documents of the nodes: {why:?}")))
    }

    fn copy_settings(
        &self,
        cluster: ClusterId,
        shards: u16,
        store: Option<String>,
    ) -> Result<CopySettings, Error> {
        let topic = self.topic(shards.into())?;
        let archive = |url| ArchiveSettings { url, access: Access::default(), archive: Archive::default() };
        Ok(CopySettings { topic, cluster, shards, archive: store.map(archive) })
    }

    /// The logs of a cluster with so many shards.
    pub(crate) fn topic(&self, shards: u32) -> Result<Arc<dyn Topic>, Error> {
        let client = Client::ALL.first().copied();
        let client = client.ok_or_else(|| Error::Copy("this build has no client of Kafka".to_owned()))?;
        open(client, &self.settings.kafka, shards).map_err(Error::copy)
    }
}

impl CopiedShard {
    fn of(copied: &ShardCopied) -> Self {
        let ShardCopied { shard, position, checkpoint, offset, epoch } = *copied;
        Self { shard, position: position.0, checkpoint: checkpoint.0, offset: offset.0, epoch: epoch.0 }
    }
}

fn step(progress: CopyProgress) -> Progress {
    let CopyProgress { step, done, all } = progress;
    Progress { step: step.to_owned(), done: done.into(), all: all.into() }
}

fn make(folder: &Path) -> Result<(), Error> {
    stadium_journal::make_folder(folder)
        .map_err(|error| Error::copy(format!("making {}: {error}", folder.display())))
}

fn count(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn now_ms() -> u64 {
    milliseconds_between(SystemTime::UNIX_EPOCH, SystemTime::now())
}

fn milliseconds(since: SystemTime) -> u64 {
    milliseconds_between(since, SystemTime::now())
}

fn milliseconds_between(from: SystemTime, to: SystemTime) -> u64 {
    u64::try_from(to.duration_since(from).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
