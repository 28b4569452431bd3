//! `[http]`: the API, the live page and MQTT over WebSocket on one port.
//!
//! The API itself is in `stadium_http`; here are its address and its bounds.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use super::listeners::ClientCertificates;
use super::oidc::Oidc;
use crate::settings::define::group;

group! {
    /// The HTTP API, the live page, metrics, and MQTT over WebSocket at `/mqtt`.
    pub struct Http {
        /// Where to listen. The default is this machine only.
        listen: Option<SocketAddr> = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)));
        /// Certificate chain, PEM. With it and `key` the port speaks HTTPS, and MQTT over WebSocket
        /// with TLS. SIGHUP reads both again.
        certificate: Option<PathBuf> = None;
        /// Private key of the certificate, PEM.
        key: Option<PathBuf> = None;
        /// Whether clients of the HTTPS port show a certificate. It logs a device in that speaks MQTT
        /// over WebSocket there (`auth.certificate`); for the API it is no proof, and API keys are
        /// asked for all the same. `"required"` keeps out whoever has none, browsers and
        /// Prometheus too.
        client_certificates: ClientCertificates = ClientCertificates::None;
        /// Authorities whose client certificates are accepted, PEM. SIGHUP reads it again.
        client_ca: Option<PathBuf> = None;
        /// Revocation lists of those authorities, PEM. A certificate on one of them is refused.
        client_crl: Option<PathBuf> = None;
        /// Scheme, host and port under which applications reach this port, such as
        /// `https://push.example.org`: endpoints of Web Push begin with it. Without it they begin
        /// as the request that makes them came.
        public_url: Option<String> = None;
        /// A reverse proxy in front speaks HTTPS for this port. Then bounds on one address do not
        /// apply here, because all requests come from the proxy's, and no warning says that API
        /// keys travel in plain text.
        behind_proxy: bool = false, cost "the proxy must bound what one client may do";
        /// Largest request body.
        body_bytes_max: u32 = 2_097_152, unit "bytes", in 1_024..=268_435_456, cost "memory for each request in flight";
        /// Largest message of one push.
        message_bytes_max: u32 = 262_144, unit "bytes", in 1..=268_435_456,
            cost "it is multiplied by the audience on the way out, though not in memory";
        /// Devices that one push may name; a channel reaches any number.
        audience_devices_max: u32 = 10_000, unit "devices", in 1..=1_000_000, cost "about 100 bytes each while it is sent";
        /// Time for a request's head to arrive.
        header_ms: u32 = 10_000, unit "ms", in 100..=120_000, cost "slots held by slow clients";
        /// Time for a request to be answered.
        request_ms: u32 = 30_000, unit "ms", in 100..=600_000;
        /// Time that an answer may wait for a client that does not read; then its connection is
        /// cut.
        write_ms: u32 = 10_000, unit "ms", in 100..=600_000, cost "slots held by clients that do not read";
        /// Open connections; one more gets an answer to `/healthz` and `/readyz`, is answered busy
        /// to all else, and is closed. Under a low limit of open files it is fewer: at most a
        /// fourth of what the server does not need itself.
        connections_max: u32 = 1_024, unit "connections", in 1..=100_000, cost "about 20 KB each";
        /// Open connections from one address (one /64 of IPv6); one more is answered in the same
        /// way.
        connections_per_address_max: u32 = 256, unit "connections", in 1..=100_000,
            cost "the share of all connections that one client can take";
        /// Requests that one address may send without a valid API key, on average; five times as
        /// many in a burst. More are answered 429. Requests for health do not count. 0 sets no
        /// bound.
        keyless_requests_per_second_max: u32 = 500, unit "requests a second", in 0..=1_000_000,
            cost "CPU that strangers can use";
        /// Live views open at once (`/api/live`); one more is answered busy.
        live_views_max: u32 = 64, unit "views", in 0..=10_000, cost "a snapshot each second for each";
        /// Streams of topics open at once (`/api/topics/stream`); one more is answered busy. Each is
        /// a connection and counts in `connections_max`.
        topic_streams_max: u32 = 500, unit "streams", in 0..=100_000, cost "a connection of about 20 KB each";
        /// Messages of the topics that streams read, kept so that a stream can begin again where it
        /// ended. Of all streams together; the oldest leaves.
        topic_ring_bytes_max: u64 = 67_108_864, unit "bytes", in 65_536..=17_179_869_184, cost "as much memory";
        /// How long these messages are kept, and how long a stream may be away without missing any.
        topic_ring_ms: u32 = 30_000, unit "ms", in 1_000..=3_600_000, cost "memory, up to `topic_ring_bytes_max`";
        /// Origins of web pages elsewhere that may use the API with a key or a ticket (CORS), each
        /// a scheme and a host, with a port where it needs one: `https://app.example.org`.
        cors_origins: Vec<String> = Vec::new(), cost "what a page of that origin does with the keys that it is given";
        /// Files of 64 MiB of the audit log that are kept in the data directory; then the oldest is
        /// removed. 0 keeps all.
        audit_files_max: u32 = 16, unit "files", in 0..=1_000_000, cost "64 MiB of disk each";
        /// The live page, metrics and reads need no key. For trial mode, and where the port is
        /// reached only by those who may see everything.
        open_read: bool = false, cost "whoever reaches the port sees devices and figures";
    }
    tables {
        /// Sign-in of people with an OpenID provider.
        oidc: Oidc,
    }
}
