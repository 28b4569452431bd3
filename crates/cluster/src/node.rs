//! [`ClusterNode`]: what a process holds while it is a node of a cluster.
//!
//! It starts and ends the threads of membership, of the replicas, of the archive and of the links.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use stadium_journal_log::{ClusterId, Topic};
use stadium_links::LinkFigures;
use stadium_membership::{Error, NodeName, ShardSet};
use stadium_membership_etcd::{Certainty, Membership, Snapshot};
use stadium_push::Transport;
use stadium_shard::Shards;
use stadium_shard::core::NodeLease;

use crate::archive::ArchiveFigures;
use crate::duties::{Common, Duties};
use crate::forward::{AnswerTo, ForwardFigures, Forwarder, Forwarding, NodeAnswers};
use crate::keeper::Keeper;
use crate::openers::Openers;
use crate::reads::Reads;
use crate::replicas::Replicas;
use crate::settings::NodeSettings;
use crate::transport::ClusterTransport;

/// A node of a cluster. It follows, claims and serves shards until it is dropped.
///
/// Dropping it ends what its shards began, ends its lease, so that others take over at once, and
/// closes its replicas. That takes the time of the last checkpoints. [`Self::drain`] loses less
/// time for callers, since each shard then has a successor before it is given up.
pub struct ClusterNode {
    common: Arc<Common>,
    certainty: Certainty,
    forwarding: Option<Forwarding>,
    keeper: Option<Arc<Keeper>>,
    /// `None` when it is being dropped.
    membership: Option<Arc<Membership>>,
    thread: Option<JoinHandle<Replicas>>,
}

impl ClusterNode {
    /// Joins the cluster. `shards` are those of this process, with none open; `topic` has their
    /// logs.
    ///
    /// It waits for neither etcd nor the logs: a node whose etcd is away joins when it answers. Two
    /// nodes never share the folder of the settings.
    ///
    /// # Errors
    /// [`Error::Setting`] when the settings do not fit; [`Error::Ended`] when a thread could not be
    /// started.
    pub fn start(settings: NodeSettings, shards: &Shards, topic: Arc<dyn Topic>) -> Result<Self, Error> {
        let cluster = ClusterId(settings.cluster(shards.count())?.id.0);
        let NodeSettings { membership: config, folder, mirror, archive, links } = settings;
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
        let forwarding = match &links {
            Some(links) => Some(Forwarding::start(links, cluster, link_name(&me)?, shards)?),
            None => None,
        };
        let forwarder = forwarding.as_ref().map(|forwarding| Arc::clone(&forwarding.forwarder));
        let bell = Arc::clone(&common.bell);
        let membership = Arc::new(Membership::start(config, move || bell.ring())?);
        let certainty = membership.certainty();
        let reads = Arc::new(Reads::new(certainty.clone(), shards.count()));
        shards.attach_lease(Arc::clone(&reads) as Arc<dyn NodeLease>);
        let duties = Duties::new(
            me,
            Arc::clone(&membership),
            replicas,
            forwarder,
            shards.clone(),
            reads,
            Arc::clone(&common),
        );
        let thread = std::thread::Builder::new().name("cluster".to_owned()).spawn(move || duties.run());
        let thread =
            thread.map_err(|why| Error::Ended(format!("cannot start the thread `cluster`: {why}")))?;
        Ok(Self { common, certainty, forwarding, keeper, membership: Some(membership), thread: Some(thread) })
    }

    /// Whether it is certain that no other node serves the shards that this one serves.
    ///
    /// While it is not, shards put their answers to reads behind commits. Commands need no
    /// certainty, since the log decides.
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

    /// Takes pushes of all shards to devices by `local`, which takes those of this node to its own;
    /// those for devices of other nodes travel over links. Called once, before devices connect.
    ///
    /// `on_number` is called with the number of this node in the names of its connections
    /// ([`stadium_push::ConnectionName::node`]), now and whenever it has registered again. `None`
    /// without links.
    pub fn attach_transport(
        &self,
        local: Arc<dyn Transport>,
        on_number: impl Fn(u32) + Send + 'static,
    ) -> Option<Arc<ClusterTransport>> {
        let forwarder = &self.forwarding.as_ref()?.forwarder;
        let transport = forwarder.attach_transport(local);
        let mut told = self.common.on_number.lock();
        let number = self.common.number.load(Ordering::Acquire);
        transport.set_node(number);
        on_number(number);
        *told = Some(Box::new(on_number));
        Some(transport)
    }

    /// Answers the questions of other nodes by `answers` from now on. Without links nobody asks.
    pub fn attach_answers(&self, answers: Arc<dyn NodeAnswers>) {
        if let Some(forwarder) = self.forwarder() {
            forwarder.attach_answers(answers);
        }
    }

    /// Asks another node something about what it alone has. `done` hears the answer, or `None`
    /// where the node is out of reach, does not answer in time, or has no answer.
    pub fn ask_node(&self, node: &NodeName, question: Bytes, within: Duration, done: AnswerTo) {
        match (self.forwarder(), link_name(node)) {
            (Some(forwarder), Ok(node)) => forwarder.ask_node(&node, question, within, done),
            _ => done(None),
        }
    }

    /// Figures of the commands that this node sent to others, and got from them.
    #[must_use]
    pub fn forward_figures(&self) -> ForwardFigures {
        self.forwarder().map_or_else(ForwardFigures::default, Forwarder::figures)
    }

    /// Figures of each link that this node dials.
    #[must_use]
    pub fn link_figures(&self) -> Vec<LinkFigures> {
        self.forwarder().map_or_else(Vec::new, Forwarder::links)
    }

    fn forwarder(&self) -> Option<&Forwarder> {
        self.forwarding.as_ref().map(|forwarding| &*forwarding.forwarder)
    }

    /// How far it is with storing the shards that it serves; `None` without a store.
    #[must_use]
    pub fn archive(&self) -> Option<ArchiveFigures> {
        self.keeper.as_ref().map(|keeper| keeper.figures())
    }

    /// Hands all shards over to standbys in step. The node stays in the cluster until it is
    /// dropped, and its commands reach the shards of others; it is given no shards any more. Its
    /// replicas stay in the map: it is a standby when it comes back.
    ///
    /// Returns whether it owns nothing any more. False after `at_most`; the shards that it still
    /// owns are taken over when it is dropped.
    #[must_use]
    pub fn drain(&self, at_most: Duration) -> bool {
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

/// The node's name as links and certificates have it.
fn link_name(me: &NodeName) -> Result<stadium_links::NodeName, Error> {
    stadium_links::NodeName::new(me.as_str()).map_err(|error| Error::Setting(error.to_string()))
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
        self.forwarding = None;
        if let Some(replicas) = replicas {
            replicas.close();
        }
    }
}
