//! The first page of a segment, and the two slots of `control`.
//!
//! Both are fixed blocks that end with a checksum. Layouts: docs/formats/journal.md.

use crate::{Epoch, JournalId, Position, SegmentNumber};

/// Bytes before a segment's first frame.
pub(crate) const HEADER_BYTES: u64 = 4096;
/// Bytes of the header that carry information.
pub(crate) const HEADER_USED: usize = 64;
/// The version that this code writes, of segments and of `control`.
pub(crate) const VERSION: u32 = 1;
/// Bytes of `control`.
pub(crate) const CONTROL_BYTES: usize = 1024;

const SEGMENT_MAGIC: &[u8; 8] = b"STADSEGM";
const CONTROL_MAGIC: &[u8; 8] = b"STADCTRL";
const SLOT_BYTES: usize = 512;
const SLOT_USED: usize = 36;

/// The content of a segment's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) shard: u32,
    pub(crate) journal: JournalId,
    pub(crate) number: SegmentNumber,
    /// The position of the file's first byte.
    pub(crate) base: Position,
    pub(crate) capacity: u64,
    pub(crate) epoch: Epoch,
}

/// Why a block is no header and no slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotOurs {
    Magic,
    Checksum,
    Version(u32),
    Size,
}

impl std::fmt::Display for NotOurs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Magic => f.write_str("it does not begin with the magic bytes"),
            Self::Checksum => f.write_str("the checksum of its header is wrong"),
            Self::Version(version) => write!(f, "it has version {version}, this program knows {VERSION}"),
            Self::Size => f.write_str("its capacity is out of bounds"),
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

impl Header {
    /// The header's page.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut page = vec![0; HEADER_BYTES as usize];
        page[..8].copy_from_slice(SEGMENT_MAGIC);
        page[8..12].copy_from_slice(&VERSION.to_le_bytes());
        page[12..16].copy_from_slice(&self.shard.to_le_bytes());
        page[16..24].copy_from_slice(&self.journal.0.to_le_bytes());
        page[24..32].copy_from_slice(&self.number.0.to_le_bytes());
        page[32..40].copy_from_slice(&self.base.0.to_le_bytes());
        page[40..48].copy_from_slice(&self.capacity.to_le_bytes());
        page[48..56].copy_from_slice(&self.epoch.0.to_le_bytes());
        let sum = crc32c::crc32c(&page[..60]);
        page[60..64].copy_from_slice(&sum.to_le_bytes());
        page
    }

    /// Reads a header; also gives the seed of the segment's frames, which is the header's checksum.
    pub(crate) fn decode(bytes: &[u8; HEADER_USED]) -> Result<(Self, u32), NotOurs> {
        if &bytes[..8] != SEGMENT_MAGIC {
            return Err(NotOurs::Magic);
        }
        let seed = u32_at(bytes, 60);
        if crc32c::crc32c(&bytes[..60]) != seed {
            return Err(NotOurs::Checksum);
        }
        let version = u32_at(bytes, 8);
        if version != VERSION {
            return Err(NotOurs::Version(version));
        }
        let header = Self {
            shard: u32_at(bytes, 12),
            journal: JournalId(u64_at(bytes, 16)),
            number: SegmentNumber(u64_at(bytes, 24)),
            base: Position(u64_at(bytes, 32)),
            capacity: u64_at(bytes, 40),
            epoch: Epoch(u64_at(bytes, 48)),
        };
        if header.capacity <= HEADER_BYTES
            || header.capacity > 1 << 40
            || !header.base.0.is_multiple_of(8)
            || header.base.0.checked_add(header.capacity).is_none()
        {
            return Err(NotOurs::Size);
        }
        Ok((header, seed))
    }

    /// The position of the first frame.
    pub(crate) fn first(&self) -> Position {
        self.base.plus(HEADER_BYTES)
    }

    /// The base of the next segment.
    pub(crate) fn limit(&self) -> Position {
        self.base.plus(self.capacity)
    }
}

/// The content of a slot of `control`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    pub(crate) shard: u32,
    pub(crate) journal: JournalId,
    pub(crate) epoch: Epoch,
}

impl Slot {
    /// The slot's bytes, and where in `control` they stand.
    pub(crate) fn encode(&self) -> (u64, [u8; SLOT_BYTES]) {
        let mut slot = [0; SLOT_BYTES];
        slot[..8].copy_from_slice(CONTROL_MAGIC);
        slot[8..12].copy_from_slice(&VERSION.to_le_bytes());
        slot[12..16].copy_from_slice(&self.shard.to_le_bytes());
        slot[16..24].copy_from_slice(&self.journal.0.to_le_bytes());
        slot[24..32].copy_from_slice(&self.epoch.0.to_le_bytes());
        let sum = crc32c::crc32c(&slot[..32]);
        slot[32..36].copy_from_slice(&sum.to_le_bytes());
        (self.epoch.0 % 2 * SLOT_BYTES as u64, slot)
    }

    /// A whole `control` in which only this slot is valid.
    pub(crate) fn control(&self) -> [u8; CONTROL_BYTES] {
        let mut control = [0; CONTROL_BYTES];
        let (offset, slot) = self.encode();
        let offset = usize::try_from(offset).expect("control has two slots");
        control[offset..offset + slot.len()].copy_from_slice(&slot);
        control
    }

    /// The newest valid slot of the first bytes of `control`.
    ///
    /// # Errors
    /// The reason for which the first slot is invalid, if none is valid; a newer version wins over
    /// other reasons.
    pub(crate) fn newest(control: &[u8]) -> Result<Self, NotOurs> {
        let mut newest: Option<Self> = None;
        let mut wrong = NotOurs::Magic;
        for slot in control.chunks(SLOT_BYTES).filter(|slot| slot.len() >= SLOT_USED) {
            match Self::decode(slot) {
                Ok(slot) if newest.is_none_or(|newest| newest.epoch < slot.epoch) => newest = Some(slot),
                Ok(_) => {}
                Err(NotOurs::Version(version)) => return Err(NotOurs::Version(version)),
                Err(other) => wrong = other,
            }
        }
        newest.ok_or(wrong)
    }

    fn decode(slot: &[u8]) -> Result<Self, NotOurs> {
        if &slot[..8] != CONTROL_MAGIC {
            return Err(NotOurs::Magic);
        }
        if crc32c::crc32c(&slot[..32]) != u32_at(slot, 32) {
            return Err(NotOurs::Checksum);
        }
        match u32_at(slot, 8) {
            VERSION => Ok(Self {
                shard: u32_at(slot, 12),
                journal: JournalId(u64_at(slot, 16)),
                epoch: Epoch(u64_at(slot, 24)),
            }),
            version => Err(NotOurs::Version(version)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header = Header {
            shard: 3,
            journal: JournalId(0x1234),
            number: SegmentNumber(9),
            base: Position(1 << 30),
            capacity: 1 << 26,
            epoch: Epoch(5),
        };
        let page = header.encode();
        let used: &[u8; HEADER_USED] = page.first_chunk().expect("a page is longer");
        assert_eq!(Header::decode(used).map(|(header, _)| header), Ok(header));
    }

    #[test]
    fn a_capacity_or_a_base_out_of_bounds_is_refused() {
        let decoded = |base: u64, capacity: u64| {
            let header = Header {
                shard: 3,
                journal: JournalId(0x1234),
                number: SegmentNumber(9),
                base: Position(base),
                capacity,
                epoch: Epoch(5),
            };
            let page = header.encode();
            Header::decode(page.first_chunk().expect("a page is longer")).map(|(header, _)| header.capacity)
        };
        // Room for one byte behind the header is the least, 1 TiB the most.
        for capacity in [HEADER_BYTES + 1, 1 << 20, 1 << 40] {
            assert_eq!(decoded(1 << 30, capacity), Ok(capacity), "capacity {capacity}");
        }
        for capacity in [0, HEADER_BYTES - 1, HEADER_BYTES, (1 << 40) + 1, u64::MAX] {
            assert_eq!(decoded(1 << 30, capacity), Err(NotOurs::Size), "capacity {capacity}");
        }
        // A base is a multiple of a frame's alignment, and the segment ends before the positions do.
        let last = (u64::MAX - (1 << 20)) & !7;
        for (base, is_valid) in
            [(0, true), (8, true), (4, false), (9, false), (last, true), (last + 8, false)]
        {
            assert_eq!(decoded(base, 1 << 20).is_ok(), is_valid, "base {base}");
        }
    }

    #[test]
    fn a_torn_slot_leaves_the_one_before() {
        let slot = |epoch| Slot { shard: 1, journal: JournalId(2), epoch: Epoch(epoch) };
        let mut control = [0; CONTROL_BYTES];
        for epoch in [4, 5] {
            let (at, bytes) = slot(epoch).encode();
            control[at as usize..at as usize + SLOT_BYTES].copy_from_slice(&bytes);
        }
        assert_eq!(Slot::newest(&control), Ok(slot(5)));
        control[SLOT_BYTES + 25] ^= 1;
        assert_eq!(Slot::newest(&control), Ok(slot(4)));
    }
}
