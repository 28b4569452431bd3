//! This process and its services in answers.
//!
//! All of it is read from the figures of one moment; totals count from the start of the process.

use serde::Serialize;
use utoipa::ToSchema;

use crate::about::facts::{ListenerFact, SettingFact};
use crate::fleet::{DiscoveryStats, FleetStats, MethodStats, ServiceStats, Tally};
use crate::live::samples::HeldSample;
use crate::queue::routes::live::LiveShard;

/// This process.
#[derive(Serialize, ToSchema)]
pub(crate) struct NodeView {
    /// The server's version.
    pub(crate) version: String,
    /// `ready`, `draining` or `starting`.
    #[schema(example = "ready")]
    pub(crate) state: &'static str,
    /// Its process id.
    pub(crate) pid: u32,
    /// Seconds since the HTTP port started.
    pub(crate) uptime_s: u64,
    /// Its open listeners.
    pub(crate) listeners: Vec<ListenerFact>,
    /// Its event loops.
    pub(crate) loops: Vec<LoopView>,
    /// Devices with an open connection.
    pub(crate) connected: u64,
    /// Sessions, of connected devices and of those away.
    pub(crate) sessions: u64,
    /// Memory held.
    pub(crate) bytes_held: HeldSample,
    /// Its shards.
    pub(crate) shards: Vec<LiveShard>,
    /// The name of the cluster that it is a node of; none of a standalone server.
    pub(crate) cluster: Option<String>,
}

/// An event loop.
#[derive(Serialize, ToSchema)]
pub(crate) struct LoopView {
    /// The part of the last second that it worked, 0 to 1.
    busy_ratio: f64,
    /// Its connections.
    connections: u64,
    /// Commands waiting in its mailbox.
    mailbox_depth: u64,
    /// Messages written to devices' sockets since the start.
    deliveries_total: u64,
    /// Bytes written to sockets since the start.
    bytes_out_total: u64,
}

pub(crate) fn loops(stats: &FleetStats) -> Vec<LoopView> {
    let view = |each: &crate::fleet::LoopStats| LoopView {
        busy_ratio: each.busy_ratio,
        connections: each.connections,
        mailbox_depth: each.mailbox_depth,
        deliveries_total: each.deliveries_total,
        bytes_out_total: each.bytes_out_total,
    };
    stats.loops.iter().map(view).collect()
}

/// The services of this process, and how others are found.
#[derive(Serialize, ToSchema)]
pub(crate) struct ServicesView {
    /// The services that this process serves over RPC; none where it serves none.
    server: Option<ServerView>,
    /// How finding services goes; none where it is off.
    discovery: Option<DiscoveryView>,
    /// Requests of devices to services.
    requests: RequestsView,
}

/// The RPC server of this process.
#[derive(Serialize, ToSchema)]
struct ServerView {
    /// Open connections of callers.
    connections: u64,
    /// Requests that are being worked on.
    in_flight: u64,
    /// How many may be worked on at once.
    limit: u64,
    /// Requests that wait for admission.
    queued: u64,
    /// Open streams and channels.
    streams: u64,
    /// The load factor that callers are sent: 0 is idle, 1 is all that admission allows.
    load: f64,
    /// Connections closed as they came, because there were too many.
    connections_refused_total: u64,
    /// Its methods.
    methods: Vec<MethodView>,
}

/// A method of a service.
#[derive(Serialize, ToSchema)]
struct MethodView {
    /// `SERVICE/METHOD`.
    #[schema(example = "push/Send")]
    route: String,
    /// How its requests ended.
    outcomes: Vec<OutcomeView>,
    /// Half of the requests took at most this.
    p50_ms: f64,
    /// 99 of a hundred took at most this.
    p99_ms: f64,
}

/// How often something happened.
#[derive(Serialize, ToSchema)]
struct OutcomeView {
    /// The outcome.
    outcome: &'static str,
    /// Times since the start.
    total: u64,
}

/// How finding services goes.
#[derive(Serialize, ToSchema)]
struct DiscoveryView {
    /// Whether the backend answers, or none is needed.
    connected: bool,
    /// Registrations that are wanted.
    registrations: u64,
    /// Of these, how many the backend is known to hold.
    registered: u64,
    /// Troubles that were mended.
    troubles: Vec<OutcomeView>,
}

/// Requests of devices to services.
#[derive(Serialize, ToSchema)]
struct RequestsView {
    /// Requests whose answer has not left.
    in_flight: u64,
    /// Requests taken.
    taken_total: u64,
    /// Requests refused as busy, or because there is no such service.
    refused_total: u64,
    /// Answers given to devices.
    answers_total: u64,
    /// Answers dropped: the device was gone or had not subscribed.
    answers_dropped_total: u64,
}

impl ServicesView {
    pub(crate) fn of(stats: &FleetStats) -> Self {
        let requests = &stats.requests;
        Self {
            server: stats.services.as_ref().map(ServerView::of),
            discovery: stats.discovery.as_ref().map(DiscoveryView::of),
            requests: RequestsView {
                in_flight: requests.in_flight,
                taken_total: requests.taken_total,
                refused_total: requests.refused_total,
                answers_total: requests.answers_total,
                answers_dropped_total: requests.answers_dropped_total,
            },
        }
    }
}

impl ServerView {
    fn of(stats: &ServiceStats) -> Self {
        let method = |method: &MethodStats| MethodView {
            route: method.route.clone(),
            outcomes: outcomes(&method.outcomes),
            p50_ms: method.latency_p50.as_secs_f64() * 1_000.0,
            p99_ms: method.latency_p99.as_secs_f64() * 1_000.0,
        };
        Self {
            connections: stats.connections,
            in_flight: stats.inflight,
            limit: stats.limit,
            queued: stats.queued,
            streams: stats.streams,
            load: stats.load,
            connections_refused_total: stats.connections_refused_total,
            methods: stats.methods.iter().map(method).collect(),
        }
    }
}

impl DiscoveryView {
    fn of(stats: &DiscoveryStats) -> Self {
        Self {
            connected: stats.connected,
            registrations: stats.registrations,
            registered: stats.registered,
            troubles: outcomes(&stats.troubles),
        }
    }
}

fn outcomes(tallies: &[Tally]) -> Vec<OutcomeView> {
    tallies.iter().map(|tally| OutcomeView { outcome: tally.reason, total: tally.total }).collect()
}

/// The configuration in force.
#[derive(Serialize, ToSchema)]
pub(crate) struct ConfigurationView {
    /// The file that was read; none where there is none.
    #[schema(example = "/etc/stadium/stadium.toml")]
    pub(crate) file: Option<String>,
    /// Each setting, in the order of the reference.
    pub(crate) settings: Vec<SettingFact>,
}
