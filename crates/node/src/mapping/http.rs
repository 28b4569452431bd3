//! The HTTP port, as `stadium_http` takes it.
//!
//! Fields without a setting keep the default of `stadium_http::Config`.

use std::net::SocketAddr;
use std::time::Duration;

use stadium_http::{Config, PushBounds, TlsFiles};

use crate::settings::{Http, Settings};

/// The HTTP port's own settings, listening on `listen`.
pub(crate) fn config(settings: &Settings, listen: SocketAddr) -> Config {
    let http = &settings.http;
    let milliseconds = |ms: u32| Duration::from_millis(u64::from(ms));
    Config {
        open_read: http.open_read,
        echo: settings.server.trial,
        public_url: http.public_url.clone(),
        tls: http
            .certificate
            .clone()
            .zip(http.key.clone())
            .map(|(certificate, key)| TlsFiles { certificate, key }),
        body_bytes_max: http.body_bytes_max as usize,
        message_bytes_max: http.message_bytes_max as usize,
        audience_devices_max: http.audience_devices_max as usize,
        head_timeout: milliseconds(http.header_ms),
        request_timeout: milliseconds(http.request_ms),
        connections_max: http.connections_max as usize,
        live_views_max: http.live_views_max as usize,
        ..Config::new(listen, &settings.server.data)
    }
}

/// How large a push may be, wherever it comes from.
pub(crate) fn push_bounds(http: &Http) -> PushBounds {
    PushBounds {
        message_bytes_max: http.message_bytes_max as usize,
        audience_devices_max: http.audience_devices_max as usize,
    }
}
