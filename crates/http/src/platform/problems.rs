//! What a request about queues, wallets or the push platform may be refused with, for the API's description.
//!
//! Which code comes with which status is in [`crate::request::problem`] and [`crate::shards::refusals`].

use utoipa::IntoResponses;

use crate::openapi::Problem;

/// Of a request that only looks.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes answers; nothing is made of it")]
pub(crate) enum LookProblems {
    /// `HTTP-017`
    #[response(status = 400)]
    Query(Problem),
    /// `HTTP-001`, `HTTP-002`
    #[response(status = 401)]
    Key(Problem),
    /// `QUE-020`, `QUE-021`, `QUE-026`
    #[response(status = 404)]
    Unknown(Problem),
    /// `HTTP-028`
    #[response(status = 422)]
    Name(Problem),
    /// `HTTP-026`, or a code of the shards; with `Retry-After`.
    #[response(status = 503)]
    Busy(Problem),
    /// `HTTP-018`, `SHARD-015`: it is not known whether it happened; with `Retry-After`.
    #[response(status = 504)]
    Late(Problem),
}

/// Of a request that changes something.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes answers; nothing is made of it")]
pub(crate) enum WorkProblems {
    /// `HTTP-004`, `HTTP-016`
    #[response(status = 400)]
    Body(Problem),
    /// `HTTP-001`, `HTTP-002`
    #[response(status = 401)]
    Key(Problem),
    /// `HTTP-003`
    #[response(status = 403)]
    Role(Problem),
    /// `QUE-020`, `QUE-021`, `QUE-026`
    #[response(status = 404)]
    Unknown(Problem),
    /// `QUE-022` (lease lost), `QUE-023`, `QUE-025`, `QUE-027`
    #[response(status = 409)]
    Conflict(Problem),
    /// `HTTP-007`, `QUE-004`, `QUE-013`
    #[response(status = 413)]
    Large(Problem),
    /// `HTTP-006`
    #[response(status = 415)]
    Kind(Problem),
    /// `HTTP-005`, `HTTP-015`, `HTTP-028`, or a code of the queues
    #[response(status = 422)]
    Field(Problem),
    /// `QUE-040`; with `Retry-After`.
    #[response(status = 429)]
    Full(Problem),
    /// `HTTP-026`, or a code of the shards; nothing happened, with `Retry-After`.
    #[response(status = 503)]
    Busy(Problem),
    /// `HTTP-018`, `SHARD-015`: it is not known whether it happened; with `Retry-After`.
    #[response(status = 504)]
    Late(Problem),
}

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
    /// `HTTP-028`
    #[response(status = 422)]
    Name(Problem),
    /// `HTTP-026`, `WAL-043`, or a code of the shards; with `Retry-After`.
    #[response(status = 503)]
    Busy(Problem),
    /// `HTTP-018`, `SHARD-015`, `WAL-043` (the transfer is being decided): it is not known whether it happened; with `Retry-After`.
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
    /// `HTTP-018`, `SHARD-015`, `WAL-043` (the transfer is being decided): it is not known whether it happened; with `Retry-After`.
    #[response(status = 504)]
    Late(Problem),
}

/// Of a request that only looks at the push platform.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes answers; nothing is made of it")]
pub(crate) enum PlatformLookProblems {
    /// `HTTP-017`
    #[response(status = 400)]
    Query(Problem),
    /// `HTTP-001`, `HTTP-002`
    #[response(status = 401)]
    Key(Problem),
    /// `PSH-020` (app), `PSH-021` (push), `PSH-022` (device)
    #[response(status = 404)]
    Unknown(Problem),
    /// `HTTP-028`
    #[response(status = 422)]
    Name(Problem),
    /// `HTTP-019`, `HTTP-026`, or a code of the shards; with `Retry-After`.
    #[response(status = 503)]
    Busy(Problem),
    /// `HTTP-018`, `SHARD-015`: it is not known whether it happened; with `Retry-After`.
    #[response(status = 504)]
    Late(Problem),
}

/// Of a request that changes something of the push platform.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes answers; nothing is made of it")]
pub(crate) enum PlatformProblems {
    /// `HTTP-004`, `HTTP-016`, `HTTP-017`
    #[response(status = 400)]
    Body(Problem),
    /// `HTTP-001`, `HTTP-002`
    #[response(status = 401)]
    Key(Problem),
    /// `HTTP-003`
    #[response(status = 403)]
    Role(Problem),
    /// `PSH-020` (app), `PSH-021` (push), `PSH-022` (device), `PSH-023` (saved audience), `PSH-024` (schedule)
    #[response(status = 404)]
    Unknown(Problem),
    /// `PSH-009`, `PSH-026` (it has started), `PSH-027` (it is over), `PSH-028`
    #[response(status = 409)]
    Conflict(Problem),
    /// `HTTP-007`
    #[response(status = 413)]
    Large(Problem),
    /// `HTTP-006`
    #[response(status = 415)]
    Kind(Problem),
    /// `HTTP-005`, `HTTP-028`, `PSH-025` (the id was used with other content), or another code of the platform
    #[response(status = 422)]
    Field(Problem),
    /// `HTTP-026`, or a code of the platform or the shards; nothing happened, with `Retry-After`.
    #[response(status = 503)]
    Busy(Problem),
    /// `HTTP-018`, `SHARD-015`: it is not known whether it happened; with `Retry-After`.
    #[response(status = 504)]
    Late(Problem),
}
