//! A disk that lies: broken variants of what the journal does with its files, chosen by a [`Sabotage`].
//!
//! Each passes everything on to the disk in memory, and does one thing wrong. Tests require that seeds find it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use stadium_journal::memory::MemoryDisk;
use stadium_journal::{Disk, DiskFile, LockError, LockGuard};

use crate::machine::Sabotage;

/// How names of checkpoints end.
const CHECKPOINT: &str = ".checkpoint";

/// Linux: the disk failed.
const EIO: i32 = 5;
/// Linux: this process may open no more files.
const EMFILE: i32 = 24;

/// Whether a sabotage is one of the disk.
pub fn lies(sabotage: Sabotage) -> bool {
    matches!(
        sabotage,
        Sabotage::SyncDoesNothing
            | Sabotage::FolderSyncDoesNothing
            | Sabotage::OneCheckpointIsKept
            | Sabotage::DamagedCheckpointsCount
            | Sabotage::UnreadCheckpointsAreTheEnd
            | Sabotage::FailedReadsAreEnds
            | Sabotage::FailedRenamesAreIgnored
            | Sabotage::FailedRemovalsAreForEver
            | Sabotage::FailedCreatesAreForEver
            | Sabotage::FailedOpensAreForEver
            | Sabotage::EveryOtherFolderSync
            | Sabotage::OneControlSlot
            | Sabotage::DescriptorsAreTheDisk
    )
}

/// A disk that reports success where something was not done.
pub struct LyingDisk {
    disk: MemoryDisk,
    sabotage: Sabotage,
    /// Something failed that is never tried again.
    is_lost: Arc<AtomicBool>,
    /// Names were changed since the folder was synced.
    is_changed: AtomicBool,
    /// Syncs of the folder that followed a change.
    folder_syncs: AtomicU64,
}

impl LyingDisk {
    pub fn new(disk: MemoryDisk, sabotage: Sabotage) -> LyingDisk {
        LyingDisk {
            disk,
            sabotage,
            is_lost: Arc::default(),
            is_changed: AtomicBool::new(false),
            folder_syncs: AtomicU64::new(0),
        }
    }

    fn file(&self, name: &str, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        let fails = self.sabotage == Sabotage::UnreadCheckpointsAreTheEnd && name.ends_with(CHECKPOINT);
        Arc::new(LyingFile {
            file,
            sabotage: self.sabotage,
            is_control: name == "control",
            fails_with: fails.then(|| Arc::clone(&self.is_lost)),
        })
    }

    /// What opening or creating gave, as the sabotaged journal takes it.
    fn taken(
        &self,
        name: &str,
        given: io::Result<Arc<dyn DiskFile>>,
        for_ever: Sabotage,
    ) -> io::Result<Arc<dyn DiskFile>> {
        let end = match self.sabotage {
            Sabotage::DescriptorsAreTheDisk => EMFILE,
            sabotage if sabotage == for_ever => EIO,
            _ => return given.map(|file| self.file(name, file)),
        };
        let failed = matches!(&given, Err(error) if error.raw_os_error() == Some(end));
        if self.is_lost.fetch_or(failed, Ordering::Relaxed) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        given.map(|file| self.file(name, file))
    }

    fn ignored(&self, ignoring: Sabotage, done: io::Result<()>) -> io::Result<()> {
        if self.sabotage == ignoring { Ok(()) } else { done }
    }
}

impl Disk for LyingDisk {
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
        self.taken(name, self.disk.open(name), Sabotage::FailedOpensAreForEver)
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.is_changed.store(true, Ordering::Relaxed);
        self.taken(name, self.disk.create(name), Sabotage::FailedCreatesAreForEver)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.is_changed.store(true, Ordering::Relaxed);
        self.ignored(Sabotage::FailedRenamesAreIgnored, self.disk.rename(from, to))?;
        let kept = match self.sabotage {
            Sabotage::OneCheckpointIsKept => 1,
            Sabotage::DamagedCheckpointsCount => 2,
            _ => return Ok(()),
        };
        if to.ends_with(CHECKPOINT) {
            let mut names = self.disk.list()?;
            names.retain(|name| name.ends_with(CHECKPOINT));
            names.sort_unstable();
            names.iter().rev().skip(kept).for_each(|name| drop(self.disk.remove(name)));
        }
        Ok(())
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.is_changed.store(true, Ordering::Relaxed);
        self.ignored(Sabotage::FailedRenamesAreIgnored, self.disk.rename_new(from, to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let for_ever = self.sabotage == Sabotage::FailedRemovalsAreForEver;
        if for_ever && self.is_lost.load(Ordering::Relaxed) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.is_changed.store(true, Ordering::Relaxed);
        let removed = self.disk.remove(name);
        self.is_lost.fetch_or(for_ever && removed.is_err(), Ordering::Relaxed);
        removed
    }

    fn sync_folder(&self) -> io::Result<()> {
        let is_changed = self.is_changed.swap(false, Ordering::Relaxed);
        let syncs = self.folder_syncs.fetch_add(u64::from(is_changed), Ordering::Relaxed);
        match self.sabotage {
            Sabotage::FolderSyncDoesNothing => Ok(()),
            Sabotage::EveryOtherFolderSync if is_changed && syncs % 2 == 1 => Ok(()),
            _ => self.disk.sync_folder(),
        }
    }

    fn random(&self) -> u64 {
        self.disk.random()
    }
}

struct LyingFile {
    file: Arc<dyn DiskFile>,
    sabotage: Sabotage,
    is_control: bool,
    /// Of a checkpoint: set when one could not be read, and then none can.
    fails_with: Option<Arc<AtomicBool>>,
}

impl DiskFile for LyingFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.file.read_at(into, offset);
        if let Some(lost) = &self.fails_with
            && (lost.fetch_or(read.is_err(), Ordering::Relaxed) || read.is_err())
        {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        match read {
            Err(_) if self.sabotage == Sabotage::FailedReadsAreEnds => Ok(0),
            read => read,
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let is_moved = self.sabotage == Sabotage::OneControlSlot && self.is_control;
        self.file.write_at(bytes, if is_moved { 0 } else { offset })
    }

    fn sync(&self) -> io::Result<()> {
        match self.sabotage {
            Sabotage::SyncDoesNothing => Ok(()),
            _ => self.file.sync(),
        }
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        self.file.allocate(bytes)?;
        if self.sabotage != Sabotage::SyncDoesNothing {
            return Ok(());
        }
        // Without this nothing would ever survive, and that is noticed too easily.
        self.file.sync()
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.file.truncate(bytes)
    }
}
