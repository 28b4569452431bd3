//! All shards of a cluster as those of a standalone server, and back: for backups, and for moving.
//!
//! [`copy_out`] writes a folder of shards as `shards` of a data directory has them, all of one
//! moment. [`copy_in`] fills the logs and the store of a cluster without data from such a folder.
//! Records keep their positions in both; their segments become those of another journal.
//! docs/cluster.md, "Back up and restore", explains the rules.

mod error;
mod into;
mod out;

use std::fmt;
use std::sync::Arc;

use stadium_journal::{Epoch, Error, Options, Position};
use stadium_journal_log::{ClusterId, Log, Offset, Partition, Topic};
use stadium_journal_replicated::ReplicatedOptions;

use crate::archive::ArchiveSettings;

pub use error::CopyError;
pub use into::copy_in;
pub use out::copy_out;

/// The cluster whose shards are copied.
#[derive(Clone)]
pub struct CopySettings {
    /// The logs of its shards.
    pub topic: Arc<dyn Topic>,
    /// Its id.
    pub cluster: ClusterId,
    /// The number of its shards, 1 to 1,024.
    pub shards: u16,
    /// Its store.
    pub archive: Option<ArchiveSettings>,
}

impl fmt::Debug for CopySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopySettings")
            .field("cluster", &self.cluster)
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}

/// How far a copy is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyProgress {
    /// The step that it is at.
    pub step: &'static str,
    /// Shards for which the step is done.
    pub done: u16,
    /// The number of shards.
    pub all: u16,
}

/// Called at each shard of each step.
pub type OnCopy<'a> = dyn FnMut(CopyProgress) + 'a;

/// A shard that was copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShardCopied {
    /// The shard.
    pub shard: u16,
    /// The position up to which it has records.
    pub position: Position,
    /// The position of its checkpoint; `START` where it has none.
    pub checkpoint: Position,
    /// The offset of the log's next message at that position.
    pub offset: Offset,
    /// The epoch of the claim by which the log was read or made.
    pub epoch: Epoch,
}

impl CopySettings {
    fn log(&self, shard: u16) -> Log {
        Log { cluster: self.cluster, shard: u32::from(shard) }
    }

    fn partition(&self, shard: u16) -> Result<Box<dyn Partition>, Error> {
        let partition = self.topic.partition(u32::from(shard));
        partition.map_err(|failure| Error::Setting(format!("the log of shard {shard}: {failure}")))
    }

    /// A mirror that follows and claims, and never appends: it needs the least of everything.
    fn options(&self, shard: u16) -> ReplicatedOptions {
        const LEAST: usize = 64 << 10;
        let journal = Options {
            segment_bytes: LEAST as u64,
            reserve_bytes: LEAST as u64,
            record_bytes_max: LEAST,
            waiting_bytes_max: LEAST,
            tail_bytes: LEAST,
            open_segments_max: 4,
            ..Options::default()
        };
        ReplicatedOptions { journal, ..ReplicatedOptions::new(self.log(shard)) }
    }
}
