//! One second of the fleet, and how a state of the server is called.
//!
//! Rates and quantiles are made of two snapshots.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use utoipa::ToSchema;

use crate::fleet::{BytesHeld, FleetStats, Histogram, Readiness, Tally};
use crate::push::direct::views::PushView;
use crate::request::app::App;

/// What the live view shows: one second of the fleet.
#[derive(Serialize, ToSchema)]
pub(crate) struct Sample {
    /// When it was taken, milliseconds since 1970.
    at_ms: u64,
    /// The server's version.
    version: String,
    /// Seconds since the HTTP port started.
    uptime_s: u64,
    /// `ready`, `draining` or `starting`.
    state: &'static str,
    /// Devices with an open connection.
    connected: u64,
    /// Sessions, of connected devices and of those away.
    sessions: u64,
    /// Subscriptions of all sessions.
    subscriptions: u64,
    /// Retained messages.
    retained: u64,
    /// What happened in a second.
    per_s: Rates,
    /// Latency of the deliveries of this second.
    latency: Latency,
    /// Messages written to devices' sockets since the start.
    deliveries_total: u64,
    /// CONNECT packets answered with success since the start.
    connects_total: u64,
    /// Pushes taken over since the start.
    pushes_total: u64,
    /// The event loops.
    loops: Vec<LoopSample>,
    /// Connections closed, by reason.
    closes: Vec<TallySample>,
    /// Messages given up, by reason.
    drops: Vec<TallySample>,
    /// Logins refused, by reason.
    auth_failures: Vec<TallySample>,
    /// Memory held.
    bytes_held: HeldSample,
    /// The newest push.
    push: Option<PushView>,
}

/// Events in one second.
#[derive(Clone, Copy, Serialize, ToSchema)]
pub(crate) struct Rates {
    /// Messages written to devices' sockets.
    deliveries: f64,
    /// Deliveries that devices acknowledged.
    acknowledgements: f64,
    /// Devices that connected.
    connects: f64,
    /// Connections that closed.
    closes: f64,
    /// Messages given up.
    drops: f64,
    /// Messages that devices published.
    publishes_in: f64,
    /// Bytes read from devices.
    bytes_in: f64,
    /// Bytes written to devices.
    bytes_out: f64,
}

/// Recent latency; nothing while nothing was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Latency {
    /// Half of the deliveries took at most this many milliseconds.
    p50_ms: Option<f64>,
    /// 99 in 100.
    p99_ms: Option<f64>,
}

/// One event loop in this second.
#[derive(Serialize, ToSchema)]
pub(crate) struct LoopSample {
    /// The part of the second that it worked, 0 to 1.
    busy_ratio: f64,
    /// Its connections.
    connections: u64,
    /// Deliveries a second.
    deliveries_per_s: f64,
    /// Commands waiting in its mailbox.
    mailbox_depth: u64,
}

/// How often something happened for one reason.
#[derive(Serialize, ToSchema)]
pub(crate) struct TallySample {
    /// The reason.
    reason: &'static str,
    /// Times since the start.
    total: u64,
    /// Times in this second.
    per_s: f64,
}

/// Memory held, in bytes.
#[derive(Serialize, ToSchema)]
pub(crate) struct HeldSample {
    /// Connections' own state.
    connections: u64,
    /// Sessions with their queues.
    sessions: u64,
    /// Bytes accepted and not yet taken by a socket.
    write_queues: u64,
    /// Parts of packets waiting for their rest.
    carry_buffers: u64,
    /// Retained messages.
    retained: u64,
}

/// What the charts of a new page begin with, one for each second.
#[derive(Clone, Serialize, ToSchema)]
pub(crate) struct Point {
    at_ms: u64,
    connected: u64,
    deliveries: f64,
    connects: f64,
    latency: Latency,
}

impl Point {
    pub(crate) fn of(sample: &Sample) -> Self {
        Self {
            at_ms: sample.at_ms,
            connected: sample.connected,
            deliveries: sample.per_s.deliveries,
            connects: sample.per_s.connects,
            latency: sample.latency,
        }
    }
}

/// When it was taken, and the fleet then.
pub(crate) type Snapshot = (Instant, FleetStats);

impl Sample {
    pub(crate) fn between(app: &App, before: &Snapshot, now: &Snapshot) -> Self {
        let seconds = now.0.saturating_duration_since(before.0).as_secs_f64().max(0.001);
        let (before, now) = (&before.1, &now.1);
        let rate = |value: fn(&FleetStats) -> u64| value(now).saturating_sub(value(before)) as f64 / seconds;
        Self {
            at_ms: since_1970_ms(),
            version: app.config.version.clone(),
            uptime_s: app.started.elapsed().as_secs(),
            state: state_word(&app.fleet.readiness()),
            connected: now.connected,
            sessions: now.sessions,
            subscriptions: now.subscriptions,
            retained: now.retained,
            per_s: Rates {
                deliveries: rate(|stats| stats.deliveries_total),
                acknowledgements: rate(|stats| stats.acknowledgements_total),
                connects: rate(|stats| stats.connects_total),
                closes: rate(|stats| sum(&stats.closes)),
                drops: rate(|stats| sum(&stats.drops)),
                publishes_in: rate(|stats| stats.publishes_in_total),
                bytes_in: rate(|stats| stats.loops.iter().map(|each| each.bytes_in_total).sum()),
                bytes_out: rate(|stats| stats.loops.iter().map(|each| each.bytes_out_total).sum()),
            },
            latency: latency(&now.delivery_latency.since(&before.delivery_latency)),
            deliveries_total: now.deliveries_total,
            connects_total: now.connects_total,
            pushes_total: now.pushes_total,
            loops: loops(before, now, seconds),
            closes: tallies(&before.closes, &now.closes, seconds),
            drops: tallies(&before.drops, &now.drops, seconds),
            auth_failures: tallies(&before.auth_failures, &now.auth_failures, seconds),
            bytes_held: held(&now.bytes_held),
            push: app.fleet.pushes(None, None, 1).first().map(PushView::of),
        }
    }
}

/// The word for a readiness on the wire.
pub(crate) fn state_word(readiness: &Readiness) -> &'static str {
    match readiness {
        Readiness::Ready => "ready",
        Readiness::Draining => "draining",
        Readiness::Starting(_) => "starting",
    }
}

pub(crate) fn since_1970_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn sum(tallies: &[Tally]) -> u64 {
    tallies.iter().map(|tally| tally.total).sum()
}

pub(crate) fn latency(recent: &Histogram) -> Latency {
    let ms = |part| recent.quantile_s(part).map(|seconds| seconds * 1_000.0);
    Latency { p50_ms: ms(0.5), p99_ms: ms(0.99) }
}

fn loops(before: &FleetStats, now: &FleetStats, seconds: f64) -> Vec<LoopSample> {
    let earlier = |index: usize| before.loops.get(index).map_or(0, |each| each.deliveries_total);
    let one = |(index, each): (usize, &crate::fleet::LoopStats)| LoopSample {
        busy_ratio: each.busy_ratio,
        connections: each.connections,
        deliveries_per_s: each.deliveries_total.saturating_sub(earlier(index)) as f64 / seconds,
        mailbox_depth: each.mailbox_depth,
    };
    now.loops.iter().enumerate().map(one).collect()
}

fn tallies(before: &[Tally], now: &[Tally], seconds: f64) -> Vec<TallySample> {
    let earlier =
        |reason| before.iter().find(|tally| tally.reason == reason).map_or(0, |tally: &Tally| tally.total);
    let one = |tally: &Tally| TallySample {
        reason: tally.reason,
        total: tally.total,
        per_s: tally.total.saturating_sub(earlier(tally.reason)) as f64 / seconds,
    };
    now.iter().map(one).collect()
}

pub(crate) fn held(bytes: &BytesHeld) -> HeldSample {
    HeldSample {
        connections: bytes.connections,
        sessions: bytes.sessions,
        write_queues: bytes.write_queues,
        carry_buffers: bytes.carry_buffers,
        retained: bytes.retained,
    }
}
