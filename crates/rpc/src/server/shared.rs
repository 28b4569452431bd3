//! What the loops of a server share, and what its handle and its traits read.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::config::{LogLevelControl, Operations};
use super::counts::LoopCounts;
use super::methods::Methods;
use crate::service::Service;

/// See the module.
pub(crate) struct Shared {
    pub(crate) services: Vec<Service>,
    pub(crate) methods: Methods,
    pub(crate) deadline_ms: u32,
    pub(crate) deadline_max_ms: u32,
    pub(crate) counts: Vec<Arc<LoopCounts>>,
}

/// The part that the traits, which are methods themselves, hold too.
pub(crate) struct Status {
    pub(crate) started: Instant,
    pub(crate) quiescing: AtomicBool,
    pub(crate) quiesce_within: Duration,
    /// Has the server quiesce within that time; returns at once.
    pub(crate) quiesce: Box<dyn Fn(Duration) + Send + Sync>,
    /// Who may have it quiesce, and set its log level.
    pub(crate) operations: Operations,
    pub(crate) log_level: Option<LogLevelControl>,
}
