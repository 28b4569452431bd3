//! The endpoints of devices.

pub(crate) mod connections;
pub(crate) mod credentials;
pub(crate) mod files;
pub(crate) mod registered;
pub(crate) mod traces;
