//! A running node: everything started from the settings, and stopped again in order.
//!
//! Starting goes from the inside out (directory, certificates, authentication, loops, HTTP), then
//! shards read their journals, and a failure undoes the steps before it. Draining goes from the
//! outside in: readiness fails, devices are moved away, HTTP finishes its requests, loops end,
//! shards write last checkpoints. Signals are [`crate::run`]'s business.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stadium_edge::auth::Authenticator;
use stadium_edge::{Drain, Edge, EdgeHandle};
use stadium_http::Fleet;
use stadium_shard::{Shards, Storage};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::acme::{self, Acme};
use crate::backups::Backups;
use crate::cluster;
use crate::data_directory::DataDirectory;
use crate::error::Error;
use crate::fleet::{EdgeFleet, Phase, SharedFleet, distribute};
use crate::http_port::HttpPort;
use crate::inboxes;
use crate::locations::Locations;
use crate::mapping;
use crate::mapping::edge::TlsHandles;
use crate::mapping::tls::Certificates;
use crate::open_files;
use crate::pushes::{self, Pushes};
use crate::running::{Listener, Published, Running};
use crate::services::{Around, Bridge, Services};
use crate::settings::{Loaded, Settings};
use crate::shards::{self, Count, ShardsDoor};
use crate::telemetry::Telemetry;
use crate::web_sockets::Adopter;
use crate::webhooks::{self, Reach, Webhooks};

/// Threads of the control plane: HTTP only, which a core serves with ease.
const CONTROL_THREADS: usize = 2;

/// Part of the grace period in which devices are moved away; the rest is for requests and loops to
/// end.
const DRAIN_SHARE: f64 = 0.8;

/// Part of the grace period in which the shards of a cluster are handed over; a shard takes less
/// than a second.
const HAND_OVER_SHARE: f64 = 0.3;

/// The least time for devices to read that they are to move, and to hang up.
const DRAIN_MIN: Duration = Duration::from_millis(500);

/// The least time for callers of services to be answered and to go elsewhere.
const QUIESCE_MIN: Duration = Duration::from_secs(2);

/// Longest that last checkpoints may hold a stop up; without them the next start reads more of the
/// journals.
const SHARDS_PATIENCE: Duration = Duration::from_secs(10);

/// Longest that pushes which were made and not yet settled may hold a stop up.
const PUSHES_PATIENCE: Duration = Duration::from_secs(2);

/// Longest that running HTTP requests may hold a stop up.
const HTTP_PATIENCE: Duration = Duration::from_secs(5);

/// The version, for receipts.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A running node. Dropping it stops it at once; nothing acknowledged is lost by that.
pub struct Node {
    // In the order in which they must go.
    published: Option<Published>,
    services: Arc<Services>,
    http: Option<HttpPort>,
    pushes: Option<Pushes>,
    webhooks: Option<Webhooks>,
    locations: Option<Locations>,
    backups: Option<Backups>,
    acme: Option<Acme>,
    edge: Option<Edge>,
    cluster: Option<cluster::Member>,
    shards: ShardsDoor,
    /// Those that keep sessions and retained messages, where the others are a cluster's.
    sessions: Option<Shards>,
    runtime: Option<Runtime>,
    data: DataDirectory,
    fleet: SharedFleet,
    certificates: Vec<Certificates>,
    running: Running,
    telemetry: Telemetry,
    loops: usize,
    files_max: u64,
    grace: Duration,
    drain_per_second: u32,
    server_reference: Option<String>,
}

/// What a drain left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Connections that were still open at the end of the grace period and were cut.
    pub cut: u64,
}

impl Node {
    /// Starts everything that the settings ask for. When this returns, every listener accepts
    /// connections.
    ///
    /// # Errors
    /// A part that could not be started; nothing is left running.
    pub fn start(settings: &Settings) -> Result<Self, Error> {
        let files_limit = open_files::raise();
        let data = DataDirectory::open(&settings.server.data)?;
        let settings = &acme::applied(settings, data.path())?;
        mapping::shards::check(settings, data.path())?;
        let telemetry = Telemetry::start(settings)?;
        let cluster = cluster::Plan::make(settings, data.path(), telemetry.tracer())?;
        let (tls, mut certificates) = open_certificates(settings)?;
        let rpc_tls = match &settings.rpc.tls.certificate {
            Some(_) => {
                let opened = Certificates::open("rpc", &settings.rpc.tls)?;
                let handle = opened.handle.clone();
                certificates.push(opened);
                Some(handle)
            }
            None => None,
        };
        let auth = mapping::auth::config(settings);
        let authenticator = Authenticator::open(&auth).map_err(|error| Error::Auth(error.to_string()))?;
        let loops = mapping::edge::loops(settings);
        let of_cluster = cluster.as_ref().map_or(0, |plan| open_files::of_replicas(plan.shards()));
        let own = of_cluster + open_files::own(loops, &mapping::shards::settings(settings, data.path()));
        let places = open_files::share(files_limit, own, settings.http.connections_max);
        if settings.http.listen.is_some() && places.http < settings.http.connections_max as usize {
            tracing::warn!(
                connections = places.http,
                asked = settings.http.connections_max,
                open_files = files_limit,
                "HTTP takes fewer connections than http.connections_max: the limit of open files is too low"
            );
        }
        if let Some(listen) = mapping::http::plain_text(&settings.http) {
            tracing::warn!(
                %listen,
                "HTTP is not encrypted and others than this machine reach it: API keys travel in plain text. Set \
                 http.certificate and http.key, or http.behind_proxy where a reverse proxy speaks HTTPS"
            );
        }
        let bridge = Arc::new(Bridge::new(telemetry.tracer()));
        let requests = mapping::rpc::requests(&settings.rpc.devices, bridge.clone());
        let mut plan = mapping::edge::plan(settings, loops, &tls, Arc::new(authenticator), requests);
        plan.config.tracer = telemetry.tracer();
        // Further connections wait in the kernel's queue.
        let sockets = &mut plan.config.loop_settings.connections_max;
        *sockets = usize::try_from(places.devices.max(1)).unwrap_or(usize::MAX).min(*sockets);
        let edge_error = |error: stadium_edge::Error| Error::Edge(error.to_string());
        let mut edge = Edge::bind(plan.config).map_err(edge_error)?;
        let fleet = Arc::new(EdgeFleet::new(edge.handle().clone(), cluster.is_none()));
        let runtime = Builder::new_multi_thread()
            .worker_threads(CONTROL_THREADS)
            .thread_name("control")
            .enable_all()
            .build()
            .map_err(|error| Error::System(format!("the control plane's threads cannot start: {error}")))?;
        let shared = cluster.as_ref().map(cluster::Plan::documents);
        let http = match settings.http.listen {
            Some(listen) => {
                let taker = Arc::new(Adopter::new(edge.handle().clone()));
                let http = HttpPort::open(
                    settings,
                    telemetry.tracer(),
                    shared.clone(),
                    (listen, places.http),
                    &runtime,
                    fleet.clone(),
                    taker,
                )?;
                telemetry.read_from(http.metrics.clone());
                Some(http)
            }
            None => None,
        };
        let shards = ShardsDoor::new(telemetry.tracer());
        let around = Around {
            fleet: fleet.clone(),
            data: data.path(),
            shared: shared.clone(),
            keys: http.as_ref().map(|http| (Arc::clone(&http.keys), http.change_log.clone())),
            shards: &shards,
            tls: rpc_tls,
            bridge,
        };
        let services = Arc::new(Services::start(settings, around)?);
        fleet.serve(Arc::clone(&services));
        // Last, because it may take long, and all else that can fail should have failed before.
        let sessions = open_shards(settings, &data, &fleet)?;
        let cluster =
            cluster.map(|plan| plan.join(addresses(settings, &services, http.as_ref()))).transpose()?;
        let opened = cluster.as_ref().map_or(&sessions, |member| member.shards()).clone();
        shards.open(opened.clone());
        let users = cluster.as_ref().zip(shared).map(|(member, documents)| {
            member.users(documents, (&fleet, &sessions), data.path(), runtime.handle())
        });
        // A state of the past must not be served with users that were erased since.
        let erased = match &users {
            Some(users) => runtime.block_on(users.erase_at_start()),
            None => runtime.block_on(stadium_http::erase_at_start(data.path(), &opened, VERSION)),
        };
        erased.map_err(Error::Data)?;
        if let Some(http) = &http {
            http.serve(opened.clone());
            users.iter().for_each(|users| http.serve_users(Arc::clone(users)));
        }
        // A device that connects finds what was kept for it.
        let behind = inboxes::connect(&opened, &sessions, edge.handle(), cluster.as_ref());
        let follow = following(edge.handle());
        if cluster.is_none() {
            if let Err(reason) = pushes::declare(&opened) {
                tracing::warn!(reason, "The queue of pushes may be missing");
            }
            runtime.block_on(webhooks::introduce(&opened, &follow));
        }
        edge.run(&behind).map_err(edge_error)?;
        runtime.spawn(distribute(edge.handle().clone()));
        if let Some(users) = users {
            runtime.spawn(async move { users.work().await });
        }
        let listeners = plan
            .names
            .iter()
            .zip(edge.bound())
            .map(|(name, bound)| Listener { name: (*name).to_owned(), address: bound.address })
            .chain(http.iter().map(|http| Listener { name: "http".to_owned(), address: http.address }))
            .chain(
                services
                    .bound()
                    .iter()
                    .map(|(name, address)| Listener { name: (*name).to_owned(), address: *address }),
            )
            .collect();
        let running = Running {
            pid: std::process::id(),
            listeners,
            http_url: http.as_ref().map(|http| format!("{}://{}", http.scheme, reachable(http.address))),
        };
        let here = match &cluster {
            Some(member) => member.watch(Arc::clone(&fleet))?,
            None => watch::channel(true).1,
        };
        let locations = take_locations(settings, &services, &opened, (&fleet, here), &runtime)?;
        let published = Published::write(data.path(), &running).map_err(|error| {
            Error::Data(format!("the data directory {} cannot be written: {error}", data.path().display()))
        })?;
        if cluster.is_none() {
            fleet.ready();
        }
        let bounds = mapping::http::push_bounds(&settings.http);
        let reach = if settings.webhooks.private_addresses { Reach::Everywhere } else { Reach::PublicOnly };
        let webhooks = Webhooks::start(opened.clone(), follow, reach, &runtime);
        let wanted = (&settings.backup, mapping::configured::files(settings));
        let backups = Backups::start(wanted, data.path(), opened.clone(), Arc::clone(fleet.backups()));
        let backups = backups.map_err(Error::Data)?;
        let acme = acme::start(
            &settings.acme,
            data.path(),
            Arc::clone(fleet.acme()),
            reload_of(&certificates, http.as_ref()),
            &runtime,
        );
        let pushes = Pushes::start(opened, fleet.clone(), bounds, &runtime);
        tracing::info!(pid = running.pid, loops, data = %data.path().display(), "Node runs");
        Ok(Self {
            published: Some(published),
            services,
            http,
            pushes: Some(pushes),
            webhooks: Some(webhooks),
            locations,
            backups,
            acme,
            edge: Some(edge),
            sessions: cluster.is_some().then_some(sessions),
            cluster,
            shards,
            runtime: Some(runtime),
            data,
            fleet,
            certificates,
            running,
            telemetry,
            loops,
            files_max: places.devices,
            grace: Duration::from_secs(u64::from(settings.server.grace_period_s)),
            drain_per_second: settings.server.drain_devices_per_second,
            server_reference: settings.server.drain_server_reference.clone(),
        })
    }

    /// The process and its open listeners.
    #[must_use]
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Shows the listeners and this configuration over the API, to those who may operate the node.
    /// Backups that begin from now on have the configuration.
    pub fn show(&self, loaded: &Loaded) {
        if let Some(backups) = &self.backups {
            backups.add(mapping::configured::text(loaded));
        }
        if let Some(http) = &self.http {
            http.about.set(mapping::about::facts(loaded, &self.running));
        }
    }

    /// Where the first listener of this name listens: `mqtt`, `mqtts`, `ws`, `wss`, `http`, `rpc`,
    /// `rpc-websocket` or `rpc-udp`.
    #[must_use]
    pub fn address(&self, name: &str) -> Option<SocketAddr> {
        self.running.listeners.iter().find(|listener| listener.name == name).map(|listener| listener.address)
    }

    /// The file with the key of the first administrator. In a cluster, only the node that made the
    /// key has it.
    #[must_use]
    pub fn admin_key_file(&self) -> PathBuf {
        self.data.path().join("admin.key")
    }

    /// Event loops.
    #[must_use]
    pub fn loops(&self) -> usize {
        self.loops
    }

    /// Connections that fit under the open-file limit, beside those of the HTTP port and what the
    /// server needs itself.
    #[must_use]
    pub fn files_max(&self) -> u64 {
        self.files_max
    }

    /// Devices connected now.
    #[must_use]
    pub fn connected(&self) -> u64 {
        self.fleet.stats().connected
    }

    /// Sockets accepted since the start.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.fleet.stats().accepts_total
    }

    /// Reads certificates, keys, passwords, rules and API keys again. A part that cannot be
    /// read stays as it was.
    ///
    /// # Errors
    /// Everything that could not be read; the rest is in force.
    pub fn reload(&self) -> Result<(), Vec<Error>> {
        let mut errors = Vec::new();
        for certificates in &self.certificates {
            errors.extend(certificates.reload().err());
        }
        if let Some(edge) = &self.edge {
            errors.extend(edge.handle().reload().map_err(|error| Error::Auth(error.to_string())).err());
        }
        errors.extend(self.services.reload().err());
        if let Some(http) = &self.http {
            errors.extend(http.reload().err());
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Moves devices away, paced, finishes requests, and stops; within the grace period.
    pub fn drain(mut self) -> Drained {
        let began = Instant::now();
        self.refuse_work();
        self.stop_pushes();
        // A request that waits for a job would hold the drain up until one comes.
        self.shards.stop_waiting();
        // Before the devices: they find their shards served wherever they go.
        let hands_over = Instant::now();
        if let Some(cluster) = self.cluster.take() {
            cluster.drain(self.grace.mul_f64(HAND_OVER_SHARE));
        }
        let within = self.time_to_move(hands_over.elapsed());
        let drain = Drain { within, server_reference: self.server_reference.take() };
        let services = Arc::clone(&self.services);
        // Callers of services are notified at the same time as devices; both finish what they have
        // under way.
        let quiescing = std::thread::Builder::new()
            .name("quiesce".to_owned())
            .spawn(move || services.quiesce(within.max(QUIESCE_MIN)));
        let cut = self.edge.as_ref().map_or(0, |edge| edge.drain(&drain));
        // No device is left to ask, and our own client is a caller that is waited for.
        self.services.close_bridge();
        match quiescing.map(std::thread::JoinHandle::join) {
            Ok(Ok(())) => {}
            Ok(Err(_)) => tracing::error!("Quiescing ended by a panic"),
            Err(error) => tracing::error!(%error, "Callers of services could not be notified"),
        }
        self.finish(self.grace.saturating_sub(began.elapsed()).min(HTTP_PATIENCE));
        Drained { cut }
    }

    /// Stops now: devices that are still connected are cut.
    pub fn stop(mut self) {
        self.fleet.enter(Phase::Draining);
        self.stop_pushes();
        self.shards.stop_waiting();
        self.finish(HTTP_PATIENCE);
    }

    /// Lets nobody in who is not here.
    fn refuse_work(&self) {
        // Before anybody can read that it drains: a client that has read it must not be let in.
        if let Some(edge) = &self.edge {
            edge.handle().close_door();
        }
        self.fleet.enter(Phase::Draining);
    }

    /// How long moving the devices may take, where handing shards over took so long.
    fn time_to_move(&self, spent: Duration) -> Duration {
        let devices = self.connected();
        let paced = Duration::from_secs_f64(devices as f64 / f64::from(self.drain_per_second.max(1)));
        // Even the last device gets a short time to read that it is to move.
        let within = paced.max(DRAIN_MIN).min(self.grace.mul_f64(DRAIN_SHARE).saturating_sub(spent));
        tracing::info!(devices, within_ms = within.as_millis(), "Node is draining");
        within
    }

    /// Takes no more pushes from their queue: the edge is about to refuse them. Posts no more
    /// events, and takes no more locations.
    fn stop_pushes(&mut self) {
        if let (Some(runtime), Some(pushes)) = (&self.runtime, self.pushes.take()) {
            runtime.block_on(pushes.stop(PUSHES_PATIENCE));
        }
        if let (Some(runtime), Some(webhooks)) = (&self.runtime, self.webhooks.take()) {
            runtime.block_on(webhooks.stop(PUSHES_PATIENCE));
        }
        if let (Some(runtime), Some(locations)) = (&self.runtime, self.locations.take()) {
            runtime.block_on(locations.stop(PUSHES_PATIENCE));
        }
    }

    fn finish(&mut self, patience: Duration) {
        if let (Some(runtime), Some(http)) = (&self.runtime, &mut self.http) {
            runtime.block_on(http.close(patience));
        }
        self.end();
    }

    fn end(&mut self) {
        self.published = None;
        self.acme = None;
        self.backups = None;
        self.stop_pushes();
        self.services.stop();
        // All requests are answered, and the figures are still those of a server that serves.
        self.telemetry.stop();
        self.http = None;
        if let Some(edge) = self.edge.take() {
            edge.stop();
        }
        // Nobody is left to ask them.
        self.cluster = None;
        self.shards.stop(SHARDS_PATIENCE);
        if let Some(sessions) = self.sessions.take() {
            shards::stop(&sessions, SHARDS_PATIENCE);
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.end();
    }
}

/// An address that a local process can connect to.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => {
            SocketAddr::from((std::net::Ipv4Addr::LOCALHOST, address.port()))
        }
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
            SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, address.port()))
        }
        other => other,
    }
}

/// Has all TLS listeners read their certificates again.
fn reload_of(certificates: &[Certificates], http: Option<&HttpPort>) -> acme::Reload {
    let (certificates, http) = (certificates.to_vec(), http.map(HttpPort::reloader));
    Box::new(move || {
        for certificates in &certificates {
            certificates.reload().map_err(|error| error.to_string())?;
        }
        http.as_ref().map_or(Ok(()), |http| http.reload().map_err(|error| error.to_string()))
    })
}

/// Opens the shards that are this node's alone: all of a standalone server, and of a cluster's node
/// those with its sessions.
fn open_shards(settings: &Settings, data: &DataDirectory, fleet: &SharedFleet) -> Result<Shards, Error> {
    let is_free = settings.shards.count == 0 || settings.cluster.name.is_some();
    let count = if is_free { Count::AsTheDirectorySays } else { Count::Asked };
    let reporting = Arc::clone(fleet);
    let plan = mapping::shards::settings(settings, data.path());
    if let Storage::Memory { .. } = plan.storage {
        tracing::warn!(
            "Shards are in memory (shards.store): all that they hold is lost when this process ends"
        );
    }
    shards::open(plan, count, move |words| reporting.starting(words))
}

/// Where other nodes of the cluster reach this one, by purpose.
fn addresses(settings: &Settings, services: &Services, http: Option<&HttpPort>) -> BTreeMap<String, String> {
    let links = settings.cluster.links.advertise.or(settings.cluster.links.listen);
    let rpc = services.bound().iter().find(|(name, _)| *name == "rpc").map(|(_, address)| *address);
    let bound = [("http", http.map(|http| http.address)), ("rpc", rpc)];
    let named = bound.into_iter().filter_map(|(name, address)| Some((name, address?, links?)));
    named
        .map(|(name, mut address, links)| {
            // Every network of this machine has the address by which others reach its links.
            if address.ip().is_unspecified() {
                address.set_ip(links.ip());
            }
            (name.to_owned(), address.to_string())
        })
        .collect()
}

/// Has an edge hand what devices publish to feeds.
fn following(edge: &EdgeHandle) -> webhooks::Follow {
    let edge = edge.clone();
    Box::new(move |feeds| edge.follow(feeds))
}

/// Takes locations from the service that the settings name, if they name one.
fn take_locations(
    settings: &Settings,
    services: &Services,
    shards: &Shards,
    (fleet, here): (&SharedFleet, watch::Receiver<bool>),
    runtime: &Runtime,
) -> Result<Option<Locations>, Error> {
    let Some(discovery) = services.discovery() else { return Ok(None) };
    let tls = mapping::tls::of_calls(&settings.rpc)?;
    Locations::start(
        &settings.push.locations,
        discovery,
        tls,
        shards.clone(),
        fleet.locations(),
        here,
        runtime,
    )
}

fn open_certificates(settings: &Settings) -> Result<(TlsHandles, Vec<Certificates>), Error> {
    let mut handles = TlsHandles::default();
    let mut certificates = Vec::new();
    if !settings.mqtts.listen.is_off() {
        let opened = Certificates::open("mqtts", &settings.mqtts.tls)?;
        handles.mqtts = Some(opened.handle.clone());
        certificates.push(opened);
    }
    if !settings.wss.listen.is_off() {
        let opened = Certificates::open("wss", &settings.wss.tls)?;
        handles.wss = Some(opened.handle.clone());
        certificates.push(opened);
    }
    Ok((handles, certificates))
}
