//! Pushes in the API's description.

use utoipa::OpenApi;

/// The tags.
#[derive(OpenApi)]
#[openapi(
    tags(
        (name = "Pushes", description = "One call lights a device, a channel or everybody up that is connected, live."),
        (name = "Push platform", description = "Apps with their devices, audiences, pushes and schedules: who gets what when, and why not. docs/push-api.md shows it by example."),
    ),
)]
pub(crate) struct Description;

/// The parts of the description that attributes cannot express, see [`crate::openapi`].
pub(crate) const RULES: &str = include_str!("rules.json");
