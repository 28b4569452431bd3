//! Refusals of pushes by the edge, in the API's words.

use std::time::Duration;

use stadium_edge::Refused;
use stadium_http::fleet::Refusal;

/// Why the edge did not accept a push, for the API.
pub(super) fn refusal(refused: Refused) -> Refusal {
    match refused {
        Refused::Busy { retry_after } => {
            Refusal::Busy { retry_after, reason: "a loop's mailbox (limits.mailbox_max) is full".to_owned() }
        }
        Refused::Draining => {
            Refusal::Busy { retry_after: Duration::from_secs(5), reason: "the server is draining".to_owned() }
        }
        Refused::Audience(topic) => Refusal::Rejected {
            code: "NODE-007",
            reason: format!(
                "{topic:?} cannot be a topic: a name is too long or contains what MQTT forbids in topics"
            ),
        },
    }
}
