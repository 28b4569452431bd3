//! Schedules: jobs that are put again and again.
//!
//! A schedule is shown with the job that it puts; the payload only to callers that may see it.

use bytes::Bytes;
use serde::Serialize;
use stadium_queue::{Missed, ScheduleView};
use utoipa::ToSchema;

use crate::spelling::{spelled, timestamp};

/// A schedule as it stands.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScheduleReport {
    /// Its name.
    name: String,
    /// When it puts.
    cron: String,
    /// The zone that `cron` is read in.
    time_zone: String,
    /// Handling of occurrences that passed while the server was down.
    missed: MissedWord,
    /// The next occurrence; none where there is none.
    next_at: Option<String>,
    /// The last occurrence.
    last_at: Option<String>,
    /// The job that was put then.
    last_job: Option<String>,
    /// The principal that made it, and so puts its jobs.
    principal: Option<String>,
    /// The job that it puts.
    job: ScheduledJob,
}

/// The job that a schedule puts, in the fields of a put.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScheduledJob {
    /// 0 to 9, 9 first.
    priority: u8,
    /// Attempts before it is dead.
    attempts_max: u16,
    /// The key of its order and share.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Gone by itself when it is not settled so many milliseconds after it was put.
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    /// The payload, where it is UTF-8 text. Left out without the right `queue.payload`, and where
    /// those of the schedules before it exceed 4 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    /// The payload otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
}

/// Whether payloads are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payloads {
    Shown,
    Hidden,
}

/// Handling of a schedule's occurrences that passed while the server was down.
#[derive(Clone, Copy, Default, Serialize, serde::Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MissedWord {
    /// One job for all of them.
    #[default]
    Once,
    /// None.
    Skip,
    /// One for each, at most 100.
    All,
}

impl ScheduleReport {
    pub(crate) fn of(schedule: ScheduleView<Bytes>, payloads: Payloads) -> Self {
        let shown = schedule.payload.as_ref().filter(|_| payloads == Payloads::Shown);
        let (payload, payload_base64) = shown.map_or((None, None), |payload| spelled(payload));
        Self {
            name: schedule.name.to_string(),
            cron: schedule.cron.expression,
            time_zone: schedule.cron.time_zone,
            missed: match schedule.cron.missed {
                Missed::Once => MissedWord::Once,
                Missed::Skip => MissedWord::Skip,
                Missed::All => MissedWord::All,
            },
            next_at: schedule.next.map(timestamp),
            last_at: schedule.last.map(|(at, _)| timestamp(at)),
            last_job: schedule.last.map(|(_, job)| job.to_string()),
            principal: schedule.principal.as_ref().map(ToString::to_string),
            job: ScheduledJob {
                priority: schedule.priority,
                attempts_max: schedule.attempts_max,
                key: schedule.key.as_ref().map(ToString::to_string),
                ttl_ms: schedule.time_to_live,
                payload,
                payload_base64,
            },
        }
    }
}

/// The schedules of a queue, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct Schedules {
    pub(crate) schedules: Vec<ScheduleReport>,
}
