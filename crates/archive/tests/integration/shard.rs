//! A shard's folder as its owner writes it: a real journal with small segments, and checkpoints.
//! Helpers for archives in a folder are here too.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stadium_archive::{
    Archive, Books, CheckpointSource, Error, Manifest, Reuse, SegmentSource, SegmentState, Settings,
    ShardArchive,
};
use stadium_journal::{
    Checkpoints as _, FileCheckpoints, FileJournal, Journal as _, Opening, Options, Position, copy,
};
use stadium_objects::{Access, Place};
use tempfile::TempDir;

/// Bytes of a segment of these tests.
const SEGMENT_BYTES: u64 = 64 << 10;

pub(crate) struct Shard {
    pub(crate) folder: TempDir,
    journal: FileJournal,
    checkpoints: FileCheckpoints,
    number: u32,
}

impl Shard {
    pub(crate) fn new(number: u32) -> Self {
        Self::at(number, tempfile::tempdir().expect("a folder can be had"))
    }

    /// Opens the shard in a folder, after a restore as well as for the first time.
    pub(crate) fn at(number: u32, folder: TempDir) -> Self {
        let options = Options {
            shard: number,
            segment_bytes: SEGMENT_BYTES,
            reserve_bytes: SEGMENT_BYTES,
            record_bytes_max: 16 << 10,
            opening: Opening { checkpoint: newest(folder.path(), number), ..Opening::default() },
            ..Options::default()
        };
        let journal = FileJournal::open(&folder.path().join("journal"), &options).expect("it opens");
        let checkpoints =
            FileCheckpoints::open(&folder.path().join("checkpoints"), number, Some(journal.id()))
                .expect("it opens");
        Self { folder, journal, checkpoints, number }
    }

    /// Appends records of 8 KiB that begin with their number, durably.
    pub(crate) fn write(&mut self, records: u32) {
        for number in 0..records {
            let mut body = vec![number as u8; 8 << 10];
            body[..4].copy_from_slice(&number.to_le_bytes());
            // The next segment may still be being made.
            while let Err(error) = self.journal.append(&body) {
                assert!(error.is_temporary(), "{error}");
                self.journal.wait(Duration::from_millis(1)).expect("the disk works");
            }
            self.journal.commit().expect("the disk works");
            self.journal.wait(Duration::from_secs(60)).expect("the disk works");
        }
    }

    /// Appends a record of 8 KiB for each time, which is its beginning, durably.
    pub(crate) fn write_at(&mut self, times: impl IntoIterator<Item = u64>) {
        for time in times {
            let mut body = vec![time as u8; 8 << 10];
            body[..8].copy_from_slice(&time.to_le_bytes());
            while let Err(error) = self.journal.append(&body) {
                assert!(error.is_temporary(), "{error}");
                self.journal.wait(Duration::from_millis(1)).expect("the disk works");
            }
            self.journal.commit().expect("the disk works");
            self.journal.wait(Duration::from_secs(60)).expect("the disk works");
        }
    }

    /// Writes a checkpoint of the end, with so many bytes in it.
    pub(crate) fn checkpoint(&mut self, bytes: usize) -> Position {
        let position = self.journal.end();
        let mut writer = self.checkpoints.begin(position).expect("there is room");
        for piece in vec![position.0 as u8; bytes].chunks(1 << 20) {
            writer.chunk(piece).expect("there is room");
        }
        writer.finish().expect("there is room");
        position
    }

    /// The books of an owner with a replicated log: sealed segments, and checkpoints whose mark is
    /// their position.
    pub(crate) fn books(&self) -> Books {
        let segments = self.journal.segmented().expect("it has segments").segments();
        let sealed = segments.iter().filter(|segment| segment.is_sealed);
        let listed = self.checkpoints.list().expect("they can be listed");
        Books {
            folder: self.folder.path().to_owned(),
            journal: self.journal.id(),
            epoch: self.journal.epoch(),
            checkpoints: listed
                .iter()
                .map(|info| CheckpointSource { position: info.position, mark: mark(info.position) })
                .collect(),
            segments: sealed
                .map(|segment| {
                    let (number, state) = (segment.number, SegmentState::Sealed);
                    SegmentSource { number, state, until: None }
                })
                .collect(),
            carried: Vec::new(),
            moved: Vec::new(),
            reuse: Reuse::ByHeader,
        }
    }

    /// Removes the oldest sealed segment, as a shard does when nothing in it is alive.
    pub(crate) fn remove_oldest(&mut self) -> String {
        let segmented = self.journal.segmented_mut().expect("it has segments");
        let oldest = segmented.segments()[0].number;
        segmented.remove(oldest).expect("it is sealed");
        copy::segment_name(oldest)
    }

    /// Closes the journal, as a server that stops.
    pub(crate) fn stop(self) -> TempDir {
        self.folder
    }

    /// Stops and starts again: the epoch grows.
    pub(crate) fn restart(self) -> Self {
        let number = self.number;
        Self::at(number, self.stop())
    }

    /// Segments that are sealed, and checkpoints, by name.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let books = self.books();
        let segments = books
            .segments
            .iter()
            .map(|segment| Path::new("journal").join(copy::segment_name(segment.number)));
        let checkpoints = books
            .checkpoints
            .iter()
            .map(|source| Path::new("checkpoints").join(FileCheckpoints::file_name(source.position)));
        segments
            .chain(checkpoints)
            .map(|name| {
                let bytes = fs::read(self.folder.path().join(&name)).expect("it is there");
                (name, bytes)
            })
            .collect()
    }
}

/// The mark of a position in these tests.
pub(crate) fn mark(position: Position) -> Vec<u8> {
    format!("offset of {position}").into_bytes()
}

/// The newest checkpoint that is whole in a folder.
pub(crate) fn newest(folder: &Path, shard: u32) -> Position {
    let checkpoints = folder.join("checkpoints");
    if !checkpoints.is_dir() {
        return Position::START;
    }
    let newest = FileCheckpoints::read_only(&checkpoints, shard).newest().expect("one can be read");
    newest.map_or(Position::START, |reader| reader.info().position)
}

/// Segments and checkpoints in a folder of a shard, by name.
pub(crate) fn files_in(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for part in ["journal", "checkpoints"] {
        for entry in fs::read_dir(folder.join(part)).expect("it is there").flatten() {
            let name = entry.file_name().into_string().expect("it is text");
            if name.ends_with(".segment") || name.ends_with(".checkpoint") {
                files.insert(Path::new(part).join(name), fs::read(entry.path()).expect("it is read"));
            }
        }
    }
    files
}

/// Runs on a runtime of its own.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    stadium_objects::runtime().expect("a runtime can be had").block_on(work)
}

pub(crate) fn no_grace() -> Settings {
    Settings { grace: Duration::ZERO, ..Settings::default() }
}

/// A folder as a store.
pub(crate) async fn place(folder: &Path) -> Place {
    let access = Access { retry_for: Duration::from_secs(1), environment: Vec::new() };
    Place::find(&format!("file://{}", folder.display()), &access).await.expect("it is a folder")
}

pub(crate) async fn archive(folder: &Path, settings: &Settings) -> Archive {
    Archive::create(place(folder).await, 2, settings).await.expect("the folder can be written")
}

/// The archive of shard 1 in a folder.
pub(crate) async fn shard_archive(folder: &Path, settings: &Settings) -> ShardArchive {
    archive(folder, settings).await.shard(1).expect("there are two")
}

/// Stores and ignores the progress.
pub(crate) async fn store(archive: &mut ShardArchive, books: &Books) -> Result<Manifest, Error> {
    archive.store(books, &mut |_| {}).await
}
