//! A shard's journal and checkpoints in its folder.

use std::path::PathBuf;

use stadium_journal::{
    CheckpointInfo, CheckpointReader, CheckpointWriter, Checkpoints, Error, FileJournal, Opening, Options,
    Position,
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

    fn checkpoints(&mut self) -> Result<Box<dyn Checkpoints>, Error> {
        Ok(Box::new(NoCheckpoints))
    }
}

/// Recovery reads the whole journal.
struct NoCheckpoints;

impl Checkpoints for NoCheckpoints {
    fn begin(&self, _position: Position) -> Result<Box<dyn CheckpointWriter>, Error> {
        Err(Error::Io {
            what: "a checkpoint".into(),
            kind: std::io::ErrorKind::Unsupported,
            message: "files of checkpoints are not there yet".into(),
        })
    }

    fn newest(&self) -> Result<Option<Box<dyn CheckpointReader>>, Error> {
        Ok(None)
    }

    fn list(&self) -> Result<Vec<CheckpointInfo>, Error> {
        Ok(Vec::new())
    }
}
