//! A fleet without a network: devices are entries in a map, and a delivery is done when it is asked for.
//!
//! It exists for the API's tests and for looking at the live page (`cargo run -p stadium-http
//! --example page`). A connected device gets and acknowledges a push at once; an absent one keeps
//! it in its session. Everything that a real fleet would measure can be set by
//! [`MemoryFleet::change_stats`] and [`MemoryFleet::change_push`].

mod streams;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use stadium_push::live::{
    Away, ClientId, LatencySummary, LiveAudience, LivePush, LiveReach, LiveReport, LiveTally, LiveTimes,
    LiveToken, Qos, TopicPush,
};
use stadium_push::{AppName, PushId, Time};

use crate::fleet::{
    BoxFuture, ClusterReport, ClusterShard, ClusterShardPage, ClusterShardQuery, ConnectionFilter,
    DeviceConnection, DevicePage, DeviceQuery, DeviceReport, DeviceSubscription, Fleet, FleetStats,
    KickOutcome, NoCluster, NoRetained, NoStream, NoTrace, NotPublished, PublishOutcome, PurgeMode, Purged,
    Readiness, Refusal, RetainedPage, RetainedQuery, RetainedReport, StreamItem, StreamQuery, Tally,
    TopicMessage, TopicStream, Trace, TraceLine, Traced,
};

use streams::Streams;

/// Pushes remembered; the oldest is forgotten first. Enough for any test, small enough for a page
/// left open.
const PUSHES_MAX: usize = 1_024;

/// The fleet in memory.
pub struct MemoryFleet {
    state: Mutex<State>,
}

struct State {
    devices: BTreeMap<ClientId, DeviceReport>,
    pushes: BTreeMap<LiveToken, LiveReport>,
    accepted: Vec<TopicPush>,
    published: Vec<TopicMessage>,
    streams: Streams,
    last_push: u64,
    stats: FleetStats,
    readiness: Readiness,
    refusal: Option<Refusal>,
    retained: BTreeMap<String, RetainedReport>,
    cluster: Result<(ClusterReport, Vec<ClusterShard>), NoCluster>,
}

impl Default for MemoryFleet {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryFleet {
    /// An empty fleet that is ready.
    pub fn new() -> Self {
        Self {
            state: Mutex::new(State {
                devices: BTreeMap::new(),
                pushes: BTreeMap::new(),
                accepted: Vec::new(),
                published: Vec::new(),
                streams: Streams::default(),
                last_push: 0,
                stats: FleetStats::default(),
                readiness: Readiness::Ready,
                refusal: None,
                retained: BTreeMap::new(),
                cluster: Err(NoCluster::Standalone),
            }),
        }
    }

    /// Connects a device that subscribes to its inbox and to the given channels.
    pub fn connect(&self, id: &ClientId, channels: &[&str]) {
        let mut state = self.state.lock();
        let mut subscriptions = vec![DeviceSubscription { filter: id.inbox_topic(), qos: 1 }];
        subscriptions.extend(
            channels.iter().map(|name| DeviceSubscription { filter: format!("channels/{name}"), qos: 1 }),
        );
        let report = DeviceReport {
            id: id.clone(),
            connection: Some(DeviceConnection {
                address: Some(([127, 0, 0, 1], 40_000).into()),
                transport: "tcp",
                mqtt_version: "5.0",
                username: None,
                connected_at: SystemTime::now(),
                keepalive_s: 60,
                loop_index: 0,
            }),
            session_expires_at: None,
            subscription_count: subscriptions.len() as u64,
            subscriptions,
            queued: 0,
            in_flight: 0,
        };
        state.devices.insert(id.clone(), report);
        state.stats.connects_total += 1;
        state.recount();
    }

    /// Retains a message of this principal, or of the server itself.
    pub fn retain(&self, topic: &str, principal: Option<&str>) {
        let report = RetainedReport {
            topic: topic.to_owned(),
            principal: principal.map(str::to_owned),
            payload_bytes: 2,
            bytes: topic.len() as u64 + 2,
            qos: 1,
            set_at: Some(SystemTime::UNIX_EPOCH),
            expires_at: None,
        };
        self.state.lock().retained.insert(topic.to_owned(), report);
    }

    /// Ends a device's connection; its session stays for an hour.
    pub fn disconnect(&self, id: &ClientId) {
        self.state.lock().close(id, "disconnected");
    }

    /// The streams that were asked for, in order.
    pub fn streams(&self) -> Vec<StreamQuery> {
        self.state.lock().streams.asked()
    }

    /// Gives an item to all streams that are open; returns how many that are.
    pub fn show(&self, item: &StreamItem) -> usize {
        self.state.lock().streams.show(item)
    }

    /// The messages that were published, in order.
    pub fn published(&self) -> Vec<TopicMessage> {
        self.state.lock().published.clone()
    }

    /// Answers every following push and publish with this; `None` accepts again.
    pub fn refuse_pushes(&self, refusal: Option<Refusal>) {
        self.state.lock().refusal = refusal;
    }

    /// The answer of [`Fleet::readiness`] from now on.
    pub fn become_ready(&self, readiness: Readiness) {
        self.state.lock().readiness = readiness;
    }

    /// The answers of [`Fleet::cluster`] and [`Fleet::cluster_shards`] from now on; shards come by their
    /// numbers.
    pub fn become_clustered(&self, cluster: Result<(ClusterReport, Vec<ClusterShard>), NoCluster>) {
        self.state.lock().cluster = cluster;
    }

    /// Changes the counters and gauges that [`Fleet::stats`] shows.
    pub fn change_stats(&self, change: impl FnOnce(&mut FleetStats)) {
        change(&mut self.state.lock().stats);
    }

    /// Changes what is known of a push; does nothing when it is unknown.
    pub fn change_push(&self, id: PushId, change: impl FnOnce(&mut LiveReport)) {
        if let Some(report) = self.state.lock().pushes.values_mut().find(|report| report.push.id == id) {
            change(report);
        }
    }

    /// The newest pushes to topics that were accepted, oldest first, as they were asked for.
    pub fn accepted(&self) -> Vec<TopicPush> {
        self.state.lock().accepted.clone()
    }
}

impl State {
    /// The retained messages that are meant. Of filters it knows topics, `#` and what ends with
    /// `/#`.
    fn retained(&self, query: &RetainedQuery) -> Result<RetainedPage, NoRetained> {
        let begin = match query.filter.as_deref() {
            None | Some("#") => None,
            Some(filter) => Some(filter.strip_suffix("/#").unwrap_or(filter)),
        };
        if begin.is_some_and(|begin| begin.contains(['+', '#'])) {
            return Err(NoRetained::Filter("`#` stands at its end".to_owned()));
        }
        let is_meant = |report: &&RetainedReport| {
            begin.is_none_or(|begin| report.topic.starts_with(begin))
                && query.principal.as_ref().is_none_or(|of| report.principal.as_ref() == Some(of))
        };
        let from = query.from.clone().unwrap_or_default();
        let mut found = self.retained.range(from..).map(|(_, report)| report).filter(is_meant);
        let messages = found.by_ref().take(query.limit).cloned().collect();
        Ok(RetainedPage { messages, next: found.next().map(|report| report.topic.clone()) })
    }

    fn recount(&mut self) {
        self.stats.sessions = self.devices.len() as u64;
        self.stats.connected =
            self.devices.values().filter(|device| device.connection.is_some()).count() as u64;
        self.stats.subscriptions = self.devices.values().map(|device| device.subscription_count).sum();
    }

    fn close(&mut self, id: &ClientId, reason: &'static str) -> KickOutcome {
        let Some(device) = self.devices.get_mut(id) else { return KickOutcome::Unknown };
        if device.connection.take().is_none() {
            return KickOutcome::NotConnected;
        }
        device.session_expires_at = Some(SystemTime::now() + Duration::from_secs(3_600));
        match self.stats.closes.iter_mut().find(|tally| tally.reason == reason) {
            Some(tally) => tally.total += 1,
            None => self.stats.closes.push(Tally { reason, total: 1 }),
        }
        self.recount();
        KickOutcome::Kicked
    }

    fn audience(&self, to: &LiveAudience) -> Vec<ClientId> {
        match to {
            LiveAudience::Clients(ids) => ids.clone(),
            LiveAudience::Channel(name) => {
                let topic = name.topic();
                let subscribed = |device: &&DeviceReport| {
                    device.subscriptions.iter().any(|subscription| subscription.filter == topic)
                };
                self.devices.values().filter(subscribed).map(|device| device.id.clone()).collect()
            }
            LiveAudience::Registered(_) => Vec::new(),
        }
    }

    fn deliver(&mut self, push: TopicPush) {
        let audience = self.audience(&push.push.to);
        let took = Duration::from_micros(700);
        let mut tally = LiveTally::default();
        let mut times = LiveTimes::default();
        let keeps = push.away != Away::Skip && push.push.qos == Qos::AtLeastOnce;
        for device in audience {
            match self.devices.get_mut(&device) {
                Some(device) if device.connection.is_some() => {
                    tally.targeted += 1;
                    tally.sent += 1;
                }
                Some(device) if keeps => {
                    tally.targeted += 1;
                    tally.queued += 1;
                    device.queued += 1;
                }
                _ => tally.not_connected += 1,
            }
        }
        if tally.sent > 0 {
            let summary =
                LatencySummary { count: tally.sent, p50: took, p90: took, p99: took, p999: took, max: took };
            times.sent = Some((took, took));
            times.sent_latency = summary;
            self.stats.deliveries_total += tally.sent;
            self.stats.delivery_latency.record_many(took, tally.sent);
            match push.push.qos {
                Qos::AtMostOnce => tally.unanswered = tally.sent,
                Qos::AtLeastOnce => {
                    tally.acknowledged = tally.sent;
                    times.acknowledged = Some((took, took));
                    times.acknowledged_latency = summary;
                    self.stats.acknowledgements_total += tally.sent;
                }
            }
        }
        self.record(push.push.clone(), &tally, keeps, None, times);
        self.accepted.push(push);
        if self.accepted.len() > PUSHES_MAX {
            self.accepted.remove(0);
        }
    }

    fn record(
        &mut self,
        push: LivePush,
        tally: &LiveTally,
        keeps: bool,
        reach: Option<LiveReach>,
        times: LiveTimes,
    ) -> LiveToken {
        self.last_push += 1;
        let token = LiveToken(self.last_push);
        let report = LiveReport::of(push.into(), now(), tally, false, keeps, reach, times);
        self.stats.pushes_total += 1;
        self.pushes.insert(token, report);
        if self.pushes.len() > PUSHES_MAX {
            self.pushes.pop_first();
        }
        token
    }

    fn may_push(&mut self) -> Result<(), Refusal> {
        match self.refusal.clone() {
            Some(refusal) => {
                self.stats.pushes_refused_total += 1;
                Err(refusal)
            }
            None => Ok(()),
        }
    }
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

impl Fleet for MemoryFleet {
    fn push(&self, push: TopicPush) -> Result<(), Refusal> {
        let mut state = self.state.lock();
        state.may_push()?;
        state.deliver(push);
        Ok(())
    }

    fn open_push(&self, push: LivePush) -> Result<LiveToken, Refusal> {
        let mut state = self.state.lock();
        state.may_push()?;
        Ok(state.record(push, &LiveTally::default(), false, None, LiveTimes::default()))
    }

    fn push_reached(&self, token: LiveToken, reach: LiveReach) {
        if let Some(report) = self.state.lock().pushes.get_mut(&token) {
            let (push, at) = (std::sync::Arc::clone(&report.push), report.accepted_at);
            let tally = LiveTally { not_connected: reach.targeted, ..LiveTally::default() };
            *report = LiveReport::of(push, at, &tally, false, false, Some(reach), report.times);
        }
    }

    fn push_refused(&self, token: LiveToken) {
        self.state.lock().pushes.remove(&token);
    }

    fn pushes(&self, app: Option<&AppName>, before: Option<(Time, PushId)>, limit: usize) -> Vec<LiveReport> {
        let state = self.state.lock();
        let is_wanted = |report: &&LiveReport| {
            app.is_none_or(|app| report.push.app == *app)
                && before.is_none_or(|before| (report.accepted_at, report.push.id) < before)
        };
        state.pushes.values().rev().filter(is_wanted).take(limit).cloned().collect()
    }

    fn push_report(&self, app: &AppName, id: PushId) -> Option<LiveReport> {
        let state = self.state.lock();
        state.pushes.values().find(|report| report.push.app == *app && report.push.id == id).cloned()
    }

    fn devices(&self, query: DeviceQuery) -> BoxFuture<'_, DevicePage> {
        Box::pin(async move {
            let state = self.state.lock();
            let wanted = |device: &&DeviceReport| {
                device.id.as_str().starts_with(&query.prefix)
                    && device.id.as_str().to_lowercase().contains(&query.search)
                    && query.after.as_ref().is_none_or(|after| device.id > *after)
                    && match query.connection {
                        ConnectionFilter::Any => true,
                        ConnectionFilter::Connected => device.connection.is_some(),
                        ConnectionFilter::Away => device.connection.is_none(),
                    }
            };
            let mut devices: Vec<_> =
                state.devices.values().filter(wanted).take(query.limit + 1).cloned().collect();
            let more = devices.len() > query.limit;
            devices.truncate(query.limit);
            DevicePage { devices, more }
        })
    }

    fn device(&self, id: ClientId) -> BoxFuture<'_, Option<DeviceReport>> {
        Box::pin(async move { self.state.lock().devices.get(&id).cloned() })
    }

    fn kick(&self, id: ClientId, _reason: String) -> BoxFuture<'_, Result<KickOutcome, Refusal>> {
        Box::pin(async move { Ok(self.state.lock().close(&id, "kicked")) })
    }

    fn forget_session(&self, id: ClientId) -> BoxFuture<'_, Result<bool, Refusal>> {
        Box::pin(async move { Ok(self.state.lock().close(&id, "forgotten") != KickOutcome::Unknown) })
    }

    fn retained(&self, query: RetainedQuery) -> BoxFuture<'_, Result<RetainedPage, NoRetained>> {
        Box::pin(async move { self.state.lock().retained(&query) })
    }

    fn purge_retained(
        &self,
        query: RetainedQuery,
        mode: PurgeMode,
    ) -> BoxFuture<'_, Result<Purged, NoRetained>> {
        Box::pin(async move {
            let mut state = self.state.lock();
            let page = state.retained(&query)?;
            if mode == PurgeMode::Remove {
                page.messages.iter().for_each(|report| {
                    state.retained.remove(&report.topic);
                });
            }
            Ok(Purged { removed: page.messages.len() as u64, refused: 0, next: page.next })
        })
    }

    fn publish(
        &self,
        messages: Vec<TopicMessage>,
    ) -> BoxFuture<'_, Result<Vec<PublishOutcome>, NotPublished>> {
        Box::pin(async move {
            let mut state = self.state.lock();
            if let Some(refusal) = state.refusal.clone() {
                return Err(NotPublished::Refused(refusal));
            }
            let is_wrong = |message: &TopicMessage| message.topic.contains(['+', '#']);
            if let Some(place) = messages.iter().position(is_wrong) {
                return Err(NotPublished::Topic(place, "a topic name holds + or #".to_owned()));
            }
            let outcome = |message: &TopicMessage| {
                let reads = |device: &DeviceReport| {
                    device.subscriptions.iter().any(|one| one.filter == message.topic)
                };
                PublishOutcome::Accepted { matched: state.devices.values().any(reads) }
            };
            let outcomes = messages.iter().map(outcome).collect();
            state.published.extend(messages);
            Ok(outcomes)
        })
    }

    fn stream(&self, query: &StreamQuery) -> Result<Box<dyn TopicStream>, NoStream> {
        self.state.lock().streams.begin(query)
    }

    fn trace(&self, traced: Traced) -> Result<Trace, NoTrace> {
        let device = match traced {
            Traced::Device(id) => id.as_str().to_owned(),
            Traced::Topic(filter) if filter.is_empty() => {
                return Err(NoTrace::Filter("it is empty".to_owned()));
            }
            Traced::Topic(_) => String::new(),
        };
        let (to, lines) = tokio::sync::mpsc::channel(1);
        let (at, text) = (SystemTime::now(), "trace began".to_owned());
        // The channel is empty and open.
        let _ = to.try_send(TraceLine { at, device, direction: "none", text, missed: 0 });
        Ok(Trace { lines, guard: Box::new(to) })
    }

    fn stats(&self) -> FleetStats {
        self.state.lock().stats.clone()
    }

    fn cluster(&self) -> Result<ClusterReport, NoCluster> {
        self.state.lock().cluster.clone().map(|(report, _)| report)
    }

    fn cluster_shards(&self, query: &ClusterShardQuery) -> Result<ClusterShardPage, NoCluster> {
        let (_, shards) = self.state.lock().cluster.clone()?;
        Ok(query.page(shards.into_iter().filter(|shard| shard.shard >= query.begin())))
    }

    fn readiness(&self) -> Readiness {
        self.state.lock().readiness.clone()
    }
}
