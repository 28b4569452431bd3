//! How discovery itself is doing: for metrics, health and people.

use std::time::Instant;

/// How discovery is doing now. Counters start at 0 with the process and only grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// `none`, `static`, `etcd` or `zookeeper`.
    pub backend: &'static str,
    /// Whether the backend answers.
    pub connection: Connection,
    /// Times that the backend came back after it was away, or after its connection moved to another member.
    pub reconnects: u64,
    /// Attempts to reach the backend that failed.
    pub failed_attempts: u64,
    /// Times that etcd had compacted away what a watch asked for, so that the whole list was read again.
    pub compactions: u64,
    /// Leases and sessions that the backend had expired, so that their registrations were made again.
    pub session_losses: u64,
    /// Values and places in the tree that could not be read, and instances beyond a name's bound.
    pub unreadable: u64,
    /// Names watched now.
    pub watched: usize,
    /// Registrations that are wanted now.
    pub registrations: usize,
    /// Of these, how many the backend is known to hold.
    pub registered: usize,
}

/// Whether the backend answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// There is none to ask. So it is with a static list, unless a name in it is not found.
    NotNeeded,
    /// It does.
    Connected,
    /// It does not, or a name of a static list is not found.
    Away {
        /// Since when.
        since: Instant,
        /// Its last error, for people.
        why: String,
    },
}

impl Status {
    /// Why the backend does not answer, or which names of a static list are not found; `None` where all is well.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        match &self.connection {
            Connection::NotNeeded | Connection::Connected => None,
            Connection::Away { why, .. } => Some(why),
        }
    }
}
