//! Services on a node: its own, those it finds, and devices' way to both.
//!
//! [`Services`] starts the RPC server with the services of `stadium_rpc_api`, registers them in
//! discovery, and gives the [`Bridge`] a client through which devices' requests leave. It is
//! started after the edge and the HTTP port, which it serves, and ended before them.

mod bridge;
mod figures;
mod known;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use stadium_discovery::{Backend, Config as DiscoveryConfig, Discovery, StaticService};
use stadium_http::fleet::{DiscoveryStats, Fleet, ServiceStats};
use stadium_http::key_store::KeyStore;
use stadium_http::{ChangeLog, SharedDocuments};
use stadium_reactor::tls::ServerTls;
use stadium_rpc::Server;
use stadium_rpc_api::{Principals, Tokens, operators, platform, push, queue, wallet};

pub(crate) use bridge::Bridge;

use crate::error::Error;
use crate::mapping;
use crate::settings::{DiscoveryBackend, Settings};
use crate::shards::ShardsDoor;

/// The services of a node. Ending it twice does nothing the second time.
pub(crate) struct Services {
    server: Mutex<Option<Arc<Server>>>,
    /// Those who may call its methods; none without a server.
    principals: Option<Arc<Principals>>,
    discovery: Option<Discovery>,
    bridge: Arc<Bridge>,
    /// Names of the listeners with where they listen.
    bound: Vec<(&'static str, SocketAddr)>,
}

/// What services need of the rest of the node.
pub(crate) struct Around<'a> {
    /// Takes pushes.
    pub(crate) fleet: Arc<dyn Fleet>,
    /// The data directory.
    pub(crate) data: &'a Path,
    /// The documents of the cluster that the node is of.
    pub(crate) shared: Option<Arc<dyn SharedDocuments>>,
    /// The API keys and the audit log, where they are open.
    pub(crate) keys: Option<(Arc<KeyStore>, ChangeLog)>,
    /// Hold the queues, the wallets and the push platform.
    pub(crate) shards: &'a ShardsDoor,
    /// Of `[rpc]`, where it has a certificate.
    pub(crate) tls: Option<ServerTls>,
    /// Where devices' requests arrive.
    pub(crate) bridge: Arc<Bridge>,
}

impl Services {
    /// Starts what the settings ask for.
    pub(crate) fn start(settings: &Settings, around: Around<'_>) -> Result<Self, Error> {
        let Around { fleet, data, shared, keys, shards, tls, bridge } = around;
        // A backend of our own making knows our own services too, so it is made when they are known.
        let remote = match settings.discovery.backend {
            DiscoveryBackend::None | DiscoveryBackend::Static => None,
            DiscoveryBackend::Etcd | DiscoveryBackend::ZooKeeper => {
                mapping::discovery::config(&settings.discovery)?.map(begin).transpose()?
            }
        };
        let (mut config, names) = mapping::rpc::plan(settings, tls, remote.clone());
        let mut principals = None;
        let server = if names.is_empty() && config.udp.is_none() {
            None
        } else {
            let log = || ChangeLog::open(data, settings.http.audit_files_max as usize);
            let opened = || match shared {
                Some(shared) => KeyStore::open_shared(data, shared),
                None => KeyStore::open(data),
            };
            let open = || opened().map(|keys| (Arc::new(keys), log()));
            let (keys, log) =
                keys.map_or_else(open, Ok).map_err(|error| Error::Services(error.to_string()))?;
            let bounds = mapping::http::push_bounds(&settings.http);
            let known = Arc::new(known_principals(settings, Principals::new(keys, log))?);
            let services = vec![
                push::service(fleet, &known, bounds),
                queue::service(shards.handle(), &known),
                wallet::service(shards.handle(), &known, bounds),
                platform::service(shards.handle(), &known),
            ];
            config.operations = operators(&known);
            principals = Some(known);
            let started = Server::start(config, services);
            Some(Arc::new(started.map_err(|error| Error::Services(error.to_string()))?))
        };
        let mut bound: Vec<(&'static str, SocketAddr)> = Vec::new();
        if let Some(server) = &server {
            bound.extend(names.into_iter().zip(server.bound().iter().copied()));
            bound.extend(server.udp().map(|address| ("rpc-udp", address)));
        }
        let discovery = match remote {
            Some(remote) => remote,
            None => begin(listed(settings, &bound))?,
        };
        if settings.rpc.devices.enabled {
            let calls_tls = mapping::tls::of_calls(&settings.rpc)?;
            bridge.open(&discovery, calls_tls).map_err(|error| {
                Error::System(format!("the client of devices' requests cannot start: {error}"))
            })?;
        }
        Ok(Self { server: Mutex::new(server), principals, discovery: Some(discovery), bridge, bound })
    }

    /// Reads the keys of callers' tokens again. Those that cannot be read stay as they were.
    ///
    /// # Errors
    /// The file that cannot be read.
    pub(crate) fn reload(&self) -> Result<(), Error> {
        let reloaded = self.principals.as_ref().map_or(Ok(()), |principals| principals.reload());
        reloaded.map_err(|error| Error::Services(format!("rpc.tokens: {error}")))
    }

    /// What knows who serves what.
    pub(crate) fn discovery(&self) -> Option<&Discovery> {
        self.discovery.as_ref()
    }

    /// Where services listen, by the name of the listener: `rpc`, `rpc-websocket`, `rpc-udp`.
    pub(crate) fn bound(&self) -> &[(&'static str, SocketAddr)] {
        &self.bound
    }

    /// Notifies callers and discovery that this process leaves, and finishes what they asked for;
    /// returns when the last caller has gone, or after `within`.
    pub(crate) fn quiesce(&self, within: Duration) {
        let server = self.server.lock().clone();
        if let Some(server) = server {
            server.quiesce(within).wait();
        }
    }

    /// Takes no more requests of devices.
    pub(crate) fn close_bridge(&self) {
        self.bridge.close();
    }

    /// Ends the server; callers that are left are cut.
    pub(crate) fn stop(&self) {
        self.bridge.close();
        // Dropping the last one ends its threads.
        drop(self.server.lock().take());
    }

    /// What services have done; `None` where there are none.
    pub(crate) fn figures(&self) -> (Option<ServiceStats>, Option<DiscoveryStats>) {
        let server = self.server.lock().clone();
        let services = server.map(|server| figures::of_server(&server));
        (services, self.discovery.as_ref().map(|discovery| figures::of_discovery(&discovery.status())))
    }
}

/// The holders of API keys, and of the tokens and certificates that the settings name.
fn known_principals(settings: &Settings, mut known: Principals) -> Result<Principals, Error> {
    if let Some(config) = mapping::rpc::tokens(&settings.rpc.tokens) {
        let tokens = Tokens::open(config);
        let tokens = tokens.map_err(|error| Error::Services(format!("rpc.tokens: {error}")))?;
        known = known.with_tokens(tokens);
    }
    let identities = mapping::rpc::identities(&settings.rpc);
    let identities = identities.map_err(|error| Error::Services(format!("rpc.identities: {error}")))?;
    Ok(match identities {
        Some(identities) => known.with_identities(identities),
        None => known,
    })
}

fn begin(config: DiscoveryConfig) -> Result<Discovery, Error> {
    Discovery::start(config).map_err(|error| Error::Services(format!("discovery cannot start: {error}")))
}

/// The list of the settings, if there is one, and our own services.
fn listed(settings: &Settings, bound: &[(&'static str, SocketAddr)]) -> DiscoveryConfig {
    let mut services = match settings.discovery.backend {
        DiscoveryBackend::Static => mapping::discovery::services(&settings.discovery.services),
        _ => Vec::new(),
    };
    // A call goes over TLS to all services or to none.
    let callable = settings.rpc.tls.certificate.is_some() == settings.rpc.calls_ca.is_some();
    let own = bound.iter().find(|(name, _)| *name == "rpc").filter(|_| callable);
    if let Some((_, address)) = own {
        let here = |(name, version): (&str, &str)| StaticService {
            name: name.to_owned(),
            version: version.to_owned(),
            instances: vec![crate::node::reachable(*address).into()],
        };
        let own = [
            (push::NAME, push::VERSION),
            (queue::NAME, queue::VERSION),
            (wallet::NAME, wallet::VERSION),
            (platform::NAME, platform::VERSION),
        ];
        services.extend(own.map(here));
    }
    let refresh = Duration::from_secs(u64::from(settings.discovery.refresh_s));
    DiscoveryConfig { backend: Backend::Static(services), refresh, ..DiscoveryConfig::default() }
}
