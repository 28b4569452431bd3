//! What the HTTP API needs of the fleet: the trait, and the plain types that cross it.
//!
//! The node implements [`Fleet`] over its loops; [`memory::MemoryFleet`] implements it without any
//! network, for tests and for looking at the live page. Calls that answer at once must never block:
//! they run on a Tokio worker. Glossary: a device's inbox is the topic `inbox/{device}`, a channel
//! is `channels/{name}`, everybody is `channels/everybody`.

use std::future::Future;
use std::pin::Pin;

use stadium_push::live::{ClientId, LivePush, LiveReach, LiveReport, LiveToken, TopicPush};
use stadium_push::{AppName, PushId, Time};

mod cluster;
mod device;
pub mod memory;
mod publish;
mod push;
mod retained;
mod rules;
mod stats;
mod stream;
mod trace;

pub use cluster::{
    AliveNode, ClusterDrain, ClusterLink, ClusterMove, ClusterNode, ClusterReport, ClusterShard,
    ClusterShardPage, ClusterShardQuery, ClusterStandby, EtcdContact, MoveStep, NoCluster, NodeState,
    ShardChoice, ShardProblem, ShardProblems, StandbyLag, StandbyState,
};
pub use device::{
    ConnectionFilter, DeviceConnection, DevicePage, DeviceQuery, DeviceReport, DeviceSubscription,
};
pub use publish::{NotPublished, PublishOutcome, TopicMessage};
pub use push::{KickOutcome, Refusal};
pub use retained::{NoRetained, PurgeMode, Purged, RetainedPage, RetainedQuery, RetainedReport};
pub use rules::{NewRules, NotSet, RuleMistake, RulesReport};
pub use stats::{
    AcmeStats, ArchiveStats, AuthCacheStats, BackupStats, BytesHeld, ClusterStats, DiscoveryStats,
    FleetStats, Histogram, LATENCY_BOUNDS_S, LinkStats, LocationStats, LoopStats, MethodStats, Readiness,
    RequestStats, ServiceStats, StreamStats, Tally,
};

pub use stream::{NoStream, StreamItem, StreamQuery, TopicStream};

pub use trace::{NoTrace, Trace, TraceLine, Traced};

/// A boxed future, so that [`Fleet`] stays usable as `dyn Fleet`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The fleet as the HTTP API sees it. Object safe; shared by every request.
pub trait Fleet: Send + Sync + 'static {
    /// Accepts a live push to a channel or to clients, or returns the reason why not. Never blocks
    /// and never waits for a device.
    ///
    /// `Ok` means that the fleet owns the push now and [`Fleet::push_report`] finds it.
    ///
    /// # Errors
    /// [`Refusal::Busy`] when a bound is reached and the caller should come back,
    /// [`Refusal::Rejected`] when the same push would be refused for ever. In both cases nothing
    /// happened.
    fn push(&self, push: TopicPush) -> Result<(), Refusal>;

    /// Opens the record of a live push to registered devices, which the shards dispatch under this
    /// token. [`Fleet::push_reached`] or [`Fleet::push_refused`] follows.
    ///
    /// # Errors
    /// As [`Fleet::push`].
    fn open_push(&self, push: LivePush) -> Result<LiveToken, Refusal>;

    /// The shards have dispatched a live push to these devices.
    fn push_reached(&self, token: LiveToken, reach: LiveReach);

    /// The shards refused a live push: its record goes.
    fn push_refused(&self, token: LiveToken);

    /// The newest live pushes first, at most `limit`: of one app or of all, and only those before
    /// that time and id.
    fn pushes(&self, app: Option<&AppName>, before: Option<(Time, PushId)>, limit: usize) -> Vec<LiveReport>;

    /// How far a live push has come; `None` when it is unknown or was forgotten since.
    fn push_report(&self, app: &AppName, id: PushId) -> Option<LiveReport>;

    /// One page of the devices with a session or a connection, in order of their id's bytes.
    fn devices(&self, query: DeviceQuery) -> BoxFuture<'_, DevicePage>;

    /// One device with its subscriptions; `None` when it has neither a session nor a connection.
    fn device(&self, id: ClientId) -> BoxFuture<'_, Option<DeviceReport>>;

    /// Closes a device's connection; its session stays. `reason` is sent to an MQTT 5 device and
    /// logged.
    ///
    /// # Errors
    /// [`Refusal::Busy`] when the loop that owns the connection cannot take the command now.
    fn kick(&self, id: ClientId, reason: String) -> BoxFuture<'_, Result<KickOutcome, Refusal>>;

    /// Ends a device's session with all that it holds, and closes its connection; its will is not
    /// published. Returns whether it had a session. The shards have the end shortly after.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] when the loop that owns the session did not answer.
    fn forget_session(&self, id: ClientId) -> BoxFuture<'_, Result<bool, Refusal>>;

    /// One page of the retained messages, in order of their topics.
    ///
    /// # Errors
    /// [`NoRetained::Filter`] where the filter is none.
    fn retained(&self, query: RetainedQuery) -> BoxFuture<'_, Result<RetainedPage, NoRetained>>;

    /// Removes retained messages, or counts those that would be removed. Nobody is sent anything.
    ///
    /// # Errors
    /// [`NoRetained`] where the filter is none, or where it is not known whether they were removed.
    fn purge_retained(
        &self,
        query: RetainedQuery,
        mode: PurgeMode,
    ) -> BoxFuture<'_, Result<Purged, NoRetained>>;

    /// The rules over topics that are in force. Waits for nothing.
    fn rules(&self) -> RulesReport {
        RulesReport::default()
    }

    /// Replaces the rules over topics, durably, if the name of those in force is one of `expected`.
    ///
    /// # Errors
    /// [`NotSet`]; nothing was changed.
    fn set_rules(
        &self,
        _rules: NewRules,
        _expected: Option<Vec<String>>,
    ) -> BoxFuture<'_, Result<RulesReport, NotSet>> {
        Box::pin(async { Err(NotSet::Fixed("there are no rules".to_owned())) })
    }

    /// Publishes messages to topics. They are taken as a whole or not at all, and each has an
    /// outcome then, in the order of the messages.
    ///
    /// # Errors
    /// [`NotPublished`]; then nothing happened.
    fn publish(
        &self,
        messages: Vec<TopicMessage>,
    ) -> BoxFuture<'_, Result<Vec<PublishOutcome>, NotPublished>>;

    /// Begins a stream of messages. Never blocks.
    ///
    /// # Errors
    /// [`NoStream`].
    fn stream(&self, query: &StreamQuery) -> Result<Box<dyn TopicStream>, NoStream>;

    /// Traces a device or a topic. Never blocks; where nobody traces it costs nothing.
    ///
    /// # Errors
    /// [`NoTrace`] where there are as many as there may be, or the filter is none.
    fn trace(&self, traced: Traced) -> Result<Trace, NoTrace>;

    /// A snapshot of every counter and gauge. Cheap: it is read once a second for each scrape and
    /// live view.
    fn stats(&self) -> FleetStats;

    /// Whether new work should be sent here.
    fn readiness(&self) -> Readiness;

    /// The cluster that this server is a node of, as it knows it. Never blocks, and asks nobody.
    ///
    /// # Errors
    /// [`NoCluster`] of a standalone server, and of a node that has not joined or leaves.
    fn cluster(&self) -> Result<ClusterReport, NoCluster> {
        Err(NoCluster::Standalone)
    }

    /// A page of the cluster's shards, likewise.
    ///
    /// # Errors
    /// As [`Self::cluster`].
    fn cluster_shards(&self, _query: &ClusterShardQuery) -> Result<ClusterShardPage, NoCluster> {
        Err(NoCluster::Standalone)
    }

    /// Whether this server has all shards, so that one that does not serve here is served by nobody. A
    /// node of a cluster has some, and says by [`Self::readiness`] whether all have an owner.
    fn has_all_shards(&self) -> bool {
        true
    }
}
