//! The live view of the fleet, its last hours, and whether the server is alive and ready.

pub(crate) mod broadcast;
pub(crate) mod description;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod routes;
pub(crate) mod sampler;
pub(crate) mod samples;
