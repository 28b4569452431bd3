//! A node while it is of a cluster: its shards, its readiness, and its turn at what one node does
//! for all.
//!
//! A thread looks at the cluster now and then; it ends when the node leaves.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use stadium_cluster::ClusterNode;
use stadium_membership::Shard;
use stadium_push::{LiveOrigins, Transport};
use stadium_shard::Shards;
use tokio::sync::watch;

use super::sight::{About, Sight};
use super::standing::{self, Standing};
use crate::error::Error;
use crate::fleet::SharedFleet;
use crate::pushes;

/// How often the node looks at the cluster: so long after it could be ready it is.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long a node that is registered waits for shards without an owner. Then it takes requests for
/// the others: a shard whose replicas are all lost must not keep every node from its work.
const OWNERS_PATIENCE: Duration = Duration::from_secs(60);

/// The pause between two attempts to make the queue of pushes.
const DECLARE_AGAIN: Duration = Duration::from_secs(1);

/// The shard whose owner does what one node of the cluster does for all.
pub(super) const FIRST: Shard = Shard(0);

/// The node, until it is dropped. It is looked at while it drains, too.
pub(super) type Joined = Arc<RwLock<Option<ClusterNode>>>;

/// A node that takes part in its cluster. Dropping it leaves: its shards are taken over.
pub(crate) struct Member {
    about: Arc<About>,
    shards: Shards,
    joined: Joined,
}

impl Member {
    /// A node that has joined, with the shards that it serves some of.
    pub(super) fn new(about: About, node: ClusterNode, shards: Shards) -> Self {
        Self { about: Arc::new(about), shards, joined: Arc::new(RwLock::new(Some(node))) }
    }

    /// The facts of the node.
    pub(super) fn about(&self) -> &About {
        &self.about
    }

    /// The node, while it is of the cluster.
    pub(super) fn joined(&self) -> &Joined {
        &self.joined
    }

    /// The shards of the cluster.
    pub(crate) fn shards(&self) -> &Shards {
        &self.shards
    }

    /// Takes pushes to devices of all nodes; `local` takes them to those of this one. See
    /// [`ClusterNode::attach_transport`].
    pub(crate) fn attach_transport(
        &self,
        local: Arc<dyn Transport>,
        on_number: impl Fn(u32) + Send + 'static,
    ) -> Option<Arc<dyn LiveOrigins>> {
        let joined = self.joined.read();
        let transport = joined.as_ref()?.attach_transport(local, on_number)?;
        Some(transport)
    }

    /// Has the fleet be ready when the node is, and tell until then what it waits for. Once it is
    /// ready, what a standalone server does before it lets anybody in is done in the background.
    ///
    /// The receiver says whether this node is the one that does what only one of all should.
    ///
    /// # Errors
    /// [`Error::System`] where a thread is refused.
    pub(crate) fn watch(&self, fleet: SharedFleet) -> Result<watch::Receiver<bool>, Error> {
        let (sender, is_first) = watch::channel(false);
        fleet.joined(Sight::new(Arc::clone(&self.about), Arc::clone(&self.joined), self.shards.clone()));
        let (joined, shards) = (Arc::clone(&self.joined), self.shards.clone());
        let watching = Watching { joined, shards, fleet, is_first: sender, began: Instant::now() };
        start("cluster-watch", move || watching.run())?;
        Ok(is_first)
    }

    /// Hands all shards over to other nodes, within `at_most`. Requests go to those until the node
    /// is dropped.
    pub(crate) fn drain(&self, at_most: Duration) {
        let joined = self.joined.read();
        let Some(node) = &*joined else { return };
        let began = Instant::now();
        let is_drained = node.drain(at_most);
        let took_ms = began.elapsed().as_millis();
        if is_drained {
            tracing::info!(took_ms, "All shards were handed over");
        } else {
            tracing::warn!(took_ms, "Shards were not handed over in time; others take them over");
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // Taken out first, so that nobody who looks at the node waits until it has left.
        let node = self.joined.write().take();
        drop(node);
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map(drop).map_err(|error| Error::System(format!("the thread `{name}` cannot start: {error}")))
}

/// The thread `cluster-watch`; it ends when the node leaves.
struct Watching {
    joined: Joined,
    shards: Shards,
    fleet: SharedFleet,
    is_first: watch::Sender<bool>,
    began: Instant,
}

impl Watching {
    fn run(self) {
        let mut is_ready = false;
        while let Some((standing, serves_first)) = self.look() {
            self.is_first
                .send_if_modified(|is_first| std::mem::replace(is_first, serves_first) != serves_first);
            if !is_ready && self.may_serve(&standing) {
                is_ready = true;
                self.fleet.ready();
                tracing::info!("Node of the cluster is ready");
                let (joined, shards) = (Arc::clone(&self.joined), self.shards.clone());
                if let Err(error) = start("cluster-begin", move || begin(&joined, &shards)) {
                    tracing::error!(%error, "The queue of pushes is not made by this node");
                }
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn look(&self) -> Option<(Standing, bool)> {
        let (snapshot, serves) = {
            let joined = self.joined.read();
            let node = joined.as_ref()?;
            (node.snapshot(), node.serves())
        };
        Some((standing::of(&snapshot, self.shards.count().into()), serves.contains(FIRST)))
    }

    fn may_serve(&self, standing: &Standing) -> bool {
        match standing {
            Standing::Ready => true,
            Standing::Outside(reason) => {
                self.fleet.starting(reason.clone());
                false
            }
            Standing::Unowned(count) if self.began.elapsed() < OWNERS_PATIENCE => {
                self.fleet.starting(format!("{count} of {} shards have no owner yet", self.shards.count()));
                false
            }
            Standing::Unowned(count) => {
                tracing::warn!(shards = count, "Shards have no owner; the node serves the others");
                true
            }
        }
    }
}

/// Makes the queue of pushes. Tries until it succeeds or the node leaves: a shard may be without an
/// owner.
fn begin(joined: &Joined, shards: &Shards) {
    while let Err(reason) = pushes::declare(shards) {
        tracing::debug!(reason, "The queue of pushes may be missing; it is asked for again");
        thread::sleep(DECLARE_AGAIN);
        if joined.read().is_none() {
            return;
        }
    }
}
