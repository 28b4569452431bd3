//! The limit of the RPC rows: bytes sent, sent back and counted, and nothing else. Both sides, like every peer.
//!
//! A ready socket is read once for each readiness: a short read means that it is drained. The bytes
//! of one read are answered by one write. Nothing is decoded; a message is so many bytes.

mod client;
mod server;

use std::io::{self, Read as _, Write as _};

use anyhow::Result;
use clap::Subcommand;
use mio::net::TcpStream;

/// Events taken from the kernel at once.
const EVENTS: usize = 1024;
/// Read buffer.
const READ_BYTES: usize = 256 * 1024;

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
