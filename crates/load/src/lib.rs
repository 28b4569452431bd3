//! Stadium's load lab: simulated devices that speak real MQTT over real sockets, and measure.
//!
//! [`swarm`] connects a fleet from as many processes as the open-file limit asks, holds it, cuts it, and reports.
//! [`stamp`] is how a message says when it was sent, so that whoever receives it knows how long it took; [`clock`]
//! is the clock both sides read. Nothing here knows a particular server: it measures any MQTT broker.

pub mod clock;
pub mod latency;
pub mod stamp;
pub mod swarm;
