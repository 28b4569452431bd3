//! Batches that the files have and the log has lost.

use std::sync::Arc;

use super::body::BODY_HEADER_BYTES;
use super::files::Files;
use super::writing::Batch;
use crate::file::scan::Window;
use crate::file::segments::SegmentFile;
use crate::frame::Frame;
use crate::{Error, Position};

/// Whole batches that begin at `from`, or in the next segment where this one is sealed there, of
/// `bytes_max` bytes together or one longer one. `None` where none follows.
pub(super) fn batch(files: &Files, from: Position, bytes_max: usize) -> Result<Option<Batch>, Error> {
    let is_sealed_here = files
        .last
        .as_ref()
        .filter(|last| last.is_sealed && last.header.limit() > from && from == files.end());
    let from = is_sealed_here.map_or(from, |last| last.header.limit());
    let Some(segment) = segment_at(files, from) else { return Ok(None) };
    let disk = &files.shared.disk;
    let failed =
        |error: &std::io::Error| Error::io(format!("cannot read {}/{}", disk.place(), segment.name()), error);
    let file = disk.open(&segment.name()).map_err(|error| failed(&error))?;
    let mut window = Window::new(&segment, &*file).map_err(|error| failed(&error))?;
    let first = from.max(segment.header.first());
    let mut batch = Batch {
        first,
        end: first,
        body: segment.header.encode()[..BODY_HEADER_BYTES].to_vec(),
        records: 0,
        records_end: first,
        seals: false,
        segment: Arc::clone(&segment),
    };
    while !batch.seals {
        let at = batch.end;
        let whole = match window.frame(at).map_err(|error| failed(&error))? {
            Ok((Frame::Batch(note), used)) if note.bytes > 0 => used + note.bytes as usize,
            _ => break,
        };
        let end = at.plus(whole as u64);
        let is_enough = batch.body.len() > BODY_HEADER_BYTES && batch.body.len() + whole > bytes_max;
        if end > files.known_end
            || is_enough
            || !walk(&mut window, at, end, &mut batch).map_err(|e| failed(&e))?
        {
            break;
        }
        let bytes = window.bytes(segment.offset(at), whole).map_err(|error| failed(&error))?;
        let Some(bytes) = bytes.get(..whole) else { break };
        batch.body.extend_from_slice(bytes);
        batch.end = end;
    }
    Ok((batch.end > batch.first).then_some(batch))
}

/// Counts the frames of one batch. False if it is not whole.
fn walk(window: &mut Window<'_>, from: Position, end: Position, batch: &mut Batch) -> std::io::Result<bool> {
    let mut at = from;
    while at < end {
        let Ok((frame, used)) = window.frame(at)? else { return Ok(false) };
        at = at.plus(used as u64);
        match frame {
            Frame::Record(_) => {
                batch.records += 1;
                batch.records_end = at;
            }
            Frame::Seal(_) => batch.seals = true,
            Frame::Batch(_) => {}
            Frame::Gap(_) => return Ok(false),
        }
    }
    Ok(at == end)
}

fn segment_at(files: &Files, position: Position) -> Option<Arc<SegmentFile>> {
    if let Some(segment) = files.shared.segments.at(position) {
        return Some(segment);
    }
    let (_, (header, seed)) = files.left.range(..=position).next_back()?;
    let segment = SegmentFile { header: *header, seed: *seed, from_reserve: false };
    (position < header.limit()).then(|| Arc::new(segment))
}
