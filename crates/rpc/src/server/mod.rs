//! Serving: listeners, loops, the registration in discovery, and the end of it all.
//!
//! Every address is listened on before the first loop runs, so that a port in use fails the start. Each loop
//! listens on every address; the kernel spreads connections over them.

mod admission;
mod budget;
mod config;
mod counts;
mod dispatch;
mod executor;
mod item;
mod methods;
mod pace;
mod peer;
mod pool;
mod quiescing;
mod recent;
mod server_loop;
mod sessions;
mod shared;
mod tickers;
mod timers;
mod traits;
mod udp;
mod work;

use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use stadium_discovery::{Registered, Registration, State, Value};
use stadium_reactor::{
    Claims, ListenerSettings, ListenerTag, Loop, LoopHandle, LoopSettings, Sharing, UdpSettings, UdpSharing,
};
use stadium_rsocket::connection::{Assembly, Config as ProtocolConfig, Lease, Reassembly, ResumeConfig};

pub use quiescing::Quiescing;
pub use timers::{Sleep, sleep};

pub use config::{AdmissionSettings, Authorise, Listen, LogLevelControl, Operations, ServerConfig};

use crate::proto;
use crate::service::{Function, Service};
use crate::wire;
use admission::Gate;
use budget::Budget;
use counts::LoopCounts;
use dispatch::Core;
pub(crate) use dispatch::pattern_of;
use executor::Ready;
use item::Item;
use methods::Methods;
use pace::Pace;
use pool::Pool;
use server_loop::{ServerLoop, Station};
use sessions::{ParkedLimits, SessionPlaces};
use shared::{Shared, Status};
use tickers::Tickers;
use work::Works;

/// Loops that a server may have.
const LOOPS_MAX: usize = 64;
/// Between two reports of the load factor to discovery.
const REPORT_EVERY: Duration = Duration::from_secs(1);
/// Longest that discovery may take to forget the instance.
const WITHDRAW_WITHIN: Duration = Duration::from_secs(2);

/// Why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// The settings or the services contradict themselves.
    Settings(String),
    /// The system refused a loop or a thread.
    System(std::io::Error),
    /// An address could not be listened on.
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        error: std::io::Error,
    },
    /// Discovery does not take the registration.
    Discovery(stadium_discovery::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Settings(what) => f.write_str(what),
            Self::System(error) => write!(f, "an event loop or a thread could not be made: {error}"),
            Self::Listen { address, error } => write!(f, "cannot listen on {address}: {error}"),
            Self::Discovery(error) => write!(f, "the instance cannot be registered: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// Sessions that outlive their connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sessions {
    /// Those whose clients are away.
    pub waiting: u64,
    /// How often a client came back for one.
    pub resumed: u64,
}

/// The commands to the loops' owner.
enum Word {
    Quiesce(Duration),
    Stop,
}

/// A running server. Dropping it stops it at once.
pub struct Server {
    shared: Arc<Shared>,
    status: Arc<Status>,
    handles: Vec<LoopHandle<Item>>,
    threads: Vec<JoinHandle<()>>,
    steward: Option<JoinHandle<()>>,
    words: mpsc::Sender<Word>,
    pool: Option<Pool>,
    bound: Vec<SocketAddr>,
    udp: Option<SocketAddr>,
}

impl Server {
    /// Listens on every address, starts the loops, and registers the services in discovery.
    ///
    /// # Errors
    /// What could not be started; nothing is left running.
    pub fn start(config: ServerConfig, services: Vec<Service>) -> Result<Self, StartError> {
        if config.loops == 0 || config.loops > LOOPS_MAX {
            let what = format!("a server runs 1 to {LOOPS_MAX} loops, not {}", config.loops);
            return Err(StartError::Settings(what));
        }
        let (words, heard) = mpsc::channel();
        let status = Arc::new(Status {
            started: Instant::now(),
            quiescing: AtomicBool::new(false),
            quiesce_within: config.quiesce_within,
            quiesce: {
                let words = words.clone();
                Box::new(move |within| drop(words.send(Word::Quiesce(within))))
            },
            operations: config.operations.clone(),
            log_level: config.log_level.clone(),
        });
        let later = Arc::new(OnceLock::new());
        let traits = traits::of(&services, &status, &later);
        let methods = Methods::new(&services, traits).map_err(StartError::Settings)?;
        let counts = (0..config.loops).map(|_| Arc::new(LoopCounts::new(methods.len()))).collect();
        let shared = Arc::new(Shared {
            deadline_ms: milliseconds(config.deadline),
            deadline_max_ms: milliseconds(config.deadline_max),
            services,
            methods,
            counts,
        });
        later.set(Arc::downgrade(&shared)).expect("it is set once");
        let queue_max = config.admission.queue_max * config.loops;
        let pool =
            Pool::start(config.blocking_threads, queue_max, &config.runtime()).map_err(StartError::System)?;
        let mut protocol = protocol_of(&config);
        protocol.reassembly = reassembly_of(&shared);
        let protocol = Arc::new(protocol);
        let mut made = Vec::with_capacity(config.loops);
        let mut bound: Vec<SocketAddr> = config.listen.iter().map(|listen| listen.address).collect();
        let mut udp = None;
        for index in 0..config.loops {
            let one = listen_on(&config, index, &mut bound, &mut udp)?;
            made.push(one);
        }
        let handles: Vec<LoopHandle<Item>> = made.iter().map(Loop::handle).collect();
        let mut threads = Vec::with_capacity(made.len());
        let budget = Arc::new(Budget::new(config.loops, config.connections_max, config.partial_bytes_max));
        let (session_places, siblings) = (Arc::new(SessionPlaces::default()), Arc::from(handles.as_slice()));
        for (index, one) in made.into_iter().enumerate() {
            let core = core_of(&config, &shared, index, &pool, one.handle());
            let station = Station {
                place: index,
                protocol: Arc::clone(&protocol),
                leases: config.leases,
                session_places: Arc::clone(&session_places),
                siblings: Arc::clone(&siblings),
                parked: parked_limits(&config),
                budget: Arc::clone(&budget),
            };
            let runtime = config.runtime();
            let thread = std::thread::Builder::new()
                .name(format!("rpc-{index}"))
                .spawn(move || {
                    let _entered = runtime.enter();
                    let handler = ServerLoop::new(core(), station);
                    if let Err(error) = one.run(handler) {
                        tracing::error!(%error, "A loop of the RPC server ended");
                    }
                })
                .map_err(StartError::System)?;
            threads.push(thread);
        }
        let registered = register(&config, &shared, &bound)?;
        let steward = {
            let (shared, status, handles) = (Arc::clone(&shared), Arc::clone(&status), handles.clone());
            std::thread::Builder::new()
                .name("rpc-steward".to_owned())
                .spawn(move || steward(&shared, &status, &handles, registered, &heard))
                .map_err(StartError::System)?
        };
        Ok(Self {
            shared,
            status,
            handles,
            threads,
            steward: Some(steward),
            words,
            pool: Some(pool),
            bound,
            udp,
        })
    }

    /// Where it listens, in the order of the configuration.
    #[must_use]
    pub fn bound(&self) -> &[SocketAddr] {
        &self.bound
    }

    /// Where it listens for datagrams.
    #[must_use]
    pub fn udp(&self) -> Option<SocketAddr> {
        self.udp
    }

    /// What a service has done so far, and what is going on now; `None` where there is no such service.
    #[must_use]
    pub fn statistics(&self, service: &str) -> Option<proto::Statistics> {
        let place = self.shared.services.iter().position(|one| one.name == service)?;
        let mut statistics = traits::sum_counts(&self.shared, place as u16);
        statistics.uptime_ms = self.status.started.elapsed().as_millis() as u64;
        Some(statistics)
    }

    /// Lost connections that wait for their clients, and how many have been resumed so far.
    #[must_use]
    pub fn sessions(&self) -> Sessions {
        let sum = |field: fn(&LoopCounts) -> u64| self.shared.counts.iter().map(|counts| field(counts)).sum();
        Sessions {
            waiting: sum(|counts| counts.sessions.value()),
            resumed: sum(|counts| counts.resumed.value()),
        }
    }

    /// The names of the services.
    pub fn services(&self) -> impl Iterator<Item = &str> {
        self.shared.services.iter().map(|service| service.name.as_str())
    }

    /// Whether the server is on its way out: nothing new should come.
    #[must_use]
    pub fn is_quiescing(&self) -> bool {
        self.status.quiescing.load(Ordering::Relaxed)
    }

    /// Stops granting, notifies peers and discovery, lets what is under way finish. The future is
    /// ready when the last connection is gone or the time is over, with the connections that were
    /// left; at least 1 while one-way calls are worked on whose callers have gone.
    /// [`Quiescing::wait`] waits for it on a thread. Whether it is waited for or not, the server
    /// quiesces.
    pub fn quiesce(&self, within: Duration) -> Quiescing {
        // The steward ends only after `stop`.
        let _ = self.words.send(Word::Quiesce(within));
        Quiescing::watch(Arc::clone(&self.shared), Arc::clone(&self.status), Instant::now() + within)
    }

    /// Quiesces, and then ends the loops: ready when their threads have ended, with what [`Server::quiesce`] gives.
    pub fn shutdown(self, within: Duration) -> Quiescing {
        Quiescing::shutdown(self, within)
    }

    /// Ends the loops and waits for their threads. What is still connected is cut. It blocks for as long as the functions
    /// do that run now; [`Server::shutdown`] can be awaited.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.words.send(Word::Stop);
        if let Some(steward) = self.steward.take()
            && steward.join().is_err()
        {
            tracing::error!("The server's steward ended by a panic");
        }
        for handle in &self.handles {
            handle.stop();
        }
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("A loop of the RPC server ended by a panic");
            }
        }
        self.pool = None;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("bound", &self.bound).finish_non_exhaustive()
    }
}

fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

fn protocol_of(config: &ServerConfig) -> ProtocolConfig {
    ProtocolConfig {
        frame_bytes_max: config.frame_bytes_max,
        fragment_bytes: config.fragment_bytes,
        payload_bytes_max: config.payload_bytes_max,
        streams_max: config.streams_max,
        lease: if config.leases { Lease::Grant } else { Lease::Off },
        resume: (config.resume_bytes_max > 0).then(|| ResumeConfig {
            store_bytes_max: config.resume_bytes_max,
            session_ms: milliseconds(config.resume_within),
        }),
        ..ProtocolConfig::default()
    }
}

/// The requests of uploads are handed out in pieces.
fn reassembly_of(shared: &Arc<Shared>) -> Reassembly {
    if !shared.methods.iter().any(|method| matches!(method.function, Function::Upload(_))) {
        return Reassembly::Whole;
    }
    let shared = Arc::clone(shared);
    Reassembly::Pieces(Arc::new(move |_, metadata| {
        let metadata = metadata.unwrap_or_default();
        let route = wire::read_head(metadata).route.or_else(|| wire::read_bare_route(metadata).route);
        match route.and_then(|route| shared.methods.find(route)).map(|place| shared.methods.at(place)) {
            Some(method) if matches!(method.function, Function::Upload(_)) => Assembly::Pieces,
            _ => Assembly::Whole,
        }
    }))
}

fn parked_limits(config: &ServerConfig) -> ParkedLimits {
    ParkedLimits {
        sessions_max: config.resume_sessions_max,
        bytes_max: config.resume_waiting_bytes_max,
        within_ms: u64::from(milliseconds(config.resume_within)),
        store_bytes_max: config.resume_bytes_max,
    }
}

fn listen_on(
    config: &ServerConfig,
    index: usize,
    bound: &mut [SocketAddr],
    udp: &mut Option<SocketAddr>,
) -> Result<Loop<Item>, StartError> {
    let settings = LoopSettings {
        name: format!("rpc-{index}"),
        cpu: config.first_cpu.map(|cpu| cpu + index),
        busy_poll_us: config.busy_poll.as_micros() as u64,
        ..LoopSettings::default()
    };
    let mut one = Loop::new(settings).map_err(StartError::System)?;
    let mut claims = Claims::default();
    let addresses: Vec<SocketAddr> = config.listen.iter().map(|listen| listen.address).collect();
    for place in Claims::order(&addresses) {
        let listen = &config.listen[place];
        // The first loop finds the port; the others share it.
        let address = bound[place];
        let mut settings = ListenerSettings::new(address, ListenerTag(place as u16));
        settings.socket = config.socket.clone();
        settings.limits = config.limits;
        settings.tls = listen.tls.clone();
        settings.websocket = listen.websocket.clone();
        let listening = if index == 0 {
            claims.listen(one.io(), &settings)
        } else {
            settings.sharing = Sharing::Joins;
            one.io().listen(&settings)
        };
        bound[place] = listening.map_err(|error| StartError::Listen { address, error })?;
    }
    if let Some(address) = udp.or(config.udp) {
        let sharing = if index == 0 { Sharing::Claims } else { Sharing::Joins };
        let settings = UdpSettings { share: UdpSharing::Shared(sharing), ..UdpSettings::default() };
        let (_, address) =
            one.io().bind_udp(address, &settings).map_err(|error| StartError::Listen { address, error })?;
        *udp = Some(address);
    }
    Ok(one)
}

/// Prepares a loop's part; it is made on the loop's own thread, where its functions then stay.
fn core_of(
    config: &ServerConfig,
    shared: &Arc<Shared>,
    index: usize,
    pool: &Pool,
    handle: LoopHandle<Item>,
) -> impl FnOnce() -> Core + Send + 'static {
    let shared = Arc::clone(shared);
    let pool = pool.handle();
    let (admission, tick_ms) = (config.admission, config.tick_ms);
    move || {
        let inline = shared.methods.iter().map(|method| match &method.function {
            Function::Inline(make) => Some(make()),
            _ => None,
        });
        let ticking = shared.methods.iter().map(|method| match &method.function {
            Function::Ticking(make) => Some(make()),
            _ => None,
        });
        Core {
            counts: Arc::clone(&shared.counts[index]),
            inline: inline.collect(),
            ticking: ticking.collect(),
            pace: Pace::new(),
            gate: Gate::new(&admission),
            works: Works::default(),
            tickers: Tickers::new(tick_ms),
            ready: Ready::new(handle.clone()),
            pool,
            handle,
            deadlines: BinaryHeap::new(),
            caught_up: Vec::new(),
            displaced: Vec::new(),
            recent: recent::RecentRoute::default(),
            now_us: 0,
            shared,
        }
    }
}

fn register(
    config: &ServerConfig,
    shared: &Shared,
    bound: &[SocketAddr],
) -> Result<Vec<Registered>, StartError> {
    let Some(discovery) = &config.discovery else { return Ok(Vec::new()) };
    let Some(address) = config.advertise.or_else(|| bound.first().copied()) else { return Ok(Vec::new()) };
    if address.ip().is_unspecified() {
        let what = format!("{address} says nothing to others: set the address to advertise");
        return Err(StartError::Settings(what));
    }
    let registrations = shared.services.iter().map(|service| Registration {
        name: service.name.clone(),
        version: service.version.clone(),
        address,
        value: Value { load: 0.0, zone: config.zone.clone(), weight: config.weight, state: State::Serving },
    });
    registrations
        .map(|registration| discovery.register(registration).map_err(StartError::Discovery))
        .collect()
}

/// Reports the load to discovery, and quiesces when asked to.
fn steward(
    shared: &Shared,
    status: &Status,
    handles: &[LoopHandle<Item>],
    mut registered: Vec<Registered>,
    heard: &mpsc::Receiver<Word>,
) {
    loop {
        let word = heard.recv_timeout(REPORT_EVERY);
        let quiescing = status.quiescing.load(Ordering::Relaxed);
        match word {
            Ok(Word::Quiesce(within)) if !quiescing => {
                tracing::info!(within_ms = within.as_millis(), "The RPC server quiesces");
                status.quiescing.store(true, Ordering::Relaxed);
                for registration in registered.drain(..) {
                    registration.update(1.0, State::Quiescing);
                    if let Err(error) = registration.withdraw(WITHDRAW_WITHIN) {
                        tracing::warn!(%error, "Discovery was not notified that the instance leaves");
                    }
                }
                for handle in handles {
                    handle.send_beyond_bound(Item::Quiesce);
                }
            }
            Ok(Word::Stop) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
            Ok(Word::Quiesce(_)) | Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        let load = shared.counts.iter().map(|counts| counts.load.value()).max().unwrap_or(0);
        for registration in &registered {
            registration.update(load as f32 / 1000.0, State::Serving);
        }
    }
}
