//! Checkpoints in memory: the newest two that were finished.
//!
//! They are kept as the chunks that they were written in. A reader keeps its checkpoint also when
//! newer ones replace it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::checkpoint::{CheckpointInfo, CheckpointReader, CheckpointWriter, Checkpoints};
use crate::{CHUNK_BYTES_MAX, Error, Position};

/// Checkpoints that are kept.
const KEPT: usize = 2;

/// The kept checkpoints, newest first. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Kept(Arc<Mutex<Vec<Arc<Checkpoint>>>>);

struct Checkpoint {
    info: CheckpointInfo,
    chunks: Vec<Vec<u8>>,
}

impl Kept {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Checkpoint>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The checkpoints of a [`super::MemoryStore`].
pub(super) struct MemoryCheckpoints(Kept);

impl MemoryCheckpoints {
    pub(super) fn new(kept: Kept) -> Self {
        Self(kept)
    }
}

impl Checkpoints for MemoryCheckpoints {
    fn begin(&self, position: Position) -> Result<Box<dyn CheckpointWriter>, Error> {
        let checkpoint = Checkpoint { info: CheckpointInfo { position, bytes: 0 }, chunks: Vec::new() };
        Ok(Box::new(MemoryWriter { kept: self.0.clone(), checkpoint }))
    }

    fn newest(&self) -> Result<Option<Box<dyn CheckpointReader>>, Error> {
        let newest = self.0.lock().first().cloned();
        Ok(newest.map(|checkpoint| Box::new(MemoryReader { checkpoint, next: 0 }) as _))
    }

    fn list(&self) -> Result<Vec<CheckpointInfo>, Error> {
        Ok(self.0.lock().iter().map(|checkpoint| checkpoint.info).collect())
    }
}

struct MemoryWriter {
    kept: Kept,
    checkpoint: Checkpoint,
}

impl CheckpointWriter for MemoryWriter {
    fn chunk(&mut self, body: &[u8]) -> Result<(), Error> {
        if body.len() > CHUNK_BYTES_MAX {
            return Err(Error::TooLarge { bytes: body.len(), bytes_max: CHUNK_BYTES_MAX });
        }
        self.checkpoint.chunks.push(body.to_vec());
        self.checkpoint.info.bytes += body.len() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<CheckpointInfo, Error> {
        let info = self.checkpoint.info;
        let mut kept = self.kept.lock();
        // One of the same position is replaced: nothing was appended since.
        kept.retain(|other| other.info.position != info.position);
        kept.insert(0, Arc::new(self.checkpoint));
        kept.truncate(KEPT);
        Ok(info)
    }
}

struct MemoryReader {
    checkpoint: Arc<Checkpoint>,
    next: usize,
}

impl CheckpointReader for MemoryReader {
    fn info(&self) -> CheckpointInfo {
        self.checkpoint.info
    }

    fn next(&mut self) -> Result<Option<&[u8]>, Error> {
        let chunk = self.checkpoint.chunks.get(self.next);
        self.next += usize::from(chunk.is_some());
        Ok(chunk.map(Vec::as_slice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(checkpoints: &dyn Checkpoints, position: u64, chunks: &[&[u8]]) {
        let mut writer = checkpoints.begin(Position(position)).expect("memory takes it");
        chunks.iter().for_each(|chunk| writer.chunk(chunk).expect("it is short"));
        writer.finish().expect("memory takes it");
    }

    #[test]
    fn newest_two_are_kept_and_read_as_they_were_written() {
        let checkpoints = MemoryCheckpoints::new(Kept::default());
        assert!(checkpoints.newest().expect("memory works").is_none());
        write(&checkpoints, 10, &[b"a"]);
        write(&checkpoints, 20, &[b"b", b"cd"]);
        let mut reader = checkpoints.newest().expect("memory works").expect("there is one");
        write(&checkpoints, 30, &[b"e"]);
        // One that is not finished leaves no trace.
        checkpoints.begin(Position(40)).expect("memory takes it").chunk(b"f").expect("it is short");
        let positions: Vec<u64> =
            checkpoints.list().expect("memory works").iter().map(|info| info.position.0).collect();
        assert_eq!(positions, [30, 20]);
        assert_eq!(reader.info(), CheckpointInfo { position: Position(20), bytes: 3 });
        assert_eq!(reader.next(), Ok(Some(b"b".as_slice())));
        assert_eq!(reader.next(), Ok(Some(b"cd".as_slice())));
        assert_eq!(reader.next(), Ok(None));
        assert_eq!(reader.next(), Ok(None));
    }

    #[test]
    fn a_chunk_that_is_too_long_is_refused() {
        let checkpoints = MemoryCheckpoints::new(Kept::default());
        let mut writer = checkpoints.begin(Position(1)).expect("memory takes it");
        let refused = writer.chunk(&vec![0; CHUNK_BYTES_MAX + 1]);
        assert!(matches!(refused, Err(Error::TooLarge { .. })), "{refused:?}");
    }
}
