//! Devices that act for themselves, in the API's description.

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{IntoResponses, Modify, OpenApi};

use crate::request::problem::ProblemSchema as Problem;

/// The tag, and how a device shows who it is.
#[derive(OpenApi)]
#[openapi(
    tags(
        (name = "Devices' own", description = "What a device does for itself with a token: docs/devices-own-rights.md."),
    ),
    modifiers(&DeviceToken),
)]
pub(crate) struct Description;

struct DeviceToken;

impl Modify for DeviceToken {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("st_...")
            .description(Some(
                "A token of a device: `POST /api/apps/{app}/devices/{device}/token` makes it. `x-right` is `me`: a request acts on the token's device alone.",
            ))
            .build();
        let components = api.components.get_or_insert_default();
        components.add_security_scheme("device", SecurityScheme::Http(scheme));
    }
}

/// Of a request of a device for itself.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes answers; nothing is made of it")]
pub(crate) enum OwnProblems {
    /// `HTTP-017`
    #[response(status = 400)]
    Query(Problem),
    /// `HTTP-036`
    #[response(status = 401)]
    Token(Problem),
    /// `PSH-032` (the device is revoked), `PSH-033` (the app does not let devices change it)
    #[response(status = 403)]
    Denied(Problem),
    /// `PSH-020` (app), `PSH-021` (push), `PSH-022` (device)
    #[response(status = 404)]
    Unknown(Problem),
    /// `PSH-028`
    #[response(status = 409)]
    NotSent(Problem),
    /// `HTTP-031`; with `Retry-After`.
    #[response(status = 429)]
    TooMany(Problem),
    /// `HTTP-026`, or a code of the platform or the shards; nothing happened, with `Retry-After`.
    #[response(status = 503)]
    Busy(Problem),
    /// `HTTP-018`, `SHARD-015`, `CLU-001`: it is not known whether it happened; with `Retry-After`.
    #[response(status = 504)]
    Late(Problem),
}

/// The parts of the description that attributes cannot express, see [`crate::openapi`].
pub(crate) const RULES: &str = include_str!("rules.json");
