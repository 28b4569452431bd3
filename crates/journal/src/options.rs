//! How a journal is opened: sizes, bounds, and what the caller knows about the tail.

use crate::Position;

/// Sizes and bounds of a journal. Each may differ from one opening to the next.
#[derive(Clone, Debug)]
pub struct Options {
    /// The shard whose journal this is; another shard's journal is refused.
    pub shard: u32,
    /// Bytes of a segment, 64 KiB to 4 GiB in steps of 4 KiB, default 64 MiB. A longer one is
    /// removed later and needs more room while two exist; a shorter one is synced and renamed more
    /// often. The first segment has at most 2 MiB, and each next one twice as much. A record that
    /// does not fit gets a segment of its size.
    pub segment_bytes: u64,
    /// Bytes set aside for a full disk, 64 KiB to 4 GiB in steps of 4 KiB, default 16 MiB.
    pub reserve_bytes: u64,
    /// The longest record, bytes, default 9 MiB, less than 16 MiB. Memory holds one of them more.
    pub record_bytes_max: usize,
    /// Bytes appended and not yet durable before `append` returns `Busy`, default 8 MiB. One record
    /// always fits.
    pub waiting_bytes_max: usize,
    /// Bytes of the newest records kept in memory for `read_at`, default 16 MiB, at least 4 KiB. It grows while more than
    /// that is not yet durable.
    pub tail_bytes: usize,
    /// Retired segments kept to be used again, default 2; more are deleted.
    pub spares_max: usize,
    /// Segments whose files are kept open, oldest use closed first, default 256: of 64 MiB they are 16 GiB of payloads that are
    /// read without opening a file. More descriptors would come out of the bound that connections live under.
    pub open_segments_max: usize,
    /// What the caller knows.
    pub opening: Opening,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            shard: 0,
            segment_bytes: 64 << 20,
            reserve_bytes: 16 << 20,
            record_bytes_max: 9 << 20,
            waiting_bytes_max: 8 << 20,
            tail_bytes: 16 << 20,
            spares_max: 2,
            open_segments_max: 256,
            opening: Opening::default(),
        }
    }
}

/// What the caller knows about the journal that it opens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opening {
    /// The position of the checkpoint that recovery begins with: all before it was durable, and no segment from it on may be missing.
    pub checkpoint: Position,
    /// After a handle failed in this process: its durable position. Records after it are cut, even
    /// if they can be read.
    pub after_failure: Option<Position>,
    /// Whether another holder of the lock is respected.
    pub holder: Holder,
}

/// The behaviour towards another process, or another handle, that has the journal open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holder {
    /// It is respected: opening fails with `InUse`.
    #[default]
    Respect,
    /// It is fenced: the owner of the other handle acknowledges nothing more. For an owner who
    /// knows that the other's right has ended.
    Fence,
}
