//! Devices: their connections, the registered ones of an app, their credentials, and devices in
//! files.

pub(crate) mod description;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod registry;
pub(crate) mod routes;
pub(crate) mod selection;
pub(crate) mod views;
