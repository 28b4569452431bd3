//! Apps in the API's description.
//!
//! Their tag is that of the push platform, see [`crate::push::description`].

/// What attributes cannot say of these endpoints, see [`crate::openapi`].
pub(crate) const RULES: &str = include_str!("rules.json");
