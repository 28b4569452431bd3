//! The rules over topics in the API's description.

use utoipa::OpenApi;

/// The tag.
#[derive(OpenApi)]
#[openapi(
    tags(
        (name = "Rules", description = "The rules over MQTT topics: which devices may publish and subscribe where."),
    ),
)]
pub(crate) struct Description;
