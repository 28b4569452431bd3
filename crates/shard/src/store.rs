//! A shard's journal and checkpoints in its folder.

use std::path::PathBuf;

use stadium_journal::{
    Checkpoints, Error, FileCheckpoints, FileJournal, JournalId, Opening, Options, make_folder,
};

use crate::core::Store;

/// Journal and checkpoints of a shard in its folder.
#[derive(Debug, Clone)]
pub(crate) struct FileStore {
    pub(crate) folder: PathBuf,
    pub(crate) options: Options,
}

impl Store for FileStore {
    type Journal = FileJournal;

    fn open(&mut self, opening: Opening) -> Result<FileJournal, Error> {
        FileJournal::open(&self.folder.join("journal"), &Options { opening, ..self.options.clone() })
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
