//! How many bytes a command's record has at most, and which room of the journal it may use.
//!
//! The journal is asked for room before anything is decided, so that what is decided can be written. The bounds
//! are generous: too much asked for costs at most the end of a segment.

use stadium_journal::Room;
use stadium_queue::{Command, Delivery, JobSet, NewJob, QueueName};

use crate::frame::HEADER_BYTES;

/// Bytes of anything but jobs: names, settings, the frame.
pub(super) const BASE_BYTES: usize = HEADER_BYTES + 2_048;

/// Bytes of one event of a job, without its texts.
const EVENT_BYTES: usize = 96;

/// Bytes of a job that goes to another queue with its reason: two events and texts.
const MOVE_BYTES: usize = 512;

/// Bytes of a queue that is made.
const QUEUE_BYTES: usize = 256;

/// Bytes of a record of what time brought, for each event.
pub(super) const TICK_EVENT_BYTES: usize = 256;

/// Bytes that the record of a command has at most.
pub(super) fn record_bytes_max(command: &Command) -> usize {
    let each = |count: usize, bytes: usize| BASE_BYTES + count.saturating_mul(bytes);
    let set = |jobs: &JobSet| {
        match jobs {
            JobSet::Ids(ids) => ids.len(),
            JobSet::Oldest(count) => *count as usize,
        }
        .min(stadium_queue::Bounds::JOBS_MAX)
    };
    match command {
        Command::Put { jobs, .. } => BASE_BYTES + jobs.iter().map(job_bytes).sum::<usize>(),
        Command::Reserve { jobs_max, .. } => {
            each((*jobs_max as usize).min(stadium_queue::Bounds::JOBS_MAX), 2 * EVENT_BYTES)
        }
        Command::Settle { leases } | Command::Extend { leases, .. } => each(leases.len(), EVENT_BYTES),
        Command::Delete { jobs } => each(jobs.len(), EVENT_BYTES),
        Command::Release { leases, error, .. } => {
            each(leases.len(), MOVE_BYTES + error.as_ref().map_or(0, String::len))
        }
        Command::Bury { leases, reason } => {
            each(leases.len(), EVENT_BYTES + reason.as_ref().map_or(0, String::len))
        }
        Command::Kick { jobs, .. } => each(set(jobs), EVENT_BYTES),
        Command::Redrive { jobs, .. } => each(set(jobs), MOVE_BYTES),
        Command::Forward { job, .. } | Command::Schedule { job, .. } => BASE_BYTES + job_bytes(job),
        Command::Edit { edit, .. } => {
            BASE_BYTES + EVENT_BYTES + edit.payload.as_ref().map_or(0, bytes::Bytes::len)
        }
        Command::Purge { .. } => 64 << 10,
        _ => BASE_BYTES,
    }
}

/// Bytes that the record of a job from another shard has at most.
pub(super) fn job_delivery_bytes_max(delivery: &Delivery) -> usize {
    BASE_BYTES + job_bytes(&delivery.job)
}

fn job_bytes(job: &NewJob) -> usize {
    EVENT_BYTES
        + job.payload.len()
        + job.key.as_ref().map_or(0, |key| key.as_str().len())
        + job.dedup.as_ref().map_or(0, |dedup| 64 + dedup.id.as_str().len())
}

/// Bytes that the jobs have at most that are put beside transfers.
pub(super) fn put_each_bytes_max(jobs: &[(QueueName, NewJob)]) -> usize {
    // Each may name another queue, which may be made.
    let bytes = |(queue, job): &(QueueName, NewJob)| job_bytes(job) + queue.as_str().len() + QUEUE_BYTES;
    jobs.iter().map(bytes).sum()
}

/// Jobs that a command is about: what it costs to carry out.
pub(super) fn jobs(command: &Command) -> usize {
    match command {
        Command::Put { jobs, .. } => jobs.len(),
        Command::Reserve { jobs_max, .. } | Command::Peek { jobs_max, .. } => *jobs_max as usize,
        Command::Settle { leases }
        | Command::Release { leases, .. }
        | Command::Extend { leases, .. }
        | Command::Bury { leases, .. } => leases.len(),
        Command::Delete { jobs } => jobs.len(),
        Command::Kick { jobs, .. } | Command::Redrive { jobs, .. } => match jobs {
            JobSet::Ids(ids) => ids.len(),
            JobSet::Oldest(count) => *count as usize,
        },
        _ => 1,
    }
}

/// What ends jobs may use the room that is set aside, so that a full disk can be emptied.
pub(super) fn room(command: &Command) -> Room {
    match command {
        Command::Settle { .. }
        | Command::Delete { .. }
        | Command::Purge { .. }
        | Command::Unschedule { .. }
        | Command::Drop { .. } => Room::Reserved,
        _ => Room::Ordinary,
    }
}

/// Whether the command changes nothing.
pub(super) fn is_read(command: &Command) -> bool {
    matches!(
        command,
        Command::Peek { .. }
            | Command::Find { .. }
            | Command::History { .. }
            | Command::Stats { .. }
            | Command::List { .. }
            | Command::Schedules { .. }
    )
}
