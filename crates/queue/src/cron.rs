//! Schedules of jobs: [`Occurrences`] with the refusals of queues. docs/queue.md defines when they
//! are due.

use stadium_state_machine::{InvalidSchedule, Occurrences};

use crate::refusal::{CRON, TIME_ZONE, rejected};
use crate::{Cron, Refusal};

/// # Errors
///
/// An expression that is none and a time zone that nobody knows.
pub(crate) fn occurrences(cron: &Cron) -> Result<Occurrences, Refusal> {
    Occurrences::new(&cron.expression, &cron.time_zone).map_err(|error| {
        let code = match error {
            InvalidSchedule::Cron(_) => CRON,
            InvalidSchedule::TimeZone(_) => TIME_ZONE,
        };
        rejected(code, error.to_string())
    })
}
