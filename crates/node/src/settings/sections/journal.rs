//! `[journal]`: the logs of the shards on disk, which are the truth.
//!
//! Formats are in docs/formats; when answers leave is the shards' business.

use crate::settings::define::group;

group! {
    /// The shards' journals on disk. Everything acknowledged was written and synced (`fdatasync`)
    /// before.
    pub struct Journal {
        /// Bytes of a segment file, rounded down to 4 KiB. A journal's first segment has 2 MiB, and
        /// each next one twice as much, up to this. Segments whose jobs are all done are deleted or
        /// used again.
        segment_bytes: u64 = 67_108_864, unit "bytes", in 4_194_304..=4_294_967_296,
            cost "disk: what a few live jobs keep is kept in pieces of this size";
        /// Bytes set aside for each shard, rounded down to 4 KiB, so that jobs can be settled and deleted on a full disk.
        reserve_bytes: u64 = 16_777_216, unit "bytes", in 65_536..=4_294_967_296, cost "as much disk for each shard";
        /// Bytes written but not yet on disk, for each shard; beyond it commands are answered busy.
        unsynced_bytes_max: u64 = 8_388_608, unit "bytes", in 1_048_576..=1_073_741_824,
            cost "twice as much memory, and latency of what waits";
        /// The newest bytes of each shard's journal that are kept in memory, so that fresh jobs are handed out without reading
        /// the disk.
        tail_bytes: u64 = 16_777_216, unit "bytes", in 65_536..=1_073_741_824, cost "as much memory for each shard";
    }
}
