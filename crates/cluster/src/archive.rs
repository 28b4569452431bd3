//! The object store of a cluster, as a node uses it: its settings, and how far the node is with it.
//!
//! The thread `archive` stores what the shards need that this node owns ([`crate::keeper`]). A
//! replica without a beginning is restored from there ([`crate::restoring`]).

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use stadium_archive::{Access, Settings};
use stadium_journal::Position;

/// The time for which a request is repeated. A failed upload is tried again anyway, and a replica
/// that can begin without the store does not wait for it any longer.
const RETRY_FOR: Duration = Duration::from_secs(5);

/// Where checkpoints and segments are stored, and how.
#[derive(Clone, Debug)]
pub struct ArchiveSettings {
    /// The URL, as `stadium journal export --to` takes it. All nodes of a cluster have the same.
    pub url: String,
    /// Credentials and endpoints. From the environment, by default.
    pub access: Access,
    /// The time of grace and the bandwidth of uploads. The grace must be longer than the upload and
    /// the restore of a shard take.
    pub archive: Settings,
}

impl ArchiveSettings {
    /// The defaults, for the store of a URL.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        let access = Access { retry_for: RETRY_FOR, ..Access::default() };
        Self { url: url.into(), access, archive: Settings::default() }
    }
}

/// How far a node is with storing the shards that it owns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ArchiveFigures {
    /// The shards that the node owns.
    pub shards: BTreeMap<u16, ShardArchived>,
    /// When a shard was stored last.
    pub last_success: Option<SystemTime>,
    /// The last failure, and when it happened. It stays after a success.
    pub last_error: Option<(SystemTime, String)>,
}

/// How far a shard is with being stored.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShardArchived {
    /// The newest checkpoint in the store, as far as this node knows.
    pub stored: Option<Position>,
    /// The newest checkpoint of this replica.
    pub newest: Option<Position>,
    /// The position up to which the log was trimmed; `None` while this owner has not trimmed it.
    pub trimmed: Option<Position>,
    /// Since when the newest checkpoint has been waiting to be stored; `None` where it is stored.
    pub behind_since: Option<SystemTime>,
    /// The reason for which the last attempt failed; `None` where it did not.
    pub error: Option<String>,
}

impl ShardArchived {
    /// Bytes of records between the newest checkpoint in the store and the newest one here.
    #[must_use]
    pub fn bytes_behind(&self) -> u64 {
        between(self.stored, self.newest)
    }

    /// Bytes of records before the newest checkpoint that the log still has.
    #[must_use]
    pub fn untrimmed_bytes(&self) -> u64 {
        between(self.trimmed, self.newest)
    }
}

/// Bytes of records between two positions; none where the second is not behind the first.
fn between(from: Option<Position>, to: Option<Position>) -> u64 {
    to.map_or(0, |to| to.0.saturating_sub(from.unwrap_or_default().0))
}

impl ArchiveFigures {
    /// Bytes of records of all shards that are not in the store, up to their newest checkpoints.
    #[must_use]
    pub fn bytes_behind(&self) -> u64 {
        self.shards.values().map(ShardArchived::bytes_behind).sum()
    }

    /// The time for which the checkpoint that waits longest has been waiting; zero where none does.
    #[must_use]
    pub fn behind(&self) -> Duration {
        let since = self.shards.values().filter_map(|shard| shard.behind_since).min();
        since.and_then(|since| since.elapsed().ok()).unwrap_or_default()
    }
}
