//! The limit of the RPC rows: bytes sent, sent back and counted, and nothing else. Both sides, like every peer.
//!
//! A ready socket is read once for each readiness: a short read means that it is drained. The bytes
//! of one read are answered by one write. Nothing is decoded, and a loop sleeps as soon as nothing is
//! ready, unless the arguments say otherwise.

mod client;
mod sample;
mod server;
mod shape;

use std::io::{self, Read as _, Write as _};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Args, Subcommand};
use mio::net::TcpStream;
use mio::{Events, Poll};

/// Events taken from the kernel at once.
const EVENTS: usize = 1024;
/// Read buffer.
const READ_BYTES: usize = 256 * 1024;

/// More than the least.
#[derive(Args)]
struct Extra {
    /// Look for events so many microseconds before each sleep
    #[arg(long, default_value_t = 0)]
    busy_poll_us: u64,
    /// Decode and encode each message, and put its length before it
    #[arg(long)]
    decode: bool,
}

impl Extra {
    /// Waits for events, at most so long.
    fn wait(&self, poll: &mut Poll, events: &mut Events, at_most: Option<Duration>) -> io::Result<()> {
        let (began, looks_for) = (Instant::now(), Duration::from_micros(self.busy_poll_us));
        while began.elapsed() < looks_for {
            poll.poll(events, Some(Duration::ZERO))?;
            if !events.is_empty() {
                return Ok(());
            }
        }
        poll.poll(events, at_most)
    }
}

/// The two sides.
#[derive(Subcommand)]
pub(crate) enum Side {
    /// Sends back what it reads, until killed
    Server(server::Options),
    /// One cell of the bench
    Client(client::Options),
}

/// Runs one side.
pub(crate) fn run(side: &Side) -> Result<()> {
    match side {
        Side::Server(options) => server::run(options),
        Side::Client(options) => client::run(options),
    }
}

/// A socket, and what the kernel did not take yet.
struct Connection {
    socket: TcpStream,
    unsent: Vec<u8>,
}

impl Connection {
    fn new(socket: TcpStream) -> Result<Self> {
        socket.set_nodelay(true)?;
        Ok(Self { socket, unsent: Vec::new() })
    }

    /// Sends, and keeps what is left; order holds.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let sent = if self.unsent.is_empty() { written(&mut self.socket, bytes)? } else { 0 };
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    /// Sends what was left.
    fn flush(&mut self) -> io::Result<()> {
        if !self.unsent.is_empty() {
            let sent = written(&mut self.socket, &self.unsent)?;
            self.unsent.drain(..sent);
        }
        Ok(())
    }

    /// Bytes read; `None` when there are none now.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.socket.read(buffer) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => Ok(Some(read)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn written(socket: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    match socket.write(bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        result => result,
    }
}
