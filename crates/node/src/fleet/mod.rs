//! The fleet as the HTTP API sees it, over the edge's handle.
//!
//! Translates and nothing more: messages of applications in [`publish`], refusals in [`push`],
//! devices in [`device`], retained messages in [`retained`], figures in [`stats`], streams in
//! [`stream`]. Questions that wait for a loop run beside the control plane's threads, so that none
//! of those ever blocks.

mod device;
mod publish;
mod push;
mod retained;
mod rules;
mod stats;
mod stream;
mod trace;

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use stadium_edge::{EdgeHandle, LoopAnswers, PushRecord, Refused};
use stadium_http::fleet::{
    BoxFuture, ClusterReport, ClusterShardPage, ClusterShardQuery, ClusterStats, DevicePage, DeviceQuery,
    DeviceReport, Fleet, FleetStats, KickOutcome, NewRules, NoCluster, NoRetained, NoStream, NoTrace,
    NotPublished, NotSet, PublishOutcome, PurgeMode, Purged, Readiness, Refusal, RetainedPage, RetainedQuery,
    RulesReport, StreamQuery, TopicMessage, TopicStream, Trace, Traced,
};
use stadium_push::live::{ClientId, LivePush, LiveReach, LiveReport, LiveToken, TopicPush};
use stadium_push::{AppName, PushId, Time};

use stats::Observer;
pub(crate) use stream::distribute;

use crate::acme;
use crate::backups;
use crate::locations;
use crate::services::Services;

/// Where the node is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Not all listeners are open, or shards read their journals.
    Starting = 0,
    /// Everything works.
    Ready = 1,
    /// It is leaving.
    Draining = 2,
}

/// [`Fleet`] over a running edge.
pub(crate) struct EdgeFleet {
    edge: EdgeHandle,
    phase: AtomicU8,
    /// What is being done while it starts, in words.
    starting: Mutex<String>,
    observer: Observer,
    services: OnceLock<Arc<Services>>,
    locations: Arc<locations::Figures>,
    backups: Arc<backups::Figures>,
    acme: Arc<acme::Figures>,
    cluster: OnceLock<Box<dyn ClusterSight>>,
    has_all_shards: bool,
}

/// The cluster that the node is part of, as it knows it. Nothing is asked of others; each is `None`
/// once the node leaves.
pub(crate) trait ClusterSight: Send + Sync {
    /// Figures of the node's part.
    fn stats(&self) -> Option<ClusterStats>;

    /// All but the shards.
    fn report(&self) -> Option<ClusterReport>;

    /// A page of the shards.
    fn shards(&self, query: &ClusterShardQuery) -> Option<ClusterShardPage>;
}

impl EdgeFleet {
    /// Over this edge, starting. A standalone server has all shards.
    pub(crate) fn new(edge: EdgeHandle, has_all_shards: bool) -> Self {
        Self {
            edge,
            has_all_shards,
            phase: AtomicU8::new(Phase::Starting as u8),
            starting: Mutex::new("listeners are being opened".to_owned()),
            observer: Observer::default(),
            services: OnceLock::new(),
            locations: Arc::default(),
            backups: Arc::default(),
            acme: Arc::default(),
            cluster: OnceLock::new(),
        }
    }

    /// The node is part of a cluster, which is shown too.
    #[cfg(feature = "cluster")]
    pub(crate) fn joined(&self, sight: impl ClusterSight + 'static) {
        // Set once, when the node starts.
        let _ = self.cluster.set(Box::new(sight));
    }

    /// Looks at the cluster.
    fn sight<T>(&self, look: impl FnOnce(&dyn ClusterSight) -> Option<T>) -> Result<T, NoCluster> {
        match self.cluster.get() {
            None if self.has_all_shards => Err(NoCluster::Standalone),
            None => Err(NoCluster::NotNow),
            Some(sight) => look(&**sight).ok_or(NoCluster::NotNow),
        }
    }

    /// The node serves these, whose figures are shown too.
    pub(crate) fn serve(&self, services: Arc<Services>) {
        // Set once, when the node starts.
        let _ = self.services.set(services);
    }

    /// What is counted of locations that are taken from a service.
    pub(crate) fn locations(&self) -> &Arc<locations::Figures> {
        &self.locations
    }

    /// The counters of backups.
    pub(crate) fn backups(&self) -> &Arc<backups::Figures> {
        &self.backups
    }

    /// The figures of certificates from an ACME server.
    pub(crate) fn acme(&self) -> &Arc<acme::Figures> {
        &self.acme
    }

    /// What a node that is starting does now, in words.
    pub(crate) fn starting(&self, what: String) {
        *self.starting.lock() = what;
    }

    /// Where the node is from now on.
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }

    /// Everything works from now on, unless the node is leaving already.
    pub(crate) fn ready(&self) {
        let (from, to) = (Phase::Starting as u8, Phase::Ready as u8);
        let _ = self.phase.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Counts a push that the edge accepted or refused.
    fn accepted(&self, pushed: Result<Arc<PushRecord>, Refused>) -> Result<LiveToken, Refusal> {
        match pushed {
            Ok(record) => {
                let token = record.token();
                self.observer.accepted(record);
                Ok(token)
            }
            Err(refused) => {
                self.observer.refused();
                Err(push::refusal(refused))
            }
        }
    }

    /// Asks the edge a question that may take a loop's turn or two.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&EdgeHandle) -> T + Send + 'static,
    ) -> Option<T> {
        let edge = self.edge.clone();
        tokio::task::spawn_blocking(move || question(&edge)).await.ok()
    }
}

impl Fleet for EdgeFleet {
    fn push(&self, push: TopicPush) -> Result<(), Refusal> {
        self.accepted(self.edge.push(&push)).map(|_| ())
    }

    fn open_push(&self, push: LivePush) -> Result<LiveToken, Refusal> {
        self.accepted(self.edge.open_push(push))
    }

    fn push_reached(&self, token: LiveToken, reach: LiveReach) {
        if let Some(record) = self.edge.push_record(token) {
            record.reached(reach);
        }
    }

    fn push_refused(&self, token: LiveToken) {
        self.edge.forget_push(token);
        self.observer.withdrawn(token);
    }

    fn pushes(&self, app: Option<&AppName>, before: Option<(Time, PushId)>, limit: usize) -> Vec<LiveReport> {
        self.edge.newest_pushes(app, before, limit).iter().map(|record| record.report()).collect()
    }

    fn push_report(&self, app: &AppName, id: PushId) -> Option<LiveReport> {
        self.edge.find_push(app, id).map(|record| record.report())
    }

    fn devices(&self, query: DeviceQuery) -> BoxFuture<'_, DevicePage> {
        Box::pin(async move {
            // One more than asked for shows whether there is a next page.
            let limit = query.limit;
            let asked = device::query(query, limit.saturating_add(1));
            let Some(LoopAnswers { answers, missing }) = self.ask(move |edge| edge.devices(&asked)).await
            else {
                return DevicePage::default();
            };
            if missing > 0 {
                tracing::warn!(
                    loops = missing,
                    "Loops did not answer in time; the list of devices is incomplete"
                );
            }
            let more = answers.len() > limit;
            DevicePage { devices: answers.into_iter().take(limit).filter_map(device::report).collect(), more }
        })
    }

    fn device(&self, id: ClientId) -> BoxFuture<'_, Option<DeviceReport>> {
        Box::pin(async move {
            let collected = self.ask(move |edge| edge.device(id.as_str())).await?;
            collected.answers.and_then(device::report)
        })
    }

    fn kick(&self, id: ClientId, _reason: String) -> BoxFuture<'_, Result<KickOutcome, Refusal>> {
        Box::pin(async move {
            let answer = self.ask(move |edge| edge.kick(id.as_str())).await;
            answer.and_then(|collected| collected.answers).map(device::kicked).ok_or_else(|| {
                Refusal::Unknown { reason: "the device's loop did not answer in time".to_owned() }
            })
        })
    }

    fn forget_session(&self, id: ClientId) -> BoxFuture<'_, Result<bool, Refusal>> {
        Box::pin(async move {
            let answer = self.ask(move |edge| edge.forget_session(id.as_str())).await;
            answer.and_then(|collected| collected.answers).ok_or_else(|| Refusal::Unknown {
                reason: "the device's loop did not answer in time".to_owned(),
            })
        })
    }

    fn retained(&self, query: RetainedQuery) -> BoxFuture<'_, Result<RetainedPage, NoRetained>> {
        Box::pin(async move {
            let listed = self.ask(move |edge| {
                let asked = retained::query(&query)?;
                Ok(retained::page(edge.list_retained(&asked, query.limit)))
            });
            listed.await.unwrap_or_else(|| Err(retained::ending()))
        })
    }

    fn rules(&self) -> RulesReport {
        rules::report(self.edge.rules())
    }

    fn set_rules(
        &self,
        new: NewRules,
        expected: Option<Vec<String>>,
    ) -> BoxFuture<'_, Result<RulesReport, NotSet>> {
        Box::pin(async move {
            if !self.has_all_shards {
                // Each node would have rules of its own from then on.
                return Err(NotSet::Fixed(rules::OF_CLUSTER.to_owned()));
            }
            let set = self.ask(move |edge| edge.set_rules(rules::new(new), expected.as_deref()));
            let set = set.await.ok_or(NotSet::Ending)?;
            set.map(rules::report).map_err(rules::not_set)
        })
    }

    fn purge_retained(
        &self,
        query: RetainedQuery,
        mode: PurgeMode,
    ) -> BoxFuture<'_, Result<Purged, NoRetained>> {
        Box::pin(async move {
            let purged = self.ask(move |edge| {
                let asked = retained::query(&query)?;
                retained::purged(edge.purge_retained(&asked, query.limit, retained::mode(mode)))
            });
            purged.await.unwrap_or_else(|| Err(retained::ending()))
        })
    }

    fn publish(
        &self,
        messages: Vec<TopicMessage>,
    ) -> BoxFuture<'_, Result<Vec<PublishOutcome>, NotPublished>> {
        Box::pin(publish::publish(&self.edge, messages))
    }

    fn stream(&self, query: &StreamQuery) -> Result<Box<dyn TopicStream>, NoStream> {
        stream::begin(&self.edge, query)
    }

    fn trace(&self, traced: Traced) -> Result<Trace, NoTrace> {
        trace::begin(&self.edge, traced)
    }

    fn stats(&self) -> FleetStats {
        let mut stats = self.observer.stats(&self.edge);
        if let Some(services) = self.services.get() {
            (stats.services, stats.discovery) = services.figures();
        }
        stats.locations = self.locations.stats();
        stats.backup = self.backups.stats();
        stats.acme = self.acme.stats();
        stats.cluster = self.cluster.get().and_then(|sight| sight.stats());
        stats
    }

    fn cluster(&self) -> Result<ClusterReport, NoCluster> {
        self.sight(|sight| sight.report())
    }

    fn cluster_shards(&self, query: &ClusterShardQuery) -> Result<ClusterShardPage, NoCluster> {
        self.sight(|sight| sight.shards(query))
    }

    fn has_all_shards(&self) -> bool {
        self.has_all_shards
    }

    fn readiness(&self) -> Readiness {
        match self.phase.load(Ordering::Acquire) {
            phase if phase == Phase::Starting as u8 => Readiness::Starting(self.starting.lock().clone()),
            phase if phase == Phase::Ready as u8 => Readiness::Ready,
            _ => Readiness::Draining,
        }
    }
}

/// Shared with the HTTP port.
pub(crate) type SharedFleet = Arc<EdgeFleet>;
