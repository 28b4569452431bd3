//! The conformance suite on real files, on the disk in memory with threads, and step by step.

use std::path::PathBuf;
use std::sync::Arc;

use stadium_journal::conformance::{Place, run};
use stadium_journal::memory::MemoryDisk;
use stadium_journal::{Error, FileJournal, Journal, Opening, Options};

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
    run(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Folder { path: folder.path().join("journal"), _folder: folder }
    });
}

#[test]
fn a_journal_in_memory_keeps_its_promises() {
    run(|| Memory { disk: MemoryDisk::new(1), is_stepped: false });
}

#[test]
fn a_stepped_journal_keeps_its_promises() {
    run(|| Memory { disk: MemoryDisk::new(1), is_stepped: true });
}
