//! The queue whose jobs are pushes, and such a job.

use bytes::Bytes;
use stadium_http::PUSHES_QUEUE;
use stadium_queue::{NewJob, QueueName, When};

/// The queue of pushes.
#[must_use]
pub fn queue() -> QueueName {
    QueueName::new(PUSHES_QUEUE).expect("letters and a dot are a name")
}

/// The job that makes the push that this body of POST /api/push says.
pub(crate) fn job(body: Bytes) -> NewJob {
    NewJob {
        payload: body,
        when: When::Now,
        priority: None,
        time_to_live: None,
        dedup: None,
        key: None,
        attempts_max: None,
    }
}
