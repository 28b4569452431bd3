//! A worker: a server of the service `load_worker`, for one run at a time.
//!
//! It needs nothing but the binary: scenarios and their files come from coordinators. A client that
//! reaches its port and has its key, if it has one, can have it make load; so it listens on this
//! machine alone by default.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stadium_discovery::Discovery;
use stadium_rpc::{Call, Interceptor, Listen, Refusal, Server, ServerConfig, Service};
use stadium_rsocket::metadata::authentication::Authentication;
use subtle::ConstantTimeEq as _;

use super::Compile;
use super::current_run::CurrentRun;
use super::orders;
use super::proto::{self, load_worker};
use super::version::VERSION;
use crate::clock::monotonic_ns;
use crate::error::Error;

/// Time that the last figures have to reach a coordinator when the worker leaves.
const GOODBYE: Duration = Duration::from_secs(2);
/// The longest that making a program of a scenario may take; coordinators wait as long.
pub(crate) const PREPARE_WITHIN: Duration = Duration::from_secs(120);

/// How a worker is set up.
#[derive(Clone)]
pub struct WorkerConfig {
    /// Its name in reports.
    pub name: String,
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Loops (threads) of a run; zero for one a processor.
    pub loops: u32,
    /// Where it registers itself, if anywhere.
    pub discovery: Option<Discovery>,
    /// The address to register; without it the one that is listened on.
    pub advertise: Option<SocketAddr>,
    /// What a coordinator has to know; where it is empty the worker asks for nothing.
    pub key: String,
    /// What makes programs of scenarios.
    pub compile: Compile,
}

impl std::fmt::Debug for WorkerConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerConfig")
            .field("name", &self.name)
            .field("listen", &self.listen)
            .finish_non_exhaustive()
    }
}

/// A running worker. Dropping it ends what it runs at once.
#[derive(Debug)]
pub struct Worker {
    current: Arc<CurrentRun>,
    server: Server,
}

impl Worker {
    /// Listens, and registers itself where that was asked.
    ///
    /// # Errors
    /// [`Error::Worker`] where the address cannot be listened on, or discovery does not take it.
    pub fn start(config: WorkerConfig) -> Result<Self, Error> {
        let current = CurrentRun::new(config.compile);
        let server_config = ServerConfig {
            listen: vec![Listen::tcp(config.listen)],
            discovery: config.discovery.clone(),
            advertise: config.advertise,
            // A coordinator that has gone is known by its connection; nothing waits for it to come back.
            resume_bytes_max: 0,
            leases: false,
            ..ServerConfig::default()
        };
        let server = Server::start(server_config, vec![service(&config, &current)])
            .map_err(|error| Error::Worker(error.to_string()))?;
        Ok(Worker { current, server })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.bound()[0]
    }

    /// Whether a run has it.
    pub fn is_busy(&self) -> bool {
        self.current.is_taken()
    }

    /// Ends what it runs, notifies the coordinator, and leaves.
    pub fn leave(self) {
        self.current.vacate();
        self.current.wait_free(GOODBYE);
        self.server.quiesce(Duration::from_millis(200)).wait();
        self.server.stop();
    }
}

fn service(config: &WorkerConfig, current: &Arc<CurrentRun>) -> Service {
    let (attached, delivered, prepared, begun, ordered) = (
        Arc::clone(current),
        Arc::clone(current),
        Arc::clone(current),
        Arc::clone(current),
        Arc::clone(current),
    );
    let (current, name) = (Arc::clone(current), config.name.clone());
    let machine = crate::machine::describe();
    let loops = if config.loops == 0 { machine.processors } else { config.loops };
    Service::new(load_worker::NAME, load_worker::VERSION)
        .descriptors(load_worker::FILE_DESCRIPTOR_SET)
        .interceptor(KeyGuard(config.key.clone()))
        .inline(&load_worker::HELLO, move |_call, request, answer| {
            same_version(&request.version)?;
            *answer = proto::HelloAnswer {
                version: VERSION.to_owned(),
                name: name.clone(),
                loops,
                processors: machine.processors,
                open_files: machine.open_files,
                busy: current.is_taken(),
            };
            Ok(())
        })
        .inline(&load_worker::CLOCK, |_call, _request, answer| {
            answer.received_ns = monotonic_ns();
            answer.sent_ns = monotonic_ns();
            Ok(())
        })
        .streaming(&load_worker::ATTACH, move |_call, request, out| {
            let current = Arc::clone(&attached);
            let allowed = same_version(&request.version);
            async move {
                allowed?;
                let lease = current.take(request.run)?;
                let attached = proto::event::Event::Attached(proto::Attached {});
                out.send(proto::Event { event: Some(attached) }).await?;
                while let Some(event) = lease.next().await {
                    out.send(event).await?;
                }
                Ok(())
            }
        })
        .inline(&load_worker::DELIVER, move |_call, piece, _done| delivered.store(piece))
        .blocking(&load_worker::PREPARE, move |_call, request| {
            prepared.prepare(&request).map(|()| proto::Done {})
        })
        .inline(&load_worker::BEGIN, move |_call, request, answer| {
            answer.ahead_ns = begun.begin(request.run, request.at_ns)?;
            Ok(())
        })
        .inline(&load_worker::ORDER, move |_call, request, _done| {
            let order = orders::read(request.order.as_ref())
                .ok_or_else(|| Refusal::rejected("LOAD-003", "the order is empty"))?;
            ordered.order(request.run, order)
        })
}

/// Lets calls through that show the worker's key. Methods of the framework, which begin with a
/// small letter, report health alone and are open.
struct KeyGuard(String);

impl Interceptor for KeyGuard {
    fn before(&self, call: &Call<'_>) -> Result<(), Refusal> {
        let Self(key) = self;
        let method = call.route().split_once('/').map_or("", |(_, method)| method);
        if method.starts_with(|first: char| first.is_ascii_lowercase()) {
            return Ok(());
        }
        match call.authentication() {
            Some(Authentication::Bearer(theirs)) => same_key(key, theirs),
            _ => same_key(key, ""),
        }
    }
}

/// Only processes of the same version work together: tallies and scenarios change between versions.
fn same_version(theirs: &str) -> Result<(), Refusal> {
    if theirs == VERSION {
        return Ok(());
    }
    let what =
        format!("this worker is Stadium {VERSION}, its caller is {theirs:?}: both have to be the same");
    Err(Refusal::rejected("LOAD-001", what))
}

/// Compares keys in a time that does not depend on where they differ. Lengths are no secret.
fn same_key(ours: &str, theirs: &str) -> Result<(), Refusal> {
    if ours.is_empty() || ours.as_bytes().ct_eq(theirs.as_bytes()).into() {
        return Ok(());
    }
    let what = if theirs.is_empty() {
        "this worker asks for a key: --worker-key, or STADIUM_LOAD_KEY"
    } else {
        "this worker has another key"
    };
    Err(Refusal::rejected("LOAD-006", what))
}
