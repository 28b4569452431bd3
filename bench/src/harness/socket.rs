//! One non-blocking connection: what came and was not yet understood, what is to be sent and was not yet taken.

use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

/// Size of the buffer that connections share for reading.
pub(crate) const READ_BYTES: usize = 256 * 1024;

/// A connection of the harness.
pub(crate) struct Socket {
    stream: TcpStream,
    token: Token,
    input: Vec<u8>,
    output: Vec<u8>,
    sent: usize,
    watches_writing: bool,
}

impl Socket {
    /// Connects, waiting for it, and has events reported under `token`.
    pub(crate) fn connect(address: SocketAddr, registry: &Registry, token: Token) -> Result<Self> {
        let stream =
            std::net::TcpStream::connect(address).with_context(|| format!("connect to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        registry.register(&mut stream, token, Interest::READABLE)?;
        Ok(Self { stream, token, input: Vec::new(), output: Vec::new(), sent: 0, watches_writing: false })
    }

    /// Reads all that is there, through `buffer`. mio's events are edges, so this is needed after each.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> Result<()> {
        loop {
            match self.stream.read(buffer) {
                Ok(0) => bail!("the server closed the connection"),
                Ok(received) => {
                    self.input.extend_from_slice(&buffer[..received]);
                    if received < buffer.len() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("read"),
            }
        }
    }

    /// What came and was not taken yet.
    pub(crate) fn input(&self) -> &[u8] {
        &self.input
    }

    /// Takes bytes off the front of the input.
    pub(crate) fn take(&mut self, bytes: usize) {
        self.input.drain(..bytes);
    }

    /// Sends `bytes` as far as the kernel takes them and keeps the rest.
    pub(crate) fn send(&mut self, bytes: &mut Vec<u8>, registry: &Registry) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.output.is_empty() {
            std::mem::swap(&mut self.output, bytes);
        } else {
            self.output.append(bytes);
        }
        self.flush(registry)
    }

    /// Sends what is left.
    pub(crate) fn flush(&mut self, registry: &Registry) -> Result<()> {
        while self.sent < self.output.len() {
            match self.stream.write(&self.output[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !self.watches_writing {
                        self.watches_writing = true;
                        let both = Interest::READABLE | Interest::WRITABLE;
                        registry.reregister(&mut self.stream, self.token, both)?;
                    }
                    return Ok(());
                }
                Err(error) => return Err(error).context("write"),
            }
        }
        self.output.clear();
        self.sent = 0;
        Ok(())
    }
}
