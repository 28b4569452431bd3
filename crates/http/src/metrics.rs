//! Prometheus metrics of the whole server.

mod acme;
mod backup;
mod cluster;
mod encoder;
pub(crate) mod exported;
mod figure;
mod fleet;
mod plain;
mod process;
mod push;
pub(crate) mod requests;
pub(crate) mod routes;
mod scrape;
mod services;
mod shards;
pub(crate) mod sources;
mod telemetry;
mod topics;
