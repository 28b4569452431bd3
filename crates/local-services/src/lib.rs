//! etcd and Kafka on this machine, for a demo and for tests: found, started on loopback ports, ended.
//!
//! [`Machine`] finds the programs, or names what to install. A service is a [`Tied`] process: it ends with
//! the process that started it, however that ends. Nothing here waits for a service to be ready: the caller
//! asks again and again, with its own deadline. Production installations have nothing to do with this crate.

mod error;
pub mod etcd;
pub mod kafka;
mod machine;
pub mod ports;
mod tied;

pub use error::{Error, Result};
pub use machine::{Machine, Missing, Services};
pub use tied::Tied;
