//! A fleet without a network: devices are entries in a map, and a delivery is done when it is asked for.
//!
//! It exists for the API's tests and for looking at the live page (`cargo run -p stadium-http --example page`).
//! A connected device gets and acknowledges a push at once; an absent one keeps it in its session. Everything that
//! a real fleet would measure can be set by [`MemoryFleet::change_stats`] and [`MemoryFleet::change_push`].

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use crate::fleet::{
    Audience, BoxFuture, ConnectionFilter, DeviceConnection, DeviceId, DevicePage, DeviceQuery, DeviceReport,
    DeviceSubscription, Fleet, FleetStats, KickOutcome, LatencySummary, NewPush, NoTrace, Progress, PushId,
    PushReport, Qos, Readiness, Refusal, Tally, Trace, TraceLine, Traced,
};

/// Pushes remembered; the oldest is forgotten first. Enough for any test, small enough for a page left open.
const PUSHES_MAX: usize = 1_024;

/// The fleet in memory.
pub struct MemoryFleet {
    state: Mutex<State>,
}

struct State {
    devices: BTreeMap<DeviceId, DeviceReport>,
    pushes: BTreeMap<PushId, (NewPush, PushReport)>,
    last_push: u64,
    stats: FleetStats,
    readiness: Readiness,
    refusal: Option<Refusal>,
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
                last_push: 0,
                stats: FleetStats::default(),
                readiness: Readiness::Ready,
                refusal: None,
            }),
        }
    }

    /// Connects a device that subscribes to its inbox and to the given channels.
    pub fn connect(&self, id: &DeviceId, channels: &[&str]) {
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

    /// Ends a device's connection; its session stays for an hour.
    pub fn disconnect(&self, id: &DeviceId) {
        self.state.lock().close(id, "disconnected");
    }

    /// Answers every following push with this; `None` accepts again.
    pub fn refuse_pushes(&self, refusal: Option<Refusal>) {
        self.state.lock().refusal = refusal;
    }

    /// What [`Fleet::readiness`] says from now on.
    pub fn become_ready(&self, readiness: Readiness) {
        self.state.lock().readiness = readiness;
    }

    /// Changes the counters and gauges that [`Fleet::stats`] shows.
    pub fn change_stats(&self, change: impl FnOnce(&mut FleetStats)) {
        change(&mut self.state.lock().stats);
    }

    /// Changes what is known of a push; does nothing when it is unknown.
    pub fn change_push(&self, id: PushId, change: impl FnOnce(&mut PushReport)) {
        if let Some((_, report)) = self.state.lock().pushes.get_mut(&id) {
            change(report);
        }
    }

    /// The pushes that were accepted, oldest first, as they were asked for.
    pub fn accepted(&self) -> Vec<NewPush> {
        self.state.lock().pushes.values().map(|(push, _)| push.clone()).collect()
    }
}

impl State {
    fn recount(&mut self) {
        self.stats.sessions = self.devices.len() as u64;
        self.stats.connected =
            self.devices.values().filter(|device| device.connection.is_some()).count() as u64;
        self.stats.subscriptions = self.devices.values().map(|device| device.subscription_count).sum();
    }

    fn close(&mut self, id: &DeviceId, reason: &'static str) -> KickOutcome {
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

    fn audience(&self, to: &Audience) -> Vec<DeviceId> {
        let subscribers = |topic: String| {
            let subscribed = |device: &&DeviceReport| {
                device.subscriptions.iter().any(|subscription| subscription.filter == topic)
            };
            self.devices.values().filter(subscribed).map(|device| device.id.clone()).collect()
        };
        match to {
            Audience::Device(id) => vec![id.clone()],
            Audience::Devices(ids) => ids.clone(),
            Audience::Channel(name) => subscribers(name.topic()),
            Audience::Everybody => subscribers(crate::fleet::ChannelName::everybody().topic()),
        }
    }

    fn deliver(&mut self, push: NewPush) -> PushId {
        self.last_push += 1;
        let id = PushId(self.last_push);
        let audience = self.audience(&push.to);
        let took = Duration::from_micros(700);
        let mut report = PushReport {
            id,
            accepted_at: SystemTime::now(),
            to: push.to.clone(),
            qos: push.qos,
            payload_bytes: push.payload.len() as u64,
            progress: Progress::Settled,
            counting: false,
            targeted: audience.len() as u64,
            sent: 0,
            acknowledged: 0,
            expired: 0,
            dropped: 0,
            not_connected: 0,
            queued: 0,
            first_sent: None,
            last_sent: None,
            first_acknowledged: None,
            last_acknowledged: None,
            sent_latency: LatencySummary::default(),
            acknowledged_latency: LatencySummary::default(),
        };
        for device in audience {
            match self.devices.get_mut(&device) {
                Some(device) if device.connection.is_some() => report.sent += 1,
                Some(device) => {
                    report.not_connected += 1;
                    if push.qos == Qos::AtLeastOnce {
                        device.queued += 1;
                        report.queued += 1;
                    }
                }
                None => report.not_connected += 1,
            }
        }
        if report.sent > 0 {
            let summary =
                LatencySummary { count: report.sent, p50: took, p90: took, p99: took, p999: took, max: took };
            report.first_sent = Some(took);
            report.last_sent = Some(took);
            report.sent_latency = summary;
            self.stats.deliveries_total += report.sent;
            self.stats.delivery_latency.record_many(took, report.sent);
            if push.qos == Qos::AtLeastOnce {
                report.acknowledged = report.sent;
                report.first_acknowledged = Some(took);
                report.last_acknowledged = Some(took);
                report.acknowledged_latency = summary;
                self.stats.acknowledgements_total += report.sent;
            }
        }
        self.stats.pushes_total += 1;
        self.pushes.insert(id, (push, report));
        if self.pushes.len() > PUSHES_MAX {
            self.pushes.pop_first();
        }
        id
    }
}

impl Fleet for MemoryFleet {
    fn push(&self, push: NewPush) -> Result<PushId, Refusal> {
        let mut state = self.state.lock();
        if let Some(refusal) = state.refusal.clone() {
            state.stats.pushes_refused_total += 1;
            return Err(refusal);
        }
        Ok(state.deliver(push))
    }

    fn pushes(&self, limit: usize) -> Vec<PushReport> {
        self.state.lock().pushes.values().rev().take(limit).map(|(_, report)| report.clone()).collect()
    }

    fn push_report(&self, id: PushId) -> Option<PushReport> {
        self.state.lock().pushes.get(&id).map(|(_, report)| report.clone())
    }

    fn devices(&self, query: DeviceQuery) -> BoxFuture<'_, DevicePage> {
        Box::pin(async move {
            let state = self.state.lock();
            let wanted = |device: &&DeviceReport| {
                device.id.as_str().starts_with(&query.prefix)
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

    fn device(&self, id: DeviceId) -> BoxFuture<'_, Option<DeviceReport>> {
        Box::pin(async move { self.state.lock().devices.get(&id).cloned() })
    }

    fn kick(&self, id: DeviceId, _reason: String) -> BoxFuture<'_, Result<KickOutcome, Refusal>> {
        Box::pin(async move { Ok(self.state.lock().close(&id, "kicked")) })
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

    fn readiness(&self) -> Readiness {
        self.state.lock().readiness.clone()
    }
}
