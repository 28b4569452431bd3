//! Where a shard's journal and checkpoints are: in its folder, or in memory.

use std::path::PathBuf;

use stadium_journal::{
    Checkpoints, Error, FileCheckpoints, FileJournal, JournalId, JournalThreads, MemoryBounds, MemoryLog,
    MemoryStore, Opening, Options, make_folder,
};

use crate::core::Store;

/// Journal and checkpoints of a shard in its folder.
#[derive(Debug, Clone)]
pub(crate) struct FileStore {
    pub(crate) folder: PathBuf,
    pub(crate) options: Options,
    /// Of all journals.
    pub(crate) threads: JournalThreads,
}

impl Store for FileStore {
    type Journal = FileJournal;

    fn open(&mut self, opening: Opening) -> Result<FileJournal, Error> {
        let options = Options { opening, ..self.options.clone() };
        FileJournal::open_with(&self.folder.join("journal"), &options, self.threads.clone())
    }

    fn checkpoints(&mut self, journal: Option<JournalId>) -> Result<Box<dyn Checkpoints>, Error> {
        let folder = self.folder.join("checkpoints");
        let shard = self.options.shard;
        Ok(Box::new(match journal {
            None => {
                for folder in [&self.folder, &folder] {
                    make_folder(folder)
                        .map_err(|error| Error::io(format!("making {}", folder.display()), &error))?;
                }
                FileCheckpoints::read_only(&folder, shard)
            }
            some => FileCheckpoints::open(&folder, shard, some)?,
        }))
    }
}

/// Journal and checkpoints of a shard in memory. Clones are the same; both end with the process.
#[derive(Clone)]
pub(crate) struct VolatileStore(MemoryStore);

impl VolatileStore {
    /// An empty one, of so many bytes, for a journal whose other bounds are in `options`. `id`
    /// distinguishes it from others.
    pub(crate) fn new(bytes_max: u64, options: &Options, id: u64) -> Self {
        let bounds = MemoryBounds {
            bytes_max,
            reserve_bytes: options.reserve_bytes,
            record_bytes_max: options.record_bytes_max,
            waiting_bytes_max: options.waiting_bytes_max,
        };
        Self(MemoryStore::new(JournalId(id), bounds))
    }
}

impl Store for VolatileStore {
    type Journal = MemoryLog;

    fn open(&mut self, opening: Opening) -> Result<MemoryLog, Error> {
        self.0.open(opening)
    }

    fn checkpoints(&mut self, _journal: Option<JournalId>) -> Result<Box<dyn Checkpoints>, Error> {
        Ok(self.0.checkpoints())
    }
}
