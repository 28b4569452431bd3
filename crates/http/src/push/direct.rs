//! Direct pushes: to devices that are connected, through the fleet, without an app and kept
//! nowhere.

pub(crate) mod fields;
pub(crate) mod views;
