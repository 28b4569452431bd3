//! Queues, jobs and leases as the API shows them: JSON with units in its names and timestamps in
//! RFC 3339.
//!
//! Ids are strings: a job's id has 64 bits, and numbers of JSON keep 53 in many languages. A payload is `payload`
//! where its bytes are UTF-8 text, else `payload_base64`; putting back what was read gives the same bytes.

mod job;
mod outcome;
mod queue;
mod schedule;

pub(crate) use job::{
    History, HistoryEvent, JobPage, JobReport, PayloadShown, PlacedJob, PlacedJobs, Placement, ReservedJob,
    ReservedJobs, StateWord,
};
pub(crate) use outcome::{Counted, OneOutcome, OutcomeWord, Outcomes};
pub(crate) use queue::{JobCounts, QueuePage, QueueReport, SpreadWord};
pub(crate) use schedule::{MissedWord, Payloads, ScheduleReport, Schedules};
