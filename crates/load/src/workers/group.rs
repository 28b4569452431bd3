//! The workers of a run: connected, compared with this machine's clock, given their parts.
//!
//! Each worker gets loops in proportion to those it has, all of them numbered through. A worker
//! that cannot do its part is an error before anything was started; later it is lost, and the run
//! goes on.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::Duration;

use stadium_rpc::{CallError, Client, ClientConfig, ServiceClient, Streaming};
use stadium_rsocket::metadata::authentication::{self, Authentication};
use stadium_scenario::Program;

use super::changes;
use super::children::Children;
use super::files::{self, Compile, Files};
use super::launch::Launched;
use super::offset::{Exchange, Offset};
use super::proto::prepare_request::Assignment;
use super::proto::{self, event, load_worker};
use super::remote::{CALL_WITHIN, Part, Remote, SILENCE_MAX, ServiceOf, within};
use super::together::together;
use super::version::VERSION;
use super::worker::PREPARE_WITHIN;
use crate::clock::monotonic_ns;
use crate::engine::event::Event;
use crate::error::Error;
use crate::swarm::SwarmConfig;

/// Exchanges by which a clock is compared.
const EXCHANGES: usize = 32;
/// Bytes of a file that travel in one message.
const PIECE_BYTES: usize = 1024 * 1024;
/// Events that a worker may send ahead of what was taken.
const CREDIT: u32 = 1_024;
/// Loops of all workers together; more is a mistake.
const LOOPS_MAX: u32 = 100_000;

/// Workers that answer: one run after the other can be given to them.
#[derive(Debug)]
pub struct Workers {
    compile: Compile,
    workers: Vec<Found>,
    /// Where they were started for this group: they end with it.
    started: Option<Started>,
}

/// A worker that answers, for people.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerFacts {
    /// Its name.
    pub name: String,
    /// Where it was reached.
    pub address: String,
    /// Loops that it runs.
    pub loops: u32,
    /// Open files that its process may have: the most connections that it can make.
    pub open_files: u64,
    /// Its clock less ours, in microseconds.
    pub clock_offset_us: f64,
    /// How far that may be off, in microseconds.
    pub clock_error_us: f64,
}

/// Those that were started for a group.
#[derive(Debug)]
enum Started {
    Children(Children),
    Launched(#[expect(dead_code, reason = "it is kept for its end")] Launched),
}

#[derive(Debug)]
struct Found {
    name: String,
    address: String,
    loops: u32,
    open_files: u64,
    offset: Offset,
    service: ServiceOf,
}

/// Workers with their parts.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) remotes: Vec<Remote>,
    /// Loops of all of them.
    pub(crate) loops: u32,
}

impl Workers {
    /// Connects to workers at these addresses (`HOST:PORT`): each has to answer, be of this
    /// version, and not be busy. Those that ask for a key have to ask for this one.
    ///
    /// # Errors
    /// [`Error::Worker`] with the first worker that cannot be had; [`Error::Config`] for no address at all, or one twice.
    pub fn connect(addresses: &[String], key: &str, compile: Compile) -> Result<Self, Error> {
        if addresses.is_empty() {
            return Err(Error::Config("no worker is named".to_owned()));
        }
        for (place, address) in addresses.iter().enumerate() {
            if addresses[..place].contains(address) {
                return Err(Error::Config(format!("worker {address} is named twice")));
            }
        }
        let workers = together(addresses.iter(), |address| greet(address, key))?;
        Ok(Workers { compile, workers, started: None })
    }

    /// Connects to workers that were started on this machine; they end when this is dropped.
    ///
    /// # Errors
    /// As [`Workers::connect`].
    pub fn of_children(children: Children, compile: Compile) -> Result<Self, Error> {
        let group = Workers::connect(children.addresses(), children.key(), compile)?;
        Ok(Workers { started: Some(Started::Children(children)), ..group })
    }

    /// Connects to workers that were started over SSH; they end when this is dropped.
    ///
    /// # Errors
    /// As [`Workers::connect`].
    pub fn of_launched(launched: Launched, compile: Compile) -> Result<Self, Error> {
        let group = Workers::connect(launched.addresses(), "", compile)?;
        Ok(Workers { started: Some(Started::Launched(launched)), ..group })
    }

    /// The ids of their processes, where they were started on this machine.
    pub fn pids(&self) -> Vec<u32> {
        match &self.started {
            Some(Started::Children(children)) => children.pids(),
            Some(Started::Launched(_)) | None => Vec::new(),
        }
    }

    /// The facts of each, for people.
    pub fn facts(&self) -> Vec<WorkerFacts> {
        let facts = |found: &Found| WorkerFacts {
            name: found.name.clone(),
            address: found.address.clone(),
            loops: found.loops,
            open_files: found.open_files,
            clock_offset_us: found.offset.ns as f64 / 1e3,
            clock_error_us: found.offset.error_ns as f64 / 1e3,
        };
        self.workers.iter().map(facts).collect()
    }

    /// Gives each its part of a scenario's users, and makes it ready to start. Clocks are compared
    /// anew: they may have drifted.
    pub(crate) fn prepare_users(
        &self,
        program: &Program,
        folder: &Path,
        out: &Sender<Event>,
    ) -> Result<Prepared, Error> {
        let files = files::read(self.compile, program, folder)?;
        let mut users = proto::Users { scenario: program.text.clone(), ..proto::Users::default() };
        changes::write(program, &mut users);
        self.prepare(&files, &Assignment::Users(users), out)
    }

    /// The same with the devices of a swarm.
    pub(crate) fn prepare_devices(
        &self,
        config: &SwarmConfig,
        out: &Sender<Event>,
    ) -> Result<Prepared, Error> {
        let files = files::read_certificates(config)?;
        let config = serde_json::to_vec(config)
            .map_err(|error| Error::Config(format!("the swarm cannot be sent to workers: {error}")))?;
        self.prepare(&files, &Assignment::Devices(proto::Devices { config }), out)
    }

    fn prepare(
        &self,
        files: &Files,
        assignment: &Assignment,
        out: &Sender<Event>,
    ) -> Result<Prepared, Error> {
        let run = fastrand::u64(..);
        let of: u32 = self.workers.iter().map(|worker| worker.loops).fold(0, u32::saturating_add);
        if of == 0 || of > LOOPS_MAX {
            return Err(Error::Worker(format!("all workers together have {of} loops, not 1 to {LOOPS_MAX}")));
        }
        let mut first = 0;
        let mut parts = Vec::new();
        for (number, worker) in self.workers.iter().enumerate() {
            let part = Part {
                number,
                name: worker.name.clone(),
                address: worker.address.clone(),
                offset: worker.offset,
                first,
                count: worker.loops,
                run,
            };
            first += part.count;
            parts.push((part, worker.service.clone()));
        }
        let remotes = together(parts.into_iter(), |(mut part, service)| {
            let events = compare(&service.service)
                .and_then(|offset| {
                    part.offset = offset;
                    prepare(&part, of, &service.service, files, assignment)
                })
                .map_err(|error| failed(&named(&part.name, &part.address), &error))?;
            Remote::follow(part, service, events, out.clone())
        })?;
        Ok(Prepared { remotes, loops: of })
    }
}

impl Prepared {
    /// Gives all their start, in [`monotonic_ns`] of this process.
    pub(crate) fn begin(&self, epoch_ns: u64) -> Result<(), Error> {
        let begun: Vec<_> = self.remotes.iter().map(|remote| (remote, remote.begin(epoch_ns))).collect();
        for (remote, answer) in begun {
            let answer =
                answer.wait().map_err(|error| failed(&named(&remote.name, &remote.address), &error))?;
            if answer.ahead_ns <= 0 {
                let late_ms = answer.ahead_ns.unsigned_abs() as f64 / 1e6;
                return Err(Error::Worker(format!(
                    "{} ({}) got the start {late_ms:.1} ms after it: its network or its processors are too slow",
                    remote.name, remote.address
                )));
            }
        }
        Ok(())
    }

    /// The longest way to a worker and back, in nanoseconds.
    pub(crate) fn way_ns(&self) -> u64 {
        self.remotes.iter().map(|remote| remote.offset.error_ns * 2).max().unwrap_or(0)
    }
}

fn greet(address: &str, key: &str) -> Result<Found, Error> {
    use std::net::ToSocketAddrs as _;
    let wrong = |what: String| Error::Config(format!("worker {address:?}: {what}"));
    let found = address.to_socket_addrs().map_err(|error| wrong(format!("not a HOST:PORT: {error}")))?.next();
    let found = found.ok_or_else(|| wrong("the host has no address".to_owned()))?;
    let mut config = ClientConfig::at(vec![found]);
    config.hedge = None;
    config.retry.attempts_max = 1;
    config.keepalive_interval = Duration::from_millis(500);
    config.keepalive_lifetime = SILENCE_MAX;
    config.name = "load-workers".to_owned();
    if !key.is_empty() {
        authentication::write(&mut config.metadata, Authentication::Bearer(key));
    }
    let client = Client::start(config).map_err(Error::system("starting a client"))?;
    let service = client.service(load_worker::NAME);
    let request = proto::HelloRequest { version: VERSION.to_owned() };
    let hello = service
        .call_with(&load_worker::HELLO, &request, &within(CALL_WITHIN))
        .wait()
        .map_err(|error| failed(&format!("at {address}"), &error))?;
    if hello.version != VERSION {
        return Err(Error::Worker(format!(
            "{} ({address}) is Stadium {}, this is {VERSION}: both have to be the same",
            hello.name, hello.version
        )));
    }
    if hello.busy {
        return Err(Error::Worker(format!("{} ({address}) is busy with another run", hello.name)));
    }
    let offset = compare(&service).map_err(|error| failed(&named(&hello.name, address), &error))?;
    Ok(Found {
        name: hello.name,
        address: address.to_owned(),
        loops: hello.loops,
        open_files: hello.open_files,
        offset,
        service: ServiceOf { service, _client: client },
    })
}

/// Compares a worker's clock with ours.
fn compare(service: &ServiceClient) -> Result<Offset, CallError> {
    let mut exchanges = Vec::with_capacity(EXCHANGES);
    for _ in 0..EXCHANGES {
        let asked_ns = monotonic_ns();
        let answer =
            service.call_with(&load_worker::CLOCK, &proto::ClockRequest {}, &within(CALL_WITHIN)).wait()?;
        let answered_ns = monotonic_ns();
        let proto::ClockAnswer { received_ns, sent_ns } = answer;
        exchanges.push(Exchange { asked_ns, received_ns, sent_ns, answered_ns });
    }
    Offset::of(&exchanges).ok_or(CallError::Cancelled)
}

/// Attaches, sends the files, and has the loops made. Dropping the stream undoes all of it.
fn prepare(
    part: &Part,
    of: u32,
    service: &ServiceClient,
    files: &Files,
    assignment: &Assignment,
) -> Result<Streaming<proto::Event>, CallError> {
    let request = proto::AttachRequest { version: VERSION.to_owned(), run: part.run };
    let mut events =
        service.stream(&load_worker::ATTACH, &request, CREDIT, &stadium_rpc::CallOptions::default());
    match events.next_within(CALL_WITHIN)?.and_then(|event| event.event) {
        Some(event::Event::Attached(_)) => {}
        _ => {
            return Err(CallError::Protocol(
                "its first event does not report that it is attached".to_owned(),
            ));
        }
    }
    for (name, data) in files {
        let pieces = data.len().div_ceil(PIECE_BYTES).max(1);
        for number in 0..pieces {
            let from = number * PIECE_BYTES;
            let piece = proto::Piece {
                run: part.run,
                name: name.clone(),
                data: data[from..data.len().min(from + PIECE_BYTES)].to_vec(),
                last: number + 1 == pieces,
            };
            service.call_with(&load_worker::DELIVER, &piece, &within(CALL_WITHIN)).wait()?;
        }
    }
    let request = proto::PrepareRequest {
        run: part.run,
        first: part.first,
        count: part.count,
        of,
        assignment: Some(assignment.clone()),
    };
    service.call_with(&load_worker::PREPARE, &request, &within(PREPARE_WITHIN)).wait()?;
    Ok(events)
}

fn named(name: &str, address: &str) -> String {
    format!("{name} ({address})")
}

fn failed(who: &str, error: &CallError) -> Error {
    Error::Worker(match error {
        CallError::Busy { reason, .. } => format!("{who} is busy: {reason}"),
        CallError::Rejected { reason, code } => format!("{who}: {reason} ({code})"),
        other => format!("{who}: {other}"),
    })
}
