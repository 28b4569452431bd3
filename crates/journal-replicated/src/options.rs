//! How a replicated journal is opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use stadium_journal::Options;
use stadium_journal_log::Log;

use crate::resume::ResumePoint;

/// Runs work that waits for the disk, in another thread. It may run it later; it may not drop it.
pub type Spawn = Arc<dyn Fn(Box<dyn FnOnce() + Send>) + Send + Sync>;

/// Which log, and the sizes and bounds of its mirror.
#[derive(Clone)]
pub struct ReplicatedOptions {
    /// The log.
    pub log: Log,
    /// The mirror's sizes and bounds, as of a journal on files. `shard` is replaced by the log's.
    /// `spares_max`, `after_failure` and `holder` mean nothing here: opening claims the log, which
    /// fences every other owner, and a mirror has one holder.
    pub journal: Options,
    /// The resume point of the checkpoint that recovery begins with. A mirror that is empty, or that
    /// does not reach a point of its own, begins there.
    pub start: Option<ResumePoint>,
    /// Where the mirror is synced each time before a point is noted, about every MiB. `None`: in the
    /// owner's thread.
    pub spawn: Option<Spawn>,
    /// How long [`crate::ReplicatedJournal::open`] waits until the log is claimed.
    pub claim_timeout: Duration,
}

impl ReplicatedOptions {
    /// The defaults, for a log.
    #[must_use]
    pub fn new(log: Log) -> Self {
        let claim_timeout = Duration::from_secs(30);
        Self { log, journal: Options::default(), start: None, spawn: None, claim_timeout }
    }
}

impl fmt::Debug for ReplicatedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplicatedOptions")
            .field("log", &self.log)
            .field("journal", &self.journal)
            .field("start", &self.start)
            .field("claim_timeout", &self.claim_timeout)
            .finish_non_exhaustive()
    }
}
