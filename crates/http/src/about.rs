//! The answers about this process itself: its listeners and shards, its services, its
//! configuration.

pub(crate) mod facts;
pub(crate) mod routes;
pub(crate) mod views;
