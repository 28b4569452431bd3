//! Copies the shards of a cluster out of it, all of one moment.
//!
//! Shards send each other messages, so copies of different moments do not fit together. This reader
//! follows all logs to their ends and then claims all of them, which fences the owners. Once all
//! claims stand, it reads all logs to their ends again. If no owner has claimed a log again by then,
//! all that counts before the claims happened before anything else that will ever count: that is
//! one moment. No clock takes part.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use stadium_archive::{begin_folder, finish_folder};
use stadium_journal::adoption::{Ending, adopt, stand_in};
use stadium_journal::copy::write_control;
use stadium_journal::{
    Checkpoints as _, Epoch, Error, FileCheckpoints, FolderDisk, Following, Journal as _, Opening, Position,
    Standing, make_folder, shards,
};
use stadium_journal_replicated::{ReplicatedJournal, ReplicatedOptions, ResumePoint, ends, journal_id};
use stadium_shard::core::checkpoint_mark;

use super::{CopyError, CopyProgress, CopySettings, OnCopy, ShardCopied};
use crate::restoring;

/// How often all logs are claimed, where owners took some back meanwhile.
const CLAIMS_MAX: u32 = 3;

/// Between two looks at a log that does not answer yet.
const POLL: Duration = Duration::from_millis(2);

/// The folder of the replicas until their segments are copied.
const REPLICAS: &str = "replicas";

/// Writes the folder of all shards, as one state, from the logs and the store of a cluster. The
/// folder must be empty, or not there. It needs room for the shards, and once more for the largest.
///
/// Nodes may run. Each shard is fenced once, so its commands wait until its owner has claimed the
/// log again, about a second later.
///
/// # Errors
/// `Owned`; `Archive` where the folder is not empty or the store has damage; `Journal` where a log
/// does not answer or the disk is full. The folder is not there then.
pub fn copy_out(
    settings: &CopySettings,
    directory: &Path,
    tell: &mut OnCopy<'_>,
) -> Result<Vec<ShardCopied>, CopyError> {
    let unfinished = begin_folder(directory)?;
    let copied = write(settings, &unfinished, tell).and_then(|copied| {
        finish_folder(&unfinished, directory)?;
        Ok(copied)
    });
    if copied.is_err() {
        // The disk may be full: what was copied is of no use.
        _ = fs::remove_dir_all(&unfinished);
    }
    copied
}

fn write(
    settings: &CopySettings,
    unfinished: &Path,
    tell: &mut OnCopy<'_>,
) -> Result<Vec<ShardCopied>, CopyError> {
    let all = settings.shards;
    make_folder(unfinished).map_err(CopyError::file(unfinished))?;
    let replicas = unfinished.join(REPLICAS);
    let mut copies = Vec::with_capacity(all.into());
    for shard in 0..all {
        tell(CopyProgress { step: "reading the logs", done: shard, all });
        copies.push(Replica::open(settings, &replicas, shard)?);
    }
    tell(CopyProgress { step: "claiming the logs", done: 0, all });
    let mut tries = 1;
    while !claim_all(settings, &mut copies)? {
        if tries == CLAIMS_MAX {
            return Err(CopyError::Owned(format!(
                "owners claimed their logs again before all {all} were read, {tries} times: repeat it at a quieter \
                 time, or stop the nodes first"
            )));
        }
        tries += 1;
        for copy in &mut copies {
            copy.journal.follow_again()?;
            copy.catch_up()?;
        }
    }
    let ended: Vec<Ended> = copies.into_iter().map(Replica::end).collect::<Result<_, _>>()?;
    let mut copied = Vec::with_capacity(all.into());
    for ended in ended {
        tell(CopyProgress { step: "copying the shards", done: ended.shard, all });
        copied.push(ended.write(unfinished)?);
    }
    fs::remove_dir_all(&replicas).map_err(CopyError::file(&replicas))?;
    shards::write(unfinished, all).map_err(CopyError::file(unfinished))?;
    Ok(copied)
}

/// A replica of one shard.
struct Replica {
    shard: u16,
    folder: PathBuf,
    options: ReplicatedOptions,
    checkpoint: Position,
    journal: ReplicatedJournal,
}

impl Replica {
    /// Restores the shard from the store, and follows its log to the end.
    fn open(settings: &CopySettings, replicas: &Path, shard: u16) -> Result<Self, CopyError> {
        let folder = replicas.join(format!("shard-{shard}"));
        let log = settings.log(shard);
        restoring::prepare(&folder, log, settings.archive.as_ref(), &|| settings.partition(shard))?;
        let mut options = settings.options(shard);
        let checkpoints = folder.join("checkpoints");
        if checkpoints.is_dir()
            && let Some(newest) = FileCheckpoints::read_only(&checkpoints, log.shard).newest()?
        {
            options.journal.opening = Opening { checkpoint: newest.info().position, ..Opening::default() };
            options.start = ResumePoint::decode(&checkpoint_mark(newest)?).ok();
        }
        let journal = folder.join("journal");
        let disk = FolderDisk::create(&journal).map_err(CopyError::file(&journal))?;
        let journal = ReplicatedJournal::follow(settings.partition(shard)?, Arc::new(disk), &options)?;
        let checkpoint = options.journal.opening.checkpoint;
        let mut copy = Self { shard, folder, options, checkpoint, journal };
        copy.catch_up()?;
        Ok(copy)
    }

    /// Reads the log to its end.
    fn catch_up(&mut self) -> Result<(), CopyError> {
        self.read_until(|journal| journal.behind() == Some(0))
    }

    /// Reads the log until it holds. Waits for as long as the log answers.
    fn read_until(&mut self, holds: impl Fn(&mut ReplicatedJournal) -> bool) -> Result<(), CopyError> {
        let (mut at, mut since) = (self.journal.resume_point().mark.offset, Instant::now());
        loop {
            self.journal.poll(&mut |_| ())?;
            if holds(&mut self.journal) {
                return Ok(());
            }
            let now_at = self.journal.resume_point().mark.offset;
            if now_at != at {
                (at, since) = (now_at, Instant::now());
            }
            self.wait(since, "reading")?;
        }
    }

    fn wait(&self, since: Instant, doing: &str) -> Result<(), CopyError> {
        if since.elapsed() > self.options.claim_timeout {
            let what = format!("{doing} the log of shard {}", self.shard);
            let message = format!("it does not answer for {:?}", self.options.claim_timeout);
            return Err(Error::Io { what, kind: io::ErrorKind::TimedOut, message }.into());
        }
        thread::sleep(POLL);
        Ok(())
    }

    /// Ends the journal. Its files are durable up to the claim.
    fn end(mut self) -> Result<Ended, CopyError> {
        let (point, epoch) = (self.journal.resume_point(), self.journal.epoch());
        if self.journal.stop().is_none() {
            self.journal.poll(&mut |_| ())?;
        }
        let Self { shard, folder, checkpoint, .. } = self;
        Ok(Ended { shard, folder, checkpoint, point, epoch })
    }
}

/// Claims all logs. False where an owner has written to a log behind its claim before all were claimed.
fn claim_all(settings: &CopySettings, copies: &mut [Replica]) -> Result<bool, CopyError> {
    for copy in &mut *copies {
        copy.journal.claim();
    }
    let since = Instant::now();
    for copy in &mut *copies {
        loop {
            match copy.journal.poll(&mut |_| ()) {
                Ok(Standing::Serving) => break,
                Ok(_) => copy.wait(since, "claiming")?,
                Err(Error::Fenced { .. }) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }
    // All claims stand now. An owner may have claimed its log before that, and written behind.
    for copy in copies {
        let claim = copy.journal.resume_point().mark.claim;
        let end = *ends(settings.partition(copy.shard)?, &copy.options)?.end();
        copy.journal.follow_again()?;
        copy.read_until(|journal| journal.resume_point().mark.offset >= end)?;
        // What a former owner had on its way is passed over, so the records end where they did.
        if copy.journal.resume_point().mark.claim != claim {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A replica that was read to its end.
struct Ended {
    shard: u16,
    folder: PathBuf,
    checkpoint: Position,
    point: ResumePoint,
    epoch: Epoch,
}

impl Ended {
    /// Writes the shard's folder, as a standalone server has it, and removes the replica.
    fn write(self, unfinished: &Path) -> Result<ShardCopied, CopyError> {
        let Self { shard, folder, checkpoint, point, epoch } = self;
        let target = shards::folder(unfinished, shard);
        let (journal, checkpoints) = (target.join("journal"), target.join("checkpoints"));
        for folder in [&target, &journal] {
            make_folder(folder).map_err(CopyError::file(folder))?;
        }
        let id = journal_id(point.log);
        adopt(&folder.join("journal"), &journal, id, Ending::Left)?;
        let header = point.segment.map(|segment| segment.header);
        stand_in(&journal, (point.log.shard, id), header.as_ref(), point.mark.end)?;
        // So a later copy has a greater one, and none replaces it in an archive.
        write_control(&journal, point.log.shard, id, epoch)?;
        let read = folder.join("checkpoints");
        if read.is_dir() {
            fs::rename(&read, &checkpoints).map_err(CopyError::file(&read))?;
        } else {
            make_folder(&checkpoints).map_err(CopyError::file(&checkpoints))?;
        }
        fs::remove_dir_all(&folder).map_err(CopyError::file(&folder))?;
        let (position, offset) = (point.mark.end, point.mark.offset);
        Ok(ShardCopied { shard, position, checkpoint, offset, epoch })
    }
}
