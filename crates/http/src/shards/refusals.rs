//! Refusals of the shards in HTTP: the status of each of their codes.
//!
//! The codes and their titles are the machines' and the shard's own; their pages are docs/reference/errors/queue.md,
//! wallet.md, push.md, device.md and shard.md. A lack of credit is a conflict (409) with what the
//! account has now: 402 is about paying for the request itself (RFC 9110, 15.5.3), and proxies know
//! nothing of it.

use std::time::Duration;

use stadium_push::refusal as push;
use stadium_queue::{Refusal, refusal};
use stadium_registry::refusal as device;
use stadium_wallet::refusal as wallet;

use crate::request::problem::Problem;

/// The status of each code that answers a request.
pub(crate) const STATUSES: &[(&str, u16)] = &[
    (refusal::COUNT, 422),
    (refusal::PRIORITY, 422),
    (refusal::DELAY, 422),
    (refusal::PAYLOAD, 413),
    (refusal::TIME_TO_LIVE, 422),
    (refusal::DEDUP_WINDOW, 422),
    (refusal::ATTEMPTS, 422),
    (refusal::LEASE, 422),
    (refusal::REASON, 422),
    (refusal::SETTINGS, 422),
    (refusal::CRON, 422),
    (refusal::TIME_ZONE, 422),
    (refusal::COMMAND_BYTES, 413),
    (refusal::WAIT, 422),
    (refusal::QUEUE_UNKNOWN, 404),
    (refusal::JOB_UNKNOWN, 404),
    (refusal::LEASE_LOST, 409),
    (refusal::STATE, 409),
    (refusal::DEDUP_CONTENT, 422),
    (refusal::NOT_EMPTY, 409),
    (refusal::SCHEDULE_UNKNOWN, 404),
    (refusal::SPREAD, 409),
    (refusal::MISDIRECTED, 500),
    (refusal::QUEUE_FULL, 429),
    (refusal::SHARD_FULL, 503),
    (refusal::QUEUES_FULL, 503),
    (refusal::DEDUPS_FULL, 503),
    (refusal::SCHEDULES_FULL, 503),
    (refusal::OUTGOING_FULL, 503),
    (wallet::COUNT, 422),
    (wallet::AMOUNT, 422),
    (wallet::SAME_ACCOUNT, 422),
    (wallet::HOLD, 422),
    (wallet::REFERENCE, 422),
    (wallet::METADATA, 413),
    (wallet::SCALE, 422),
    (wallet::ID_TWICE, 422),
    (wallet::RESERVED, 422),
    (wallet::ASSET_UNKNOWN, 404),
    (wallet::ACCOUNT_UNKNOWN, 404),
    (wallet::TRANSFER_UNKNOWN, 404),
    (wallet::INSUFFICIENT, 409),
    (wallet::CEILING, 409),
    (wallet::CLOSED, 409),
    (wallet::ID_CONTENT, 422),
    (wallet::NOT_HELD, 409),
    (wallet::CAPTURE, 422),
    (wallet::NOT_REVERSIBLE, 409),
    (wallet::OVERFLOW, 409),
    (wallet::RULES, 409),
    (wallet::LINKED, 409),
    (wallet::SHARDS, 422),
    (wallet::MISDIRECTED, 500),
    (wallet::MOVED, 410),
    (wallet::ACCOUNTS_FULL, 503),
    (wallet::HOLDS_FULL, 503),
    (wallet::PENDING_FULL, 503),
    (wallet::PENDING, 503),
    (wallet::ASSETS_FULL, 503),
    (wallet::TOO_FAR, 503),
    (push::COUNT, 422),
    (push::SETTINGS, 422),
    (push::CONTENT, 422),
    (push::TEMPLATE, 422),
    (push::OPTIONS, 422),
    (push::CRON, 422),
    (push::TIME_ZONE, 422),
    (push::WHEN, 422),
    (push::DEFAULT_APP, 409),
    (push::APP_UNKNOWN, 404),
    (push::PUSH_UNKNOWN, 404),
    (push::DEVICE_UNKNOWN, 404),
    (push::AUDIENCE_UNKNOWN, 404),
    (push::SCHEDULE_UNKNOWN, 404),
    (push::ID_CONTENT, 422),
    (push::STARTED, 409),
    (push::OVER, 409),
    (push::NOT_SENT, 409),
    (push::LIVE, 409),
    (push::NAME_TAKEN, 409),
    (push::REVOKED, 403),
    (push::NOT_WRITABLE, 403),
    (push::MISDIRECTED, 500),
    (push::APPS_FULL, 503),
    (push::PUSHES_FULL, 503),
    (push::NAMES_FULL, 503),
    (push::EARLY, 503),
    (device::TAGS, 422),
    (device::ATTRIBUTES, 422),
    (device::TEXT, 422),
    (device::CHANGES, 422),
    (device::USER_DEVICES, 422),
    (device::DEVICES_FULL, 503),
    (device::TAGS_FULL, 503),
    (device::ATTRIBUTE_NAMES_FULL, 503),
    (device::FIELDS_FULL, 503),
    ("SHARD-001", 503),
    ("SHARD-002", 503),
    ("SHARD-014", 503),
    ("SHARD-016", 503),
    (stadium_shard::UNKNOWN, 504),
    (stadium_shard::OUTCOME_UNKNOWN, 504),
    (stadium_shard::LOG_AWAY, 503),
    (stadium_shard::MOVED, 503),
    (stadium_shard::UNREACHABLE, 503),
    (stadium_shard::TOO_OLD, 503),
    ("SHARD-003", 503),
    ("SHARD-004", 503),
    ("SHARD-005", 503),
    ("SHARD-006", 413),
    ("SHARD-007", 409),
    // The payload was whole when it was put: the disk is to blame, not the request.
    ("SHARD-008", 500),
    // The shard's number is in the job's id: no job has that one.
    ("SHARD-009", 404),
    // The journal's bytes are to blame, not the request.
    ("SHARD-010", 500),
];

/// The status of a refusal. It may have happened: 504, whatever the code. The kind of a code that
/// is not in the table shows who is to act.
fn status(refusal: &Refusal) -> u16 {
    let known = || STATUSES.iter().find(|(code, _)| *code == refusal.code()).map(|(_, status)| *status);
    match refusal {
        Refusal::Unknown { .. } => 504,
        Refusal::Busy { .. } => known().unwrap_or(503),
        // A newer node rejected it: to ask again does not help.
        Refusal::Rejected { code: stadium_shard::TOO_OLD, .. } => 422,
        Refusal::Rejected { .. } => known().unwrap_or(422),
    }
}

/// The title of a code: the words of the crate that it is from, which begin its section of the page.
pub(crate) fn title(code: &str) -> Option<String> {
    let machines = stadium_queue::CODES.iter().chain(stadium_wallet::CODES);
    let platform = stadium_push::CODES.iter().chain(stadium_registry::CODES);
    let mut all = machines.chain(platform).chain(stadium_shard::CODES);
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
        let retry_after = refusal.retry_after();
        let (untitled, reason) = match refusal {
            Refusal::Busy { reason, .. } => ("The shards are busy", reason),
            Refusal::Rejected { reason, .. } => ("The shards rejected it", reason),
            Refusal::Unknown { reason, .. } => ("It is not known whether it happened", reason),
        };
        let problem = Self::foreign(code, status, title.unwrap_or_else(|| untitled.to_owned()), reason);
        match retry_after {
            Some(after) => problem.retry_after(Duration::from_millis(after)),
            None => problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use stadium_queue::Refusal;
    use stadium_shard::UNKNOWN;
    use stadium_wallet::refusal::PENDING;

    use crate::request::problem::Problem;

    #[test]
    fn the_status_shows_whether_it_may_have_happened() {
        let reason = || "words".to_owned();
        let busy = |code| Refusal::Busy { code, retry_after: 2_000, reason: reason() };
        let rejected = |code| Refusal::Rejected { code, reason: reason() };
        let unknown = |code| Refusal::Unknown { code, retry_after: 2_000, reason: reason() };
        let table = [
            (busy("SHARD-002"), 503, true),
            (busy(PENDING), 503, true),
            (unknown(PENDING), 504, true),
            (unknown(UNKNOWN), 504, true),
            // One shard's part of a put was done.
            (unknown("QUE-040"), 504, true),
            (rejected("WAL-023"), 409, false),
            (rejected("NEW-001"), 422, false),
            (busy("NEW-001"), 503, true),
        ];
        for (refusal, status, has_retry_time) in table {
            let named = refusal.to_string();
            let response = Problem::from(refusal).into_response();
            assert_eq!(response.status().as_u16(), status, "{named}");
            assert_eq!(response.headers().contains_key("retry-after"), has_retry_time, "{named}");
        }
    }
}
