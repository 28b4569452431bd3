//! `[shards]`: the threads that own the queues, what they hold in memory, and how they recover.
//!
//! What their journals do on disk is in `[journal]`, and what a queue may hold in `[queue]`.

use crate::settings::define::group;

group! {
    /// Shards: each is a thread that owns its share of the queues, and a journal below `server.data`.
    pub struct Shards {
        /// How many shards. Fixed when the data directory is made, because a job's place follows from it. 0 means as many as the
        /// directory has, and for a new one as many as there are cores, at most 4.
        count: u16 = 0, unit "shards", in 0..=64, cost "a thread each, a journal each, and smaller batches in each journal";
        /// Commands that wait for their shard, for each shard. One more is told busy.
        waiting_max: u32 = 65_536, unit "commands", in 16..=16_777_216, cost "about 300 bytes each, and the payloads";
        /// Bytes of payloads that wait for their shard, for each shard. One more is told busy.
        waiting_bytes_max: u32 = 67_108_864, unit "bytes", in 1_048_576..=4_294_967_295, cost "as much memory";
        /// Consumers that wait for a job, for each shard. One more is told busy.
        consumers_max: u32 = 100_000, unit "consumers", in 1..=16_777_216, cost "about 300 bytes each";
        /// A checkpoint is taken when the journal has grown by so much since the last one, or by as much as that one has, if that is
        /// more.
        checkpoint_journal_bytes: u64 = 67_108_864, unit "bytes", in 1_048_576..=1_099_511_627_776,
            cost "recovery reads up to as much again; a smaller one writes checkpoints more often";
    }
}
