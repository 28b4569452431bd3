//! Stadium's edge.
pub mod auth;
