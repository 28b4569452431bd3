//! Web Push in the API's description.

use utoipa::OpenApi;

/// The tag.
#[derive(OpenApi)]
#[openapi(
    tags(
        (name = "Web Push", description = "Endpoints of RFC 8030 for applications' own senders: docs/webpush.md."),
    ),
)]
pub(crate) struct Description;

/// The parts of the description that attributes cannot express, see [`crate::openapi`].
pub(crate) const RULES: &str = include_str!("rules.json");
