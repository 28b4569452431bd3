//! Retained messages: which there are, and whose; and their removal.

pub(crate) mod description;
pub(crate) mod routes;
