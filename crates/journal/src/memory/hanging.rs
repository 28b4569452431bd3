//! A disk in memory that hangs: syncs wait until it goes on.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::MemoryDisk;
use crate::disk::{Disk, DiskFile, LockError, LockGuard};

/// A [`MemoryDisk`] whose syncs wait while it hangs. Clones are the same disk.
#[derive(Clone)]
pub struct HangingDisk {
    disk: MemoryDisk,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    hangs: Mutex<bool>,
    goes_on: Condvar,
}

impl Gate {
    fn pass(&self) {
        let hangs = self.hangs.lock().unwrap_or_else(PoisonError::into_inner);
        let hangs = self.goes_on.wait_while(hangs, |hangs| *hangs);
        drop(hangs.unwrap_or_else(PoisonError::into_inner));
    }
}

impl HangingDisk {
    /// One that does not hang yet.
    #[must_use]
    pub fn new(disk: MemoryDisk) -> Self {
        Self { disk, gate: Arc::default() }
    }

    /// Whether syncs wait from now on; those that wait go on otherwise.
    pub fn hang(&self, hangs: bool) {
        *self.gate.hangs.lock().unwrap_or_else(PoisonError::into_inner) = hangs;
        self.gate.goes_on.notify_all();
    }

    fn file(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(HangingFile { file, gate: Arc::clone(&self.gate) })
    }
}

impl Disk for HangingDisk {
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
        self.disk.open(name).map(|file| self.file(file))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.create(name).map(|file| self.file(file))
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
        self.gate.pass();
        self.disk.sync_folder()
    }

    fn random(&self) -> u64 {
        self.disk.random()
    }
}

struct HangingFile {
    file: Arc<dyn DiskFile>,
    gate: Arc<Gate>,
}

impl DiskFile for HangingFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(into, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.gate.pass();
        self.file.sync()
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        self.file.allocate(bytes)
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.file.truncate(bytes)
    }
}
