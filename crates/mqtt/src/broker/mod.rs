//! The server half of MQTT as one state machine without I/O.
//!
//! Written on the codec of this crate.
