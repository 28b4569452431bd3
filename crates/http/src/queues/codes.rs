//! What the shards refuse, as HTTP says it: the status of each of their codes.
//!
//! The codes and their titles are the queue's and the shard's own; their pages are docs/reference/errors/queue.md and
//! shard.md.

use std::time::Duration;

use stadium_queue::{Refusal, refusal};

use crate::problem::Problem;

/// The status of a code that the queues answer. Busy ones are 503, rejected ones 422, unless they are named here.
fn status(refusal: &Refusal) -> u16 {
    match refusal.code() {
        refusal::QUEUE_UNKNOWN | refusal::JOB_UNKNOWN | refusal::SCHEDULE_UNKNOWN => 404,
        refusal::LEASE_LOST | refusal::STATE | refusal::NOT_EMPTY | refusal::SPREAD => 409,
        refusal::PAYLOAD | refusal::COMMAND_BYTES => 413,
        refusal::QUEUE_FULL => 429,
        refusal::MISDIRECTED => 500,
        "SHARD-006" | "JRN-003" => 413,
        "SHARD-007" => 409,
        // The payload was whole when it was put: the disk is to blame, not the request.
        "SHARD-008" => 500,
        // The shard's number is in the job's id: no job has that one.
        "SHARD-009" => 404,
        _ => match refusal {
            Refusal::Busy { .. } => 503,
            Refusal::Rejected { .. } => 422,
        },
    }
}

/// The title of a code: the words of the crate that it is from, which begin its section of the page.
pub(crate) fn title(code: &str) -> Option<String> {
    let mut all = stadium_queue::CODES.iter().chain(stadium_shard::CODES);
    let (_, words) = all.find(|(known, _)| *known == code)?;
    let mut letters = words.chars();
    let first = letters.next()?;
    Some(first.to_uppercase().chain(letters).collect())
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let status = status(&refusal);
        let code = refusal.code();
        let title = title(code);
        match refusal {
            Refusal::Busy { retry_after, reason, .. } => {
                let title = title.unwrap_or_else(|| "The shards are busy".to_owned());
                Self::foreign(code, status, title, reason).retry_after(Duration::from_millis(retry_after))
            }
            Refusal::Rejected { reason, .. } => {
                let title = title.unwrap_or_else(|| "The shards rejected it".to_owned());
                Self::foreign(code, status, title, reason)
            }
        }
    }
}
