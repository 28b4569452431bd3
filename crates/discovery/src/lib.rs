//! Who serves what, where: a static list, etcd or ZooKeeper.
//!
//! Services register under `/services/NAME/VERSION/HOST:PORT`; clients watch a name and always hold
//! the last instances they heard of, also while the backend is away. [`Discovery`] is a handle: its
//! thread `discovery` talks to the backend and calls the watchers, so nobody who asks ever waits for it.
//!
//! What is known of a name and when an instance is forgotten is decided without I/O in `roster`,
//! when to try again in `outage`, when to write a load factor in `pace`, when to look a name up in
//! `lookups`; `etcd` and `zookeeper` speak.

// Without a backend nobody speaks of what is far away.
#![cfg_attr(
    not(any(feature = "etcd", feature = "zookeeper")),
    allow(dead_code, unused_imports, unused_variables)
)]

mod command;
mod config;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
mod fixed;
mod handle;
mod held;
mod host_port;
mod hub;
mod instance;
mod link;
mod lookups;
mod name;
mod outage;
mod pace;
mod registration;
mod resolver;
mod roster;
mod snapshot;
mod status;
mod thread;
mod timing;
#[cfg(feature = "zookeeper")]
mod zookeeper;

pub use config::{Backend, Config, Credentials, StaticInstance, StaticService, Tls};
pub use error::Error;
pub use handle::{Discovery, REGISTRATIONS_MAX, WATCHES_MAX, Watch};
pub use host_port::{HostPort, HostPortError};
pub use instance::{Instance, State, Value};
pub use lookups::Lookup;
pub use registration::{Registered, Registration};
pub use resolver::{Resolve, Resolver};
pub use snapshot::{Freshness, Service, Snapshot, Versions};
pub use status::{Connection, Status};
