//! The live view and health in the API's description.

use utoipa::OpenApi;

use crate::live::samples::{Point, Sample};

/// The tag and the data of their events, which no answer refers to.
#[derive(OpenApi)]
#[openapi(
    tags(
        (name = "Operating", description = "Health, metrics and the live view."),
    ),
    components(schemas(Sample, Point)),
)]
pub(crate) struct Description;
