//! The audit log as other doors of the node write to it.
//!
//! There is one log for a data directory: its lines are a chain.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::audit_log::{AuditLog, Change};
use crate::principal::Principal;

/// The audit log of a node. Cheap to clone.
#[derive(Clone)]
pub struct ChangeLog(Arc<AuditLog>);

/// A change, made or refused.
pub struct LoggedChange<'a> {
    /// The principal that asked.
    pub caller: &'a Arc<dyn Principal>,
    /// The address that asked; none where the transport knows none.
    pub address: Option<IpAddr>,
    /// The sort of change, such as `RPC push/Send`.
    pub route: &'a str,
    /// The thing that was changed.
    pub target: &'a str,
    /// The outcome, as an HTTP status: below 300 it was made.
    pub status: u16,
    /// The code of a refusal.
    pub code: Option<&'a str>,
}

impl ChangeLog {
    /// The log of a directory without an HTTP port; so many files are kept, 0 for all.
    pub fn open(data_dir: &Path, files_max: usize) -> Self {
        Self(Arc::new(AuditLog::of(data_dir, files_max)))
    }

    pub(crate) fn of(log: &Arc<AuditLog>) -> Self {
        Self(Arc::clone(log))
    }

    /// Writes a change down, or counts it where its caller makes many.
    pub fn record(&self, change: &LoggedChange<'_>) {
        let Self(log) = self;
        let change = Change {
            caller: Some(change.caller),
            address: change.address,
            route: &Arc::from(change.route),
            path: change.target,
            made: None,
            status: change.status,
            code: change.code,
        };
        log.record(&change, SystemTime::now());
    }
}
