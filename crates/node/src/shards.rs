//! The shards of this node: opened, recovered, found by everybody else, and stopped.
//!
//! They are there once their journals are read, see [`ShardsHandle`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stadium_rpc_api::ShardsHandle;
use stadium_shard::core::Progress;
use stadium_shard::{Error as ShardError, Settings as ShardSettings, Shards};
use stadium_telemetry::Tracer;

use crate::error::Error;

/// How often the progress of a long recovery is reported.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// Opens the shards that this node keeps by itself, and waits until all have recovered. `report` gets
/// their progress, in words.
///
/// # Errors
/// The first shard that cannot be opened; none is left running.
pub(crate) fn open(
    settings: ShardSettings,
    count: Count,
    report: impl Fn(String) + Send + Sync + 'static,
) -> Result<Shards, Error> {
    let began = Instant::now();
    let recovery = Arc::new(Recovery { reported: Mutex::new(began), report: Box::new(report) });
    let open = |settings| {
        let recovery = Arc::clone(&recovery);
        Shards::open(settings, move |shard, progress| recovery.heard(shard, progress))
    };
    let opened = match open(settings.clone()) {
        Err(ShardError::OtherShards { made_for, .. }) if count == Count::AsTheDirectorySays => {
            open(ShardSettings { count: made_for, ..settings })
        }
        opened => opened,
    };
    let shards = opened.map_err(|error| Error::Shards(error.to_string()))?;
    let jobs: u64 = shards.metrics().iter().map(|metrics| metrics.jobs).sum();
    let count = shards.metrics().len();
    tracing::info!(shards = count, jobs, took_ms = began.elapsed().as_millis(), "Shards are open");
    Ok(shards)
}

/// The way to the shards. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ShardsDoor(ShardsHandle);

impl ShardsDoor {
    /// One that is not open. Calls through it have spans of this tracer.
    pub(crate) fn new(tracer: Tracer) -> Self {
        Self(ShardsHandle::traced(tracer))
    }

    /// Lets callers through to the shards.
    pub(crate) fn open(&self, shards: Shards) {
        // A node opens it once.
        self.0.open(shards);
    }

    /// The handle by which services reach the shards.
    pub(crate) fn handle(&self) -> &ShardsHandle {
        &self.0
    }

    /// Lets consumers that wait for a job go, and nobody wait any more: the node is about to leave.
    pub(crate) fn stop_waiting(&self) {
        if let Some(shards) = self.0.get() {
            shards.stop_waiting();
        }
    }

    /// Stops the shards, if they were opened: what they acknowledged is in their journals already.
    pub(crate) fn stop(&self, at_most: Duration) {
        if let Some(shards) = self.0.get() {
            stop(shards, at_most);
        }
    }
}

/// Stops shards: what they acknowledged is in their journals already.
pub(crate) fn stop(shards: &Shards, at_most: Duration) {
    if !shards.stop(at_most) {
        tracing::warn!("Shards did not write their last checkpoints in time; the next start reads more");
    }
}

/// Whether the number of shards was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// So many, or none.
    Asked,
    /// As many as the directory was made for.
    AsTheDirectorySays,
}

/// How far the shards are, reported now and then.
struct Recovery {
    reported: Mutex<Instant>,
    report: Box<dyn Fn(String) + Send + Sync>,
}

impl Recovery {
    /// A shard's thread reports its progress.
    fn heard(&self, shard: u16, progress: Progress) {
        {
            let mut reported = self.reported.lock();
            if reported.elapsed() < REPORT_EVERY {
                return;
            }
            *reported = Instant::now();
        }
        let words = match progress {
            Progress::Checkpoint { bytes, bytes_all } => {
                tracing::info!(shard, bytes, bytes_all, "Shard reads its checkpoint");
                let percent = bytes.saturating_mul(100) / bytes_all.max(1);
                format!("shard {shard} reads its checkpoint: {percent}%")
            }
            Progress::Records { records, bytes } => {
                tracing::info!(shard, records, bytes, "Shard reads its journal");
                format!("shard {shard} reads its journal: {records} records so far")
            }
        };
        (self.report)(words);
    }
}
