//! Batches of one segment as a replicated log carries them.
//!
//! The bytes are those of the segment's file: its header, then whole batches. So each replica that
//! writes them has the same files. docs/formats/log-message.md, "The body", is the format.

use crate::frame::{self, Frame, NoFrame};
use crate::header::{HEADER_USED, Header};
use crate::{Position, Record};

/// Bytes of a body before its first batch.
pub const BODY_HEADER_BYTES: usize = HEADER_USED;

/// A body that was read: each checksum is right, and each batch is whole.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    pub(super) segment: Header,
    pub(super) seed: u32,
    pub(super) first: Position,
    pub(super) frames: &'a [u8],
    pub(super) records: u32,
    /// After the last record; `first` if there is none.
    pub(super) records_end: Position,
    /// Whether the last frame seals the segment.
    pub(super) seals: bool,
}

impl<'a> Body<'a> {
    /// Reads the body of a message whose frames stand from `first` to `end`.
    ///
    /// # Errors
    /// The reason for which no writer of this version made it.
    pub fn read(first: Position, end: Position, body: &'a [u8]) -> Result<Self, String> {
        let Some((header, frames)) = body.split_first_chunk::<HEADER_USED>() else {
            return Err(format!("a body of {} bytes has no segment header", body.len()));
        };
        let (segment, seed) = Header::decode(header).map_err(|wrong| wrong.to_string())?;
        if frames.is_empty() || end.since(first) != frames.len() as u64 {
            return Err(format!("{} bytes of frames do not reach from {first} to {end}", frames.len()));
        }
        if first < segment.first() || end > segment.limit() {
            return Err(format!("frames from {first} to {end} are outside segment {}", segment.number));
        }
        let mut body = Self { segment, seed, first, frames, records: 0, records_end: first, seals: false };
        body.check()?;
        Ok(body)
    }

    /// Its records, in their order.
    #[must_use]
    pub fn records(&self) -> Records<'a> {
        Records { seed: self.seed, at: self.first, frames: self.frames }
    }

    fn check(&mut self) -> Result<(), String> {
        let (mut at, mut rest) = (self.first, self.frames);
        // Bytes and records that the open batch announced and that did not come yet.
        let (mut left, mut records_left) = (0, 0);
        while !rest.is_empty() {
            let (frame, used) = frame::decode(self.seed, at, rest).map_err(|wrong| match wrong {
                NoFrame::Unknown(kind) => {
                    format!("a frame of kind {kind} at position {at}, which a newer version wrote")
                }
                NoFrame::Short(_) | NoFrame::Invalid => format!("no frame begins at position {at}"),
            })?;
            if self.seals {
                return Err(format!("a frame at position {at} is behind a seal"));
            }
            // The padding of the last frame may be missing.
            let Some(behind) = rest.get(used..) else {
                return Err(format!("the frame at position {at} is cut short"));
            };
            rest = behind;
            let next = at.plus(used as u64);
            match frame {
                Frame::Batch(note) if left == 0 && note.bytes > 0 => {
                    (left, records_left) = (note.bytes as usize, note.records);
                }
                Frame::Record(_) if left >= used && records_left > 0 => {
                    (left, records_left) = (left - used, records_left - 1);
                    self.records += 1;
                    self.records_end = next;
                }
                Frame::Seal(_) if left == used => {
                    left = 0;
                    self.seals = true;
                }
                _ => return Err(format!("the frame at position {at} does not belong there")),
            }
            if left == 0 && records_left > 0 {
                return Err(format!("{records_left} records are missing before position {next}"));
            }
            at = next;
        }
        if left > 0 {
            return Err(format!("{left} bytes of the last batch are missing"));
        }
        Ok(())
    }
}

/// The records of a [`Body`].
#[derive(Clone, Debug)]
pub struct Records<'a> {
    seed: u32,
    at: Position,
    frames: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        while !self.frames.is_empty() {
            let position = self.at;
            let (frame, used) = frame::decode(self.seed, position, self.frames).ok()?;
            self.at = position.plus(used as u64);
            self.frames = self.frames.get(used..)?;
            if let Frame::Record(body) = frame {
                return Some(Record { position, end: self.at, body });
            }
        }
        None
    }
}
