//! Devices in the API's description.

use utoipa::OpenApi;

use crate::devices::routes::traces::TraceEvent;

/// The tag and the data of their events, which no answer refers to.
#[derive(OpenApi)]
#[openapi(
    tags(
        (name = "Devices", description = "Devices that are connected or have a session."),
    ),
    components(schemas(TraceEvent)),
)]
pub(crate) struct Description;

/// The parts of the description that attributes cannot express, see [`crate::openapi`].
pub(crate) const RULES: &str = include_str!("rules.json");
