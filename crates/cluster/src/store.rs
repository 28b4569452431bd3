//! The place of a replica: mirror and checkpoints in a folder, the log in a topic.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stadium_journal::{
    Checkpoints, Disk, Error, FileCheckpoints, FolderDisk, JournalId, Opening, Options, make_folder,
};
use stadium_journal_log::{Log, Partition, Topic};
use stadium_journal_replicated::{ReplicatedJournal, ReplicatedOptions, ResumePoint};
use stadium_shard::core::{ReplicaStore, Store};

use crate::archive::ArchiveSettings;
use crate::restoring;

/// Opens a journal: as the owner or as a follower.
type Open = fn(Box<dyn Partition>, Arc<dyn Disk>, &ReplicatedOptions) -> Result<ReplicatedJournal, Error>;

/// The journal and the checkpoints of a replica: a folder of this node, and a partition.
#[derive(Clone)]
pub struct ReplicatedStore {
    topic: Arc<dyn Topic>,
    folder: PathBuf,
    options: ReplicatedOptions,
    archive: Option<ArchiveSettings>,
}

/// The folder of a replica, in that of its node.
pub(crate) fn folder_of(folder: &Path, shard: u16) -> PathBuf {
    folder.join(format!("shard-{shard}"))
}

impl ReplicatedStore {
    /// Of the log's shard, in its own folder. `options` are the sizes and bounds of the mirror.
    #[must_use]
    pub fn new(topic: Arc<dyn Topic>, folder: PathBuf, log: Log, options: Options) -> Self {
        let options = ReplicatedOptions { journal: options, ..ReplicatedOptions::new(log) };
        Self { topic, folder, options, archive: None }
    }

    /// With the store from which a folder is restored that has nothing, or too little for a log that
    /// was trimmed.
    #[must_use]
    pub fn with_archive(self, archive: Option<ArchiveSettings>) -> Self {
        Self { archive, ..self }
    }

    /// The log, for one more reader and writer.
    fn partition(&self) -> Result<Box<dyn Partition>, Error> {
        let shard = self.options.log.shard;
        let partition = self.topic.partition(shard);
        partition.map_err(|failure| Error::Setting(format!("the log of shard {shard}: {failure}")))
    }

    fn at(&self, opening: Opening, open: Open) -> Result<ReplicatedJournal, Error> {
        let partition = self.partition()?;
        let folder = self.folder.join("journal");
        let disk = FolderDisk::create(&folder)
            .map_err(|error| Error::io(format!("making {}", folder.display()), &error))?;
        let journal = Options { opening, ..self.options.journal.clone() };
        open(partition, Arc::new(disk), &ReplicatedOptions { journal, ..self.options.clone() })
    }
}

impl fmt::Debug for ReplicatedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplicatedStore").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Store for ReplicatedStore {
    type Journal = ReplicatedJournal;

    fn resume(&mut self, mark: &[u8]) {
        // A mark of a newer version is none: the log is read from the mirror's own points then.
        self.options.start = ResumePoint::decode(mark).ok();
    }

    fn open(&mut self, opening: Opening) -> Result<ReplicatedJournal, Error> {
        self.at(opening, ReplicatedJournal::open)
    }

    fn checkpoints(&mut self, journal: Option<JournalId>) -> Result<Box<dyn Checkpoints>, Error> {
        let folder = self.folder.join("checkpoints");
        for folder in [&self.folder, &folder] {
            make_folder(folder).map_err(|error| Error::io(format!("making {}", folder.display()), &error))?;
        }
        let shard = self.options.log.shard;
        Ok(Box::new(match journal {
            None => FileCheckpoints::read_only(&folder, shard),
            some => FileCheckpoints::open(&folder, shard, some)?,
        }))
    }
}

impl ReplicaStore for ReplicatedStore {
    fn prepare(&mut self) -> Result<(), Error> {
        restoring::prepare(&self.folder, self.options.log, self.archive.as_ref(), &|| self.partition())
    }

    fn follow(&mut self, opening: Opening) -> Result<ReplicatedJournal, Error> {
        self.at(opening, ReplicatedJournal::follow)
    }
}
