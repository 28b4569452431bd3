//! The cluster that this server is a node of, as it knows it.

pub(crate) mod description;
pub(crate) mod routes;
