//! Apps of the push platform: their settings and the feeds that report what happens to their
//! pushes.

pub(crate) mod description;
pub(crate) mod feeds;
pub(crate) mod routes;
pub(crate) mod views;
