//! Checkpoints as files, on any [`Disk`].
//!
//! A file gets its final name when it is whole and durable, so a damaged one is damage and never a
//! crash's trace. One that cannot be read is skipped, does not count as kept, and goes when enough
//! whole ones are there. The format is in docs/formats/checkpoint.md.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::checkpoint::{CHUNK_BYTES_MAX, CheckpointInfo, CheckpointReader, CheckpointWriter, Checkpoints};
use crate::disk::{Disk, DiskFile, PART_BYTES};
use crate::file::stock::is_full;
use crate::folder::FolderDisk;
use crate::{Damage, Error, JournalId, Position};

const MAGIC: &[u8; 8] = b"STADCKPT";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 64;
const CHUNK_HEADER_BYTES: usize = 8;
const END_BYTES: usize = 24;
/// Whole checkpoints that are kept.
const KEPT: usize = 2;
/// Bytes collected before they are written; chunks may be small.
const WRITE_BYTES: usize = PART_BYTES as usize;
/// Bytes read at once.
const READ_BYTES: usize = 1 << 20;

/// The checkpoints of one shard, in a folder of their own.
#[derive(Clone)]
pub struct FileCheckpoints {
    disk: Arc<dyn Disk>,
    shard: u32,
    journal: Option<JournalId>,
    /// Those that were written, or read to their end, through this handle or a clone of it.
    whole: Arc<Mutex<BTreeSet<Position>>>,
}

impl FileCheckpoints {
    /// Opens the folder, or makes it. `journal` is given once it is known: other journals' checkpoints are refused then.
    ///
    /// # Errors
    /// `Io`.
    pub fn open(folder: &Path, shard: u32, journal: Option<JournalId>) -> Result<Self, Error> {
        let disk = FolderDisk::create(folder)
            .map_err(|error| Error::io(format!("cannot make {}", folder.display()), &error))?;
        Self::open_on(Arc::new(disk), shard, journal)
    }

    /// Opens it on any disk. A file that was being written when the process ended is removed, and
    /// the names that are seen are made durable: a reader of a checkpoint removes the records
    /// before it.
    ///
    /// # Errors
    /// `Io`.
    pub fn open_on(disk: Arc<dyn Disk>, shard: u32, journal: Option<JournalId>) -> Result<Self, Error> {
        let clear = || -> io::Result<()> {
            for name in disk.list()?.iter().filter(|name| name.ends_with(".new")) {
                disk.remove(name)?;
            }
            disk.sync_folder()
        };
        clear().map_err(|error| Error::io(format!("cleaning {} failed", disk.place()), &error))?;
        Ok(Self { disk, shard, journal, whole: Arc::default() })
    }

    /// Looks at the checkpoints in a folder without changing anything; for `verify`.
    #[must_use]
    pub fn read_only(folder: &Path, shard: u32) -> Self {
        let disk = Arc::new(FolderDisk::read_only(folder));
        Self { disk, shard, journal: None, whole: Arc::default() }
    }

    /// The name of a checkpoint's file.
    #[must_use]
    pub fn file_name(position: Position) -> String {
        file_name(position)
    }

    /// The newest whole checkpoint at or before a position, if any; for a journal that was repaired.
    ///
    /// # Errors
    /// As for [`Checkpoints::newest`].
    pub fn newest_until(&self, position: Position) -> Result<Option<Box<dyn CheckpointReader>>, Error> {
        let mut damaged = None;
        for info in self.list()?.into_iter().filter(|info| info.position <= position) {
            match self.verified(info) {
                Ok(reader) => return Ok(Some(Box::new(reader))),
                Err(error) if is_damage(&error) => {
                    tracing::error!(
                        position = %info.position,
                        %error,
                        "A checkpoint cannot be read: the one before it is used, and the journal since then; look at the disk"
                    );
                    damaged.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        match damaged {
            Some(error) => Err(error),
            None => Ok(None),
        }
    }

    /// Reads each checkpoint to its end, the newest first, and reports its damage, if any; for
    /// `verify`.
    ///
    /// # Errors
    /// `Io` where they cannot be listed.
    pub fn verify_all(&self) -> Result<Vec<(CheckpointInfo, Option<Error>)>, Error> {
        Ok(self.list()?.into_iter().map(|info| (info, self.verified(info).err())).collect())
    }

    fn is_known_whole(&self, position: Position) -> bool {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner).contains(&position)
    }

    fn is_whole(&self, position: Position) {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner).insert(position);
    }

    /// Reads a checkpoint to its end, and gives a reader at its beginning.
    ///
    /// # Errors
    /// `Corrupt`, `Foreign`, `Io`.
    fn verified(&self, info: CheckpointInfo) -> Result<FileCheckpointReader, Error> {
        let mut reader = FileCheckpointReader::open(self, info)?;
        while reader.next()?.is_some() {}
        reader.rewind();
        self.is_whole(info.position);
        Ok(reader)
    }
}

/// Whether it is this file that cannot be read, and not that nothing can be.
fn is_damage(error: &Error) -> bool {
    matches!(error, Error::Corrupt(_) | Error::Io { .. })
}

fn file_name(position: Position) -> String {
    format!("{:016x}.checkpoint", position.0)
}

fn position_of(name: &str) -> Option<Position> {
    let digits = name.strip_suffix(".checkpoint").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok().map(Position)
}

fn chunk_checksum(seed: u32, number: u64, length: u32, body: &[u8]) -> u32 {
    let mut start = [0; 16];
    start[..4].copy_from_slice(&seed.to_le_bytes());
    start[4..12].copy_from_slice(&number.to_le_bytes());
    start[12..].copy_from_slice(&length.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c(&start), body)
}

impl Checkpoints for FileCheckpoints {
    fn begin(&self, position: Position) -> Result<Box<dyn CheckpointWriter>, Error> {
        let mut header = vec![0; HEADER_BYTES];
        header[..8].copy_from_slice(MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&self.shard.to_le_bytes());
        header[16..24].copy_from_slice(&self.journal.map_or(0, |journal| journal.0).to_le_bytes());
        header[24..32].copy_from_slice(&position.0.to_le_bytes());
        let seed = crc32c::crc32c(&header[..60]);
        header[60..].copy_from_slice(&seed.to_le_bytes());
        let making = format!("{:016x}.new", position.0);
        let file = self.disk.create(&making).map_err(|error| self.failed("making a checkpoint", &error))?;
        Ok(Box::new(FileCheckpointWriter {
            place: self.clone(),
            file,
            making,
            position,
            seed,
            buffer: header,
            written: 0,
            chunks: 0,
            body_bytes: 0,
            is_finished: false,
        }))
    }

    fn newest(&self) -> Result<Option<Box<dyn CheckpointReader>>, Error> {
        self.newest_until(Position(u64::MAX))
    }

    fn list(&self) -> Result<Vec<CheckpointInfo>, Error> {
        let list = || -> io::Result<Vec<CheckpointInfo>> {
            let mut infos = Vec::new();
            for name in self.disk.list()? {
                let Some(position) = position_of(&name) else { continue };
                infos.push(CheckpointInfo { position, bytes: self.disk.open(&name)?.length()? });
            }
            infos.sort_by_key(|info| std::cmp::Reverse(info.position));
            Ok(infos)
        };
        list().map_err(|error| self.failed("listing checkpoints", &error))
    }
}

impl FileCheckpoints {
    fn failed(&self, doing: &str, error: &io::Error) -> Error {
        if is_full(error) {
            Error::Full
        } else {
            Error::io(format!("{doing} in {} failed", self.disk.place()), error)
        }
    }

    /// Removes the files that are not needed beside the newest whole ones. As long as there are not
    /// enough of these, nothing goes: a file that cannot be read now may be readable later.
    fn remove_old(&self) -> Result<(), Error> {
        let all = self.list()?;
        if all.len() <= KEPT {
            return Ok(());
        }
        let mut kept = BTreeSet::new();
        for info in &all {
            if kept.len() == KEPT {
                break;
            }
            if !self.is_known_whole(info.position) {
                match self.verified(*info) {
                    Ok(_) => {}
                    Err(error) if is_damage(&error) => {
                        tracing::error!(
                            position = %info.position,
                            %error,
                            "A checkpoint cannot be read and does not count as kept; look at the disk"
                        );
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            kept.insert(info.position);
        }
        if kept.len() < KEPT {
            return Ok(());
        }
        for info in all.iter().filter(|info| !kept.contains(&info.position)) {
            self.disk
                .remove(&file_name(info.position))
                .map_err(|error| self.failed("removing a checkpoint", &error))?;
            self.whole.lock().unwrap_or_else(PoisonError::into_inner).remove(&info.position);
        }
        Ok(())
    }
}

struct FileCheckpointWriter {
    place: FileCheckpoints,
    file: Arc<dyn DiskFile>,
    making: String,
    position: Position,
    seed: u32,
    buffer: Vec<u8>,
    written: u64,
    chunks: u64,
    body_bytes: u64,
    is_finished: bool,
}

impl FileCheckpointWriter {
    fn flush(&mut self) -> Result<(), Error> {
        self.file
            .write_at(&self.buffer, self.written)
            .map_err(|error| self.place.failed("writing a checkpoint", &error))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

impl CheckpointWriter for FileCheckpointWriter {
    fn chunk(&mut self, body: &[u8]) -> Result<(), Error> {
        if body.is_empty() {
            return Err(Error::Setting("a chunk has at least one byte".to_owned()));
        }
        if body.len() > CHUNK_BYTES_MAX {
            return Err(Error::TooLarge { bytes: body.len(), bytes_max: CHUNK_BYTES_MAX });
        }
        let length = u32::try_from(body.len()).expect("a chunk has 64 MiB at most");
        let sum = chunk_checksum(self.seed, self.chunks, length, body);
        self.buffer.extend_from_slice(&length.to_le_bytes());
        self.buffer.extend_from_slice(&sum.to_le_bytes());
        self.buffer.extend_from_slice(body);
        self.chunks += 1;
        self.body_bytes += u64::from(length);
        if self.buffer.len() >= WRITE_BYTES {
            self.flush()?;
            self.file.trickle().map_err(|error| self.place.failed("writing a checkpoint", &error))?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<CheckpointInfo, Error> {
        let mut end = [0; END_BYTES];
        end[8..16].copy_from_slice(&self.chunks.to_le_bytes());
        end[16..].copy_from_slice(&self.body_bytes.to_le_bytes());
        let sum = chunk_checksum(self.seed, self.chunks, 0, &end[8..]);
        end[4..8].copy_from_slice(&sum.to_le_bytes());
        self.buffer.extend_from_slice(&end);
        self.flush()?;
        let publish = || -> io::Result<()> {
            self.file.sync()?;
            self.place.disk.rename(&self.making, &file_name(self.position))?;
            self.place.disk.sync_folder()
        };
        publish().map_err(|error| self.place.failed("finishing a checkpoint", &error))?;
        self.is_finished = true;
        self.place.is_whole(self.position);
        if let Err(error) = self.place.remove_old() {
            tracing::warn!(%error, "An old checkpoint stays");
        }
        Ok(CheckpointInfo { position: self.position, bytes: self.written })
    }
}

impl Drop for FileCheckpointWriter {
    fn drop(&mut self) {
        if !self.is_finished {
            // It is removed when the folder is opened the next time, if not now.
            let _ = self.place.disk.remove(&self.making);
        }
    }
}

/// Reads one file.
struct FileCheckpointReader {
    place: String,
    file: Arc<dyn DiskFile>,
    info: CheckpointInfo,
    seed: u32,
    /// Where in the file the buffer begins, what it holds, and how far it was read.
    start: u64,
    buffer: Vec<u8>,
    held: usize,
    used: usize,
    chunks: u64,
    body_bytes: u64,
    is_at_end: bool,
}

impl FileCheckpointReader {
    fn open(place: &FileCheckpoints, info: CheckpointInfo) -> Result<Self, Error> {
        let name = file_name(info.position);
        let file = place.disk.open(&name).map_err(|error| place.failed("opening a checkpoint", &error))?;
        let mut reader = Self {
            place: format!("{}/{name}", place.disk.place()),
            file,
            info,
            seed: 0,
            start: 0,
            buffer: Vec::new(),
            held: 0,
            used: 0,
            chunks: 0,
            body_bytes: 0,
            is_at_end: false,
        };
        let held = reader.fill(HEADER_BYTES)?;
        if held < HEADER_BYTES {
            return Err(reader.damage("the file ends within its header"));
        }
        let header: [u8; HEADER_BYTES] = reader.buffer[..HEADER_BYTES].try_into().expect("it holds a header");
        let u32_at = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("8 bytes"));
        reader.seed = u32_at(60);
        if &header[..8] != MAGIC || crc32c::crc32c(&header[..60]) != reader.seed {
            return Err(reader.damage("the checksum of its header is wrong"));
        }
        if u32_at(8) != VERSION {
            return Err(Error::Foreign(format!(
                "{} has version {}, this program knows {VERSION}",
                reader.place,
                u32_at(8)
            )));
        }
        let foreign = place.journal.is_some_and(|journal| u64_at(16) != 0 && u64_at(16) != journal.0);
        if foreign || u32_at(12) != place.shard {
            return Err(Error::Foreign(format!(
                "{} is of journal {:016x}, shard {}; it does not belong here",
                reader.place,
                u64_at(16),
                u32_at(12)
            )));
        }
        if u64_at(24) != info.position.0 {
            return Err(reader.damage("its name and its header name different positions"));
        }
        reader.used = HEADER_BYTES;
        Ok(reader)
    }

    fn rewind(&mut self) {
        (self.start, self.held, self.used) = (HEADER_BYTES as u64, 0, 0);
        (self.chunks, self.body_bytes, self.is_at_end) = (0, 0, false);
    }

    fn damage(&self, what: &str) -> Error {
        Error::Corrupt(Damage {
            file: self.place.clone(),
            offset: self.start + self.used as u64,
            position: self.info.position,
            what: what.to_owned(),
        })
    }

    /// Has so many unread bytes in the buffer, fewer where the file ends; returns how many.
    fn fill(&mut self, wanted: usize) -> Result<usize, Error> {
        if self.held - self.used >= wanted {
            return Ok(self.held - self.used);
        }
        self.buffer.copy_within(self.used..self.held, 0);
        self.start += self.used as u64;
        self.held -= self.used;
        self.used = 0;
        let size = wanted.max(READ_BYTES);
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        let read = self
            .file
            .read_at(&mut self.buffer[self.held..], self.start + self.held as u64)
            .map_err(|error| Error::io(format!("reading {} failed", self.place), &error))?;
        self.held += read;
        Ok(self.held)
    }

    fn end(&mut self, sum: u32) -> Result<(), Error> {
        if self.fill(END_BYTES + 1)? != END_BYTES {
            return Err(self.damage("something follows its end, or it ends before"));
        }
        let end = &self.buffer[self.used + 8..self.used + END_BYTES];
        let mut counts = [0; 16];
        counts[..8].copy_from_slice(&self.chunks.to_le_bytes());
        counts[8..].copy_from_slice(&self.body_bytes.to_le_bytes());
        if chunk_checksum(self.seed, self.chunks, 0, end) != sum || end != counts {
            return Err(self.damage("the checksum of its end is wrong"));
        }
        self.is_at_end = true;
        Ok(())
    }
}

impl CheckpointReader for FileCheckpointReader {
    fn info(&self) -> CheckpointInfo {
        self.info
    }

    fn next(&mut self) -> Result<Option<&[u8]>, Error> {
        if self.is_at_end {
            return Ok(None);
        }
        if self.fill(CHUNK_HEADER_BYTES)? < CHUNK_HEADER_BYTES {
            return Err(self.damage("it has no end"));
        }
        let header = &self.buffer[self.used..self.used + CHUNK_HEADER_BYTES];
        let length = u32::from_le_bytes(header[..4].try_into().expect("4 of 8 bytes"));
        let sum = u32::from_le_bytes(header[4..].try_into().expect("4 of 8 bytes"));
        if length == 0 {
            self.end(sum)?;
            return Ok(None);
        }
        let bytes = length as usize;
        let left = self.info.bytes.saturating_sub(self.start + self.used as u64);
        if bytes > CHUNK_BYTES_MAX
            || length as u64 > left
            || self.fill(CHUNK_HEADER_BYTES + bytes)? < CHUNK_HEADER_BYTES + bytes
        {
            return Err(self.damage("a chunk is longer than the file"));
        }
        let from = self.used + CHUNK_HEADER_BYTES;
        if chunk_checksum(self.seed, self.chunks, length, &self.buffer[from..from + bytes]) != sum {
            return Err(self.damage("the checksum of a chunk is wrong"));
        }
        self.used = from + bytes;
        self.chunks += 1;
        self.body_bytes += u64::from(length);
        Ok(Some(&self.buffer[from..from + bytes]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{LockError, LockGuard};
    use crate::memory::MemoryDisk;

    fn place(disk: &MemoryDisk) -> FileCheckpoints {
        FileCheckpoints::open_on(Arc::new(disk.clone()), 1, Some(JournalId(7))).expect("it opens")
    }

    fn write(place: &FileCheckpoints, position: u64, chunks: &[&[u8]]) -> CheckpointInfo {
        let mut writer = place.begin(Position(position)).expect("there is room");
        for chunk in chunks {
            writer.chunk(chunk).expect("there is room");
        }
        writer.finish().expect("there is room")
    }

    fn read(place: &FileCheckpoints) -> Option<(Position, Vec<Vec<u8>>)> {
        let mut reader = place.newest().expect("one is whole")?;
        let mut chunks = Vec::new();
        while let Some(chunk) = reader.next().expect("it was verified") {
            chunks.push(chunk.to_vec());
        }
        Some((reader.info().position, chunks))
    }

    #[test]
    fn the_newest_is_read_and_two_are_kept() {
        let disk = MemoryDisk::new(1);
        let place = place(&disk);
        assert_eq!(read(&place), None);
        let long = vec![5; 3 << 20];
        for position in [100, 200, 300] {
            write(&place, position, &[b"first", &long, b"last"]);
        }
        assert_eq!(read(&place), Some((Position(300), vec![b"first".to_vec(), long, b"last".to_vec()])));
        let kept: Vec<u64> = place.list().expect("it lists").iter().map(|info| info.position.0).collect();
        assert_eq!(kept, [300, 200]);
    }

    #[test]
    fn the_longest_chunk_is_read_again_and_a_longer_one_refused() {
        let disk = MemoryDisk::new(1);
        let place = place(&disk);
        let mut chunk = vec![7; CHUNK_BYTES_MAX + 1];
        let mut writer = place.begin(Position(100)).expect("there is room");
        let too_large = Error::TooLarge { bytes: CHUNK_BYTES_MAX + 1, bytes_max: CHUNK_BYTES_MAX };
        assert_eq!(writer.chunk(&chunk), Err(too_large));
        assert!(matches!(writer.chunk(&[]), Err(Error::Setting(_))));
        chunk.pop();
        writer.chunk(&chunk).expect("it is allowed");
        writer.finish().expect("there is room");
        let mut reader = place.newest().expect("it is whole").expect("it was written");
        assert!(reader.next() == Ok(Some(&chunk[..])), "the chunk is as it was written");
        assert_eq!(reader.next(), Ok(None));
    }

    #[test]
    fn any_flipped_bit_leads_to_the_one_before() {
        let disk = MemoryDisk::new(1);
        let place = place(&disk);
        write(&place, 100, &[b"older"]);
        let info = write(&place, 200, &[b"newer", b"x"]);
        let name = file_name(info.position);
        for byte in 0..info.bytes {
            assert!(disk.flip_bit(&name, byte, 3));
            match place.newest() {
                Ok(Some(reader)) => assert_eq!(reader.info().position, Position(100), "byte {byte}"),
                // A header that is valid for another shard or version would need its checksum changed too.
                Ok(None) | Err(_) => panic!("byte {byte}: the older one is whole"),
            }
            assert!(disk.flip_bit(&name, byte, 3));
        }
        assert_eq!(read(&place).map(|(position, _)| position), Some(Position(200)));
    }

    /// A disk of which one file cannot be read: a sector is bad.
    struct BadSector {
        disk: MemoryDisk,
        name: String,
    }

    struct BadFile(Arc<dyn DiskFile>);

    impl Disk for BadSector {
        fn place(&self) -> String {
            self.disk.place()
        }

        fn lock(&self) -> Result<LockGuard, LockError> {
            self.disk.lock()
        }

        fn list(&self) -> io::Result<Vec<String>> {
            self.disk.list()
        }

        fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
            let file = self.disk.open(name)?;
            Ok(if name == self.name { Arc::new(BadFile(file)) } else { file })
        }

        fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
            let file = self.disk.create(name)?;
            Ok(if name == self.name { Arc::new(BadFile(file)) } else { file })
        }

        fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            self.disk.rename(from, to)
        }

        fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
            self.disk.rename_new(from, to)
        }

        fn remove(&self, name: &str) -> io::Result<()> {
            self.disk.remove(name)
        }

        fn sync_folder(&self) -> io::Result<()> {
            self.disk.sync_folder()
        }

        fn random(&self) -> u64 {
            self.disk.random()
        }
    }

    impl DiskFile for BadFile {
        fn length(&self) -> io::Result<u64> {
            self.0.length()
        }

        fn read_at(&self, _into: &mut [u8], _offset: u64) -> io::Result<usize> {
            Err(rustix::io::Errno::IO.into())
        }

        fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
            self.0.write_at(bytes, offset)
        }

        fn sync(&self) -> io::Result<()> {
            self.0.sync()
        }

        fn trickle(&self) -> io::Result<()> {
            Err(rustix::io::Errno::IO.into())
        }

        fn allocate(&self, bytes: u64) -> io::Result<()> {
            self.0.allocate(bytes)
        }

        fn truncate(&self, bytes: u64) -> io::Result<()> {
            self.0.truncate(bytes)
        }
    }

    fn kept(place: &FileCheckpoints) -> Vec<u64> {
        place.list().expect("it lists").iter().map(|info| info.position.0).collect()
    }

    #[test]
    fn one_that_the_disk_does_not_read_leads_to_the_one_before_and_goes_when_two_are_whole() {
        let disk = MemoryDisk::new(1);
        write(&place(&disk), 100, &[b"older"]);
        write(&place(&disk), 200, &[b"newer"]);
        let bad = Arc::new(BadSector { disk: disk.clone(), name: file_name(Position(200)) });
        let place = FileCheckpoints::open_on(bad.clone(), 1, Some(JournalId(7))).expect("it opens");
        assert_eq!(read(&place), Some((Position(100), vec![b"older".to_vec()])));
        write(&place, 300, &[b"newest"]);
        assert_eq!(kept(&place), [300, 100], "what cannot be read does not count, and the good one stays");
        let alone = FileCheckpoints::open_on(
            Arc::new(BadSector { disk, name: file_name(Position(300)) }),
            1,
            Some(JournalId(7)),
        );
        assert_eq!(read(&alone.expect("it opens")).map(|(position, _)| position), Some(Position(100)));
    }

    #[test]
    fn one_whose_parts_the_disk_does_not_take_is_given_up() {
        let disk = MemoryDisk::new(1);
        write(&place(&disk), 100, &[b"older"]);
        let bad = Arc::new(BadSector { disk: disk.clone(), name: format!("{:016x}.new", 200) });
        let place = FileCheckpoints::open_on(bad, 1, Some(JournalId(7))).expect("it opens");
        let mut writer = place.begin(Position(200)).expect("it begins");
        writer.chunk(&vec![1; WRITE_BYTES / 2]).expect("less than a part is kept in memory");
        assert!(matches!(writer.chunk(&vec![2; WRITE_BYTES]), Err(Error::Io { .. })));
        drop(writer);
        assert_eq!(disk.list().expect("it lists"), [file_name(Position(100))]);
    }

    #[test]
    fn a_damaged_one_never_counts_as_kept() {
        let disk = MemoryDisk::new(1);
        write(&place(&disk), 100, &[b"older"]);
        write(&place(&disk), 200, &[b"newer"]);
        assert!(disk.flip_bit(&file_name(Position(200)), 70, 3));
        // The server starts again, and goes on.
        let place = place(&disk);
        assert_eq!(read(&place).map(|(position, _)| position), Some(Position(100)));
        let errors: Vec<bool> =
            place.verify_all().expect("it lists").iter().map(|(_, error)| error.is_some()).collect();
        assert_eq!(errors, [true, false]);
        write(&place, 300, &[b"newest"]);
        assert_eq!(kept(&place), [300, 100]);
        assert!(disk.flip_bit(&file_name(Position(300)), 70, 3));
        assert_eq!(read(&place).map(|(position, _)| position), Some(Position(100)), "one whole is left");
        // Too few are whole: nothing goes until there are two again.
        assert!(disk.flip_bit(&file_name(Position(100)), 70, 3));
        let again = super::tests::place(&disk);
        write(&again, 400, &[b"one"]);
        assert_eq!(kept(&again), [400, 300, 100]);
        write(&again, 500, &[b"two"]);
        assert_eq!(kept(&again), [500, 400]);
    }

    #[test]
    fn a_length_that_lies_costs_nothing() {
        let disk = MemoryDisk::new(1);
        let place = place(&disk);
        write(&place, 100, &[b"one"]);
        // The third byte of the first chunk's length: 4 MiB more.
        assert!(disk.flip_bit(&file_name(Position(100)), HEADER_BYTES as u64 + 2, 6));
        let allocated = allocation_counter::measure(|| assert!(place.newest().is_err()));
        assert!(allocated.bytes_max < 2 * READ_BYTES as u64, "{} bytes", allocated.bytes_max);
    }

    #[test]
    fn an_unfinished_one_leaves_no_trace() {
        let disk = MemoryDisk::new(1);
        write(&place(&disk), 100, &[b"older"]);
        let before = disk.files();
        let mut writer = place(&disk).begin(Position(200)).expect("there is room");
        writer.chunk(b"half").expect("there is room");
        drop(writer);
        assert_eq!(disk.files(), before);
        // The process is killed in the middle of another.
        let mut writer = place(&disk).begin(Position(300)).expect("there is room");
        writer.chunk(&vec![0; 2 << 20]).expect("there is room");
        disk.kill();
        drop(writer);
        assert_eq!(read(&place(&disk)).map(|(position, _)| position), Some(Position(100)));
    }

    #[test]
    fn a_crash_at_any_operation_keeps_a_whole_one() {
        for operations in 0..40 {
            for survives in [0, 1, usize::MAX] {
                let disk = MemoryDisk::new(1);
                write(&place(&disk), 100, &[b"older"]);
                disk.stop_after(operations);
                let attempt = || -> Result<(), Error> {
                    let place = FileCheckpoints::open_on(Arc::new(disk.clone()), 1, None)?;
                    let mut writer = place.begin(Position(200))?;
                    writer.chunk(&[1; 4000])?;
                    writer.finish()?;
                    let mut writer = place.begin(Position(300))?;
                    writer.chunk(&[1; 4000])?;
                    writer.finish()?;
                    Ok(())
                };
                let _ = attempt();
                disk.crash(&mut |choices| survives.min(choices - 1));
                let found = read(&place(&disk)).map(|(position, _)| position.0);
                assert!(found.is_some_and(|position| position >= 100), "{operations}: {found:?}");
            }
        }
    }

    #[test]
    fn a_foreign_one_is_refused() {
        let disk = MemoryDisk::new(1);
        write(&place(&disk), 100, &[b"ours"]);
        let other = FileCheckpoints::open_on(Arc::new(disk.clone()), 2, None).expect("it opens");
        assert!(matches!(other.newest(), Err(Error::Foreign(_))));
        let other = FileCheckpoints::open_on(Arc::new(disk), 1, Some(JournalId(8))).expect("it opens");
        assert!(matches!(other.newest(), Err(Error::Foreign(_))));
    }
}
