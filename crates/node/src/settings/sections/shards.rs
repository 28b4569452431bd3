//! `[shards]`: how many there are, the threads that drive them, what they hold in memory, and how they recover.
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
    /// Shards: each owns its share of the queues, and a journal below `server.data`. A few threads drive all of them.
    /// Settings with `total` in their names, and those of the journals here, hold for all shards of the server
    /// together: each shard gets an equal part where that is less than its own setting says. With the other settings at
    /// their defaults that is so from 17 shards on.
    pub struct Shards {
        /// How many shards. Fixed when the data directory is made, because a job's place follows from it. 0 means as many as the
        /// directory has, and for a new one as many as there are cores, at most 4. In a cluster, 0 or the cluster's number: that
        /// was fixed when the cluster was made.
        count: u16 = 0, unit "shards", in 0..=1024,
            cost "a journal and 10 to 16 open files each, smaller batches in each journal, and from 17 on smaller segments";
        /// Threads that drive the shards. 0 means as many as there are cores. There are never more than shards.
        threads: u16 = 0, unit "threads", in 0..=1024, cost "a thread each; more than cores only share them";
        /// Threads that write the shards' journals to disk, which is as many syncs at once. 0 means as many as shards, at most 8.
        /// A journal whose disk hangs keeps one of them.
        journal_threads: u16 = 0, unit "threads", in 0..=256, cost "a thread each; many disks sync no faster with more";
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
        /// Commands that wait for any shard of the server. One more is answered busy, unless nothing else waits for its shard.
        waiting_total_max: u32 = 1_048_576, unit "commands", in 16..=16_777_216, cost "about 300 bytes each, and the payloads";
        /// Bytes of payloads that wait for any shard of the server.
        waiting_total_bytes_max: u64 = 1_073_741_824, unit "bytes", in 1_048_576..=1_099_511_627_776, cost "as much memory";
        /// Consumers that wait for a job, for each shard. One more is answered busy.
        consumers_max: u32 = 100_000, unit "consumers", in 1..=16_777_216, cost "about 300 bytes each";
        /// A checkpoint is taken when the journal has grown by so much since the last one, or by as much as that one has, if that is
        /// more.
        checkpoint_journal_bytes: u64 = 67_108_864, unit "bytes", in 1_048_576..=1_099_511_627_776,
            cost "recovery reads up to as much again; a smaller one writes checkpoints more often";
        /// The same for all shards together: each takes a checkpoint after its part of this, and at least after 1 MiB.
        recovery_bytes_max: u64 = 1_073_741_824, unit "bytes", in 1_048_576..=1_099_511_627_776,
            cost "recovery reads up to as much again for all shards";
        /// Disk that the empty segments of all journals take, two for each shard, and the room that is set aside. Where
        /// `journal.segment_bytes` and `journal.reserve_bytes` would take more, each shard has smaller ones, with segments of at
        /// least 1 MiB. A record that is longer than a segment gets one of its size.
        preallocated_bytes_max: u64 = 2_415_919_104, unit "bytes", in 1_048_576..=1_125_899_906_842_624, cost "as much disk";
        /// Memory for the newest bytes of all journals (`journal.tail_bytes`), and for those that are not yet on disk
        /// (`journal.unsynced_bytes_max`). Where these would take more, each shard has less, and at least 64 KiB of each.
        journal_memory_bytes_max: u64 = 402_653_184, unit "bytes", in 1_048_576..=1_099_511_627_776, cost "as much memory";
        /// Segments of all journals whose files are kept open to be read; of one journal 256 at most, and 4 in any case.
        open_segments_max: u32 = 4_096, unit "files", in 16..=1_048_576, cost "a file descriptor each";
    }
}
