//! The queue whose jobs are pushes.
//!
//! The payload of such a job is a body of POST /api/push.

use stadium_http::PUSHES_QUEUE;
use stadium_queue::QueueName;

/// The queue of pushes.
#[must_use]
pub fn queue() -> QueueName {
    QueueName::new(PUSHES_QUEUE).expect("letters and a dot are a name")
}
