//! Stadium's node: from settings to running threads, and back to none.
//!
//! [`settings`] holds the configuration; [`Node`] puts the parts together from it, watches them and
//! stops them. What the parts do is theirs: devices in `stadium_edge`, the API in `stadium_http`,
//! services in `stadium_rpc`.

pub mod acme;
mod backups;
mod cache;
pub mod check;
mod cluster;
mod credentials;
mod data_directory;
mod error;
mod fleet;
mod http_port;
mod inboxes;
mod journald;
mod locations;
pub mod logging;
mod mapping;
mod node;
mod open_files;
mod pushes;
pub mod replay;
pub mod rights;
mod run;
pub mod running;
mod service_manager;
mod services;
pub mod settings;
mod shards;
mod signals;
mod telemetry;
mod web_sockets;
mod webhooks;

pub use cache::ask_cache;
pub use error::Error;
pub use mapping::configured::whole as configured;
#[cfg(feature = "cluster")]
pub use mapping::stores::Stores;
pub use mapping::tls::CallTls;
pub use node::{Drained, Node};
pub use run::Ended;
pub use signals::Signals;
pub use stadium_edge::auth::password_line;
pub use stadium_http::{WrongReceipt, audit, erased_after, restored, verify_receipt};
pub use stadium_reactor::clock;
pub use stadium_shard::{RecordDescription, describe_record};
pub use telemetry::ask_collector;

/// The description of the HTTP API, as this version serves it.
#[must_use]
pub fn openapi() -> String {
    stadium_http::description(env!("CARGO_PKG_VERSION"))
}
