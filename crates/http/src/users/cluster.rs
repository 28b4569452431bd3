//! Users on a node of a cluster: its part of each erasure, and the answers to exports of other
//! nodes.
//!
//! The list of erasures is in documents that all nodes follow ([`SharedErasures`]). Each node ends
//! the sessions and removes the retained messages that it has. The node that is first carries out
//! the rest and signs the receipt once every node is done. So an erasure needs no node to live on:
//! one that was killed does its part when it starts, before it serves, and another one becomes the
//! first.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use stadium_shard::Shards;

use crate::fleet::Fleet;
use crate::request::problem::{NODES_LATE, Problem};
use crate::shared_documents::SharedDocuments;
use crate::users::elsewhere::{OtherNodes, Ready};
use crate::users::erase::{CLIENTS, Work};
use crate::users::list::{List as _, NodePart, Running};
use crate::users::local::Local;
use crate::users::on_node::Here;
use crate::users::registration::Registration;
use crate::users::restored;
use crate::users::shared_list::SharedErasures;
use crate::users::spelled::not_kept;

/// The first and the longest delay before an erasure that got no further is tried again, unless
/// something changes before.
const AGAIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// The time between two looks whether something has changed.
const POLL: Duration = Duration::from_millis(100);

/// The time between two tries of a node that waits for erasures which a restore undid.
const RESTORING_POLL: Duration = Duration::from_millis(200);

/// The steps that need no node's part.
const STEPS_OF_SHARDS: [&str; 4] = ["devices", "pushes", "jobs", "wallets"];

/// The parts of a node that its users' data needs.
pub struct NodeOfUsers {
    /// The id of its cluster.
    pub cluster: String,
    /// The documents of the cluster.
    pub documents: Arc<dyn SharedDocuments>,
    /// The shards of the cluster.
    pub shards: Shards,
    /// The node's own shards: sessions and retained messages.
    pub sessions: Shards,
    /// Its devices.
    pub fleet: Arc<dyn Fleet>,
    /// The other nodes.
    pub nodes: Arc<dyn OtherNodes>,
    /// The directory that keeps the audit log.
    pub data_dir: PathBuf,
    /// The product's version.
    pub version: String,
}

/// Empty until the node has joined its cluster.
pub(crate) type ClusterSlot = OnceLock<Arc<ClusterUsers>>;

/// The data of users on a node of a cluster.
pub struct ClusterUsers {
    node: NodeOfUsers,
    list: SharedErasures,
    registration: Registration,
    ready: Ready,
}

impl ClusterUsers {
    /// Those of this node.
    #[must_use]
    pub fn new(node: NodeOfUsers) -> Arc<Self> {
        let list = SharedErasures::of(Arc::clone(&node.documents), &node.data_dir);
        let registration = Registration::of(&node.data_dir, &node.cluster, node.nodes.me());
        Arc::new(Self { list, registration, ready: Ready::default(), node })
    }

    /// Does this node's part of the erasures under way. Called once, before loops read the
    /// sessions.
    ///
    /// While the store of the cluster is away, those are carried out that the node knew last.
    ///
    /// # Errors
    /// In words: the node was taken out of the cluster's list, so erasures went on without it; or
    /// its part could not be done.
    pub async fn erase_at_start(&self) -> Result<(), String> {
        self.registration.at_start(&self.list)?;
        for one in self.list.running() {
            let done = self.do_part(None, &one).await;
            done.map_err(|problem| format!("the erasure {}: {}", one.id, problem.in_words()))?;
        }
        while self.is_restoring() {
            if let Err(problem) = self.repeat().await {
                tracing::info!(
                    problem = problem.in_words(),
                    "The node waits for erasures that a restore undid"
                );
            }
            tokio::time::sleep(RESTORING_POLL).await;
        }
        Ok(())
    }

    /// Whether the cluster was restored with users that were erased, and has them still.
    fn is_restoring(&self) -> bool {
        let me = self.node.nodes.me();
        let is_gone = |one: &Running| {
            let has_part = one.nodes.get(me).is_some_and(|part| part.done);
            has_part && STEPS_OF_SHARDS.iter().all(|step| one.done.contains(*step))
        };
        !self.list.to_repeat().is_empty() || self.list.running().iter().any(|one| one.again && !is_gone(one))
    }

    /// Takes erasures that a restore undid as far as they get now, before this node serves.
    async fn repeat(&self) -> Result<(), Problem> {
        let is_first = self.node.nodes.is_first();
        let work = Work { local: self.local(None), ..self.work_here() };
        if is_first {
            restored::begin_again(&work, &self.list).await?;
        }
        for one in self.list.running() {
            self.do_part(None, &one).await?;
            if is_first {
                // The last step waits for all nodes, which may serve before.
                match work.carry_out(&one.id).await {
                    Err(problem) if !problem.has_code(NODES_LATE.code) => return Err(problem),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Does this node's part of erasures, and all else of them while it is the first node, until
    /// the task is aborted.
    pub async fn work(&self) {
        let mut delay = AGAIN.0;
        loop {
            let (version, was_first) = (self.list.version(), self.node.nodes.is_first());
            let is_stuck = self.turn(was_first).await;
            let until = Instant::now() + delay;
            delay = if is_stuck { (delay * 2).min(AGAIN.1) } else { AGAIN.0 };
            loop {
                tokio::time::sleep(POLL).await;
                if self.list.version() != version || self.node.nodes.is_first() != was_first {
                    delay = AGAIN.0;
                    break;
                }
                if is_stuck && Instant::now() > until {
                    break;
                }
            }
        }
    }

    /// Answers a question of another node; none to one that cannot be read.
    pub async fn answer(&self, question: &[u8]) -> Option<Vec<u8>> {
        self.ready.answer(&self.here(), self.node.nodes.me(), question).await
    }

    /// The other nodes.
    pub(crate) fn nodes(&self) -> Arc<dyn OtherNodes> {
        Arc::clone(&self.node.nodes)
    }

    /// The erasures.
    pub(crate) fn list(&self) -> &SharedErasures {
        &self.list
    }

    /// The names of all nodes that may have sessions, but for this one.
    pub(crate) fn others(&self) -> BTreeSet<String> {
        let mut others = self.all_nodes();
        others.remove(self.node.nodes.me());
        others
    }

    /// The things of users that this node has alone.
    pub(crate) fn here(&self) -> Here {
        let NodeOfUsers { fleet, sessions, data_dir, .. } = &self.node;
        Here { fleet: Arc::clone(fleet), sessions: sessions.clone(), data_dir: data_dir.clone() }
    }

    /// An erasure's work on this node, which serves.
    pub(crate) fn work_here(&self) -> Work<'_> {
        Work {
            shards: &self.node.shards,
            local: self.local(Some(&*self.node.fleet)),
            erasures: &self.list,
            version: &self.node.version,
            nodes: Some(self.all_nodes()),
        }
    }

    /// Those of the list, and those that take part without being in it yet.
    fn all_nodes(&self) -> BTreeSet<String> {
        let mut nodes = self.list.nodes();
        nodes.extend(self.node.nodes.registered());
        nodes.insert(self.node.nodes.me().to_owned());
        nodes
    }

    fn local<'a>(&'a self, fleet: Option<&'a dyn Fleet>) -> Local<'a> {
        Local { sessions: &self.node.sessions, fleet, data_dir: &self.node.data_dir }
    }

    /// Takes all erasures as far as they get now. True where one got no further.
    async fn turn(&self, is_first: bool) -> bool {
        if let Err(error) = self.registration.keep(&self.list) {
            tracing::warn!(%error, "The node is not in the cluster's list of nodes with sessions");
            return true;
        }
        let mut is_stuck = false;
        for one in self.list.running() {
            let mut done = self.do_part(Some(&*self.node.fleet), &one).await;
            if is_first && done.is_ok() {
                done = self.work_here().carry_out(&one.id).await;
            }
            let Err(problem) = done else { continue };
            is_stuck = true;
            let words = problem.in_words();
            if one.waits_for.as_ref() != Some(&words) && !problem.has_code(NODES_LATE.code) {
                tracing::warn!(erasure = one.id, problem = words, "An erasure waits");
            }
            if is_first {
                self.list.waits(&one.id, Some(words));
            }
        }
        if let Err(error) = self.list.take(self.node.nodes.me()) {
            tracing::warn!(%error, "Finished erasures are not in the file of this node yet");
            is_stuck = true;
        }
        is_stuck
    }

    /// Ends the sessions of this node once the clients are known. Does so again once the devices
    /// are removed, and removes the retained messages.
    async fn do_part(&self, fleet: Option<&dyn Fleet>, one: &Running) -> Result<(), Problem> {
        let part = one.nodes.get(self.node.nodes.me()).cloned().unwrap_or_default();
        let has = |step: &str| one.done.contains(step);
        let (ends, removes) = (has(CLIENTS) && !part.ended, has("devices") && !part.done);
        if !ends && !removes {
            return Ok(());
        }
        let local = self.local(fleet);
        let counted = self.report(one, &local.count(&one.clients).await?);
        // A node that starts removes what it has to also where nobody can be told.
        if fleet.is_some() {
            counted.clone()?;
        }
        local.end_sessions(&one.clients).await?;
        if removes {
            local.remove_retained(&one.clients).await?;
        }
        let reported = counted
            .and_then(|part| self.report(one, &NodePart { ended: true, done: part.done || removes, ..part }));
        match reported {
            Err(problem) if fleet.is_none() => {
                let words = problem.in_words();
                tracing::warn!(erasure = one.id, problem = words, "The end of sessions is reported later");
                Ok(())
            }
            reported => reported.map(drop),
        }
    }

    /// Notes this node's part. A repeated one finds the rest only, so the largest counts stay.
    fn report(&self, one: &Running, part: &NodePart) -> Result<NodePart, Problem> {
        let me = self.node.nodes.me();
        let changed = self.list.change(&one.id, &mut |one| {
            let known = one.nodes.entry(me.to_owned()).or_default();
            for (kind, count) in &part.found {
                let most = known.found.entry(kind.clone()).or_default();
                *most = (*most).max(*count);
            }
            known.audit_lines = known.audit_lines.max(part.audit_lines);
            known.ended |= part.ended;
            known.done |= part.done;
        });
        let changed = changed.map_err(not_kept)?;
        Ok(changed.and_then(|one| one.nodes.get(me).cloned()).unwrap_or_else(|| part.clone()))
    }
}
