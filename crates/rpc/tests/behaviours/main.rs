//! Behaviours of services and their clients: real servers and clients in one process, on real
//! sockets.
//!
//! Each module is about one promise of the crate. Nothing sleeps for timing; what must come to pass is waited
//! for with a deadline.

mod affinity;
mod bounds;
mod datagrams;
mod deadlines;
mod encoded;
mod ending;
mod faults;
mod fixture;
mod functions;
mod hostile;
mod leases;
mod local;
mod payloads;
mod pieces;
mod plain;
mod pushback;
mod quiescing;
mod reach;
mod resume;
mod streams;
mod timers;
mod together;
mod traits;
mod transports;
