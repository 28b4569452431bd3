//! The table of all metrics, by section. Each server's series come from these rows.

pub mod acme;
pub mod backups;
pub mod cluster;
pub mod fleet;
pub mod http;
pub mod loops;
pub mod pushes;
pub mod queues;
pub mod server;
pub mod services;
pub mod shards;
pub mod telemetry;
pub mod topics;
pub mod wallets;

use crate::definition::{Definition, Section};

/// All sections, in the order of the reference page.
pub const SECTIONS: [&Section; 14] = [
    &server::SECTION,
    &fleet::SECTION,
    &topics::SECTION,
    &loops::SECTION,
    &pushes::SECTION,
    &queues::SECTION,
    &wallets::SECTION,
    &shards::SECTION,
    &backups::SECTION,
    &acme::SECTION,
    &services::SECTION,
    &cluster::SECTION,
    &http::SECTION,
    &telemetry::SECTION,
];

/// All rows, in the order of the reference page.
pub fn rows() -> impl Iterator<Item = &'static Definition> {
    SECTIONS.into_iter().flat_map(|section| section.rows.iter().copied())
}
