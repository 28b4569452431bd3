//! `[queue]`: how much the queues may hold.
//!
//! Bounds of one queue are its own settings, declared over the API; these hold for each shard.

use crate::settings::define::group;

group! {
    /// Bounds of the queues, for each shard. Beyond one of them a command is answered busy, and
    /// nothing happens.
    pub struct Queue {
        /// Jobs in whatever state.
        jobs_max: u32 = 20_000_000, unit "jobs", in 1..=1_000_000_000, cost "about 90 bytes of memory each; payloads are on disk";
        /// Queues.
        queues_max: u32 = 100_000, unit "queues", in 1..=10_000_000, cost "about 400 bytes each";
        /// Largest payload of a job; it must fit in a segment. Larger ones are rejected.
        payload_bytes_max: u32 = 1_048_576, unit "bytes", in 1..=8_388_608, cost "memory for each command in flight";
        /// Dedup ids that are remembered at once.
        dedups_max: u32 = 4_000_000, unit "ids", in 1..=1_000_000_000, cost "about 120 bytes each";
        /// Schedules.
        schedules_max: u32 = 100_000, unit "schedules", in 1..=10_000_000, cost "about 500 bytes each";
        /// Jobs that are done of which is remembered that they are, so that a second settle is answered well and their history is
        /// found. The oldest is forgotten.
        finished_max: u32 = 100_000, unit "jobs", in 0..=100_000_000, cost "45 bytes each";
    }
}
