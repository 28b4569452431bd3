//! Reads the records of a log in memory, in any thread.
//!
//! Each record is copied while the log is locked, so that a slow reader holds nobody up.

use std::sync::{Arc, RwLock};

use super::{Log, read};
use crate::{Error, Position, Reader, Record};

/// Reads what is durable.
pub(super) struct MemoryReader {
    log: Arc<RwLock<Log>>,
    /// Where the next record is looked for.
    at: Position,
    /// The record that was read last.
    body: Vec<u8>,
}

impl MemoryReader {
    pub(super) fn new(log: Arc<RwLock<Log>>) -> Self {
        Self { log, at: Position::START, body: Vec::new() }
    }
}

impl Reader for MemoryReader {
    fn seek(&mut self, to: Position) -> Result<(), Error> {
        self.at = to;
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
        let log = read(&self.log);
        let Some(found) = log.blocks.from(self.at).filter(|found| found.position < log.durable) else {
            return Ok(None);
        };
        let (position, end) = (found.position, found.end);
        self.body.clear();
        self.body.extend_from_slice(found.body);
        self.at = end;
        Ok(Some(Record { position, end, body: &self.body }))
    }

    fn record(&mut self, at: Position) -> Result<Record<'_>, Error> {
        let log = read(&self.log);
        if at >= log.durable {
            return Err(Error::NoRecord(at));
        }
        let found = log.blocks.at(at)?;
        let (position, end) = (found.position, found.end);
        self.body.clear();
        self.body.extend_from_slice(found.body);
        self.at = end;
        Ok(Record { position, end, body: &self.body })
    }
}
