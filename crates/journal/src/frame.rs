//! Frames: the bytes between a segment's header and its end.
//!
//! The checksum covers the segment's seed and the position, so a frame is valid at one place of one
//! generation only. Layout and kinds: docs/formats/journal.md, "A frame".

use crate::Position;

/// Bytes before a frame's body.
pub(crate) const FRAME_HEADER_BYTES: usize = 8;
/// Frames begin at multiples of this.
pub(crate) const FRAME_ALIGN: usize = 8;
/// The longest body: its length has 24 bits.
pub(crate) const BODY_BYTES_MAX: usize = (1 << 24) - 1;
/// Bytes of the body of a batch and of a seal.
pub(crate) const NOTE_BODY_BYTES: usize = 16;
/// Bytes of a whole batch or seal frame.
pub(crate) const NOTE_BYTES: usize = FRAME_HEADER_BYTES + NOTE_BODY_BYTES;
/// Bytes of a whole gap frame.
pub(crate) const GAP_BYTES: usize = 16;

const KIND_RECORD: u8 = 1;
const KIND_BATCH: u8 = 2;
const KIND_SEAL: u8 = 3;
const KIND_GAP: u8 = 4;

/// A frame whose checksum was right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frame<'a> {
    Record(&'a [u8]),
    Batch(BatchNote),
    Seal(SealNote),
    /// What stood here is lost; the next frame is at this position.
    Gap(Position),
}

/// The content of a batch frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BatchNote {
    /// All before it was durable when the frame was written.
    pub(crate) durable: Position,
    /// Bytes of the frames that belong to the batch; 0 for a mark.
    pub(crate) bytes: u32,
    pub(crate) records: u32,
}

/// The content of a seal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SealNote {
    /// All before it was durable when the frame was written.
    pub(crate) durable: Position,
    pub(crate) reason: SealReason,
}

/// Why a segment ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SealReason {
    /// Full, or asked for: another segment follows.
    Rotation,
    /// What its writer left unfinished ends here.
    Recovery,
}

/// Why bytes are no frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoFrame {
    /// The bytes end before the frame; it needs this many in all.
    Short(usize),
    /// Zeros, another generation, or damage.
    Invalid,
    /// The checksum is right and the meaning is not ours: a newer version wrote it.
    Unknown(u8),
}

/// Bytes that a frame with a body of this length takes.
pub(crate) const fn frame_bytes(body: usize) -> usize {
    (FRAME_HEADER_BYTES + body).next_multiple_of(FRAME_ALIGN)
}

fn checksum(seed: u32, position: Position, word: u32, body: &[u8]) -> u32 {
    let mut start = [0; 16];
    start[..4].copy_from_slice(&seed.to_le_bytes());
    start[4..12].copy_from_slice(&position.0.to_le_bytes());
    start[12..].copy_from_slice(&word.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c(&start), body)
}

fn word_of(kind: u8, length: usize) -> u32 {
    u32::try_from(length).expect("a body has at most 24 bits of length") | u32::from(kind) << 24
}

/// Appends a record's frame to `out`. The body has 1 to [`BODY_BYTES_MAX`] bytes, which callers check.
pub(crate) fn encode_record(out: &mut Vec<u8>, seed: u32, position: Position, body: &[u8]) {
    assert!(!body.is_empty() && body.len() <= BODY_BYTES_MAX, "callers bound a record");
    let word = word_of(KIND_RECORD, body.len());
    out.extend_from_slice(&word.to_le_bytes());
    out.extend_from_slice(&checksum(seed, position, word, body).to_le_bytes());
    out.extend_from_slice(body);
    let padding = frame_bytes(body.len()) - FRAME_HEADER_BYTES - body.len();
    out.extend_from_slice(&[0; FRAME_ALIGN][..padding]);
}

/// The frame of a batch.
pub(crate) fn batch(seed: u32, position: Position, note: BatchNote) -> [u8; NOTE_BYTES] {
    note_frame(
        seed,
        position,
        KIND_BATCH,
        note.durable,
        u64::from(note.bytes) | u64::from(note.records) << 32,
    )
}

/// The frame of a seal.
pub(crate) fn seal(seed: u32, position: Position, note: SealNote) -> [u8; NOTE_BYTES] {
    let reason = match note.reason {
        SealReason::Rotation => 1,
        SealReason::Recovery => 2,
    };
    note_frame(seed, position, KIND_SEAL, note.durable, reason)
}

/// The frame that stands for what is lost up to `until`; as short as the shortest record's, so that it always fits.
pub(crate) fn gap(seed: u32, position: Position, until: Position) -> [u8; GAP_BYTES] {
    let mut frame = [0; GAP_BYTES];
    let word = word_of(KIND_GAP, GAP_BYTES - FRAME_HEADER_BYTES);
    frame[..4].copy_from_slice(&word.to_le_bytes());
    frame[8..].copy_from_slice(&until.0.to_le_bytes());
    let sum = checksum(seed, position, word, &frame[8..]);
    frame[4..8].copy_from_slice(&sum.to_le_bytes());
    frame
}

fn note_frame(seed: u32, position: Position, kind: u8, first: Position, second: u64) -> [u8; NOTE_BYTES] {
    let mut frame = [0; NOTE_BYTES];
    let word = word_of(kind, NOTE_BODY_BYTES);
    frame[..4].copy_from_slice(&word.to_le_bytes());
    frame[8..16].copy_from_slice(&first.0.to_le_bytes());
    frame[16..].copy_from_slice(&second.to_le_bytes());
    let sum = checksum(seed, position, word, &frame[8..]);
    frame[4..8].copy_from_slice(&sum.to_le_bytes());
    frame
}

/// Reads the frame that begins at `bytes[0]`, which stands at `position`. Also gives the bytes that it takes.
pub(crate) fn decode(seed: u32, position: Position, bytes: &[u8]) -> Result<(Frame<'_>, usize), NoFrame> {
    let Some((header, rest)) = bytes.split_first_chunk::<FRAME_HEADER_BYTES>() else {
        return Err(NoFrame::Short(FRAME_HEADER_BYTES));
    };
    let word = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    let sum = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    let kind = (word >> 24) as u8;
    let length = (word & 0x00FF_FFFF) as usize;
    if kind == 0 || length == 0 {
        return Err(NoFrame::Invalid);
    }
    let whole = frame_bytes(length);
    let Some(body) = rest.get(..length) else { return Err(NoFrame::Short(whole)) };
    if checksum(seed, position, word, body) != sum {
        return Err(NoFrame::Invalid);
    }
    if kind == KIND_RECORD {
        return Ok((Frame::Record(body), whole));
    }
    if kind == KIND_GAP {
        let until = <[u8; 8]>::try_from(body).map(|until| Position(u64::from_le_bytes(until)));
        return match until {
            Ok(until) if until >= position.plus(whole as u64) => Ok((Frame::Gap(until), whole)),
            _ => Err(NoFrame::Unknown(kind)),
        };
    }
    let Ok(note) = <&[u8; NOTE_BODY_BYTES]>::try_from(body) else { return Err(NoFrame::Unknown(kind)) };
    let first = Position(u64::from_le_bytes(note[..8].try_into().expect("8 of 16 bytes")));
    let second = u64::from_le_bytes(note[8..].try_into().expect("8 of 16 bytes"));
    let frame = match (kind, second) {
        (KIND_BATCH, _) => {
            Frame::Batch(BatchNote { durable: first, bytes: second as u32, records: (second >> 32) as u32 })
        }
        (KIND_SEAL, 1) => Frame::Seal(SealNote { durable: first, reason: SealReason::Rotation }),
        (KIND_SEAL, 2) => Frame::Seal(SealNote { durable: first, reason: SealReason::Recovery }),
        _ => return Err(NoFrame::Unknown(kind)),
    };
    Ok((frame, whole))
}

/// Gives a whole frame, whose checksum was right, the checksum of another generation. `frame` begins
/// with it.
pub(crate) fn restamp(frame: &mut [u8], seed: u32, position: Position) {
    let word = u32::from_le_bytes(*frame.first_chunk().expect("a frame has a header"));
    let body = FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + (word & 0x00FF_FFFF) as usize;
    let sum = checksum(seed, position, word, &frame[body]);
    frame[4..FRAME_HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// The greatest durable position that any batch or seal frame in `bytes` proves, wherever it begins.
///
/// `position` is that of `bytes[0]`, a multiple of [`FRAME_ALIGN`].
pub(crate) fn proof(seed: u32, position: Position, bytes: &[u8]) -> Option<Position> {
    let mut found = None;
    let mut offset = 0;
    while let Some(header) = bytes.get(offset..offset + 4) {
        // Length 16, kind 2 or 3: a cheap look before the checksum.
        if header[0] == NOTE_BODY_BYTES as u8
            && header[1] == 0
            && header[2] == 0
            && (header[3] == KIND_BATCH || header[3] == KIND_SEAL)
        {
            let frame = decode(seed, position.plus(offset as u64), &bytes[offset..]);
            if let Ok((Frame::Batch(BatchNote { durable, .. }) | Frame::Seal(SealNote { durable, .. }), _)) =
                frame
            {
                found = found.max(Some(durable));
            }
        }
        offset += FRAME_ALIGN;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u32 = 7;
    const AT: Position = Position(4096);

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        let mut bytes = Vec::new();
        encode_record(&mut bytes, SEED, AT, b"eleven byte");
        assert_eq!(bytes.len(), 24);
        assert_eq!(decode(SEED, AT, &bytes), Ok((Frame::Record(b"eleven byte"), 24)));
        let note = BatchNote { durable: Position(77), bytes: 24, records: 1 };
        assert_eq!(decode(SEED, AT, &batch(SEED, AT, note)), Ok((Frame::Batch(note), NOTE_BYTES)));
        let note = SealNote { durable: Position(78), reason: SealReason::Recovery };
        assert_eq!(decode(SEED, AT, &seal(SEED, AT, note)), Ok((Frame::Seal(note), NOTE_BYTES)));
        let until = Position(9000);
        assert_eq!(decode(SEED, AT, &gap(SEED, AT, until)), Ok((Frame::Gap(until), GAP_BYTES)));
    }

    #[test]
    fn a_frame_is_valid_at_its_place_and_in_its_generation_only() {
        let mut bytes = Vec::new();
        encode_record(&mut bytes, SEED, AT, b"here");
        assert_eq!(decode(SEED, AT.plus(8), &bytes), Err(NoFrame::Invalid));
        assert_eq!(decode(SEED + 1, AT, &bytes), Err(NoFrame::Invalid));
    }

    #[test]
    fn a_frame_is_given_to_another_generation() {
        let mut bytes = Vec::new();
        encode_record(&mut bytes, SEED, AT, b"eleven byte");
        restamp(&mut bytes, SEED + 1, AT);
        assert_eq!(decode(SEED, AT, &bytes), Err(NoFrame::Invalid));
        assert_eq!(decode(SEED + 1, AT, &bytes), Ok((Frame::Record(b"eleven byte"), 24)));
    }

    #[test]
    fn each_flipped_bit_is_seen() {
        let mut bytes = Vec::new();
        encode_record(&mut bytes, SEED, AT, b"12345678");
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(SEED, AT, &bytes).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_proof_is_found_wherever_it_stands() {
        let mut bytes = vec![0xFF; 1024];
        assert_eq!(proof(SEED, AT, &bytes), None);
        for (offset, durable) in [(16, 100), (512, 900), (1000, 400)] {
            let note = BatchNote { durable: Position(durable), bytes: 0, records: 0 };
            bytes[offset..offset + NOTE_BYTES].copy_from_slice(&batch(SEED, AT.plus(offset as u64), note));
        }
        assert_eq!(proof(SEED, AT, &bytes), Some(Position(900)));
    }
}
