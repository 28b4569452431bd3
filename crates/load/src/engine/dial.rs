//! How all parts of the engine connect to targets.

use std::sync::Arc;

use stadium_reactor::tls::ClientTls;
use stadium_reactor::{ConnectOptions, ConnectionLimits, SocketSettings, WebSocketRequest};

/// The largest answer or packet that is taken, in bytes: what a loop keeps of one that is not
/// whole.
pub(crate) const ANSWER_BYTES_MAX: u32 = 64 * 1024 * 1024;

/// Options of connections to one target.
pub(super) fn options(
    timeout_ms: u64,
    tls: Option<ClientTls>,
    websocket: Option<Arc<WebSocketRequest>>,
) -> ConnectOptions {
    ConnectOptions {
        socket: SocketSettings {
            connect_timeout_ms: timeout_ms,
            // Small on purpose: a hundred thousand clients share the kernel's memory.
            receive_buffer_bytes: None,
            ..SocketSettings::default()
        },
        limits: ConnectionLimits {
            carry_bytes_max: ANSWER_BYTES_MAX,
            write_queue_bytes_max: ANSWER_BYTES_MAX,
            ..ConnectionLimits::default()
        },
        tls,
        websocket,
        ..ConnectOptions::default()
    }
}

/// The upgrade to MQTT over WebSocket.
pub(super) fn mqtt_over_websocket(host: String, path: String) -> Arc<WebSocketRequest> {
    let subprotocol = Some("mqtt".to_owned());
    Arc::new(WebSocketRequest { host, path, subprotocol, ..WebSocketRequest::default() })
}
