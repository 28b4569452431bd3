//! Fixture of the black-box suites: the built binary, devices on raw sockets, networks that fail.
//!
//! Nothing here links the product: a suite starts the `stadium` binary and speaks the public protocols to it, so
//! a mistake in the product's own codec cannot hide itself. `stadium-local-services`, which `stadium demo` uses
//! too, starts etcd and Kafka and knows no protocol of ours. Nothing sleeps for timing; [`deadline`] waits for a
//! condition. The suites are in `tests/`, those of Python and Node clients in `python/` and `node/`.

pub mod api;
pub mod certificates;
pub mod clients;
pub mod deadline;
pub mod device;
pub mod etcd;
pub mod faults;
pub mod fleet;
pub mod geo;
pub mod interop;
pub mod kafka;
pub mod killable;
pub mod memcached;
pub mod mortal;
pub mod network;
pub mod otlp;
pub mod process;
pub mod proxy;
pub mod rsocket;
pub mod server;
pub mod small_disk;
pub mod vectors;
pub mod wallets;
pub mod websocket;
pub mod wire;
pub mod zookeeper;

pub use stadium_local_services::ports;
