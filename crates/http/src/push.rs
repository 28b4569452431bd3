//! Pushes: those of the push platform, which are on disk, and direct ones to devices that are
//! connected.

pub(crate) mod description;
pub(crate) mod direct;
pub(crate) mod fields;
pub(crate) mod routes;
pub(crate) mod schedules;
pub(crate) mod views;
