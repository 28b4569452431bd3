//! Appends to a log what it has lost, from the mirror of a replica of a node that is stopped.
//!
//! For an operator who knows that the brokers have lost acknowledged messages for good. The mirror
//! with the most records is the one to take: [`restore_log`] without appending tells where each ends.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use stadium_journal::{
    Checkpoints as _, Epoch, Error, FileCheckpoints, FolderDisk, Journal as _, Opening, Options,
};
use stadium_journal_log::{Log, Topic};
use stadium_journal_replicated::{Lost, ReplicatedJournal, ReplicatedOptions, ResumePoint};
use stadium_shard::core::checkpoint_mark;

/// Whether a log is only looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RestoreMode {
    /// Nothing is appended.
    DryRun,
    /// The log is claimed, and gets what it has lost.
    Append,
}

/// The result of [`restore_log`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogRestored {
    /// The log.
    pub log: Log,
    /// The records that the log had lost.
    pub lost: Lost,
    /// The epoch of the claim by which they were appended; `None` after a dry run.
    pub epoch: Option<Epoch>,
}

impl fmt::Display for LogRestored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lost { from, to, records, messages } = self.lost;
        let done = match self.epoch {
            Some(epoch) => format!("were appended again, with epoch {epoch}"),
            None => "would be appended again".to_owned(),
        };
        let shard = self.log.shard;
        write!(
            f,
            "shard {shard}: {records} records in {messages} messages, from position {from} to {to}, {done}"
        )
    }
}

/// Appends to the log of a shard what it has lost and the mirror in a replica's folder has, with the
/// same bytes at the same positions. `options` are the sizes and bounds of the mirror.
///
/// The node of the folder must be stopped; an owner of the log on another node is fenced. Replicas
/// of other nodes must begin anew afterwards, with an empty folder: their resume points name offsets
/// that have other messages now. So does a store until the owner has written a checkpoint.
///
/// # Errors
/// `Setting` where the log has all that the mirror has (CLU-303), or the folder holds no replica;
/// `InUse` where a node has it open; `Corrupt` where the log has other records instead; `Io` and
/// `Failed` of the disk and of the log.
pub fn restore_log(
    topic: &dyn Topic,
    folder: &Path,
    log: Log,
    options: &Options,
    mode: RestoreMode,
) -> Result<LogRestored, Error> {
    let journal = folder.join("journal");
    if !journal.is_dir() {
        return Err(Error::Setting(format!("{} holds no replica of a shard", folder.display())));
    }
    let mut replicated = ReplicatedOptions { journal: options.clone(), ..ReplicatedOptions::new(log) };
    let checkpoints = folder.join("checkpoints");
    if checkpoints.is_dir()
        && let Some(newest) = FileCheckpoints::read_only(&checkpoints, log.shard).newest()?
    {
        replicated.journal.opening = Opening { checkpoint: newest.info().position, ..Opening::default() };
        replicated.start = checkpoint_mark(newest).ok().and_then(|mark| ResumePoint::decode(&mark).ok());
    }
    let disk = || {
        let opened = FolderDisk::create(&journal).map(Arc::new);
        opened.map_err(|error| Error::io(format!("opening {}", journal.display()), &error))
    };
    let partition = || {
        let partition = topic.partition(log.shard);
        partition.map_err(|failure| Error::Setting(format!("the log of shard {}: {failure}", log.shard)))
    };
    let notes = Notes::of(&journal)?;
    let lost = ReplicatedJournal::lost(partition()?, disk()?, &replicated);
    // Those of a node that runs are its own.
    if !matches!(lost, Err(Error::InUse { .. })) {
        notes.put_back()?;
    }
    let Some(lost) = lost? else {
        return Err(Error::Setting(format!(
            "shard {}: the log has all records of {}: there is nothing to restore (CLU-303)",
            log.shard,
            folder.display()
        )));
    };
    let epoch = match mode {
        RestoreMode::DryRun => None,
        RestoreMode::Append => {
            let mut journal = ReplicatedJournal::restore(partition()?, disk()?, &replicated)?;
            let epoch = journal.epoch();
            journal.stop();
            Some(epoch)
        }
    };
    Ok(LogRestored { log, lost, epoch })
}

/// The notes of a mirror. A look forgets those that the log no longer reaches; the restore that
/// follows, or a log that comes back after all, may want them.
struct Notes<'a> {
    journal: &'a Path,
    bytes: Option<Vec<u8>>,
}

impl<'a> Notes<'a> {
    fn of(journal: &'a Path) -> Result<Self, Error> {
        match fs::read(journal.join("marks")) {
            Ok(bytes) => Ok(Self { journal, bytes: Some(bytes) }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self { journal, bytes: None }),
            Err(error) => Err(Error::io(format!("reading the notes of {}", journal.display()), &error)),
        }
    }

    fn put_back(self) -> Result<(), Error> {
        let Some(bytes) = self.bytes else { return Ok(()) };
        let file = self.journal.join("marks");
        fs::write(&file, bytes).map_err(|error| Error::io(format!("writing {}", file.display()), &error))
    }
}
