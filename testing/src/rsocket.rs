//! RSocket frames written and read by hand, and a client that sends whatever it likes.
//!
//! ```text
//! |length (24)| stream id (32) | type (6) flags (10) | ...
//! ```
//!
//! Nothing here is the product's codec: a hostile frame must be possible, and a mistake must not hide itself.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::deadline::PATIENCE;

/// Frame types.
pub mod kind {
    /// The client begins.
    pub const SETUP: u16 = 0x01;
    /// Grants requests.
    pub const LEASE: u16 = 0x02;
    /// A sign of life.
    pub const KEEPALIVE: u16 = 0x03;
    /// One request, one answer.
    pub const REQUEST_RESPONSE: u16 = 0x04;
    /// One request, no answer.
    pub const REQUEST_FNF: u16 = 0x05;
    /// One request, many answers.
    pub const REQUEST_STREAM: u16 = 0x06;
    /// Payloads both ways.
    pub const REQUEST_CHANNEL: u16 = 0x07;
    /// More credit.
    pub const REQUEST_N: u16 = 0x08;
    /// No more, please.
    pub const CANCEL: u16 = 0x09;
    /// A value, a fragment, the end.
    pub const PAYLOAD: u16 = 0x0A;
    /// A failure.
    pub const ERROR: u16 = 0x0B;
    /// Metadata of the connection.
    pub const METADATA_PUSH: u16 = 0x0C;
    /// Takes up an old session.
    pub const RESUME: u16 = 0x0D;
    /// An old session was taken up.
    pub const RESUME_OK: u16 = 0x0E;
    /// Anything else.
    pub const EXT: u16 = 0x3F;
}

/// Flags.
pub mod flag {
    /// May be ignored.
    pub const IGNORE: u16 = 0x200;
    /// Has metadata.
    pub const METADATA: u16 = 0x100;
    /// Fragments follow; of a KEEPALIVE: answer it.
    pub const FOLLOWS: u16 = 0x80;
    /// The sender is done.
    pub const COMPLETE: u16 = 0x40;
    /// There is a value.
    pub const NEXT: u16 = 0x20;
}

/// Error codes.
pub mod code {
    /// The SETUP is invalid.
    pub const INVALID_SETUP: u32 = 0x001;
    /// The connection has failed.
    pub const CONNECTION_ERROR: u32 = 0x101;
    /// The application refuses.
    pub const APPLICATION_ERROR: u32 = 0x201;
    /// The responder is not able now.
    pub const REJECTED: u32 = 0x202;
    /// The request is invalid.
    pub const INVALID: u32 = 0x204;
}

/// A frame with its length before it.
pub fn frame(stream: u32, kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut out = length(6 + body.len());
    out.extend(stream.to_be_bytes());
    out.extend((kind << 10 | flags).to_be_bytes());
    out.extend(body);
    out
}

/// A length of 24 bits.
pub fn length(bytes: usize) -> Vec<u8> {
    u32::try_from(bytes).expect("hostile frames are smaller than 4 GiB").to_be_bytes()[1..].to_vec()
}

/// Metadata with its length, then data.
pub fn payload(metadata: &[u8], data: &[u8]) -> Vec<u8> {
    [&length(metadata.len()), metadata, data].concat()
}

/// A SETUP of version 1.0 with composite metadata; interval and lifetime in milliseconds.
pub fn setup(keepalive_ms: u32, lifetime_ms: u32) -> Vec<u8> {
    let mut body = vec![0, 1, 0, 0];
    body.extend(keepalive_ms.to_be_bytes());
    body.extend(lifetime_ms.to_be_bytes());
    for mime in ["message/x.rsocket.composite-metadata.v0", "application/vnd.google.protobuf"] {
        body.push(u8::try_from(mime.len()).expect("short names"));
        body.extend(mime.as_bytes());
    }
    frame(0, kind::SETUP, 0, &body)
}

/// Composite metadata with a route.
pub fn route(route: &str) -> Vec<u8> {
    let tag = [&[u8::try_from(route.len()).expect("a short route")], route.as_bytes()].concat();
    [&[0xFE][..], &length(tag.len()), &tag].concat()
}

/// A request-response.
pub fn request(stream: u32, to: &str, data: &[u8]) -> Vec<u8> {
    frame(stream, kind::REQUEST_RESPONSE, flag::METADATA, &payload(&route(to), data))
}

/// A request-stream with its first credit.
pub fn request_stream(stream: u32, to: &str, credit: u32, data: &[u8]) -> Vec<u8> {
    let body = [&credit.to_be_bytes()[..], &payload(&route(to), data)].concat();
    frame(stream, kind::REQUEST_STREAM, flag::METADATA, &body)
}

/// A frame that came.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    /// The stream, 0 for the connection.
    pub stream: u32,
    /// See [`kind`].
    pub kind: u16,
    /// See [`flag`].
    pub flags: u16,
    /// What follows the header.
    pub body: Vec<u8>,
}

impl Frame {
    /// The code of an ERROR.
    pub fn code(&self) -> Option<u32> {
        let code = self.body.first_chunk::<4>().filter(|_| self.kind == kind::ERROR)?;
        Some(u32::from_be_bytes(*code))
    }
}

/// A client that sends whatever it likes.
#[derive(Debug)]
pub struct Raw {
    socket: TcpStream,
    inbound: Vec<u8>,
}

impl Raw {
    /// Connects, and sends nothing.
    pub fn connect(address: SocketAddr) -> Result<Self> {
        let socket = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { socket, inbound: Vec::new() })
    }

    /// Connects with an ordinary SETUP.
    pub fn set_up(address: SocketAddr) -> Result<Self> {
        let mut raw = Self::connect(address)?;
        raw.send(&setup(20_000, 90_000))?;
        Ok(raw)
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.socket.write_all(bytes).context("cannot send")
    }

    /// Sends bytes to a server that may have closed the connection already.
    pub fn throw(&mut self, bytes: &[u8]) {
        // That it no longer listens is seen when its answer is read.
        let _ = self.socket.write_all(bytes);
    }

    /// How long the server may leave what is sent unread before [`Raw::try_send`] gives up.
    pub fn shorten_writes(&self, patience: Duration) -> Result<()> {
        Ok(self.socket.set_write_timeout(Some(patience))?)
    }

    /// Sends bytes, unless the server has closed the connection or reads no more.
    pub fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.socket.write_all(bytes).is_ok()
    }

    /// The next frame; none where the server has closed the connection.
    pub fn frame(&mut self) -> Result<Option<Frame>> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(frame) = self.take() {
                return Ok(Some(frame));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            ensure!(!left.is_zero(), "waited {PATIENCE:?} for a frame");
            self.socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            let mut bytes = [0; 64 * 1024];
            match self.socket.read(&mut bytes) {
                Ok(0) => return Ok(None),
                Ok(count) => self.inbound.extend(&bytes[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn take(&mut self) -> Option<Frame> {
        let prefix = self.inbound.first_chunk::<3>()?;
        let length = usize::try_from(u32::from_be_bytes([0, prefix[0], prefix[1], prefix[2]])).ok()?;
        let bytes = self.inbound.get(3..3 + length)?;
        let stream = u32::from_be_bytes(*bytes.first_chunk()?);
        let typed = u16::from_be_bytes([bytes[4], bytes[5]]);
        let frame = Frame { stream, kind: typed >> 10, flags: typed & 0x3FF, body: bytes[6..].to_vec() };
        self.inbound.drain(..3 + length);
        Some(frame)
    }

    /// The next frame of a stream; what comes on other streams is dropped.
    pub fn frame_of(&mut self, stream: u32) -> Result<Frame> {
        loop {
            match self.frame()? {
                Some(frame) if frame.stream == stream => return Ok(frame),
                Some(frame) if frame.stream == 0 && frame.kind == kind::ERROR => {
                    bail!("the connection failed: {}", String::from_utf8_lossy(&frame.body[4..]))
                }
                Some(_) => {}
                None => bail!("closed while a frame of stream {stream} was awaited"),
            }
        }
    }

    /// Sends an echo on `stream` and requires its answer.
    pub fn echo(&mut self, stream: u32) -> Result<()> {
        self.send(&request(stream, "interop/echo", b"still here"))?;
        let answer = self.frame_of(stream)?;
        ensure!(answer.kind == kind::PAYLOAD && answer.body == b"still here", "{answer:?} is no echo");
        Ok(())
    }

    /// Requires that the server closes the connection, after an ERROR on stream 0 with this code.
    pub fn must_fail_with(&mut self, expected: u32) -> Result<()> {
        let mut closed_with = None;
        while let Some(frame) = self.frame()? {
            if frame.stream == 0 && frame.kind == kind::ERROR {
                closed_with = frame.code();
            }
        }
        ensure!(closed_with == Some(expected), "closed with code {closed_with:#x?}, not {expected:#x}");
        Ok(())
    }

    /// Requires that the server closes the connection, whatever it sends.
    pub fn must_be_closed(&mut self) -> Result<()> {
        while self.frame()?.is_some() {}
        Ok(())
    }
}
