//! The archive of one shard: its manifests, and the upload of files before one is created.
//!
//! The order is what keeps an archive whole: files first, then the manifest that names them. A
//! manifest is created with the number after the newest that was read. So a writer that read before
//! a newer one wrote does not succeed, and finds the newer epoch when it reads again.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use stadium_journal::copy::{SegmentHead, segment_head, segment_name};
use stadium_journal::{Epoch, Position, SegmentNumber};
use stadium_objects::{Error as StoreError, Source, put_file, read_object};

use crate::layout::{self, MANIFESTS, Upload};
use crate::manifest::{CHECKPOINTS_MAX, Copy};
use crate::root::{Root, now_ms};
use crate::series::{Created, Series};
use crate::{
    Books, Checkpoint, CheckpointSource, Error, Health, Manifest, Progress, Reuse, Segment, SegmentSource,
    SegmentState,
};

/// How often a manifest is made anew because a writer of an older epoch took its number.
const TRIES_MAX: u32 = 8;
/// Bytes in which the end of a file is searched for zeros.
const ZEROS_BYTES: u64 = 1 << 20;
/// The first and the longest delay after a failure, when an upload is repeated until it succeeds.
const DELAY_MIN: Duration = Duration::from_secs(1);
const DELAY_MAX: Duration = Duration::from_secs(60);

/// The archive of one shard. One writer at a time has it; a failed upload goes on where it stopped
/// as long as this handle lives.
#[derive(Debug)]
pub struct ShardArchive {
    pub(crate) root: Arc<Root>,
    pub(crate) shard: u16,
    /// Files that were uploaded and stand in no manifest yet.
    done: Vec<Done>,
    /// Segments whose objects were found damaged: they are uploaded again.
    damaged: BTreeSet<SegmentNumber>,
}

/// A file that is uploaded and does not change.
#[derive(Debug)]
enum Done {
    Checkpoint(Checkpoint),
    Segment(Segment),
}

/// The report of an upload's progress.
type Report<'a> = &'a mut (dyn FnMut(Progress) + Send);

impl ShardArchive {
    pub(crate) fn new(root: Arc<Root>, shard: u16) -> Self {
        Self { root, shard, done: Vec::new(), damaged: BTreeSet::new() }
    }

    pub(crate) fn manifests(&self) -> Series<'_> {
        let folder = format!("{}/{}", layout::shard(self.shard), MANIFESTS.0);
        Series::new(&self.root.place, folder, MANIFESTS.1)
    }

    /// The newest manifest, if there is one.
    ///
    /// # Errors
    /// Of the store; `Damaged`, `Foreign`.
    pub async fn newest(&self) -> Result<Option<Manifest>, Error> {
        match self.manifests().list().await?.last() {
            Some(newest) => self.read(newest.number).await.map(Some),
            None => Ok(None),
        }
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// Of the store; `Damaged`, `Foreign`.
    pub async fn read(&self, number: u64) -> Result<Manifest, Error> {
        let manifests = self.manifests();
        Manifest::decode(&manifests.name(number), &manifests.read(number).await?, self.shard, number)
    }

    /// Uploads what is not stored yet and creates a manifest that names all of it.
    ///
    /// Until this returns, the newest manifest is another one, and names only complete objects.
    /// After an error the same call uploads only the rest. Dropping the future is allowed.
    ///
    /// # Errors
    /// Of the store; `Fenced`, `Conflict`; `Foreign` for another journal; `Books`; `Changed` where
    /// the shard removed a file meanwhile; `File`, `Journal`.
    pub async fn store(&mut self, books: &Books, progress: Report<'_>) -> Result<Manifest, Error> {
        for _ in 0..TRIES_MAX {
            let newest = self.newest().await?;
            self.admit(books, newest.as_ref())?;
            let manifest = self.upload(books, newest.as_ref(), progress).await?;
            match self.manifests().create(manifest.number, manifest.encode()).await? {
                Created::Newest => {
                    self.done.clear();
                    return Ok(manifest);
                }
                Created::Taken => {
                    let winner = self.newest().await?;
                    if winner.is_some_and(|winner| winner.epoch == books.epoch) {
                        break;
                    }
                }
            }
        }
        Err(Error::Conflict(format!("shard {}", self.shard)))
    }

    /// Stores, and tries again for as long as that may help: `books` gives the list of files for
    /// each attempt. `health` states since when the store has been failing.
    ///
    /// Nothing else waits for it but the trimming of the replicated log. Dropping the future ends
    /// the attempts.
    ///
    /// # Errors
    /// As for [`ShardArchive::store`], if repeating does not help ([`Error::is_passing`]).
    pub async fn store_patiently(
        &mut self,
        books: &mut (dyn FnMut() -> Result<Books, Error> + Send),
        health: &Health,
        progress: Report<'_>,
    ) -> Result<Manifest, Error> {
        let attempts = health.attempts(self.shard);
        let mut delay = DELAY_MIN;
        loop {
            let stored = match books() {
                Ok(books) => self.store(&books, progress).await,
                Err(error) => Err(error),
            };
            match stored {
                Err(error) if error.is_passing() => attempts.failed(&error),
                Ok(manifest) => {
                    attempts.succeeded();
                    return Ok(manifest);
                }
                Err(error) => return Err(error),
            }
            // Spread, so that the shards of a node do not ask a store that returns all at once.
            tokio::time::sleep(delay.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
            delay = (delay * 2).min(DELAY_MAX);
        }
    }

    fn admit(&self, books: &Books, newest: Option<&Manifest>) -> Result<(), Error> {
        if books.checkpoints.len() > CHECKPOINTS_MAX {
            return Err(Error::Books(format!("{} checkpoints are more than two", books.checkpoints.len())));
        }
        let Some(newest) = newest else { return Ok(()) };
        if newest.journal != books.journal {
            return Err(Error::Foreign(format!(
                "the archive of shard {} is that of journal {}, and this is journal {}: use another prefix",
                self.shard, newest.journal, books.journal
            )));
        }
        if newest.epoch > books.epoch {
            return Err(Error::Fenced { epoch: books.epoch, newer: newest.epoch });
        }
        let position = books.checkpoints.first().map_or(Position::START, |newest| newest.position);
        match newest.checkpoints.first() {
            Some(stored) if stored.position > position => Err(Error::Books(format!(
                "shard {}: the archive has a checkpoint at {}, which is newer than {position}",
                self.shard, stored.position
            ))),
            _ => Ok(()),
        }
    }

    /// Uploads what is missing. Returns the manifest that follows `newest`.
    async fn upload(
        &mut self,
        books: &Books,
        newest: Option<&Manifest>,
        progress: Report<'_>,
    ) -> Result<Manifest, Error> {
        let (mut segments, mut checkpoints) = (Vec::new(), Vec::new());
        for source in &books.segments {
            segments.push(PlannedSegment::of(books, self.shard, *source, newest).await?);
        }
        for source in &books.checkpoints {
            checkpoints.push(PlannedCheckpoint::of(books, source, newest)?);
        }
        let of_bytes = segments.iter().map(|planned| planned.stored_bytes).sum::<u64>()
            + checkpoints.iter().map(|planned| planned.bytes).sum::<u64>();
        let mut meter = Meter { shard: self.shard, bytes: 0, of_bytes, progress };
        meter.add(0);
        let mut manifest = Manifest {
            shard: self.shard,
            journal: books.journal,
            epoch: books.epoch,
            number: newest.map_or(0, |newest| newest.number) + 1,
            random: fastrand::u64(..),
            stored_ms: now_ms(),
            checkpoints: Vec::new(),
            segments: Vec::new(),
        };
        for planned in &segments {
            manifest.segments.push(self.segment(books, planned, newest, &mut meter).await?);
        }
        for planned in &checkpoints {
            manifest.checkpoints.push(self.checkpoint(books, planned, newest, &mut meter).await?);
        }
        for number in &books.carried {
            let stored = newest.and_then(|newest| newest.segments.iter().find(|at| at.number == *number));
            // One that nobody stored is gone: the list of files was made too late.
            let path = || books.journal_folder().join(segment_name(*number));
            manifest.segments.push(*stored.ok_or_else(|| Error::Changed(path()))?);
        }
        manifest.keep_moved(newest, &books.moved).map_err(|number| {
            Error::MovedElsewhere(format!(
                "segment {number} of shard {} was moved to another store, and is not in this one: back up to the \
                 former URL, or restore from there and serve the restored directory",
                self.shard
            ))
        })?;
        // The log behind its mark has what it needs.
        if let [only] = &manifest.checkpoints[..]
            && let Some(before) = newest.and_then(|newest| newest.checkpoints.first())
            && before.position < only.position
            && !before.mark.is_empty()
        {
            manifest.checkpoints.push(before.clone());
        }
        manifest.check().map_err(|what| Error::Books(format!("shard {}: {what}", self.shard)))?;
        Ok(manifest)
    }

    async fn segment(
        &mut self,
        books: &Books,
        planned: &PlannedSegment,
        newest: Option<&Manifest>,
        meter: &mut Meter<'_>,
    ) -> Result<Segment, Error> {
        let PlannedSegment { head, bytes, stored_bytes, state, is_prefix, source, path } = planned;
        let is_whole = |segment: &&Segment| !self.damaged.contains(&segment.number);
        let stored = newest.into_iter().flat_map(|newest| &newest.segments).filter(is_whole);
        let done = self.done.iter().filter_map(|done| match done {
            Done::Segment(segment) => Some(segment),
            Done::Checkpoint(_) => None,
        });
        let same = stored
            .chain(done)
            .find(|segment| {
                (*state == SegmentState::Sealed || *is_prefix)
                    && segment.is_of(head, *bytes, *state)
                    && segment.stored_bytes == *stored_bytes
            })
            .copied();
        if let Some(same) = same
            && (books.reuse == Reuse::ByHeader || hash(source).await? == same.copy.sha256)
        {
            meter.add(*stored_bytes);
            return Ok(same);
        }
        let upload = Upload::new(books.epoch);
        let name = layout::segment(self.shard, head.number, upload);
        let sha256 = self.put(&name, source, meter).await?;
        // The file of a removed segment is used again for another one, while it is read.
        match segment_head(&books.journal_folder(), head.number) {
            Ok((again, _)) if again == *head => {}
            _ => return Err(Error::Changed(path.clone())),
        }
        let segment = Segment {
            number: head.number,
            base: head.base,
            capacity: head.capacity,
            bytes: *bytes,
            stored_bytes: *stored_bytes,
            state: *state,
            seed: head.seed,
            copy: Copy { upload, sha256 },
        };
        self.damaged.remove(&head.number);
        self.done.push(Done::Segment(segment));
        Ok(segment)
    }

    async fn checkpoint(
        &mut self,
        books: &Books,
        planned: &PlannedCheckpoint,
        newest: Option<&Manifest>,
        meter: &mut Meter<'_>,
    ) -> Result<Checkpoint, Error> {
        let PlannedCheckpoint { position, mark, bytes, source } = planned;
        let stored = newest.into_iter().flat_map(|newest| &newest.checkpoints);
        let done = self.done.iter().filter_map(|done| match done {
            Done::Checkpoint(checkpoint) => Some(checkpoint),
            Done::Segment(_) => None,
        });
        let same = stored
            .chain(done)
            .find(|checkpoint| (checkpoint.position, checkpoint.bytes) == (*position, *bytes))
            .cloned();
        if let Some(same) = same {
            let is_same = match (source, books.reuse) {
                (Some(source), Reuse::ByContent) => hash(source).await? == same.copy.sha256,
                _ => true,
            };
            if is_same {
                meter.add(*bytes);
                return Ok(Checkpoint { mark: mark.clone(), ..same });
            }
        }
        let Some(source) = source else {
            return Err(Error::Changed(books.checkpoint_file(*position)));
        };
        let upload = Upload::new(books.epoch);
        let name = layout::checkpoint(self.shard, *position, upload);
        let sha256 = self.put(&name, source, meter).await?;
        let copy = Copy { upload, sha256 };
        let checkpoint = Checkpoint { position: *position, bytes: *bytes, mark: mark.clone(), copy };
        self.done.push(Done::Checkpoint(checkpoint.clone()));
        Ok(checkpoint)
    }

    /// Uploads a file. Returns its hash.
    async fn put(&self, name: &str, source: &Source, meter: &mut Meter<'_>) -> Result<[u8; 32], Error> {
        let root = &self.root;
        let mut hash = Sha256::new();
        let mut stored = |part: &[u8]| {
            hash.update(part);
            meter.add(part.len() as u64);
        };
        put_file(&root.place, name, source, &root.pace, &mut stored).await?;
        Ok(hash.finalize().into())
    }

    /// Reads a segment's object back, and compares it with its checksum and with the file in the
    /// folder of the shard. Returns false where the file is gone. An object that differs is
    /// uploaded again with the next manifest.
    ///
    /// # Errors
    /// `Damaged` where object or file are not as they were stored; of the store; `File`, `Journal`.
    pub(crate) async fn read_back(&mut self, folder: &Path, segment: &Segment) -> Result<bool, Error> {
        let name = layout::segment(self.shard, segment.number, segment.copy.upload);
        let path = folder.join("journal").join(segment_name(segment.number));
        let Some(all) = opened(&path)? else { return Ok(false) };
        let (head, bytes) = segment_head(&folder.join("journal"), segment.number)?;
        let here = Source::open(path.clone(), Some(segment.stored_bytes))?;
        if !segment.is_of(&head, bytes, SegmentState::Sealed)
            || without_zeros(&all, bytes).await? != segment.stored_bytes
            || hash(&here).await? != segment.copy.sha256
        {
            return Err(Error::Damaged(format!(
                "{} is not as it was stored as {name}: the disk changed it, and it stays here",
                path.display()
            )));
        }
        let read = self.hash_of(&name, segment.stored_bytes).await;
        match read {
            Ok(sha256) if sha256 == segment.copy.sha256 => return Ok(true),
            Ok(_) | Err(Error::Store(StoreError::Missing(_) | StoreError::Short { .. })) => {}
            Err(error) => return Err(error),
        }
        self.damaged.insert(segment.number);
        Err(Error::Damaged(format!(
            "{name}, segment {} of shard {}, is not as it was stored: the next backup stores it again",
            segment.number, self.shard
        )))
    }

    /// The SHA-256 of the first bytes of an object, read from the store.
    async fn hash_of(&self, name: &str, bytes: u64) -> Result<[u8; 32], Error> {
        let mut hash = Sha256::new();
        let mut part = |part: Bytes| -> Result<(), Error> {
            hash.update(&part);
            Ok(())
        };
        read_object(&self.root.place, name, bytes, &mut part).await?;
        Ok(hash.finalize().into())
    }

    /// The epoch of the newest manifest must not be newer than that of the caller.
    pub(crate) fn own(epoch: Epoch, newest: &Manifest) -> Result<(), Error> {
        if newest.epoch > epoch {
            return Err(Error::Fenced { epoch, newer: newest.epoch });
        }
        Ok(())
    }
}

/// A segment that was looked at.
struct PlannedSegment {
    head: SegmentHead,
    bytes: u64,
    stored_bytes: u64,
    state: SegmentState,
    /// Only bytes that never change are stored.
    is_prefix: bool,
    source: Source,
    path: PathBuf,
}

impl PlannedSegment {
    async fn of(
        books: &Books,
        shard: u16,
        wanted: SegmentSource,
        newest: Option<&Manifest>,
    ) -> Result<Self, Error> {
        let folder = books.journal_folder();
        let path = folder.join(segment_name(wanted.number));
        let all = opened(&path)?.ok_or_else(|| Error::Changed(path.clone()))?;
        let (head, bytes) = match segment_head(&folder, wanted.number) {
            Err(stadium_journal::Error::Io { kind: io::ErrorKind::NotFound, .. }) => {
                return Err(Error::Changed(path));
            }
            read => read?,
        };
        if (head.shard, head.journal) != (u32::from(shard), books.journal) {
            return Err(Error::Foreign(format!(
                "{} is of shard {}, journal {}; it does not belong here",
                path.display(),
                head.shard,
                head.journal
            )));
        }
        let state = wanted.state;
        let stored = newest.into_iter().flat_map(|newest| &newest.segments);
        let mut stored = stored.filter(|stored| {
            state == SegmentState::Sealed
                && books.reuse == Reuse::ByHeader
                && stored.is_of(&head, bytes, state)
        });
        let stored_bytes = match (wanted.until, stored.next()) {
            (Some(until), _) => until.min(bytes),
            // It is not read again.
            (None, Some(stored)) => stored.stored_bytes,
            (None, None) => without_zeros(&all, bytes).await?,
        };
        let source = Source::open(path.clone(), Some(stored_bytes))?;
        let is_prefix = wanted.until.is_some();
        Ok(Self { head, bytes, stored_bytes, state, is_prefix, source, path })
    }
}

/// A checkpoint that was looked at.
struct PlannedCheckpoint {
    position: Position,
    mark: Vec<u8>,
    bytes: u64,
    /// None where it is only in the store.
    source: Option<Source>,
}

impl PlannedCheckpoint {
    fn of(books: &Books, wanted: &CheckpointSource, newest: Option<&Manifest>) -> Result<Self, Error> {
        let path = books.checkpoint_file(wanted.position);
        let source = opened(&path)?;
        let stored = newest.into_iter().flat_map(|newest| &newest.checkpoints);
        let mut stored =
            stored.filter(|stored| stored.position == wanted.position).map(|stored| stored.bytes);
        let bytes = match &source {
            Some(source) => source.bytes(),
            None => stored.next_back().ok_or(Error::Changed(path))?,
        };
        Ok(Self { position: wanted.position, mark: wanted.mark.clone(), bytes, source })
    }
}

/// Opens a file; `None` where it is not there.
fn opened(path: &Path) -> Result<Option<Source>, Error> {
    match Source::open(path.to_owned(), None) {
        Ok(source) => Ok(Some(source)),
        Err(stadium_objects::Error::File { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// The length of a file without the zeros at its end. A segment is allocated before it is written.
async fn without_zeros(file: &Source, bytes: u64) -> Result<u64, Error> {
    let mut end = bytes;
    while end > 0 {
        let from = (end - 1) / ZEROS_BYTES * ZEROS_BYTES;
        let piece = usize::try_from(end - from).expect("a piece is small");
        let piece = file.read(from, piece).await?;
        if let Some(last) = piece.iter().rposition(|byte| *byte != 0) {
            return Ok(from + last as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

/// The hash of all that would be sent.
async fn hash(file: &Source) -> Result<[u8; 32], Error> {
    let mut hash = Sha256::new();
    let mut at = 0;
    while at < file.bytes() {
        let piece = (file.bytes() - at).min(ZEROS_BYTES);
        hash.update(file.read(at, usize::try_from(piece).expect("a piece is small")).await?);
        at += piece;
    }
    Ok(hash.finalize().into())
}

/// Counts and reports what was transferred.
pub(crate) struct Meter<'a> {
    pub(crate) shard: u16,
    pub(crate) bytes: u64,
    pub(crate) of_bytes: u64,
    pub(crate) progress: Report<'a>,
}

impl Meter<'_> {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        (self.progress)(Progress { shard: self.shard, bytes: self.bytes, of_bytes: self.of_bytes });
    }
}
