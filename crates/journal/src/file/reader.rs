//! Reads records from the files, in any thread.
//!
//! It reads what is durable and nothing after it, verifies each frame, and steps over segments that were removed, also
//! while it stood in one. A frame that can't be read is damage, unless its segment has gone meanwhile.

use std::io;
use std::sync::Arc;

use crate::file::segments::Opened;
use crate::file::shared::Shared;
use crate::frame::{self, FRAME_ALIGN, FRAME_HEADER_BYTES, Frame, NoFrame};
use crate::{Damage, Error, Position, Reader, Record};

/// Bytes read from the disk at once; more where a record is longer.
const READ_BYTES: usize = 1 << 20;
/// Bytes read at once for one record somewhere: most are shorter.
const PEEK_BYTES: usize = 4 << 10;

/// Reads the records of a journal on files.
pub(crate) struct FileReader {
    shared: Arc<Shared>,
    /// Where the next frame is looked for.
    at: Position,
    /// The segment that was read last.
    current: Option<Opened>,
    buffer: Vec<u8>,
    /// What `buffer` holds: from this position on, so many bytes.
    buffered: (Position, usize),
}

/// A frame in the buffer.
struct Found {
    /// Where in the buffer its body is, for a record.
    body: Option<(usize, usize)>,
    /// Where the next frame is.
    next: Position,
}

impl FileReader {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            at: Position::START,
            current: None,
            buffer: Vec::new(),
            buffered: (Position::START, 0),
        }
    }

    /// Opens the segment in which `self.at` lies, or goes to the next one. False at the durable end.
    fn enter(&mut self) -> Result<bool, Error> {
        loop {
            if self.at >= self.shared.durable() {
                return Ok(false);
            }
            if let Some(current) = &self.current {
                let header = &current.segment.header;
                if header.first() <= self.at && self.at < header.limit() {
                    return Ok(true);
                }
            }
            self.current = None;
            self.buffered.1 = 0;
            let segment = match self.shared.segments.at(self.at) {
                Some(segment) => segment,
                None => match self.shared.segments.from(self.at) {
                    Some(segment) => segment,
                    None => return Ok(false),
                },
            };
            self.at = self.at.max(segment.header.first());
            match self.shared.segments.open_at(self.at) {
                Ok(opened) => self.current = Some(opened),
                Err(Error::Gone(_)) => {}
                Err(error) => {
                    // Removed between the look and the opening.
                    if self.shared.segments.holds(&segment) {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Has at least `wanted` bytes at `self.at` in the buffer if they are durable and in the segment; else what there is.
    fn fill(&mut self, wanted: usize, ahead: usize) -> Result<(usize, usize), Error> {
        let Some(current) = &self.current else { return Ok((0, 0)) };
        let limit = current.segment.header.limit().min(self.shared.durable());
        let available = usize::try_from(limit.since(self.at)).unwrap_or(usize::MAX);
        let (start, held) = self.buffered;
        let skip = usize::try_from(self.at.since(start)).unwrap_or(usize::MAX);
        if self.at >= start && skip <= held && held - skip >= wanted.min(available) {
            return Ok((skip, (held - skip).min(available)));
        }
        let mut bytes = wanted.max(ahead).min(available);
        let offset = current.segment.offset(self.at);
        let failed = |error: io::Error| Error::io(format!("cannot read {}", current.segment.name()), &error);
        if self.buffer.len() < bytes {
            // A length in a header is not allocated unless the file has it.
            let there = current.file.length().map_err(failed)?.saturating_sub(offset);
            bytes = usize::try_from(there).unwrap_or(usize::MAX).min(bytes);
            self.buffer.resize(bytes.max(self.buffer.len()), 0);
        }
        let read = current.file.read_at(&mut self.buffer[..bytes], offset).map_err(failed)?;
        self.buffered = (self.at, read);
        Ok((0, read))
    }

    /// Reads the frame at `self.at`, in the current segment.
    fn frame(&mut self, ahead: usize) -> Result<Found, Error> {
        let (mut skip, mut held) = self.fill(FRAME_HEADER_BYTES, ahead)?;
        loop {
            let Some(current) = &self.current else { return Err(Error::Gone(self.at)) };
            let bytes = &self.buffer[skip..skip + held];
            let what = match frame::decode(current.segment.seed, self.at, bytes) {
                Ok((Frame::Record(body), used)) => {
                    let body = (skip + FRAME_HEADER_BYTES, body.len());
                    return Ok(Found { body: Some(body), next: self.at.plus(used as u64) });
                }
                Ok((Frame::Batch(_), used)) => {
                    return Ok(Found { body: None, next: self.at.plus(used as u64) });
                }
                Ok((Frame::Seal(_), _)) => {
                    return Ok(Found { body: None, next: current.segment.header.limit() });
                }
                Ok((Frame::Gap(until), _)) => return Ok(Found { body: None, next: until }),
                Err(NoFrame::Short(whole)) if whole > held => {
                    let before = held;
                    (skip, held) = self.fill(whole, ahead)?;
                    if held > before {
                        continue;
                    }
                    "the file ends within a record".to_owned()
                }
                Err(NoFrame::Unknown(kind)) => format!("a frame of kind {kind}, which a newer version wrote"),
                Err(NoFrame::Short(_) | NoFrame::Invalid) => "the checksum of a record is wrong".to_owned(),
            };
            let Some(current) = &self.current else { return Err(Error::Gone(self.at)) };
            return Err(Error::Corrupt(Damage {
                file: format!("{}/{}", self.shared.disk.place(), current.segment.name()),
                offset: current.segment.offset(self.at),
                position: self.at,
                what,
            }));
        }
    }

    /// Whether the current segment was removed, so that the content of its file means nothing.
    fn has_gone(&self) -> bool {
        self.current.as_ref().is_none_or(|current| !self.shared.segments.holds(&current.segment))
    }

    fn leave(&mut self) {
        if let Some(current) = self.current.take() {
            self.at = current.segment.header.limit();
        }
        self.buffered.1 = 0;
    }
}

impl Reader for FileReader {
    fn seek(&mut self, to: Position) -> Result<(), Error> {
        self.at = to;
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
        loop {
            if !self.enter()? {
                return Ok(None);
            }
            let position = self.at;
            match self.frame(READ_BYTES) {
                Ok(Found { body: Some((start, length)), next }) => {
                    self.at = next;
                    let body = &self.buffer[start..start + length];
                    return Ok(Some(Record { position, end: next, body }));
                }
                Ok(Found { body: None, next }) => self.at = next,
                Err(_) if self.has_gone() => self.leave(),
                Err(error) => return Err(error),
            }
        }
    }

    fn record(&mut self, at: Position) -> Result<Record<'_>, Error> {
        if at >= self.shared.durable() || !at.0.is_multiple_of(FRAME_ALIGN as u64) {
            return Err(Error::NoRecord(at));
        }
        // Another record may have been read from here before the segment went.
        if self.has_gone() {
            self.current = None;
            self.buffered.1 = 0;
        }
        self.at = at;
        if !self.enter()? || self.at != at {
            let is_there = self.shared.segments.at(at).is_some();
            return Err(if is_there { Error::NoRecord(at) } else { Error::Gone(at) });
        }
        match self.frame(PEEK_BYTES) {
            Ok(Found { body: Some((start, length)), next }) => {
                self.at = next;
                Ok(Record { position: at, end: next, body: &self.buffer[start..start + length] })
            }
            Ok(Found { body: None, .. }) => Err(Error::NoRecord(at)),
            Err(_) if self.has_gone() => Err(Error::Gone(at)),
            Err(error) => Err(error),
        }
    }
}
