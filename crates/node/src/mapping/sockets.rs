//! Socket options of a listener, as the reactor takes them.
//!
//! Seconds and milliseconds of the settings become milliseconds, zero becomes `None`.

use stadium_addresses::Networks;
use stadium_reactor::{KeepAlive, ProxyProtocol, SocketSettings};

use crate::settings::{self, SocketOptions};

/// The reactor's form of a listener's socket options.
pub(crate) fn socket(sockets: &SocketOptions) -> SocketSettings {
    SocketSettings {
        backlog: sockets.backlog,
        send_buffer_bytes: bytes(sockets.send_buffer_bytes),
        receive_buffer_bytes: bytes(sockets.receive_buffer_bytes),
        nodelay: sockets.nodelay,
        reuse_address: sockets.reuse_address,
        keepalive: (sockets.keepalive_idle_s > 0).then(|| KeepAlive {
            idle_ms: u64::from(sockets.keepalive_idle_s) * 1_000,
            interval_ms: u64::from(sockets.keepalive_interval_s) * 1_000,
            count: sockets.keepalive_count,
        }),
        user_timeout_ms: (sockets.user_timeout_ms > 0).then_some(sockets.user_timeout_ms),
        maximum_age_ms: milliseconds(sockets.maximum_age_s),
        maximum_idle_ms: milliseconds(sockets.maximum_idle_s),
        ..SocketSettings::default()
    }
}

/// The reactor's form of the PROXY protocol.
pub(crate) fn proxy(proxy: settings::ProxyProtocol) -> ProxyProtocol {
    match proxy {
        settings::ProxyProtocol::Off => ProxyProtocol::Off,
        settings::ProxyProtocol::V2 => ProxyProtocol::Required,
    }
}

/// The networks of proxies; private ones where none is listed.
pub(crate) fn proxy_networks(listed: &[String]) -> Networks {
    match listed {
        [] => Networks::private(),
        // Settings with another text are refused. Without networks no proxy would be believed.
        listed => Networks::listed(listed).unwrap_or_default(),
    }
}

fn bytes(bytes: u32) -> Option<usize> {
    (bytes > 0).then_some(bytes as usize)
}

fn milliseconds(seconds: u32) -> Option<u64> {
    (seconds > 0).then(|| u64::from(seconds) * 1_000)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn zero_leaves_an_option_to_the_kernel() {
        let defaults = settings::from_toml("", Path::new("s.toml")).expect("nothing is right").settings;
        let mapped = socket(&defaults.mqtt.sockets.options);
        assert_eq!((mapped.send_buffer_bytes, mapped.keepalive, mapped.maximum_age_ms), (None, None, None));
        assert_eq!((mapped.user_timeout_ms, mapped.backlog, mapped.nodelay), (Some(30_000), 4_096, true));

        let text = "[mqtt]\nsend_buffer_bytes = 8192\nkeepalive_idle_s = 60\nmaximum_age_s = 5\nuser_timeout_ms = 0\n";
        let set = settings::from_toml(text, Path::new("s.toml")).expect("it is right").settings;
        let mapped = socket(&set.mqtt.sockets.options);
        assert_eq!(mapped.send_buffer_bytes, Some(8_192));
        assert_eq!(mapped.keepalive, Some(KeepAlive { idle_ms: 60_000, interval_ms: 15_000, count: 4 }));
        assert_eq!((mapped.maximum_age_ms, mapped.user_timeout_ms), (Some(5_000), None));
    }
}
