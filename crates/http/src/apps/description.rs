//! Apps in the API's description.
//!
//! Their tag is that of the push platform, see [`crate::push::description`].

/// The parts of the description that attributes cannot express, see [`crate::openapi`].
pub(crate) const RULES: &str = include_str!("rules.json");
