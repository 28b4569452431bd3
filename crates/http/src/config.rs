//! The settings of the HTTP port.
//!
//! Plain values: the node reads and explains the settings, this crate only uses them. Each bound
//! states its unit, its reason and what happens beyond it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stadium_telemetry::Tracer;

use crate::shared_documents::SharedDocuments;
use crate::sign_in::config::OidcConfig;

/// The HTTP port's settings. [`Config::new`] gives the defaults.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// The directory that keeps `api-keys.toml` and `admin.key`.
    pub data_dir: PathBuf,
    /// The documents of the cluster that this server is a node of: its API keys and secrets are there
    /// in place of the directory. None for a standalone server.
    pub shared: Option<Arc<dyn SharedDocuments>>,
    /// The product's version, shown on the page and in the API's description.
    pub version: String,
    /// Whether reading needs no API key: metrics, devices, pushes and the live view. Meant for
    /// loopback, so it holds only for requests whose `Host` is an address or `localhost`: a web
    /// page elsewhere cannot borrow it by a DNS name of its own.
    pub open_read: bool,
    /// Whether `GET /echo` goes to the event loops too, for WebSocket suites. Trial mode only.
    pub echo: bool,
    /// Scheme, host and port under which applications reach this port, as
    /// `https://push.example.org`: of Web Push endpoints. Without it endpoints are as the request
    /// that made them came.
    pub public_url: Option<String>,
    /// HTTPS instead of HTTP.
    pub tls: Option<TlsFiles>,
    /// Sign-in of people with an OpenID provider; none for API keys alone.
    pub oidc: Option<OidcConfig>,
    /// Origins of pages, besides those of this port, that may make changes in a person's session;
    /// `"*"` for all.
    pub allowed_origins: Vec<String>,
    /// Origins of pages elsewhere that may use the API with a key or a ticket of their own (CORS).
    pub cors_origins: Vec<String>,
    /// Bytes of a request's body. A larger one gets 413 before it is read whole.
    pub body_bytes_max: usize,
    /// Bytes of one push's message. A larger one gets 413: it would be multiplied by the audience.
    pub message_bytes_max: usize,
    /// Devices that one push may name. More get 422: use a channel.
    pub audience_devices_max: usize,
    /// Time for a request's line and headers, also while a connection idles between requests; then
    /// it is closed.
    pub head_timeout: Duration,
    /// Time for a request from its headers to its answer, live views apart; then it gets 503.
    pub request_timeout: Duration,
    /// Time that a write may make no progress because the client does not read; then the connection
    /// is cut.
    pub write_timeout: Duration,
    /// Connections at a time. One more may only ask for health; all else gets 503. An operator's
    /// page never competes with devices.
    pub connections_max: usize,
    /// Connections at a time from one address (one /64 of IPv6), answered likewise.
    pub connections_per_address_max: usize,
    /// Requests a second from one address that show no valid API key; 0 for no bound. More get 429.
    pub keyless_requests_per_second_max: u32,
    /// Live views at a time. One more gets 503.
    pub live_views_max: usize,
    /// Time between two heartbeats of a stream of topics; with each, the key behind the stream is
    /// looked at again. Proxies close what is silent for a minute.
    pub stream_heartbeat: Duration,
    /// Files of 64 MiB of the audit log that are kept; 0 keeps all.
    pub audit_files_max: usize,
    /// Time that running requests get to finish after the shutdown signal.
    pub drain_timeout: Duration,
    /// Records the spans of requests.
    pub tracer: Tracer,
}

/// How large a push may be: the settings of the HTTP port.
#[derive(Clone, Copy, Debug)]
pub struct PushBounds {
    /// Bytes of its message.
    pub message_bytes_max: usize,
    /// Devices that it may name.
    pub audience_devices_max: usize,
}

/// Where the certificate and its key are, both PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate chain, the server's own first.
    pub certificate: PathBuf,
    /// Its private key: PKCS#8, PKCS#1 or SEC1.
    pub key: PathBuf,
    /// Whether clients show certificates; none where they are not asked.
    pub clients: Option<ClientCertificates>,
}

/// The certificates that clients show. They log a device in that speaks MQTT over WebSocket; for the
/// API they are no proof of anything, and it asks for its keys all the same.
#[derive(Clone, Debug)]
pub struct ClientCertificates {
    /// Authorities that sign them, PEM.
    pub authorities: PathBuf,
    /// Revocation lists of those authorities, PEM.
    pub revocation_lists: Option<PathBuf>,
    /// Whether a client without one is let in.
    pub need: CertificateNeed,
}

/// Whether each client needs a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateNeed {
    /// One without is let in; a wrong one ends the handshake.
    Optional,
    /// One without is not.
    Required,
}

impl Config {
    /// The defaults for an address and a data directory.
    pub fn new(listen: SocketAddr, data_dir: impl Into<PathBuf>) -> Self {
        Self {
            listen,
            data_dir: data_dir.into(),
            shared: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            open_read: false,
            echo: false,
            public_url: None,
            tls: None,
            oidc: None,
            allowed_origins: Vec::new(),
            cors_origins: Vec::new(),
            body_bytes_max: 2 * 1024 * 1024,
            message_bytes_max: 256 * 1024,
            audience_devices_max: 10_000,
            head_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(10),
            connections_max: 1_024,
            connections_per_address_max: 256,
            keyless_requests_per_second_max: 500,
            live_views_max: 64,
            stream_heartbeat: Duration::from_secs(15),
            audit_files_max: 16,
            drain_timeout: Duration::from_secs(10),
            tracer: Tracer::off(),
        }
    }

    /// How large a push may be.
    pub fn push_bounds(&self) -> PushBounds {
        let Self { message_bytes_max, audience_devices_max, .. } = *self;
        PushBounds { message_bytes_max, audience_devices_max }
    }
}
