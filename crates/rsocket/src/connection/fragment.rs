//! Splits a frame that has been written into fragments, in place (Fragmentation and Reassembly).
//!
//! A payload is encoded once, right into the output. Where it turns out to be longer than one frame may be,
//! it is moved apart from its end, and the headers of the fragments are written into the gaps: metadata
//! completely before data, the completion on the last fragment. Nothing is allocated but the output's room.

use crate::frame::{HEADER_BYTES, Head, PREFIX_BYTES, StreamId, flag, kind};

/// The smallest fragment that makes sense, in bytes: smaller ones would be mostly headers.
pub(super) const FRAGMENT_BYTES_MIN: usize = 64;

/// Bytes of the length of metadata.
const METADATA_LENGTH: usize = 3;

/// A frame in the output whose length has not been written yet.
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

/// How a payload is cut. Metadata and data stand next to each other; a fragment is a range of both.
struct Cut {
    /// Bytes of metadata and data together.
    total: usize,
    metadata: Option<usize>,
    /// Bytes in the first fragment, in each later one that has metadata, and in each other.
    rooms: [usize; 3],
    /// Fragments that have metadata.
    with_metadata: usize,
}

impl Cut {
    fn new(written: &Written, total: usize, frame_bytes_max: usize) -> Self {
        let plain = frame_bytes_max - HEADER_BYTES;
        let Some(metadata) = written.metadata else {
            return Self {
                total,
                metadata: None,
                rooms: [plain - written.extra, plain, plain],
                with_metadata: 0,
            };
        };
        let rooms = [plain - written.extra - METADATA_LENGTH, plain - METADATA_LENGTH, plain];
        let with_metadata = 1 + metadata.saturating_sub(rooms[0]).div_ceil(rooms[1]);
        Self { total, metadata: Some(metadata), rooms, with_metadata }
    }

    /// Where the fragment before number `nth` ends: where number `nth` begins.
    fn begin(&self, nth: usize) -> usize {
        let [first, early, late] = self.rooms;
        let begin = match nth {
            0 => 0,
            nth if nth <= self.with_metadata => first + (nth - 1) * early,
            nth => {
                let early_count = self.with_metadata.saturating_sub(1);
                first + early_count * early + (nth - 1 - early_count) * late
            }
        };
        begin.min(self.total)
    }

    fn fragments(&self) -> usize {
        let early_count = self.with_metadata.saturating_sub(1);
        let early = self.rooms[0] + early_count * self.rooms[1];
        1 + early_count + self.total.saturating_sub(early).div_ceil(self.rooms[2])
    }

    /// Bytes of metadata in fragment number `nth`, `None` where it has none.
    fn metadata_of(&self, nth: usize) -> Option<usize> {
        let metadata = self.metadata.filter(|_| nth < self.with_metadata)?;
        Some(self.begin(nth + 1).min(metadata) - self.begin(nth).min(metadata))
    }
}

/// Splits the frame that ends with `out` so that none is longer than `frame_bytes_max`, which is at least
/// [`FRAGMENT_BYTES_MIN`].
pub(super) fn split(written: &Written, frame_bytes_max: usize, out: &mut Vec<u8>) {
    let head = written.start + PREFIX_BYTES + HEADER_BYTES + written.extra;
    let from = head + written.metadata.map_or(0, |_| METADATA_LENGTH);
    let cut = Cut::new(written, out.len() - from, frame_bytes_max);
    let fragments = cut.fragments();
    let heads =
        written.extra + fragments * (PREFIX_BYTES + HEADER_BYTES) + cut.with_metadata * METADATA_LENGTH;
    out.resize(written.start + heads + cut.total, 0);
    let mut to = out.len();
    for nth in (0..fragments).rev() {
        let (begin, end) = (cut.begin(nth), cut.begin(nth + 1));
        to -= end - begin;
        out.copy_within(from + begin..from + end, to);
        let metadata = cut.metadata_of(nth);
        let mut flags = if nth + 1 == fragments { written.flags & flag::COMPLETE } else { flag::FOLLOWS };
        let mut length = HEADER_BYTES + end - begin;
        if let Some(metadata) = metadata {
            flags |= flag::METADATA;
            length += METADATA_LENGTH;
            to -= METADATA_LENGTH;
            let [_, a, b, c] = (metadata as u32).to_be_bytes();
            out[to..to + METADATA_LENGTH].copy_from_slice(&[a, b, c]);
        }
        let kind = if nth == 0 {
            // The initial n stands where it always stood.
            to -= written.extra;
            length += written.extra;
            flags |= written.flags & flag::NEXT;
            written.kind
        } else {
            flags |= flag::NEXT;
            kind::PAYLOAD
        };
        to -= PREFIX_BYTES + HEADER_BYTES;
        let head = Head::new(written.stream, kind, flags).bytes(length);
        out[to..to + head.len()].copy_from_slice(&head);
    }
    debug_assert_eq!(to, written.start, "the first fragment stands where the frame stood");
}

// A fragment of the smallest size has room for something.
const _: () = assert!(FRAGMENT_BYTES_MIN > HEADER_BYTES + METADATA_LENGTH + 4);
