//! Stadium's node: from settings to running threads, and back to none.
//!
//! [`settings`] holds the configuration; the rest puts the parts together from it, watches them and stops
//! them. What the parts do is theirs: devices in `stadium_edge`, the API in `stadium_http`.

pub mod running;
pub mod settings;
