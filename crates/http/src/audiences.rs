//! Audiences of the push platform: saved selectors, static lists, and previews of whom they reach.

pub(crate) mod description;
pub(crate) mod fields;
pub(crate) mod routes;
pub(crate) mod views;
