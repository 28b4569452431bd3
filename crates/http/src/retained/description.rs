//! Retained messages in the API's description.

use utoipa::OpenApi;

/// The tag.
#[derive(OpenApi)]
#[openapi(
    tags(
        (name = "Retained messages", description = "The messages that new subscribers are sent, and whose they are."),
    ),
)]
pub(crate) struct Description;

/// The parts of the description that attributes cannot express, see [`crate::openapi`].
pub(crate) const RULES: &str = include_str!("rules.json");
