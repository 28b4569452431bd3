//! How much the queues of one shard may hold.
//!
//! Every table of the machine has its bound here; bounds that do not depend on settings are
//! constants.

use crate::{Milliseconds, QueueSettings};

/// How much the queues of one shard may hold. A command beyond a bound is answered Busy, and
/// nothing happens.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// Jobs in whatever state. About 90 bytes of memory each.
    pub jobs_max: u32,
    /// Queues. About 700 bytes of memory each.
    pub queues_max: u32,
    /// Dedup ids that are remembered at once. About 120 bytes of memory each.
    pub dedups_max: u32,
    /// Schedules. About 500 bytes of memory each.
    pub schedules_max: u32,
    /// Bytes of one payload.
    pub payload_bytes_max: u32,
    /// Finished jobs that are remembered, so that a second settle is recognised and their history
    /// is found; the oldest is forgotten. 45 bytes of memory each.
    pub finished_max: u32,
    /// Jobs on their way to another shard that it has not confirmed.
    pub outgoing_max: u32,
    /// The settings of a queue that is made by its first put.
    pub defaults: QueueSettings,
}

impl Bounds {
    /// Jobs that one command may name.
    pub const JOBS_MAX: usize = 1_000;
    /// Bytes of all payloads of one command: it becomes one record, which has a megabyte more for everything else.
    pub const COMMAND_BYTES_MAX: usize = 8 << 20;
    /// The longest delay, time to live and dedup window: a year and a day.
    pub const SPAN_MAX: Milliseconds = 366 * 24 * 3_600_000;
    /// The shortest lease.
    pub const LEASE_MIN: Milliseconds = 1_000;
    /// The longest lease: 12 h.
    pub const LEASE_MAX: Milliseconds = 12 * 3_600_000;
    /// The longest wait for a first job: an hour.
    pub const WAIT_MAX: Milliseconds = 3_600_000;
    /// The most attempts.
    pub const ATTEMPTS_MAX: u16 = 1_000;
    /// The highest priority.
    pub const PRIORITY_MAX: u8 = 9;
    /// The priority of who names none.
    pub const PRIORITY_DEFAULT: u8 = 4;
    /// Bytes of a reason or an error.
    pub const REASON_BYTES_MAX: usize = 1_024;
    /// Bytes of a cron expression.
    pub const CRON_BYTES_MAX: usize = stadium_state_machine::Occurrences::CRON_BYTES_MAX;
    /// Missed occurrences of a schedule that are made up for after the server was down.
    pub const MISSED_MAX: u32 = 100;
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            jobs_max: 20_000_000,
            queues_max: 100_000,
            dedups_max: 4_000_000,
            schedules_max: 100_000,
            payload_bytes_max: 1 << 20,
            finished_max: 100_000,
            outgoing_max: 10_000,
            defaults: QueueSettings::default(),
        }
    }
}
