//! Gets over UDP, which may be lost: the caller sends and receives itself, on a socket of its own.
//!
//! Each key is a request with a number of its own. Answers to other numbers, such as late ones, are
//! dropped. A request without a whole answer ends at its own deadline, which is earlier than the
//! caller's.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use socket2::{Domain, Socket, Type};

use super::slots::refused;
use super::socket::disconnected;
use crate::error::Error;
use crate::protocol::{
    Answer, Datagram, Expect, Key, Limits, Pipeline, ProtocolError, Reassembly, Refusal, Retrieval, Sink,
    Verb, datagram_header, get, meta_get,
};

/// Requests to one server that are not answered.
///
/// The receive buffer of a socket holds some 200 kB, which are 64 answers of two datagrams.
const WINDOW: usize = 64;

/// Sockets that a server keeps for the next callers.
const KEPT: usize = 16;

/// The longest datagram.
const DATAGRAM_BYTES_MAX: usize = 65_535;

/// The result of one key.
pub(crate) type Read = Result<(Answer, Vec<u8>), Error>;

/// Sockets of one server that no caller uses.
#[derive(Debug, Default)]
pub(crate) struct Sockets(Mutex<Vec<Lane>>);

/// A socket, and the number of its next request.
#[derive(Debug)]
struct Lane {
    socket: Socket,
    peer: SocketAddr,
    next: u16,
}

impl Sockets {
    fn take(&self, peer: SocketAddr) -> io::Result<Lane> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(lane) = kept.filter(|lane| lane.peer == peer) {
            return Ok(lane);
        }
        let socket = Socket::new(Domain::for_address(peer), Type::DGRAM, None)?;
        // The kernel drops datagrams of all others.
        socket.connect(&peer.into())?;
        socket.set_nonblocking(true)?;
        Ok(Lane { socket, peer, next: fastrand::u16(..) })
    }

    fn keep(&self, lane: Lane) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(lane);
        }
    }
}

/// A request on its way.
struct Flight<'a> {
    /// Its key in the list.
    at: usize,
    key: Key<'a>,
    number: u16,
    begun: Instant,
    parts: Reassembly,
}

/// The keys of one server in a multiget.
pub(crate) struct Batch<'a> {
    sockets: &'a Sockets,
    lane: Option<Lane>,
    keys: Vec<(usize, Key<'a>)>,
    sent: usize,
    flights: Vec<Flight<'a>>,
}

/// The bounds of requests.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// Time of one request.
    pub(crate) patience: Duration,
    /// The end of all.
    pub(crate) deadline: Instant,
    pub(crate) value_bytes_max: usize,
}

impl<'a> Batch<'a> {
    /// Keys, each with its place in the list of results, for a server.
    pub(crate) fn new(
        sockets: &'a Sockets,
        peer: SocketAddr,
        keys: Vec<(usize, Key<'a>)>,
    ) -> Result<Self, Error> {
        let lane = Some(sockets.take(peer).map_err(|error| disconnected(&error))?);
        Ok(Self { sockets, lane, keys, sent: 0, flights: Vec::new() })
    }

    fn is_done(&self) -> bool {
        self.sent == self.keys.len() && self.flights.is_empty()
    }

    fn send(&mut self, now: Instant) -> io::Result<()> {
        let Some(lane) = &mut self.lane else { return Ok(()) };
        let mut out = Vec::with_capacity(64);
        while self.flights.len() < WINDOW
            && let Some((at, key)) = self.keys.get(self.sent).copied()
        {
            out.clear();
            datagram_header(&mut out, lane.next);
            if key.is_binary() {
                meta_get(&mut out, key, &Retrieval::default(), lane.next.into());
            } else {
                get(&mut out, false, [key]);
            }
            match lane.socket.send(&out) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            self.flights.push(Flight {
                at,
                key,
                number: lane.next,
                begun: now,
                parts: Reassembly::default(),
            });
            lane.next = lane.next.wrapping_add(1);
            self.sent += 1;
        }
        Ok(())
    }

    fn receive(
        &mut self,
        buffer: &mut [u8],
        value_bytes_max: usize,
        done: &mut impl FnMut(usize, Read),
    ) -> io::Result<()> {
        while let Some(lane) = &self.lane
            && !self.flights.is_empty()
        {
            let bytes = match io::Read::read(&mut &lane.socket, buffer) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let Some(datagram) = Datagram::read(&buffer[..bytes]) else { continue };
            let Some(place) = self.flights.iter().position(|one| one.number == datagram.request) else {
                continue;
            };
            if let Some(text) = self.flights[place].parts.add(datagram, value_bytes_max) {
                let Flight { at, key, number, .. } = self.flights.swap_remove(place);
                done(at, read(&text, key, number, value_bytes_max));
            }
        }
        Ok(())
    }

    /// Ends every request with an error.
    fn fail(&mut self, error: &Error, done: &mut impl FnMut(usize, Read)) {
        self.lane = None;
        self.flights.drain(..).for_each(|one| done(one.at, Err(error.clone())));
        self.keys[self.sent..].iter().for_each(|one| done(one.0, Err(error.clone())));
        self.sent = self.keys.len();
    }
}

/// Runs the batches until each request has its answer or its time is over.
pub(crate) fn exchange(batches: &mut [Batch<'_>], bounds: Bounds, mut done: impl FnMut(usize, Read)) {
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    loop {
        let now = Instant::now();
        let mut wake_at = bounds.deadline;
        for batch in batches.iter_mut() {
            batch.flights.retain(|one| {
                let ends = (one.begun + bounds.patience).min(bounds.deadline);
                if ends <= now {
                    done(one.at, Err(Error::Timeout));
                }
                ends > now
            });
            if now >= bounds.deadline {
                batch.fail(&Error::Timeout, &mut done);
            } else if let Err(error) = batch.send(now) {
                batch.fail(&disconnected(&error), &mut done);
            }
            if let Some(first) = batch.flights.iter().map(|one| one.begun).min() {
                wake_at = wake_at.min(first + bounds.patience);
            } else if !batch.is_done() {
                // The socket took nothing: soon it does.
                wake_at = wake_at.min(now + Duration::from_millis(1));
            }
        }
        if batches.iter().all(Batch::is_done) {
            break;
        }
        let waiting = batches.iter().filter(|batch| !batch.flights.is_empty());
        let mut fds: Vec<_> = waiting
            .filter_map(|batch| batch.lane.as_ref())
            .map(|lane| PollFd::from_borrowed_fd(lane.socket.as_fd(), PollFlags::IN))
            .collect();
        let timeout = Timespec::try_from(wake_at.saturating_duration_since(now)).ok();
        // An interrupted or refused wait is a short one: the sockets are read in any case.
        let _ = poll(&mut fds, timeout.as_ref());
        for batch in batches.iter_mut() {
            if let Err(error) = batch.receive(&mut buffer, bounds.value_bytes_max, &mut done) {
                batch.fail(&disconnected(&error), &mut done);
            }
        }
    }
    for batch in batches {
        if let Some(lane) = batch.lane.take() {
            batch.sockets.keep(lane);
        }
    }
}

/// The result of one request.
struct One<'a> {
    key: Key<'a>,
    result: Option<Read>,
}

impl Sink for One<'_> {
    fn key(&self, _: u32) -> &[u8] {
        self.key.bytes()
    }

    fn done(&mut self, _: u32, answer: Result<Answer, Refusal<'_>>, value: &[u8]) {
        self.result = Some(answer.map(|answer| (answer, value.to_vec())).map_err(refused));
    }

    fn statistic(&mut self, _: u32, _: &[u8], _: &[u8]) {}
}

fn read(text: &[u8], key: Key<'_>, number: u16, value_bytes_max: usize) -> Read {
    let mut pipeline = Pipeline::default();
    pipeline.push(if key.is_binary() {
        Expect::Meta { operation: 0, opaque: number.into(), verb: Verb::Read }
    } else {
        Expect::Get { operation: 0, is_last: true }
    });
    let mut one = One { key, result: None };
    let taken = pipeline.receive(text, Limits { value_bytes_max }, &mut one)?;
    match one.result {
        Some(result) if taken == text.len() && pipeline.is_empty() => result,
        // A whole answer whose text is cut or goes on.
        _ => Err(ProtocolError::UnexpectedAnswer.into()),
    }
}
