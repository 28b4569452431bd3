//! The places of the server that a package installed.
//!
//! deploy/stadium.service and the scripts in deploy/packages have the same.

/// The folder of its configuration. The packages give it to the service's group, with the setgid bit.
pub(crate) const FOLDER: &str = "/etc/stadium";

/// The directory of its state.
pub(crate) const DATA: &str = "/var/lib/stadium";
