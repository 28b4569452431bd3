//! Starts the edge's loops, and ends them.
//!
//! Every address is listened on before the first loop runs, so that a port in use fails the start
//! and not a thread. A drain empties the loops at a pace, [`Edge::stop`] ends them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use foldhash::fast::FixedState;
use ring::rand::{SecureRandom, SystemRandom};
use stadium_mqtt::broker::{self, Broker, InMemory, LoopIndex, MailboxLimits, Retained};
use stadium_push::LiveOrigins;
use stadium_reactor::{Claims, ListenerTag, Loop, LoopSettings, Sharing};
use stadium_shard::Shards;

use stadium_grants::topics::OWN_PREFIX;

use crate::auth::DeviceRegistry;
use crate::clock::Clock;
use crate::config::{CONNECT_BYTES_FREE, Config, Transport};
use crate::counts::Published;
use crate::device_loop::DeviceLoop;
use crate::handle::EdgeHandle;
use crate::interest::{Interests, LOOPS_MAX};
use crate::limits::{Addresses, HeldBytes};
use crate::message::{Kind, Message};
use crate::push::Pushes;
use crate::push::transport::{Inboxes, PushShards, TracedDeliveries, TransportQueue};
use crate::requests::{OwnRequests, REQUEST_PREFIX, RequestGate};
use crate::sessions::{Returning, SessionWriter};
use crate::streams::TopicStreams;
use crate::sys_topics::SysTopics;
use crate::trace::Traces;
use crate::traced_publishes::{RecentPublishes, TracedPublishes};
use crate::turn::{Shared, Surroundings};
use crate::uplinks::{Followed, Uplinks};

/// An edge. Dropping it stops its loops at once.
pub struct Edge {
    handle: EdgeHandle,
    /// Loops that do not run yet.
    waiting: Vec<Loop<Message>>,
    threads: Vec<JoinHandle<()>>,
    bound: Vec<Bound>,
}

/// An address on which the edge listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// With the port that was given where port 0 was asked for.
    pub address: SocketAddr,
    /// What is spoken there.
    pub transport: Transport,
}

/// Why the edge did not start.
#[derive(Debug)]
pub enum Error {
    /// The number of loops is 0 or above 64.
    Loops(usize),
    /// A loop could not be made.
    Loop(std::io::Error),
    /// The sessions that were kept cannot be read back.
    Sessions(String),
    /// An address could not be listened on.
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        error: std::io::Error,
    },
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Loops(loops) => write!(f, "the edge runs 1 to {LOOPS_MAX} loops, not {loops}"),
            Self::Loop(error) => write!(f, "an event loop could not be made: {error}"),
            Self::Sessions(why) => write!(f, "the sessions that were kept cannot be read: {why}"),
            Self::Listen { address, error } => write!(f, "cannot listen on {address}: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Loops(_) | Self::Sessions(_) => None,
            Self::Loop(error) | Self::Listen { error, .. } => Some(error),
        }
    }
}

/// How an edge is emptied.
#[derive(Clone, Debug)]
pub struct Drain {
    /// Devices are moved away one after the other within this time.
    pub within: Duration,
    /// The server to which MQTT 5.0 devices are redirected; without it they get "server shutting
    /// down".
    pub server_reference: Option<String>,
}

/// What keeps for the edge what must outlive the process. Where there is nothing, memory does.
#[derive(Clone, Default)]
pub struct Behind {
    /// The push platform, which is notified of the devices that read their inbox.
    pub platform: Option<Arc<dyn PushShards>>,
    /// The registry of devices, whose word counts when one connects.
    pub registry: Option<Arc<dyn DeviceRegistry>>,
    /// The shards that keep sessions that persist and retained messages: all of them on this node.
    pub durable: Option<Shards>,
    /// The shards of the apps, wherever they are: they take what feeds want of messages, and requests of
    /// devices about themselves.
    pub apps: Option<Shards>,
    /// In a cluster, the nodes that accepted live pushes which reach devices here.
    pub origins: Option<Arc<dyn LiveOrigins>>,
}

impl std::fmt::Debug for Behind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Behind")
            .field("platform", &self.platform)
            .field("registry", &self.registry)
            .field("durable", &self.durable.is_some())
            .field("apps", &self.apps.is_some())
            .field("origins", &self.origins)
            .finish()
    }
}

impl Edge {
    /// Listens on every address and starts the loops, with nothing behind them.
    ///
    /// # Errors
    ///
    /// As [`Self::bind`] and [`Self::run`].
    pub fn start(config: Config) -> Result<Self, Error> {
        let mut edge = Self::bind(config)?;
        edge.run(&Behind::default())?;
        Ok(edge)
    }

    /// Listens on every address: new connections wait in the kernel's queue, and commands to its
    /// handle wait in mailboxes, until [`Self::run`].
    ///
    /// # Errors
    ///
    /// An address that cannot be listened on, and what the system refuses.
    pub fn bind(config: Config) -> Result<Self, Error> {
        let loops = config.loops;
        if loops == 0 || loops > LOOPS_MAX {
            return Err(Error::Loops(loops));
        }
        let retained = Arc::new(Retained::new(config.retained));
        let epoch = Instant::now();
        let shared = Arc::new(Shared {
            epoch,
            clock: Clock::system(epoch),
            handles: OnceLock::new(),
            interests: Interests::new(loops),
            kept_interests: Interests::new(loops),
            pushes: Pushes::new(config.pushes_max),
            addresses: Addresses::new(config.addresses),
            transport_queues: (0..loops).map(|_| TransportQueue::default()).collect(),
            policy: Arc::clone(config.authenticator.policy()),
            retained,
            sys_topics: SysTopics::new(config.sys_interval_ms),
            followed: Followed::default(),
            streams: TopicStreams::new(config.streams, config.broker.topic_levels_max, stream_epoch()),
            published: (0..loops).map(|_| Published::default()).collect(),
            hasher: FixedState::default(),
            closed: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            devices: AtomicUsize::new(0),
            next_adopted: AtomicUsize::new(0),
            held: HeldBytes::new(config.before_authentication.held_bytes),
            traces: Traces::default(),
            recent_publishes: RecentPublishes::default(),
        });
        let config = Arc::new(config);
        let mut made = Vec::with_capacity(loops);
        let addresses: Vec<SocketAddr> =
            config.listeners.iter().map(|listener| listener.settings.address).collect();
        let mut bound: Vec<Bound> = config
            .listeners
            .iter()
            .map(|listener| Bound { address: listener.settings.address, transport: listener.transport })
            .collect();
        let mut claims = Claims::default();
        for index in 0..loops {
            let mut one = Loop::new(loop_settings(&config, index)).map_err(Error::Loop)?;
            for place in Claims::order(&addresses) {
                let mut settings = config.listeners[place].settings.clone();
                settings.tag = ListenerTag(u16::try_from(place).unwrap_or(u16::MAX));
                settings.limits.carry_bytes_max = config.before_authentication.bytes.min(CONNECT_BYTES_FREE);
                let listening = if index == 0 {
                    claims.listen(one.io(), &settings)
                } else {
                    // The first loop found the port; the others share it.
                    settings.address = bound[place].address;
                    settings.sharing = Sharing::Joins;
                    one.io().listen(&settings)
                };
                bound[place].address =
                    listening.map_err(|error| Error::Listen { address: settings.address, error })?;
            }
            made.push(one);
        }
        let handles = made.iter().map(Loop::handle).collect();
        shared.handles.set(handles).expect("the handles are set once");
        Ok(Self { handle: EdgeHandle { shared, config }, waiting: made, threads: Vec::new(), bound })
    }

    /// Starts the loops.
    ///
    /// # Errors
    ///
    /// A thread cannot be started.
    pub fn run(&mut self, behind: &Behind) -> Result<(), Error> {
        let EdgeHandle { shared, config } = &self.handle;
        if let Some(registry) = &behind.registry {
            config.authenticator.introduce(Arc::clone(registry));
        }
        if let Some(origins) = &behind.origins {
            shared.pushes.set_origins(Arc::clone(origins));
        }
        let mut returning = match &behind.durable {
            Some(shards) => Returning::read(shards, shared, config.loops).map_err(Error::Sessions)?,
            None => Vec::new(),
        };
        returning.reverse();
        for (index, one) in self.waiting.drain(..).enumerate() {
            let back = returning.pop();
            self.threads.push(start_loop(index, one, config, shared, behind, back).map_err(Error::Loop)?);
        }
        Ok(())
    }

    /// Reaches the edge from other threads.
    pub fn handle(&self) -> &EdgeHandle {
        &self.handle
    }

    /// Where it listens, in the order of the configuration.
    pub fn bound(&self) -> &[Bound] {
        &self.bound
    }

    /// Stops accepting and moves every device away within the time given. Returns when the last
    /// connection is gone, or when the time is over; returns how many were left.
    pub fn drain(&self, drain: &Drain) -> u64 {
        let shared = &self.handle.shared;
        shared.draining.store(true, Ordering::Release);
        shared.streams.close();
        let until = Instant::now() + drain.within;
        let within_ms = u64::try_from(drain.within.as_millis()).unwrap_or(u64::MAX);
        let server_reference: Option<Arc<str>> = drain.server_reference.as_deref().map(Arc::from);
        for index in 0..self.handle.config.loops {
            let kind = Kind::Drain { within_ms, server_reference: server_reference.clone() };
            let mut message = Message(kind);
            // A full mailbox is emptied within a turn or two.
            while let Err(full) = shared.handle(index).try_send(message) {
                if Instant::now() >= until {
                    break;
                }
                message = full.0;
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        loop {
            let left = self.handle.loop_stats().iter().map(|stats| stats.connections.value()).sum();
            if left == 0 || Instant::now() >= until {
                return left;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops the loops and waits for their threads. What is still connected is cut.
    pub fn stop(mut self) {
        self.stop_loops();
    }

    fn stop_loops(&mut self) {
        for index in 0..self.handle.config.loops {
            self.handle.shared.handle(index).stop();
        }
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("A loop ended by a panic");
            }
        }
    }
}

impl std::fmt::Debug for Edge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Edge")
            .field("bound", &self.bound)
            .field("running", &self.threads.len())
            .finish_non_exhaustive()
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        self.stop_loops();
    }
}

/// A number that no process before has used for its streams.
fn stream_epoch() -> u64 {
    let mut bytes = [0; 8];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => u64::from_ne_bytes(bytes),
        Err(_) => {
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
        }
    }
}

fn loop_settings(config: &Config, index: usize) -> LoopSettings {
    LoopSettings {
        name: format!("edge-{index}"),
        cpu: config.cpu_affinity.get(index).copied(),
        ..config.loop_settings.clone()
    }
}

fn start_loop(
    index: usize,
    one: Loop<Message>,
    config: &Arc<Config>,
    shared: &Arc<Shared>,
    behind: &Behind,
    returning: Option<Returning>,
) -> std::io::Result<JoinHandle<()>> {
    let loops = config.loops;
    let broker_config = broker::Config {
        loop_index: LoopIndex(u16::try_from(index).expect("there are at most 64 loops")),
        sessions_max: config.broker.sessions_max.div_ceil(loops),
        request_prefix: config.services.is_some().then(|| REQUEST_PREFIX.into()),
        own_prefix: Some(OWN_PREFIX.into()),
        durable: behind.durable.is_some(),
        ..config.broker.clone()
    };
    let mailboxes =
        MailboxLimits { total_max: config.mailboxes.total_max.div_ceil(loops), ..config.mailboxes };
    let mut broker =
        Broker::new(broker_config, Arc::clone(&shared.retained), Box::new(InMemory::new(mailboxes)));
    if let Some(store) = shared.sys_topics.store() {
        broker.speak_of_server(Arc::clone(store));
    }
    // Any seed will do that differs between loops and runs.
    let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let seed = seed.wrapping_add((index as u64) << 32);
    let mut around = Surroundings::new(Arc::clone(shared), index, config.congested_bytes, seed);
    around.inboxes = Inboxes::new(behind.platform.clone(), index);
    around.traced = TracedDeliveries::new(config.tracer.clone());
    around.traced_publishes = TracedPublishes::new(config.tracer.clone());
    around.request_gate = config.services.clone().map(|services| RequestGate::new(services, loops));
    let session_writer = |shards: &Shards| SessionWriter::new(shards.clone(), shared.handle(index).clone());
    around.session_writer = behind.durable.as_ref().map(session_writer);
    let uplinks = |shards: &Shards| Uplinks::new(shards.clone(), shared.handle(index).clone());
    around.uplinks = behind.apps.as_ref().map(uplinks);
    let own_requests = |shards: &Shards| OwnRequests::new(shards.clone(), shared.handle(index).clone());
    around.own_requests = behind.apps.as_ref().map(own_requests);
    let mut handler = DeviceLoop::new(Arc::clone(config), broker, around);
    let epoch = shared.epoch;
    std::thread::Builder::new().name(format!("edge-{index}")).spawn(move || {
        let mut one = one;
        let elapsed_ms = u64::try_from(epoch.elapsed().as_millis()).unwrap_or(0);
        handler.around.clock_offset_ms = elapsed_ms.saturating_sub(one.io().now());
        if let Some(returning) = returning {
            handler.take_back(one.io(), returning);
        }
        if let Err(error) = one.run(handler) {
            tracing::error!(%error, "An event loop failed");
        }
    })
}
