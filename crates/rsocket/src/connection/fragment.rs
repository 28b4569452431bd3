//! Splits a frame that has been written into fragments, in place (Fragmentation and Reassembly).
//!
//! A payload is encoded once, right into the output. Where it turns out to be longer than one frame may be,
//! it is moved apart from its end, and the headers of the fragments are written into the gaps: metadata
//! completely before data, the completion on the last fragment.

use crate::frame::{HEADER_BYTES, Head, PREFIX_BYTES, StreamId, flag, kind, seal};

/// Bytes before the body of a PAYLOAD with metadata: length, header, length of the metadata.
const OVERHEAD_MAX: usize = PREFIX_BYTES + HEADER_BYTES + 3;

/// The smallest fragment that makes sense, in bytes: smaller ones would be mostly headers.
pub(super) const FRAGMENT_BYTES_MIN: usize = 64;

/// A frame in `out` whose length has not been written yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    /// Where it begins, with room for its length.
    pub start: usize,
    pub stream: StreamId,
    pub kind: u8,
    pub flags: u16,
    /// Bytes between the header and the payload: the initial n, of requests that have one.
    pub extra: usize,
    /// Bytes of metadata, without their length.
    pub metadata: Option<usize>,
}

/// One piece of a payload.
struct Slice {
    /// Where it ends in the payload.
    end: usize,
    metadata: Option<usize>,
    data: usize,
}

/// Cuts a payload from its end, so that each piece can be moved to its place before anything lies there.
fn cut(written: &Written, data: usize, frame_bytes_max: usize) -> Vec<Slice> {
    let mut metadata = written.metadata;
    let mut data_left = data;
    let mut end = 0;
    let mut slices = Vec::new();
    loop {
        let extra = if slices.is_empty() { written.extra } else { 0 };
        let mut room = frame_bytes_max - HEADER_BYTES - extra;
        let piece = metadata.map(|left| {
            room -= 3;
            let piece = left.min(room);
            room -= piece;
            piece
        });
        // Metadata that is complete with this fragment is not mentioned in the next.
        metadata = match (metadata, piece) {
            (Some(left), Some(piece)) if left > piece => Some(left - piece),
            _ => None,
        };
        let piece_of_data = if metadata.is_some() { 0 } else { data_left.min(room) };
        data_left -= piece_of_data;
        end += piece.unwrap_or(0) + piece_of_data;
        slices.push(Slice { end, metadata: piece, data: piece_of_data });
        if metadata.is_none() && data_left == 0 {
            return slices;
        }
    }
}

/// Splits the frame that ends with `out` so that none is longer than `frame_bytes_max`.
pub(super) fn split(written: &Written, frame_bytes_max: usize, out: &mut Vec<u8>) {
    let body = written.start + PREFIX_BYTES + HEADER_BYTES + written.extra;
    // Metadata and data, next to each other after the length of the metadata.
    let from = body + written.metadata.map_or(0, |_| 3);
    let payload = out.len() - from;
    let slices = cut(written, payload - written.metadata.unwrap_or(0), frame_bytes_max);
    let mut total = body - written.start - PREFIX_BYTES - HEADER_BYTES + payload;
    for slice in &slices {
        total += PREFIX_BYTES + HEADER_BYTES + slice.metadata.map_or(0, |_| 3);
    }
    out.resize(written.start + total, 0);
    let mut to = out.len();
    for (nth, slice) in slices.iter().enumerate().rev() {
        let length = slice.metadata.unwrap_or(0) + slice.data;
        let source = from + slice.end - length;
        to -= length;
        out.copy_within(source..source + length, to);
        if let Some(metadata) = slice.metadata {
            to -= 3;
            let [_, a, b, c] = (metadata as u32).to_be_bytes();
            out[to..to + 3].copy_from_slice(&[a, b, c]);
        }
        let is_last = nth + 1 == slices.len();
        let mut flags = if slice.metadata.is_some() { flag::METADATA } else { 0 };
        if is_last {
            flags |= written.flags & flag::COMPLETE;
        } else {
            flags |= flag::FOLLOWS;
        }
        if nth == 0 {
            to -= written.extra;
            // The initial n stands where it always stood.
            debug_assert_eq!(to, body - written.extra);
            flags |= written.flags & flag::NEXT;
            let head = Head::new(written.stream, written.kind, flags).bytes(length_of(slice) + written.extra);
            out[written.start..written.start + head.len()].copy_from_slice(&head);
        } else {
            to -= PREFIX_BYTES + HEADER_BYTES;
            let head = Head::new(written.stream, kind::PAYLOAD, flags | flag::NEXT).bytes(length_of(slice));
            out[to..to + head.len()].copy_from_slice(&head);
        }
    }
}

/// Bytes of a PAYLOAD with this piece, without the length before it.
fn length_of(slice: &Slice) -> usize {
    HEADER_BYTES + slice.metadata.map_or(0, |metadata| metadata + 3) + slice.data
}

/// Writes the length of a frame that needs no fragments.
#[inline]
pub(super) fn whole(written: &Written, out: &mut [u8]) {
    seal(written.start, out);
}

// A fragment of the smallest size has room for something.
const _: () = assert!(FRAGMENT_BYTES_MIN > OVERHEAD_MAX + 4);
