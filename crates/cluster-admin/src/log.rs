//! `restore-log`: a log that has lost acknowledged messages gets them again from a mirror.

use std::path::Path;

use serde::Serialize;
use stadium_cluster::{LogRestored, RestoreMode, restore_log};
use stadium_journal::Options;
use stadium_journal_log::{ClusterId, Log};
use stadium_membership::{NodeName, Shard};

use crate::admin::{Admin, listed};
use crate::error::Error;

/// The result of `restore-log`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogReport {
    /// The shard.
    pub shard: Shard,
    /// The position at which the log ends, or ended.
    pub from: u64,
    /// The position up to which the mirror has records.
    pub to: u64,
    /// Records that the log has lost.
    pub records: u64,
    /// Messages that restore them.
    pub messages: u64,
    /// Whether they were appended.
    pub is_appended: bool,
    /// The epoch of the claim by which they were appended; `None` after a look.
    pub epoch: Option<u64>,
}

impl Admin {
    /// Appends to the log of a shard what it has lost and the mirror in a replica's folder has, or
    /// only looks.
    ///
    /// # Errors
    /// `CLU-109` where the cluster has no such shard, or a node with a replica of it is alive; the log
    /// has lost nothing (`CLU-303`), or has other records; the folder is no replica of the shard.
    pub fn restore_log(
        &mut self,
        shard: Shard,
        mirror: &Path,
        mode: RestoreMode,
    ) -> Result<LogReport, Error> {
        let (view, cluster) = self.look()?;
        if shard.0 >= cluster.shards {
            return Err(Error::request(format!("there is no shard {shard}, of {}", cluster.shards)));
        }
        let replicas = view.entry(shard).map(|entry| entry.replicas.as_slice()).unwrap_or_default();
        let alive: Vec<&NodeName> = replicas.iter().filter(|name| view.node(name).is_some()).collect();
        if !alive.is_empty() {
            return Err(Error::request(format!(
                "nodes with replicas of shard {shard} are alive: stop {} first",
                listed(alive)
            )));
        }
        let topic = self.topic(cluster.shards)?;
        let log = Log { cluster: ClusterId(cluster.id.0), shard: shard.0 };
        let restored = restore_log(&*topic, mirror, log, &Options::default(), mode).map_err(Error::copy)?;
        let LogRestored { lost, epoch, .. } = restored;
        Ok(LogReport {
            shard,
            from: lost.from.0,
            to: lost.to.0,
            records: lost.records,
            messages: lost.messages,
            is_appended: epoch.is_some(),
            epoch: epoch.map(|epoch| epoch.0),
        })
    }
}
