//! The services of this process and devices' way to services, as `stadium_rpc` and `stadium_edge` take them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stadium_discovery::Discovery;
use stadium_edge::requests::{RequestLimits, Requests, Services};
use stadium_http::HolderRights;
use stadium_reactor::tls::ServerTls;
use stadium_reactor::{ConnectionLimits, Messages, WebSocketSettings};
use stadium_rpc::server::AdmissionSettings;
use stadium_rpc::{Listen, ServerConfig};
use stadium_rpc_api::{Identities, TokensConfig};

use super::sockets;
use crate::logging;
use crate::settings::{Devices, IdentityRights, Rpc, Settings, Tokens};

/// The server's configuration, with the names of its listeners in their order.
pub(crate) fn plan(
    settings: &Settings,
    tls: Option<ServerTls>,
    discovery: Option<Discovery>,
) -> (ServerConfig, Vec<&'static str>) {
    let rpc = &settings.rpc;
    let websocket = Arc::new(WebSocketSettings {
        path: rpc.websocket_path.clone(),
        subprotocols: Vec::new(),
        frame_bytes_max: u64::from(rpc.frame_bytes_max),
        message_bytes_max: u64::from(rpc.frame_bytes_max),
        messages: Messages::LengthPrefixed24,
        origins: settings.server.allowed_origins.clone(),
        ..WebSocketSettings::default()
    });
    let tcp = rpc.listen.0.iter().map(|address| ("rpc", listen(*address, &tls, None)));
    let over_websocket = rpc
        .websocket_listen
        .0
        .iter()
        .map(|address| ("rpc-websocket", listen(*address, &tls, Some(Arc::clone(&websocket)))));
    let (names, listen) = tcp.chain(over_websocket).unzip();
    let config = ServerConfig {
        listen,
        udp: rpc.udp_listen,
        loops: usize::from(rpc.loops),
        deadline: milliseconds(rpc.deadline_ms),
        deadline_max: milliseconds(rpc.deadline_max_ms),
        admission: AdmissionSettings {
            inline_wait_max: milliseconds(rpc.inline_wait_max_ms),
            concurrency_initial: rpc.concurrency_initial,
            concurrency_min: rpc.concurrency_min,
            concurrency_max: rpc.concurrency_max.max(rpc.concurrency_min),
            queue_max: rpc.queue_max as usize,
        },
        leases: rpc.leases,
        blocking_threads: usize::from(rpc.blocking_threads),
        frame_bytes_max: rpc.frame_bytes_max as usize,
        fragment_bytes: rpc.fragment_bytes as usize,
        payload_bytes_max: rpc.payload_bytes_max as usize,
        connections_max: rpc.connections_max as usize,
        partial_bytes_max: rpc.partial_bytes_max as usize,
        streams_max: rpc.streams_max,
        resume_bytes_max: rpc.resume_bytes_max as usize,
        resume_within: Duration::from_secs(u64::from(rpc.resume_s)),
        tick_ms: u64::from(rpc.tick_ms),
        socket: sockets::socket(&rpc.sockets),
        limits: ConnectionLimits {
            carry_bytes_max: rpc.frame_bytes_max.saturating_add(64),
            ..ServerConfig::default().limits
        },
        discovery,
        advertise: settings.discovery.advertise,
        zone: settings.discovery.zone.clone(),
        weight: settings.discovery.weight,
        log_level: Some(Arc::new(logging::level)),
        quiesce_within: Duration::from_secs(u64::from(settings.server.grace_period_s)),
        ..ServerConfig::default()
    };
    (config, names)
}

fn listen(address: SocketAddr, tls: &Option<ServerTls>, websocket: Option<Arc<WebSocketSettings>>) -> Listen {
    Listen { address, tls: tls.clone(), websocket }
}

/// Where the edge takes devices' requests; `None` where that is off.
pub(crate) fn requests(devices: &Devices, requests: Arc<dyn Requests>) -> Option<Services> {
    devices.enabled.then(|| Services {
        requests,
        limits: RequestLimits {
            in_flight_max: devices.in_flight_max as usize,
            per_device_max: devices.per_device_max,
            deadline: milliseconds(devices.deadline_ms),
            deadline_max: milliseconds(devices.deadline_max_ms),
            answer_expiry: Duration::from_secs(u64::from(devices.answer_expiry_s)),
            retry_after: milliseconds(devices.busy_retry_after_ms),
        },
    })
}

/// The signed tokens that callers may show; `None` where they have no key.
pub(crate) fn tokens(tokens: &Tokens) -> Option<TokensConfig> {
    let rows = |(group, roles): (&String, &Vec<_>)| {
        roles.iter().map(|role| (group.clone(), *role)).collect::<Vec<_>>()
    };
    Some(TokensConfig {
        sources: super::auth::key_sources(&tokens.sources)?,
        issuer: tokens.issuer.clone().unwrap_or_default(),
        audience: tokens.audience.clone().unwrap_or_default(),
        leeway: Duration::from_secs(u64::from(tokens.leeway_s)),
        groups_claim: tokens.groups_claim.clone(),
        roles: tokens.roles.0.iter().flat_map(rows).collect(),
    })
}

/// The callers that are known by their certificates; `None` where there are none.
///
/// # Errors
/// The first identity whose name or rights are not right.
pub(crate) fn identities(rpc: &Rpc) -> Result<Option<Identities>, String> {
    let row = |(name, rights): (&String, &IdentityRights)| {
        let IdentityRights { roles, apps, grants } = rights.clone();
        (name.clone(), HolderRights { roles, apps, grants })
    };
    if rpc.identities.0.is_empty() {
        return Ok(None);
    }
    let place = super::auth::certificate_name(rpc.identity_name);
    Identities::new(place, rpc.identities.0.iter().map(row)).map(Some)
}

fn milliseconds(ms: u32) -> Duration {
    Duration::from_millis(u64::from(ms))
}
