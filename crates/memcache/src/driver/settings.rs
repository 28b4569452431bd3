//! Settings of one connection, from those of the client.
//!
//! They were checked, and the files that they name are read.

use std::sync::Arc;
use std::time::Duration;

use crate::credentials::Credentials;
use crate::observer::Observer;
use crate::protocol::Dialect;
#[cfg(feature = "tls")]
use crate::tls::Tls;

/// Settings of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) dialect: Option<Dialect>,
    pub(crate) credentials: Option<Credentials>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<Tls>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) connect_timeout: Duration,
    pub(crate) stall: Duration,
    pub(crate) spin: Duration,
    pub(crate) backoff_min: Duration,
    pub(crate) backoff_max: Duration,
    pub(crate) value_bytes_max: usize,
    pub(crate) unsent_bytes_max: usize,
    pub(crate) operations_max: usize,
}
