//! Queues in the API's description: their tag, and the answers that refuse a request about them.
//!
//! Which code comes with which status is in [`crate::request::problem`] and
//! [`crate::shards::refusals`].

use utoipa::{IntoResponses, OpenApi};

use crate::request::problem::ProblemSchema as Problem;

/// The tag of queues.
#[derive(OpenApi)]
#[openapi(
    tags(
        (name = "Queues", description = "Jobs that are never lost and run when they are due."),
    ),
)]
pub(crate) struct Description;

/// The parts of the description that attributes cannot express, see [`crate::openapi`].
pub(crate) const RULES: &str = include_str!("rules.json");

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
    /// `HTTP-018`, `SHARD-015`, `CLU-001`: it is not known whether it happened; with `Retry-After`.
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
    /// `HTTP-018`, `SHARD-015`, `CLU-001`: it is not known whether it happened; with `Retry-After`.
    #[response(status = 504)]
    Late(Problem),
}
