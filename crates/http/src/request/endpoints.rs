//! The endpoints of a feature, as one table that is both: what the router serves and what the API's
//! description names.
//!
//! Method, path, parameters and answers stand once, in the attribute `utoipa::path` at the handler;
//! the role that it needs is one of its arguments, see [`crate::request::access`]. A handler that
//! is in no table is unused code.

/// Makes an `OpenApiRouter` of handlers, over a feature's own part of the description where it has
/// one.
macro_rules! endpoints {
    ($description:ty; $($handler:path),* $(,)?) => {
        utoipa_axum::router::OpenApiRouter::with_openapi(<$description as utoipa::OpenApi>::openapi())
            $(.routes(utoipa_axum::routes!($handler)))*
    };
    ($($handler:path),* $(,)?) => {
        utoipa_axum::router::OpenApiRouter::default()$(.routes(utoipa_axum::routes!($handler)))*
    };
}

pub(crate) use endpoints;
