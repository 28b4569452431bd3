//! The cluster in the API's description.

use utoipa::OpenApi;

/// The tag.
#[derive(OpenApi)]
#[openapi(
    tags(
        (name = "Cluster", description = "The cluster that this server is a node of: nodes, shards, moves and links."),
    ),
)]
pub(crate) struct Description;

/// The parts of the description that attributes cannot express, see [`crate::openapi`].
pub(crate) const RULES: &str = include_str!("rules.json");
