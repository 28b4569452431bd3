//! `POST /api/push`: the alias for live pushes of the app `default` to clients and channels.

pub(crate) mod fields;
pub(crate) mod views;
