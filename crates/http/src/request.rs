//! All that requests share: the parts of the port, the caller's key and role, the query, the body,
//! and problems.
//!
//! Nothing here knows a feature. The order of the questions that a request is asked is in
//! [`access`].

pub(crate) mod access;
pub(crate) mod app;
pub(crate) mod body;
pub(crate) mod endpoint_rights;
pub(crate) mod endpoints;
pub(crate) mod idempotency;
pub(crate) mod live_views;
pub(crate) mod peer;
pub(crate) mod problem;
pub(crate) mod query;
pub(crate) mod readiness;
