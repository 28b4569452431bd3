//! Wallets in the API's description: their tag, and the answers that refuse a request about them.
//!
//! Which code comes with which status is in [`crate::request::problem`] and
//! [`crate::shards::refusals`].

use utoipa::{IntoResponses, OpenApi};

use crate::request::problem::ProblemSchema as Problem;

/// The tag of wallets.
#[derive(OpenApi)]
#[openapi(
    tags(
        (name = "Wallets", description = "Credit and votes: accounts, transfers and holds, never overdrawn, with a history that is never edited. \
                                   Amounts are whole minor units (cents, votes): numbers up to 2^53 - 1, beyond that strings of digits; both are taken. \
                                   A transfer is booked at most once for its id. What the books do not allow now, such as a debit without credit, is 409."),
    ),
)]
pub(crate) struct Description;

/// The parts of the description that attributes cannot express, see [`crate::openapi`].
pub(crate) const RULES: &str = include_str!("rules.json");

/// Of a request that only looks at wallets.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes answers; nothing is made of it")]
pub(crate) enum MoneyLookProblems {
    /// `HTTP-017`
    #[response(status = 400)]
    Query(Problem),
    /// `HTTP-001`, `HTTP-002`
    #[response(status = 401)]
    Key(Problem),
    /// `WAL-020` (asset), `WAL-021` (account), `WAL-022` (transfer)
    #[response(status = 404)]
    Unknown(Problem),
    /// `WAL-035`: the records were moved to the backups.
    #[response(status = 410)]
    Moved(Problem),
    /// `HTTP-028`
    #[response(status = 422)]
    Name(Problem),
    /// `HTTP-026`, `WAL-043`, or a code of the shards; with `Retry-After`.
    #[response(status = 503)]
    Busy(Problem),
    /// `HTTP-018`, `SHARD-015`, `CLU-001`, `WAL-043` (the transfer is being decided): it is not known whether it happened; with `Retry-After`.
    #[response(status = 504)]
    Late(Problem),
}

/// Of a request that moves amounts or changes accounts.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes answers; nothing is made of it")]
pub(crate) enum MoneyProblems {
    /// `HTTP-004`, `HTTP-016`
    #[response(status = 400)]
    Body(Problem),
    /// `HTTP-001`, `HTTP-002`
    #[response(status = 401)]
    Key(Problem),
    /// `HTTP-003`
    #[response(status = 403)]
    Role(Problem),
    /// `WAL-020` (asset), `WAL-021` (account), `WAL-022` (transfer)
    #[response(status = 404)]
    Unknown(Problem),
    /// What the books do not allow now: `WAL-023` (not enough credit), `WAL-024` (ceiling), `WAL-025` (closed), `WAL-027` (no open
    /// hold), `WAL-029` (cannot be reversed), `WAL-030`, `WAL-031` (there with other rules), `WAL-032` (a linked one was refused)
    #[response(status = 409)]
    Conflict(Problem),
    /// `HTTP-007`, `WAL-006`
    #[response(status = 413)]
    Large(Problem),
    /// `HTTP-006`
    #[response(status = 415)]
    Kind(Problem),
    /// `HTTP-005`, `HTTP-028`, `WAL-026` (the id was used with other content), or another code of the wallet
    #[response(status = 422)]
    Field(Problem),
    /// `HTTP-026`, `WAL-040` to `WAL-044`, or a code of the shards; nothing happened, with `Retry-After`.
    #[response(status = 503)]
    Busy(Problem),
    /// `HTTP-018`, `SHARD-015`, `CLU-001`, `WAL-043` (the transfer is being decided): it is not known whether it happened; with `Retry-After`.
    #[response(status = 504)]
    Late(Problem),
}
