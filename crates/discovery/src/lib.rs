//! Who serves what, where: a static list, etcd or ZooKeeper.
//!
//! Services register under `/services/NAME/VERSION/HOST:PORT`; clients watch a name and always hold
//! the last instances they heard of, also while the backend is away. [`Discovery`] is a handle: its
//! thread `discovery` talks to the backend and calls the watchers, so nobody who asks ever waits for it.
//!
//! What is known of a name and when an instance is forgotten is decided without I/O in `roster`,
//! when to try again in `outage`, when to write a load factor in `pace`; `etcd` and `zookeeper` speak.

mod config;
mod error;
mod etcd;
mod handle;
mod hub;
mod instance;
mod link;
mod name;
mod outage;
mod pace;
mod registration;
mod roster;
mod snapshot;
mod status;
mod timing;
mod zookeeper;

pub use config::{Backend, Config, Credentials, StaticInstance, StaticService, Tls};
pub use error::Error;
pub use handle::{Discovery, REGISTRATIONS_MAX, WATCHES_MAX, Watch};
pub use instance::{Instance, State, Value};
pub use registration::{Registered, Registration};
pub use snapshot::{Freshness, Service, Snapshot, Versions};
pub use status::{Connection, Status};
