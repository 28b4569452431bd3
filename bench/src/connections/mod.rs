//! Connections of many devices on one thread: raw sockets, mio's epoll, one receive buffer.
//!
//! They must cost less than any server that they measure. A ready socket is read once,
//! edge-triggered: a short read means that it is drained. All answers to a socket's packets leave
//! in one write. A socket owns memory only while it holds part of a packet or something unsent.

#![allow(unsafe_code, reason = "raw sockets: the client must cost less than any server")]

mod socket;

use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use crate::wire::{Incoming, Wire};
use socket::{Received, abort, connect, receive, send};

/// Read buffer: more than any turn's packets for one socket.
const READ_BYTES: usize = 256 * 1024;
/// Events taken from the kernel at once.
const EVENTS: usize = 4096;
/// A phase without progress for this long has failed.
pub(crate) const STALL: Duration = Duration::from_secs(30);

/// How far a socket's handshake has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Closed,
    AwaitsWelcome,
    AwaitsSubscriptions(u8),
    Open,
}

/// One device's socket.
struct Socket {
    fd: RawFd,
    stage: Stage,
    interested_in_writes: bool,
    /// Start of a packet whose end has not arrived.
    carry: Vec<u8>,
    /// What the kernel did not take yet.
    unsent: Vec<u8>,
}

/// A device's packets at its handshake.
pub(crate) struct Device {
    /// Client id.
    pub(crate) id: String,
    /// Topics and QoS; empty for a publisher.
    pub(crate) topics: Vec<(String, u8)>,
}

/// How a handshake phase went.
pub(crate) struct Connected {
    /// From the first `connect` to the last subscription's answer.
    pub(crate) elapsed: Duration,
    /// Connections that the server refused or cut, and that were tried again.
    pub(crate) retries: u64,
}

/// Devices and their connections to one server.
pub(crate) struct Connections<W> {
    wire: W,
    address: SocketAddr,
    poll: Poll,
    events: Option<Events>,
    buffer: Vec<u8>,
    replies: Vec<u8>,
    sockets: Vec<Socket>,
    devices: Vec<Device>,
    /// Devices that finished their handshake in the last turn.
    opened: usize,
    /// Devices whose connection ended, and whether they were open, since somebody last looked.
    lost: Vec<(usize, bool)>,
}

impl<W: Wire> Connections<W> {
    /// No devices yet; those added will connect to `address`.
    pub(crate) fn new(wire: W, address: SocketAddr) -> Result<Self> {
        Ok(Self {
            wire,
            address,
            poll: Poll::new()?,
            events: Some(Events::with_capacity(EVENTS)),
            buffer: vec![0; READ_BYTES],
            replies: Vec::new(),
            sockets: Vec::new(),
            devices: Vec::new(),
            opened: 0,
            lost: Vec::new(),
        })
    }

    /// Adds a device without connecting it; returns its index.
    pub(crate) fn add(&mut self, device: Device) -> usize {
        self.devices.push(device);
        self.sockets.push(Socket {
            fd: -1,
            stage: Stage::Closed,
            interested_in_writes: false,
            carry: Vec::new(),
            unsent: Vec::new(),
        });
        self.devices.len() - 1
    }

    /// The wire, for building messages.
    pub(crate) fn wire(&self) -> &W {
        &self.wire
    }

    /// Connects every device that is not open, at most `in_flight` handshakes at a time.
    pub(crate) fn connect_all(&mut self, in_flight: usize) -> Result<Connected> {
        self.connect_all_hearing(in_flight, |_, _, _| {})
    }

    /// The same; `listener` gets the messages to devices meanwhile.
    pub(crate) fn connect_all_hearing<L>(&mut self, in_flight: usize, mut listener: L) -> Result<Connected>
    where
        L: FnMut(usize, Incoming<'_>, &mut Vec<u8>),
    {
        let started = Instant::now();
        let mut waiting: Vec<usize> = (0..self.sockets.len())
            .rev()
            .filter(|index| self.sockets[*index].stage == Stage::Closed)
            .collect();
        let mut open_missing = waiting.len();
        let mut flying = 0;
        let mut retries = 0;
        let mut progress = Instant::now();
        while open_missing > 0 {
            // A slice at a time, so that answers are read while the rest is still being started.
            let mut slice = 64;
            while flying < in_flight && slice > 0 {
                let Some(index) = waiting.pop() else { break };
                self.open(index)?;
                flying += 1;
                slice -= 1;
            }
            let pause = if slice == 0 { Duration::ZERO } else { Duration::from_millis(100) };
            self.turn(pause, &mut listener)?;
            if self.opened > 0 {
                open_missing -= self.opened;
                flying -= self.opened;
                progress = Instant::now();
            }
            for (index, was_open) in std::mem::take(&mut self.lost) {
                if was_open {
                    open_missing += 1;
                } else {
                    flying -= 1;
                }
                retries += 1;
                waiting.push(index);
            }
            if progress.elapsed() > STALL {
                bail!("{open_missing} of {} devices are still not connected", self.sockets.len());
            }
        }
        Ok(Connected { elapsed: started.elapsed(), retries })
    }

    /// Ends every connection at once, as a network does that goes away: the server sees a reset.
    pub(crate) fn cut_all(&mut self) {
        for index in 0..self.sockets.len() {
            self.abort(index);
        }
    }

    /// Sends bytes to one device's server; bytes that do not fit now leave as the socket takes
    /// them.
    pub(crate) fn send(&mut self, index: usize, bytes: &[u8]) -> Result<()> {
        let socket = &mut self.sockets[index];
        let sent = if socket.unsent.is_empty() { send(socket.fd, bytes)? } else { 0 };
        if sent < bytes.len() {
            socket.unsent.extend_from_slice(&bytes[sent..]);
            self.want_writes(index)?;
        }
        Ok(())
    }

    /// One turn: waits at most `pause`, reads what is ready, hands each packet of an open device to
    /// `listener` with a buffer for its answer. A device that is lost while open is an error for the caller
    /// to judge by [`Self::check`].
    pub(crate) fn turn<L>(&mut self, pause: Duration, mut listener: L) -> Result<()>
    where
        L: FnMut(usize, Incoming<'_>, &mut Vec<u8>),
    {
        self.opened = 0;
        let mut events = self.events.take().expect("a turn is not entered twice");
        match self.poll.poll(&mut events, Some(pause)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context("epoll"),
        }
        for event in &events {
            let Token(index) = event.token();
            if event.is_writable() && !self.sockets[index].unsent.is_empty() {
                self.flush(index);
            }
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                self.read(index, &mut listener)?;
            }
        }
        self.events = Some(events);
        Ok(())
    }

    /// Waits at most `pause` for one device's socket alone, and reads it. The others' bytes stay where they
    /// are until [`Self::turn`], which costs this process nothing.
    pub(crate) fn read_one<L>(&mut self, index: usize, pause: Duration, mut listener: L) -> Result<()>
    where
        L: FnMut(usize, Incoming<'_>, &mut Vec<u8>),
    {
        let mut watched = libc::pollfd { fd: self.sockets[index].fd, events: libc::POLLIN, revents: 0 };
        let wait_ms = i32::try_from(pause.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one pollfd is passed, and its number states so.
        let ready = unsafe { libc::poll(&mut watched, 1, wait_ms) };
        if ready > 0 { self.read(index, &mut listener) } else { Ok(()) }
    }

    /// Fails when the server has ended a connection that should have stayed.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.lost.is_empty() {
            bail!("the server ended {} connections", self.lost.len());
        }
        Ok(())
    }

    fn open(&mut self, index: usize) -> Result<()> {
        let fd = connect(self.address)?;
        self.sockets[index].fd = fd;
        self.sockets[index].stage = Stage::AwaitsWelcome;
        let mut hello = std::mem::take(&mut self.replies);
        self.wire.hello(&self.devices[index].id, &mut hello);
        // On loopback the connection is often complete before `connect` returns.
        let sent = send(fd, &hello).unwrap_or(0);
        let socket = &mut self.sockets[index];
        socket.unsent.extend_from_slice(&hello[sent..]);
        socket.interested_in_writes = sent < hello.len();
        let interest =
            if sent < hello.len() { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        hello.clear();
        self.replies = hello;
        self.poll.registry().register(&mut SourceFd(&fd), Token(index), interest).context("epoll_ctl")?;
        Ok(())
    }

    fn read<L>(&mut self, index: usize, listener: &mut L) -> Result<()>
    where
        L: FnMut(usize, Incoming<'_>, &mut Vec<u8>),
    {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut replies = std::mem::take(&mut self.replies);
        loop {
            let kept = self.sockets[index].carry.len();
            if kept > 0 {
                buffer[..kept].copy_from_slice(&self.sockets[index].carry);
                self.sockets[index].carry.clear();
            }
            let room = buffer.len() - kept;
            let received = match receive(self.sockets[index].fd, &mut buffer[kept..]) {
                Received::Bytes(bytes) => bytes,
                Received::Nothing => {
                    self.sockets[index].carry.extend_from_slice(&buffer[..kept]);
                    break;
                }
                Received::Ended => {
                    self.lose(index);
                    break;
                }
            };
            let filled = &buffer[..kept + received];
            let mut at = 0;
            while let Some((incoming, length)) = self.wire.parse(&filled[at..]) {
                self.incoming(index, incoming, &mut replies, listener);
                at += length;
                if self.sockets[index].stage == Stage::Closed {
                    break;
                }
            }
            if self.sockets[index].stage == Stage::Closed {
                break;
            }
            self.sockets[index].carry.extend_from_slice(&filled[at..]);
            if !replies.is_empty() {
                if self.send(index, &replies).is_err() {
                    self.lose(index);
                }
                replies.clear();
            }
            if received < room {
                break;
            }
        }
        replies.clear();
        self.buffer = buffer;
        self.replies = replies;
        Ok(())
    }

    #[inline]
    fn incoming<L>(&mut self, index: usize, incoming: Incoming<'_>, replies: &mut Vec<u8>, listener: &mut L)
    where
        L: FnMut(usize, Incoming<'_>, &mut Vec<u8>),
    {
        if let Incoming::Delivery { acknowledge: Some(packet_id), .. } = incoming {
            self.wire.acknowledge(packet_id, replies);
        }
        match (self.sockets[index].stage, &incoming) {
            (_, Incoming::Ping) => self.wire.pong(replies),
            (_, Incoming::Refused(_)) => self.lose(index),
            // A server may deliver before it answers the subscription. MQTT 3.1.1, 3.8.4.
            (Stage::Open, _) | (_, Incoming::Delivery { .. }) => listener(index, incoming, replies),
            (Stage::AwaitsWelcome, Incoming::Welcome) => {
                let topics = &self.devices[index].topics;
                let answers = if topics.is_empty() { 0 } else { self.wire.subscribe(topics, replies) };
                self.advance(index, answers);
            }
            (Stage::AwaitsSubscriptions(missing), Incoming::Subscribed | Incoming::Welcome) => {
                self.advance(index, usize::from(missing) - 1);
            }
            _ => {}
        }
    }

    fn advance(&mut self, index: usize, answers_missing: usize) {
        self.sockets[index].stage = if answers_missing == 0 {
            self.opened += 1;
            Stage::Open
        } else {
            Stage::AwaitsSubscriptions(u8::try_from(answers_missing).expect("a handful of subscriptions"))
        };
    }

    fn flush(&mut self, index: usize) {
        let socket = &mut self.sockets[index];
        match send(socket.fd, &socket.unsent) {
            Ok(sent) if sent == socket.unsent.len() => socket.unsent = Vec::new(),
            Ok(sent) => _ = socket.unsent.drain(..sent),
            // The read side will see the end.
            Err(_) => {}
        }
    }

    fn want_writes(&mut self, index: usize) -> Result<()> {
        let socket = &mut self.sockets[index];
        if !socket.interested_in_writes {
            socket.interested_in_writes = true;
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().reregister(&mut SourceFd(&socket.fd), Token(index), interest)?;
        }
        Ok(())
    }

    fn lose(&mut self, index: usize) {
        let stage = self.sockets[index].stage;
        if stage != Stage::Closed {
            self.abort(index);
            self.lost.push((index, stage == Stage::Open));
        }
    }

    fn abort(&mut self, index: usize) {
        let socket = &mut self.sockets[index];
        if socket.fd >= 0 {
            abort(socket.fd);
            socket.fd = -1;
        }
        socket.stage = Stage::Closed;
        socket.carry = Vec::new();
        socket.unsent = Vec::new();
        socket.interested_in_writes = false;
    }
}

impl<W> Drop for Connections<W> {
    fn drop(&mut self) {
        for socket in self.sockets.iter().filter(|socket| socket.fd >= 0) {
            abort(socket.fd);
        }
    }
}
