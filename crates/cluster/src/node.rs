//! [`ClusterNode`]: what a process holds while it is a node of a cluster.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use stadium_journal_log::{ClusterId, Topic};
use stadium_membership::{Error, ShardSet};
use stadium_membership_etcd::{Certainty, Membership, Snapshot};
use stadium_shard::Shards;

use crate::archive::ArchiveFigures;
use crate::duties::{Common, Duties};
use crate::keeper::Keeper;
use crate::openers::Openers;
use crate::replicas::Replicas;
use crate::settings::NodeSettings;

/// A node of a cluster. It follows, claims and serves shards until it is dropped.
///
/// Dropping it ends what its shards began, ends its lease, so that others take over at once, and
/// closes its replicas. That takes the time of the last checkpoints. [`Self::drain`] loses less time
/// for callers, since each shard then has a successor before it is given up.
pub struct ClusterNode {
    common: Arc<Common>,
    certainty: Certainty,
    keeper: Option<Arc<Keeper>>,
    /// `None` when it is being dropped.
    membership: Option<Arc<Membership>>,
    thread: Option<JoinHandle<Replicas>>,
}

impl ClusterNode {
    /// Joins the cluster. `shards` are those of this process, with none open; `topic` has their logs.
    ///
    /// It waits for neither etcd nor the logs: a node whose etcd is away joins when it answers. Two
    /// nodes never share the folder of the settings.
    ///
    /// # Errors
    /// [`Error::Setting`] when the settings do not fit; [`Error::Ended`] when a thread could not be
    /// started.
    pub fn start(settings: NodeSettings, shards: &Shards, topic: Arc<dyn Topic>) -> Result<Self, Error> {
        let cluster = ClusterId(settings.cluster(shards.count())?.id.0);
        let NodeSettings { membership: config, folder, mirror, archive } = settings;
        let me = config.node.clone();
        let common = Arc::new(Common::default());
        let openers = Openers::start(shards, &common.bell)?;
        let keeper = archive.clone().map(|archive| {
            let topic = Arc::clone(&topic);
            Keeper::start(archive, topic, cluster, folder.clone(), shards.count()).map(Arc::new)
        });
        let keeper = keeper.transpose()?;
        let replicas = Replicas::new(shards.clone(), openers, topic, cluster, folder, mirror)
            .with_archive(archive, keeper.clone());
        let bell = Arc::clone(&common.bell);
        let membership = Arc::new(Membership::start(config, move || bell.ring())?);
        let certainty = membership.certainty();
        let duties = Duties::new(me, Arc::clone(&membership), replicas, Arc::clone(&common));
        let thread = std::thread::Builder::new().name("cluster".to_owned()).spawn(move || duties.run());
        let thread =
            thread.map_err(|why| Error::Ended(format!("cannot start the thread `cluster`: {why}")))?;
        Ok(Self { common, certainty, keeper, membership: Some(membership), thread: Some(thread) })
    }

    /// Whether it is certain that no other node serves the shards that this one serves.
    ///
    /// A read that is answered from memory is only as good as this. A shard does not ask it yet: its
    /// answers to reads may be old while this is false. Commands need it not, since the log decides.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.certainty.is_certain()
    }

    /// The shards that this node serves.
    #[must_use]
    pub fn serves(&self) -> ShardSet {
        self.common.status.lock().serves
    }

    /// The cluster as this node knows it.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.membership.as_ref().expect("only dropping takes it").snapshot()
    }

    /// How far it is with storing the shards that it serves; `None` without a store.
    #[must_use]
    pub fn archive(&self) -> Option<ArchiveFigures> {
        self.keeper.as_ref().map(|keeper| keeper.figures())
    }

    /// Says how busy the node is, 0 idle to 1 at capacity: the planner decides ties by it.
    pub fn set_load(&self, load: f32) {
        self.common.load.store(load.to_bits(), Ordering::Relaxed);
    }

    /// Hands all shards over to standbys in step, and leaves the cluster. Its replicas stay in the map:
    /// it is a standby when it comes back.
    ///
    /// Returns whether it owned nothing any more when it left. False after `at_most`; then the
    /// shards that it still owned are taken over as those of a node that was dropped.
    #[must_use]
    pub fn drain(self, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        self.common.is_draining.store(true, Ordering::Release);
        self.common.bell.ring();
        let mut status = self.common.status.lock();
        while !status.is_drained {
            if self.common.changed.wait_until(&mut status, until).timed_out() {
                break;
            }
        }
        status.is_drained
    }
}

impl fmt::Debug for ClusterNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterNode").field("serves", &self.serves()).finish_non_exhaustive()
    }
}

impl Drop for ClusterNode {
    fn drop(&mut self) {
        self.common.ends.store(true, Ordering::Release);
        self.common.bell.ring();
        // A panic there was reported when it happened.
        let replicas = self.thread.take().and_then(|thread| thread.join().ok());
        // The last handle: it ends the lease. Nothing is served by then.
        self.membership = None;
        if let Some(replicas) = replicas {
            replicas.close();
        }
    }
}
