//! The files of a mirror that were written and not synced.
//!
//! The sync may run in any thread, beside further writes. What is written meanwhile is in the next
//! one.

use std::io;
use std::sync::Arc;

use crate::Position;
use crate::disk::{Disk, DiskFile};

#[derive(Default)]
pub(super) struct Sync {
    /// By the base of their segments, in the order in which they were written.
    files: Vec<(Position, Arc<dyn DiskFile>)>,
    /// Names have changed.
    folder: bool,
}

impl Sync {
    pub(super) fn written(&mut self, base: Position, file: &Arc<dyn DiskFile>) {
        if self.files.last().is_none_or(|(last, _)| *last != base) {
            self.files.push((base, Arc::clone(file)));
        }
    }

    pub(super) fn made(&mut self, base: Position, file: &Arc<dyn DiskFile>) {
        self.folder = true;
        self.written(base, file);
    }

    pub(super) fn removed(&mut self, base: Position) {
        self.files.retain(|(one, _)| *one != base);
    }

    /// The sync of all that was written so far.
    pub(super) fn take(&mut self, disk: &Arc<dyn Disk>) -> SyncJob {
        let files = self.files.drain(..).map(|(_, file)| file).collect();
        SyncJob { disk: Arc::clone(disk), files, folder: std::mem::take(&mut self.folder) }
    }
}

/// Makes what a mirror has written durable on its own disk.
#[must_use = "nothing is synced before it runs"]
pub struct SyncJob {
    disk: Arc<dyn Disk>,
    files: Vec<Arc<dyn DiskFile>>,
    folder: bool,
}

impl SyncJob {
    /// Waits for the disk.
    ///
    /// # Errors
    /// Of the file system: the mirror is at its end then, since a second sync proves nothing.
    pub fn run(&self) -> io::Result<()> {
        self.files.iter().try_for_each(|file| file.sync())?;
        if self.folder { self.disk.sync_folder() } else { Ok(()) }
    }
}
