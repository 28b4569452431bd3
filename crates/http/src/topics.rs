//! Topics over HTTP, for pages and backends without an MQTT client: publish to one, read several.
//!
//! The broker is the fleet's: here are the requests, their fields and their answers.

pub(crate) mod description;
pub(crate) mod event;
mod fields;
mod publish;
pub(crate) mod routes;
pub(crate) mod stream;
pub(crate) mod tickets;
