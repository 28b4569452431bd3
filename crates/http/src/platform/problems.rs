//! Answers that refuse a request about the push platform, for the API's description.
//!
//! Which code comes with which status is in [`crate::request::problem`] and
//! [`crate::shards::refusals`].

use utoipa::IntoResponses;

use crate::request::problem::ProblemSchema as Problem;

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
    /// `HTTP-018`, `SHARD-015`, `CLU-001`: it is not known whether it happened; with `Retry-After`.
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
    /// `HTTP-018`, `SHARD-015`, `CLU-001`: it is not known whether it happened; with `Retry-After`.
    #[response(status = 504)]
    Late(Problem),
}
