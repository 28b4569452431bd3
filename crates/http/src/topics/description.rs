//! Topics in the API's description.

use utoipa::OpenApi;

/// The tag.
#[derive(OpenApi)]
#[openapi(
    tags(
        (name = "Topics", description = "MQTT topics without an MQTT client: publish to any topic, and read topics as server-sent events. docs/web.md shows it by example."),
    ),
)]
pub(crate) struct Description;

/// The parts of the description that attributes cannot express, see [`crate::openapi`].
pub(crate) const RULES: &str = include_str!("rules.json");
