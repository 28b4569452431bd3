//! Devices' listeners and bounds, as `stadium_edge` takes them.
//!
//! Bounds of the server that the edge does not divide among its loops itself become shares here,
//! rounded up, so that the sum is never below the bound.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use stadium_edge::auth::Authenticator;
use stadium_edge::requests::Services;
use stadium_edge::{
    AddressLimits, BeforeAuthentication, Config, ConnectBudget, ConnectionRates, Listener, RingLimits,
    StreamLimits, Transport,
};
use stadium_mqtt::broker;
use stadium_reactor::tls::ServerTls;
use stadium_reactor::{
    AcceptBudget, ConnectionLimits, ListenerSettings, ListenerTag, LoopSettings, WebSocketSettings,
};

use super::sockets;
use crate::settings::{Limits, Settings, Sockets};

/// Path of the WebSocket echo in trial mode.
const ECHO_PATH: &str = "/echo";

/// Path of MQTT over WebSocket on the HTTP port.
const HTTP_PATH: &str = "/mqtt";

/// TLS handles of the listeners that are on.
#[derive(Debug, Default)]
pub(crate) struct TlsHandles {
    /// Of `[mqtts]`.
    pub(crate) mqtts: Option<ServerTls>,
    /// Of `[wss]`.
    pub(crate) wss: Option<ServerTls>,
}

/// The edge's configuration, and what the node must know of it.
pub(crate) struct Plan {
    /// What the edge is started with.
    pub(crate) config: Config,
    /// The table that each listener comes from, in the order of the configuration.
    pub(crate) names: Vec<&'static str>,
}

/// How many loops there are: as many as cores, where the settings name no number.
pub(crate) fn loops(settings: &Settings) -> usize {
    match usize::from(settings.server.loops) {
        0 => std::thread::available_parallelism().map_or(1, usize::from).min(64),
        loops => loops,
    }
}

/// Plans the edge.
pub(crate) fn plan(
    settings: &Settings,
    loops: usize,
    tls: &TlsHandles,
    authenticator: Arc<Authenticator>,
    services: Option<Services>,
) -> Plan {
    let limits = &settings.limits;
    let share = |of_the_server: u32| of_the_server.div_ceil(u32::try_from(loops).unwrap_or(u32::MAX).max(1));
    let mut config = Config {
        loops,
        cpu_affinity: settings.server.cpu_affinity.iter().map(|cpu| usize::from(*cpu)).collect(),
        loop_settings: LoopSettings {
            mailbox_messages_max: limits.mailbox_max as usize,
            connections_max: sockets_max(limits.connections_max, loops),
            ..LoopSettings::default()
        },
        broker: broker(limits),
        retained: broker::RetainedLimits {
            messages_max: limits.retained_messages_max as usize,
            bytes_max: usize::try_from(limits.retained_bytes_max).unwrap_or(usize::MAX),
            owner_messages_max: limits.retained_messages_per_principal_max as usize,
            owner_bytes_max: usize::try_from(limits.retained_bytes_per_principal_max).unwrap_or(usize::MAX),
        },
        mailboxes: broker::MailboxLimits {
            messages_max: limits.session_messages_max as usize,
            bytes_max: usize::try_from(limits.session_bytes_max).unwrap_or(usize::MAX),
            total_max: limits.away_messages_max as usize,
        },
        before_authentication: BeforeAuthentication {
            bytes: limits.before_auth_bytes,
            held_bytes: limits.before_auth_total_bytes as usize,
            ms: u64::from(limits.before_auth_ms),
        },
        devices_max: limits.connections_max as usize,
        connect_budget: ConnectBudget {
            per_second: limits.connects_per_second,
            retry_after_ms: u64::from(limits.busy_retry_after_ms),
        },
        addresses: AddressLimits {
            connections_max: limits.connections_per_address_max,
            connects_per_second: limits.accepts_per_address_per_second,
        },
        rates: ConnectionRates {
            messages_per_second: limits.messages_per_second_per_connection,
            bytes_per_second: limits.bytes_per_second_per_connection,
        },
        congested_bytes: limits.congested_bytes as usize,
        forwards_waiting_max: limits.forwards_waiting_max as usize,
        pushes_max: limits.pushes_max as usize,
        services,
        sys_interval_ms: u64::from(settings.mqtt.sys_interval_s) * 1_000,
        streams: StreamLimits {
            streams_max: settings.http.topic_streams_max as usize,
            ring: RingLimits {
                bytes_max: usize::try_from(settings.http.topic_ring_bytes_max).unwrap_or(usize::MAX),
                age_ms_max: u64::from(settings.http.topic_ring_ms),
            },
            ..StreamLimits::default()
        },
        ..Config::new(authenticator)
    };
    let mut names = Vec::new();
    for listening in listeners(settings, tls) {
        for address in &listening.listen {
            let place = config.listeners.len();
            config.listeners.push(listener(settings, &listening, *address, place, &share));
            names.push(listening.name);
        }
    }
    // WebSockets that came by the HTTP port.
    let by_http = Listening {
        name: "http",
        transport: if settings.http.certificate.is_some() { Transport::Wss } else { Transport::Ws },
        listen: vec![],
        sockets: &settings.ws.sockets,
        tls: None,
        path: Some(HTTP_PATH),
    };
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    config.handed_over = Some(listener(settings, &by_http, nowhere, config.listeners.len(), &share));
    Plan { config, names }
}

/// Sockets of one loop: a loop may by chance have every device, and beyond the devices there are
/// those that are about to become one, or to be answered that there is no room.
fn sockets_max(devices_max: u32, loops: usize) -> usize {
    let arriving = (devices_max as usize / 4).clamp(64, 65_536);
    devices_max as usize + arriving * loops
}

fn listener(
    settings: &Settings,
    listening: &Listening<'_>,
    address: SocketAddr,
    place: usize,
    share: &dyn Fn(u32) -> u32,
) -> Listener {
    let limits = &settings.limits;
    let tag = ListenerTag(u16::try_from(place).unwrap_or(u16::MAX));
    Listener {
        settings: ListenerSettings {
            sockets: usize::from(listening.sockets.accept_sockets),
            socket: sockets::socket(&listening.sockets.options),
            limits: connection_limits(limits),
            tls: listening.tls.clone(),
            websocket: listening.path.map(|path| Arc::new(websocket(settings, path))),
            proxy: sockets::proxy(listening.sockets.proxy_protocol),
            proxy_networks: sockets::proxy_networks(&listening.sockets.proxy_networks),
            handshake_timeout_ms: u64::from(limits.before_auth_ms),
            budget: AcceptBudget {
                accepts_per_second: if limits.accepts_per_second == 0 {
                    0
                } else {
                    share(limits.accepts_per_second)
                },
                handshakes_max: share(limits.handshakes_max),
            },
            ..ListenerSettings::new(address, tag)
        },
        transport: listening.transport,
    }
}

/// A table of the configuration that listens.
struct Listening<'a> {
    name: &'static str,
    transport: Transport,
    listen: Vec<SocketAddr>,
    sockets: &'a Sockets,
    tls: Option<ServerTls>,
    path: Option<&'a str>,
}

fn listeners<'a>(settings: &'a Settings, tls: &TlsHandles) -> [Listening<'a>; 4] {
    [
        Listening {
            name: "mqtt",
            transport: Transport::Tcp,
            listen: settings.mqtt.listen.0.clone(),
            sockets: &settings.mqtt.sockets,
            tls: None,
            path: None,
        },
        Listening {
            name: "mqtts",
            transport: Transport::Tls,
            listen: settings.mqtts.listen.0.clone(),
            sockets: &settings.mqtts.sockets,
            tls: tls.mqtts.clone(),
            path: None,
        },
        Listening {
            name: "ws",
            transport: Transport::Ws,
            listen: settings.ws.listen.0.clone(),
            sockets: &settings.ws.sockets,
            tls: None,
            path: Some(&settings.ws.path),
        },
        Listening {
            name: "wss",
            transport: Transport::Wss,
            listen: settings.wss.listen.0.clone(),
            sockets: &settings.wss.sockets,
            tls: tls.wss.clone(),
            path: Some(&settings.wss.path),
        },
    ]
}

/// What a WebSocket connection may ask for on `path`.
fn websocket(settings: &Settings, path: &str) -> WebSocketSettings {
    WebSocketSettings {
        path: path.to_owned(),
        echo_path: settings.server.trial.then(|| ECHO_PATH.to_owned()),
        origins: settings.server.allowed_origins.clone(),
        ..WebSocketSettings::default()
    }
}

/// What one device connection may make its loop hold.
fn connection_limits(limits: &Limits) -> ConnectionLimits {
    ConnectionLimits {
        write_queue_bytes_max: limits.write_queue_bytes_max,
        write_stall_ms: u64::from(limits.write_stall_ms),
        ..ConnectionLimits::default()
    }
}

fn broker(limits: &Limits) -> broker::Config {
    broker::Config {
        packet_bytes_max: limits.packet_bytes_max,
        receive_maximum: limits.receive_maximum,
        topic_alias_maximum: limits.topic_alias_maximum,
        keep_alive_s_max: limits.keep_alive_s_max,
        session_expiry_s_max: limits.session_expiry_s_max,
        in_flight_max: limits.inflight_max,
        queued_max: limits.queued_max,
        subscriptions_max: limits.subscriptions_per_session_max as usize,
        sessions_max: limits.sessions_max as usize,
        topic_levels_max: limits.topic_levels_max as usize,
        retained_per_subscription_max: limits.retained_per_subscription_max as usize,
        ..broker::Config::default()
    }
}
