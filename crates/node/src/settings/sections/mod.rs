//! The tables of `stadium.toml`, one file each, every setting defined exactly once.
//!
//! Names end in their unit (`_s`, `_ms`, `_bytes`, `_max`). Zero means "off" or "leave it to the
//! kernel" only where the help states it. The effect of a setting on a part of the product is in
//! [`crate::mapping`].

mod access;
mod acme;
mod auth;
mod backup;
mod cache;
mod cluster;
mod discovery;
mod http;
mod journal;
mod limits;
mod listeners;
mod log;
mod oidc;
mod principals;
mod push;
mod queue;
mod rpc;
mod server;
mod session;
mod shards;
mod telemetry;
mod wallet;
mod webhooks;

pub use access::Access;
pub use acme::Acme;
pub use auth::{
    Anonymous, AnswerScope, Auth, Callback, Certificate, CertificateName, ClientIdBinding, DeviceRegistry,
    Method, Password, Token, TokenAlgorithm, TokenKey, TokenKeys, TokenUsername,
};
pub use backup::Backup;
pub use cache::{Cache, CacheRouting};
pub use cluster::{Cluster, ClusterEtcd, ClusterKafka, ClusterLinks, SaslMechanism};
pub use discovery::{Discovery, DiscoveryBackend, ListedService};
pub use http::Http;
pub use journal::Journal;
pub use limits::Limits;
pub use listeners::{ClientCertificates, Mqtt, Mqtts, ProxyProtocol, SocketOptions, Sockets, Tls, Ws, Wss};
pub use log::{Log, LogFormat};
pub use oidc::{GroupRoles, Oidc};
pub use principals::{CallerIdentities, IdentityRights, Tokens};
pub use push::{Locations, Push};
pub use queue::Queue;
pub use rpc::{Devices, Rpc};
pub use server::Server;
pub use session::Session;
pub use shards::{ShardStore, Shards};
pub use telemetry::{Ratio, Telemetry, TelemetryProtocol};
pub use wallet::Wallet;
pub use webhooks::Webhooks;

use super::define::group;

group! {
    /// Everything that can be set.
    pub struct Settings {}
    tables {
        /// The process.
        server: Server,
        /// MQTT over TCP.
        mqtt: Mqtt,
        /// MQTT over TLS.
        mqtts: Mqtts,
        /// MQTT over WebSocket.
        ws: Ws,
        /// MQTT over WebSocket over TLS.
        wss: Wss,
        /// Certificates from an ACME server.
        acme: Acme,
        /// Bounds of all that a device can make us hold or do.
        limits: Limits,
        /// The devices that may connect, and their rights.
        auth: Auth,
        /// memcached servers that several servers share.
        cache: Cache,
        /// The HTTP API and the live page.
        http: Http,
        /// Services.
        rpc: Rpc,
        /// Where services are found.
        discovery: Discovery,
        /// The cluster that this server is a node of.
        cluster: Cluster,
        /// The threads that own queues, wallets, the push platform and sessions.
        shards: Shards,
        /// Their logs on disk.
        journal: Journal,
        /// How much the queues may hold.
        queue: Queue,
        /// How much the wallets may hold.
        wallet: Wallet,
        /// How much the push platform may hold.
        push: Push,
        /// How much of sessions is kept.
        session: Session,
        /// Where feeds of events are posted.
        webhooks: Webhooks,
        /// Backups of the running server.
        backup: Backup,
        /// Traces and metrics for a collector of OpenTelemetry.
        telemetry: Telemetry,
        /// Logs.
        log: Log,
    }
}
