//! Queues, jobs and leases between JSON and the shards: the forms of requests and of answers, and
//! figures over time.

use bytes::Bytes;
use stadium_queue::{
    Answer, Command, Given, HistoryEntry, JobView, Outcome, Placed, QueueStats, Reserved, ScheduleView,
};

use crate::request::app::App;
use crate::request::problem::Problem;
use crate::shards::{ask_for, expected, strange};

pub(crate) mod description;
pub(crate) mod fields;
pub(crate) mod routes;
pub(crate) mod samples;
pub(crate) mod views;

expected! { Answer<Bytes> as Answer:
    Placed Vec<Placed>;
    Reserved Vec<Reserved<Bytes>>;
    Given Vec<Outcome>;
    Count u64;
    Jobs Vec<JobView<Bytes>>;
    History Vec<HistoryEntry>;
    Queues Vec<QueueStats>;
    Schedules Vec<ScheduleView<Bytes>>;
}

/// The only outcome of a command that named one job or lease.
pub(crate) async fn ask_for_one(app: &App, command: Command) -> Result<Given, Problem> {
    let outcomes: Vec<Outcome> = ask_for(app, command).await?;
    let outcome = outcomes.into_iter().next().ok_or_else(strange)?;
    Ok(outcome?)
}
