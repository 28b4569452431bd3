//! A memcached client: reads wait, writes need not, and many callers share few system calls.
//!
//! No thread of the client reads answers: the caller that waits drives the connection for all. Gets
//! that wait at the same time leave as one `get k1 k2 ..`, sets leave behind them without an answer
//! of their own. [`protocol`] is pure and can be used alone. See `docs/memcache.md` for the
//! operations, the bounds, and what happens when a server fails.

mod address;
mod client;
mod config;
mod credentials;
mod driver;
mod error;
mod hash;
mod health;
mod lossy;
mod metrics;
mod observer;
mod pending;
pub mod protocol;
mod recache;
mod route;
mod server;
mod submission;
#[cfg(feature = "tls")]
mod tls;
mod tls_error;
#[cfg(feature = "tokio")]
pub mod tokio;
mod value;

/// Compiles the examples of the page.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/memcache.md")]
struct Page;

pub use address::Address;
pub use client::{Client, Statistics, Stored};
pub use config::{Config, Failover, Routing, ServerConfig};
pub use credentials::Credentials;
pub use error::Error;
pub use metrics::{Ending, Figures, Latency, Metrics, Operation, ServerMetrics};
pub use observer::{Event, Observer};
pub use pending::Pending;
pub use recache::{Lookup, Recache};
#[cfg(feature = "tls")]
pub use tls::{Authorities, ClientCertificate, TlsConfig};
pub use tls_error::TlsError;
pub use value::{Expiry, Format, Utf8, Value};
