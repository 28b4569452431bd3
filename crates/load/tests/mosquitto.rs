//! The swarm against a real mosquitto.
//!
//! Being written.
fn main() {}
