//! Walks the frames of one segment, and reports what it finds.
//!
//! For opening and for `verify`: it stops at the first thing that is no frame, and looks beyond it for proofs only. Memory
//! is a window on the file, longer where a record is.

use std::io;

use crate::Position;
use crate::disk::DiskFile;
use crate::file::segments::SegmentFile;
use crate::frame::{self, FRAME_HEADER_BYTES, Frame, NOTE_BYTES, NoFrame, SealReason};

/// Bytes read at once.
const WINDOW_BYTES: usize = 1 << 20;

/// What stands in a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Scan {
    /// After the last valid frame, the seal included and a mark not.
    pub(crate) end: Position,
    /// After the last record; the first frame's place if there is none.
    pub(crate) records_end: Position,
    pub(crate) records: u64,
    pub(crate) batches: u64,
    /// Why it is sealed, if it is.
    pub(crate) sealed: Option<SealReason>,
    /// The greatest position that any frame proves to have been durable.
    pub(crate) proof: Position,
    /// The end of the last batch, as its header states it.
    pub(crate) claimed_end: Position,
    /// A kind of frame that a newer version must have written, at the end.
    pub(crate) unknown: Option<u8>,
}

/// A window on a segment's file.
pub(crate) struct Window<'a> {
    segment: &'a SegmentFile,
    file: &'a dyn DiskFile,
    length: u64,
    buffer: Vec<u8>,
    start: u64,
    held: usize,
}

impl<'a> Window<'a> {
    pub(crate) fn new(segment: &'a SegmentFile, file: &'a dyn DiskFile) -> io::Result<Self> {
        let length = file.length()?.min(segment.header.capacity);
        Ok(Self { segment, file, length, buffer: Vec::new(), start: 0, held: 0 })
    }

    /// Bytes of the file that may hold frames.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Reads `wanted` bytes at `offset`, fewer where the file ends.
    pub(crate) fn bytes(&mut self, offset: u64, wanted: usize) -> io::Result<&[u8]> {
        let available = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = wanted.min(available);
        let is_held = offset >= self.start && offset + wanted as u64 <= self.start + self.held as u64;
        if !is_held {
            let bytes = wanted.max(WINDOW_BYTES).min(available);
            self.buffer.resize(bytes.max(self.buffer.len()), 0);
            self.held = self.file.read_at(&mut self.buffer[..bytes], offset)?;
            self.start = offset;
        }
        let from = usize::try_from(offset - self.start).expect("it is in the window").min(self.held);
        Ok(&self.buffer[from..self.held])
    }

    /// The frame at a position of the segment.
    pub(crate) fn frame(&mut self, at: Position) -> io::Result<Result<(Frame<'_>, usize), NoFrame>> {
        let offset = self.segment.offset(at);
        let seed = self.segment.seed;
        let wanted = match frame::decode(seed, at, self.bytes(offset, FRAME_HEADER_BYTES)?) {
            Err(NoFrame::Short(whole)) => whole,
            _ => FRAME_HEADER_BYTES,
        };
        Ok(frame::decode(seed, at, self.bytes(offset, wanted)?))
    }

    /// The greatest position that a frame at or after `from` proves to have been durable.
    pub(crate) fn proof(&mut self, from: Position) -> io::Result<Option<Position>> {
        let mut at = from;
        let mut found = None;
        loop {
            let offset = self.segment.offset(at);
            let seed = self.segment.seed;
            let bytes = self.bytes(offset, WINDOW_BYTES)?;
            if bytes.len() < NOTE_BYTES {
                return Ok(found);
            }
            found = found.max(frame::proof(seed, at, bytes));
            // A frame across the border of two windows begins in the second one too.
            let step = (bytes.len() - NOTE_BYTES + 8) & !7;
            at = at.plus(step as u64);
        }
    }
}

/// Walks a segment from its first frame on.
pub(crate) fn scan(segment: &SegmentFile, file: &dyn DiskFile) -> io::Result<Scan> {
    let mut window = Window::new(segment, file)?;
    let first = segment.header.first();
    let mut scan = Scan {
        end: first,
        records_end: first,
        records: 0,
        batches: 0,
        sealed: None,
        proof: Position::START,
        claimed_end: first,
        unknown: None,
    };
    loop {
        let at = scan.end;
        if at >= segment.header.limit() {
            break;
        }
        match window.frame(at)? {
            Ok((Frame::Record(_), used)) => {
                scan.records += 1;
                scan.end = at.plus(used as u64);
                scan.records_end = scan.end;
            }
            Ok((Frame::Batch(note), used)) => {
                scan.proof = scan.proof.max(note.durable);
                if note.bytes == 0 {
                    break;
                }
                scan.batches += 1;
                scan.end = at.plus(used as u64);
                scan.claimed_end = scan.end.plus(u64::from(note.bytes));
            }
            Ok((Frame::Seal(note), used)) => {
                scan.proof = scan.proof.max(note.durable);
                scan.sealed = Some(note.reason);
                scan.end = at.plus(used as u64);
                return Ok(scan);
            }
            Ok((Frame::Gap(until), _)) => {
                scan.end = until;
                scan.records_end = until;
            }
            Err(NoFrame::Unknown(kind)) => {
                scan.unknown = Some(kind);
                break;
            }
            Err(NoFrame::Short(_) | NoFrame::Invalid) => break,
        }
    }
    scan.proof = scan.proof.max(window.proof(scan.end)?.unwrap_or_default());
    Ok(scan)
}
