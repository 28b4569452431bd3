//! The journals of a server whose older segments are in its backups, read as if all files were
//! here.
//!
//! Each journal is a disk that is only read: files of the data directory are read where they are,
//! and segments that were moved come from the store, one at a time, with their checksums. An object
//! that is missing or altered reads as zeros and is named, so that a reader finds everything else;
//! a store that does not answer is an error.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use stadium_journal::copy::{identity, segment_name, write_control};
use stadium_journal::{
    Checkpoints as _, Damage, Disk, DiskFile, FileCheckpoints, FolderDisk, LockError, LockGuard, Position,
    make_folder, shards,
};
use stadium_objects::{Access, Error as StoreError, Place, read_object};
use tokio::runtime::Runtime;

use crate::backup::hex;
use crate::{Archive, Backup, Error, Manifest, Moved, SealOf, Segment, SegmentState, Settings, layout};

/// Bytes of segments that are kept in the scratch folder, beside the newest one.
const KEPT_BYTES: u64 = 1 << 30;
/// Bytes at the beginning of a segment that are read without the rest: its header is among them.
const HEAD_BYTES: u64 = 512;

/// The journal of a shard, some or all of whose segments are in the store.
#[derive(Clone)]
pub struct StoredJournal {
    /// The shard.
    pub shard: u16,
    /// Its files. They are read by one thread, outside of a runtime.
    pub disk: Arc<dyn Disk>,
    /// The process that has the journal open, 0 where that is not known.
    pub in_use_by: Option<u32>,
    /// The position of the newest checkpoint.
    pub checkpoint: Position,
    /// Seals that the backup and `moved.json` name, and which of them.
    pub seals: Vec<(SealOf, String)>,
    files: Arc<Files>,
}

impl StoredJournal {
    /// The segments that were not as they were stored, as far as they were read.
    #[must_use]
    pub fn damages(&self) -> Vec<Damage> {
        self.files.damages.lock().values().cloned().collect()
    }
}

/// Opens the journals of all shards: those in the folder of all shards with the segments that they
/// moved to the backups at a URL, or without a folder those of the newest backup. Segments of the
/// store pass through the folder `scratch`, which takes a gigabyte, or one segment.
///
/// # Errors
/// Of the store; `Incomplete` without a backup; `Foreign` where the backups are of another server;
/// `File`, `Journal`.
pub fn stored_journals(
    url: &str,
    access: &Access,
    directory: Option<&Path>,
    scratch: &Path,
) -> Result<Vec<StoredJournal>, Error> {
    let runtime = stadium_objects::runtime().map_err(Error::file(scratch))?;
    let (archive, backup, manifests) = runtime.block_on(newest(url, access))?;
    let store = Arc::new(Store {
        runtime,
        archive,
        url: url.to_owned(),
        scratch: scratch.to_owned(),
        kept: Mutex::new(Kept::default()),
    });
    let numbered = (0..).zip(&manifests).zip(&backup.shards);
    let journals = numbered.map(|((shard, manifest), of_shard)| {
        let by = format!("backup {}", backup.number);
        let seals = of_shard.seal.clone().map(|seal| (seal, by)).into_iter().collect();
        let found = Found { store: &store, shard, manifest, seals };
        match directory {
            Some(directory) => found.of_directory(&shards::folder(directory, shard), url),
            None => found.alone(url),
        }
    });
    journals.collect()
}

/// The newest backup, and its manifests.
async fn newest(url: &str, access: &Access) -> Result<(Archive, Backup, Vec<Manifest>), Error> {
    let archive = Archive::open(Place::find(url, access).await?, &Settings::default()).await?;
    let backup = archive.newest_backup().await?;
    let backup = backup.ok_or_else(|| Error::Incomplete("there is no backup".to_owned()))?;
    let mut manifests = Vec::with_capacity(backup.shards.len());
    for (shard, of_shard) in (0..).zip(&backup.shards) {
        manifests.push(archive.shard(shard)?.read(of_shard.manifest).await?);
    }
    Ok((archive, backup, manifests))
}

/// A shard of a backup.
struct Found<'a> {
    store: &'a Arc<Store>,
    shard: u16,
    manifest: &'a Manifest,
    seals: Vec<(SealOf, String)>,
}

impl Found<'_> {
    /// The journal in the folder of a shard, and the segments that it moved.
    fn of_directory(mut self, folder: &Path, url: &str) -> Result<StoredJournal, Error> {
        let journal_folder = folder.join("journal");
        let (_, journal, _) = identity(&journal_folder)?;
        if journal != self.manifest.journal {
            return Err(Error::Foreign(format!(
                "the backups are of journal {}, and {} is journal {journal}: they are of another server",
                self.manifest.journal,
                journal_folder.display()
            )));
        }
        let checkpoints = folder.join("checkpoints");
        let checkpoint = match checkpoints.is_dir() {
            true => FileCheckpoints::read_only(&checkpoints, self.shard.into())
                .list()?
                .first()
                .map_or(Position::START, |newest| newest.position),
            false => Position::START,
        };
        let moved = Moved::read(folder)?;
        let mut damages = BTreeMap::new();
        for gone in moved.gone(folder)? {
            let stored = self.manifest.segments.iter().find(|segment| segment.number.0 == gone.number);
            let what = match stored {
                Some(stored) if hex(&stored.copy.sha256) == gone.sha256 => continue,
                Some(_) => "the store has another segment of this number than the one that was moved there",
                None => "the newest backup does not name the segment, which was moved there",
            };
            let file = format!("{url}/{}: segment {}", layout::shard(self.shard), gone.number);
            damages.insert(gone.number, damage(file, gone.positions().start, gone.positions().end, what));
        }
        for segment in &moved.segments {
            let seal = SealOf { number: segment.seal, root: segment.root.clone() };
            if self.seals.last().is_none_or(|(known, _)| *known != seal) {
                self.seals.push((seal, "moved.json".to_owned()));
            }
        }
        let local = FolderDisk::read_only(&journal_folder);
        let (place, in_use_by) = (local.place(), local.holder());
        let listed = self.names(|segment| segment.state == SegmentState::Moved);
        let files = Files { damages: Mutex::new(damages), ..self.files(place, local, listed) };
        Ok(self.journal(files, in_use_by, checkpoint))
    }

    /// The journal of the backup.
    fn alone(self, url: &str) -> Result<StoredJournal, Error> {
        let folder = self.store.scratch.join(layout::shard(self.shard));
        make_folder(&folder).map_err(Error::file(&folder))?;
        write_control(&folder, self.shard.into(), self.manifest.journal, self.manifest.epoch)?;
        let checkpoint = self.manifest.checkpoints.first().map_or(Position::START, |newest| newest.position);
        let place = format!("{url}/{}", layout::shard(self.shard));
        let files = self.files(place, FolderDisk::read_only(&folder), self.names(|_| true));
        Ok(self.journal(files, Some(0), checkpoint))
    }

    fn journal(self, files: Files, in_use_by: Option<u32>, checkpoint: Position) -> StoredJournal {
        let files = Arc::new(files);
        let disk = Arc::new(StoredDisk(Arc::clone(&files)));
        StoredJournal { shard: self.shard, disk, in_use_by, checkpoint, seals: self.seals, files }
    }

    fn files(&self, place: String, local: FolderDisk, listed: Vec<String>) -> Files {
        let segments = self.manifest.segments.iter().map(|segment| (segment_name(segment.number), *segment));
        Files {
            place,
            shard: self.shard,
            local,
            listed,
            stored: segments.collect(),
            store: Arc::clone(self.store),
            damages: Mutex::default(),
        }
    }

    /// The names of the segments of the manifest that are files of the journal.
    fn names(&self, is_listed: impl Fn(&Segment) -> bool) -> Vec<String> {
        let segments = self.manifest.segments.iter().filter(|segment| is_listed(segment));
        segments.map(|segment| segment_name(segment.number)).collect()
    }
}

/// The files of a journal.
struct Files {
    place: String,
    shard: u16,
    local: FolderDisk,
    /// Segments of the store that are files of the journal, whether they are here or not.
    listed: Vec<String>,
    /// All segments of the store.
    stored: BTreeMap<String, Segment>,
    store: Arc<Store>,
    damages: Mutex<BTreeMap<u64, Damage>>,
}

impl Files {
    /// The object of a segment.
    fn object(&self, segment: &Segment) -> String {
        layout::segment(self.shard, segment.number, segment.copy.upload)
    }

    /// Notes that an object is not as it was stored. Other errors are those of the store.
    fn note(&self, segment: &Segment, error: Error) -> io::Result<()> {
        let what = match error {
            Error::Damaged(what) => what,
            Error::Store(StoreError::Missing(_)) => "the object is missing".to_owned(),
            Error::Store(StoreError::Short { .. }) => "the object is too short".to_owned(),
            other => return Err(io::Error::other(other.to_string())),
        };
        let file = format!("{}/{}", self.store.url, self.object(segment));
        let damage = damage(file, segment.base, segment.base.plus(segment.capacity), &what);
        self.damages.lock().insert(segment.number.0, damage);
        Ok(())
    }

    /// The first bytes of a segment. None where they are not there.
    fn head(&self, segment: &Segment) -> io::Result<Option<Bytes>> {
        let bytes = HEAD_BYTES.min(segment.stored_bytes);
        match self.store.read(&self.object(segment), bytes) {
            Ok(head) => Ok(Some(head)),
            Err(error) => self.note(segment, error).map(|()| None),
        }
    }

    /// The whole segment. None where it is not as it was stored.
    fn fetch(&self, segment: &Segment) -> io::Result<Option<Arc<File>>> {
        if self.damages.lock().contains_key(&segment.number.0) {
            return Ok(None);
        }
        match self.store.fetch(&self.object(segment), segment) {
            Ok(file) => Ok(Some(file)),
            Err(error) => self.note(segment, error).map(|()| None),
        }
    }
}

fn damage(file: String, base: Position, limit: Position, what: &str) -> Damage {
    Damage { file, offset: 0, position: base, what: format!("positions {base} to {limit}: {what}") }
}

/// The store, and the segments of it that are in the scratch folder.
struct Store {
    runtime: Runtime,
    archive: Archive,
    url: String,
    scratch: PathBuf,
    kept: Mutex<Kept>,
}

/// Copies of segments, which have no name any more: a dropped one frees its room.
#[derive(Default)]
struct Kept {
    files: VecDeque<(String, u64, Arc<File>)>,
    bytes: u64,
}

impl Store {
    /// The first bytes of an object.
    fn read(&self, object: &str, bytes: u64) -> Result<Bytes, Error> {
        let mut read = Vec::new();
        let mut part = |part: Bytes| -> Result<(), Error> {
            read.extend_from_slice(&part);
            Ok(())
        };
        self.runtime.block_on(read_object(&self.archive.root.place, object, bytes, &mut part))?;
        Ok(read.into())
    }

    /// A copy of a segment, whose checksum is right.
    fn fetch(&self, object: &str, segment: &Segment) -> Result<Arc<File>, Error> {
        let mut kept = self.kept.lock();
        if let Some((_, _, file)) = kept.files.iter().find(|(name, ..)| name == object) {
            return Ok(Arc::clone(file));
        }
        let path = self.scratch.join("segment");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&path).map_err(Error::file(&path))?;
        fs::remove_file(&path).map_err(Error::file(&path))?;
        let mut hash = Sha256::new();
        let mut part = |part: Bytes| -> Result<(), Error> {
            hash.update(&part);
            file.write_all(&part).map_err(Error::file(&path))
        };
        let place = &self.archive.root.place;
        self.runtime.block_on(read_object(place, object, segment.stored_bytes, &mut part))?;
        if <[u8; 32]>::from(hash.finalize()) != segment.copy.sha256 {
            return Err(Error::Damaged("its checksum is wrong".to_owned()));
        }
        file.set_len(segment.bytes).map_err(Error::file(&path))?;
        let file = Arc::new(file);
        kept.bytes += segment.stored_bytes;
        kept.files.push_back((object.to_owned(), segment.stored_bytes, Arc::clone(&file)));
        while kept.bytes > KEPT_BYTES && kept.files.len() > 1 {
            let oldest = kept.files.pop_front();
            kept.bytes -= oldest.map_or(0, |(_, bytes, _)| bytes);
        }
        Ok(file)
    }
}

/// The files of a journal, as a disk that is only read.
struct StoredDisk(Arc<Files>);

impl Disk for StoredDisk {
    fn place(&self) -> String {
        self.0.place.clone()
    }

    fn lock(&self) -> Result<LockGuard, LockError> {
        Err(LockError::Io(only_read()))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names: BTreeSet<String> = self.0.local.list()?.into_iter().collect();
        names.extend(self.0.listed.iter().cloned());
        Ok(names.into_iter().collect())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        match (self.0.local.open(name), self.0.stored.get(name)) {
            // It may have moved since the files were listed.
            (Err(error), Some(segment)) if error.kind() == io::ErrorKind::NotFound => {
                let head = self.0.head(segment)?;
                Ok(Arc::new(StoredFile { files: Arc::clone(&self.0), segment: *segment, head }))
            }
            (opened, _) => opened,
        }
    }

    fn create(&self, _name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Err(only_read())
    }

    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        Err(only_read())
    }

    fn rename_new(&self, _from: &str, _to: &str) -> io::Result<()> {
        Err(only_read())
    }

    fn remove(&self, _name: &str) -> io::Result<()> {
        Err(only_read())
    }

    fn sync_folder(&self) -> io::Result<()> {
        Err(only_read())
    }

    fn random(&self) -> u64 {
        self.0.local.random()
    }
}

/// A segment of the store.
struct StoredFile {
    files: Arc<Files>,
    segment: Segment,
    head: Option<Bytes>,
}

impl DiskFile for StoredFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.segment.bytes)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = usize::try_from(offset).map_err(io::Error::other)?;
        if let Some(head) = &self.head
            && let Some(part) = head.get(from..from + into.len())
        {
            into.copy_from_slice(part);
            return Ok(into.len());
        }
        if let Some(file) = self.files.fetch(&self.segment)? {
            return read_full(&file, into, offset);
        }
        let left = self.segment.bytes.saturating_sub(offset);
        let length = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        into[..length].fill(0);
        Ok(length)
    }

    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<()> {
        Err(only_read())
    }

    fn sync(&self) -> io::Result<()> {
        Err(only_read())
    }

    fn allocate(&self, _bytes: u64) -> io::Result<()> {
        Err(only_read())
    }

    fn truncate(&self, _bytes: u64) -> io::Result<()> {
        Err(only_read())
    }
}

/// Reads until `into` is full or the file ends.
fn read_full(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < into.len() {
        match file.read_at(&mut into[read..], offset + read as u64)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

fn only_read() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "the journal is only read")
}
