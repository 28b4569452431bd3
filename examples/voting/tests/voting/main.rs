//! The example as its users run it: a real `stadium serve`, the service as a process, voters over HTTP and devices over MQTT.
//!
//! Every test ends with the books: they balance, and `stadium wallet verify` reads the same from
//! the journal.

mod cached;
mod closing;
mod fixture;
mod votes;
