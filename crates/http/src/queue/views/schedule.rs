//! Schedules: jobs that are put again and again.

use serde::Serialize;
use stadium_queue::{Missed, ScheduleView};
use utoipa::ToSchema;

use crate::spelling::timestamp;

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
    pub(crate) fn of(schedule: ScheduleView) -> Self {
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
        }
    }
}

/// The schedules of a queue, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct Schedules {
    pub(crate) schedules: Vec<ScheduleReport>,
}
