//! `[shards]`: the threads that own the queues, what they hold in memory, and how they recover.
//!
//! What their journals do on disk is in `[journal]`, and what a queue may hold in `[queue]`.

use crate::settings::define::group;
use crate::settings::value::words;

words! {
    /// Where journals and checkpoints are.
    pub enum ShardStore {
        /// In files below `server.data`.
        Files = "files",
        /// In memory, for as long as the process runs.
        Memory = "memory",
    }
}

group! {
    /// Shards: each is a thread that owns its share of the queues, and a journal below `server.data`.
    pub struct Shards {
        /// How many shards. Fixed when the data directory is made, because a job's place follows from it. 0 means as many as the
        /// directory has, and for a new one as many as there are cores, at most 4.
        count: u16 = 0, unit "shards", in 0..=64, cost "a thread each, a journal each, and smaller batches in each journal";
        /// Where journals and checkpoints are: `files` below `server.data`, or `memory`. In memory nothing is written to disk, and
        /// all queues, wallets, pushes and sessions are lost when the process ends, however it ends: for tests and CI, never for
        /// data that anybody needs. Of `[journal]`, `reserve_bytes` and `unsynced_bytes_max` hold there too.
        store: ShardStore = ShardStore::Files;
        /// With `store = "memory"`: bytes that the journal of one shard takes in memory. Beyond it commands are refused as on a
        /// full disk. Records of the wallets stay for ever, and all that follows them. At least four times
        /// `checkpoint_journal_bytes`.
        memory_bytes_max: u64 = 1_073_741_824, unit "bytes", in 16_777_216..=1_099_511_627_776,
            cost "as much memory for each shard, and checkpoints beside it";
        /// Commands that wait for their shard, for each shard. One more is answered busy.
        waiting_max: u32 = 65_536, unit "commands", in 16..=16_777_216, cost "about 300 bytes each, and the payloads";
        /// Bytes of payloads that wait for their shard, for each shard. One more is answered busy.
        waiting_bytes_max: u32 = 67_108_864, unit "bytes", in 1_048_576..=4_294_967_295, cost "as much memory";
        /// Consumers that wait for a job, for each shard. One more is answered busy.
        consumers_max: u32 = 100_000, unit "consumers", in 1..=16_777_216, cost "about 300 bytes each";
        /// A checkpoint is taken when the journal has grown by so much since the last one, or by as much as that one has, if that is
        /// more.
        checkpoint_journal_bytes: u64 = 67_108_864, unit "bytes", in 1_048_576..=1_099_511_627_776,
            cost "recovery reads up to as much again; a smaller one writes checkpoints more often";
    }
}
