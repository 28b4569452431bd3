//! The API's description (OpenAPI 3.1), made from the endpoints of all features and the types that
//! they read and write.
//!
//! Parts that attributes of types and handlers cannot express are laid over it by [`rules`].
//! docs/reference/openapi.json is a copy; a stale copy fails the build.

mod rules;

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::endpoints::{RULES, endpoints};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Stadium",
        description = "Hand pushes over, see how far they have come, put and work on jobs, move credit, and look after devices and API keys.\n\nEvery request gets one \
                       of four answers. *Accepted* (2xx): the server owns it now. *Busy* (503 with `Retry-After`): you still own \
                       it, nothing happened. *Rejected* (4xx): it will never work, nothing happened. *Unknown* \
                       (504): it may have happened, ask again with the same id or look. Errors are RFC 9457 problems \
                       with a stable `code`. Whole numbers are written without a fraction: `7`, not `7.0`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    modifiers(&Bearer),
    security(("key" = [])),
)]
struct Description;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("sk_...")
            .description(Some(
                "An API key. `x-right` of an operation is the right that it asks for, a verb and a resource: the key holds it by a role or by a grant of its own.",
            ))
            .build();
        let components = api.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(scheme));
    }
}

/// The description as JSON, with the given version of the server.
pub fn description(version: &str) -> String {
    let mut api = Description::openapi();
    api.merge(endpoints().into_openapi());
    api.info.version = version.to_owned();
    let mut api = serde_json::to_value(api).expect("the description holds only strings, numbers and lists");
    rules::apply(&mut api, &RULES);
    serde_json::to_string_pretty(&api).expect("it was JSON before")
}
