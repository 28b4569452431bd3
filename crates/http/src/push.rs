//! Pushes, durable and live: one id, one record and one trace for both.
//!
//! The shards keep durable pushes; the record of a live push is the fleet's. [`routes`] asks both.

pub(crate) mod description;
pub(crate) mod direct;
pub(crate) mod fields;
pub(crate) mod live;
pub(crate) mod rendered;
pub(crate) mod routes;
pub(crate) mod schedules;
pub(crate) mod views;
