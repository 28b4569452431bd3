//! The conformance suite on real files, on the disk in memory with threads, step by step, and on
//! the log in memory.

use std::path::PathBuf;
use std::sync::Arc;

use stadium_journal::conformance::{Place, run, segmented};
use stadium_journal::memory::MemoryDisk;
use stadium_journal::{Error, FileJournal, Journal, JournalId, MemoryBounds, MemoryStore, Opening, Options};

fn options(opening: Opening) -> Options {
    Options {
        segment_bytes: 64 << 10,
        reserve_bytes: 64 << 10,
        record_bytes_max: 8 << 10,
        waiting_bytes_max: 64 << 10,
        tail_bytes: 96 << 10,
        opening,
        ..Options::default()
    }
}

struct Folder {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Place for Folder {
    fn open(&self, opening: Opening) -> Result<Box<dyn Journal>, Error> {
        Ok(Box::new(FileJournal::open(&self.path, &options(opening))?))
    }
}

struct Memory {
    disk: MemoryDisk,
    is_stepped: bool,
}

impl Place for Memory {
    fn open(&self, opening: Opening) -> Result<Box<dyn Journal>, Error> {
        let disk = Arc::new(self.disk.clone());
        if self.is_stepped {
            return Ok(Box::new(FileJournal::open_stepped(disk, &options(opening))?.0));
        }
        Ok(Box::new(FileJournal::open_on(disk, &options(opening))?))
    }
}

#[test]
fn a_journal_in_a_folder_keeps_its_promises() {
    let fresh = || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Folder { path: folder.path().join("journal"), _folder: folder }
    };
    run(fresh);
    segmented::run(fresh);
}

#[test]
fn a_journal_on_a_disk_in_memory_keeps_its_promises() {
    let fresh = || Memory { disk: MemoryDisk::new(1), is_stepped: false };
    run(fresh);
    segmented::run(fresh);
}

#[test]
fn a_stepped_journal_keeps_its_promises() {
    let fresh = || Memory { disk: MemoryDisk::new(1), is_stepped: true };
    run(fresh);
    segmented::run(fresh);
}

struct Log(MemoryStore);

impl Place for Log {
    fn open(&self, opening: Opening) -> Result<Box<dyn Journal>, Error> {
        Ok(Box::new(self.0.open(opening)?))
    }
}

#[test]
fn a_log_in_memory_keeps_its_promises() {
    let bounds = MemoryBounds {
        bytes_max: 8 << 20,
        reserve_bytes: 1 << 20,
        record_bytes_max: 8 << 10,
        waiting_bytes_max: 64 << 10,
    };
    run(|| Log(MemoryStore::new(JournalId(7), bounds.clone())));
}
