//! A WebSocket client by hand (RFC 6455), for frames that no library would send.
//!
//! It does the upgrade, masks what it sends and reads frames without extensions.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context as _, Result, bail, ensure};

use crate::deadline::PATIENCE;

/// Opcodes (RFC 6455, 5.2).
pub mod opcode {
    /// More of the message before.
    pub const CONTINUATION: u8 = 0;
    /// A text frame, which MQTT must not use [MQTT-6.0.0-1].
    pub const TEXT: u8 = 1;
    /// A binary frame.
    pub const BINARY: u8 = 2;
    /// Goodbye.
    pub const CLOSE: u8 = 8;
    /// Are you there?
    pub const PING: u8 = 9;
    /// I am.
    pub const PONG: u8 = 10;
}

/// An upgraded connection.
#[derive(Debug)]
pub struct WebSocket {
    stream: TcpStream,
    unread: Vec<u8>,
    /// The answer to the upgrade.
    pub head: String,
}

/// A frame that the server sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The opcode.
    pub opcode: u8,
    /// The unmasked payload.
    pub payload: Vec<u8>,
}

impl WebSocket {
    /// Upgrades at this path with the sub-protocol `mqtt`.
    pub fn open(address: SocketAddr, path: &str) -> Result<Self> {
        let socket = Self::ask(address, path, "Sec-WebSocket-Protocol: mqtt\r\n")?;
        ensure!(socket.head.starts_with("HTTP/1.1 101"), "the upgrade was answered: {}", socket.head);
        // The answer to this key is RFC 6455's own example (1.3).
        ensure!(socket.head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "wrong accept key: {}", socket.head);
        Ok(socket)
    }

    /// Asks for an upgrade with these extra header lines, and takes whatever answer comes.
    pub fn ask(address: SocketAddr, path: &str, headers: &str) -> Result<Self> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
        );
        stream.write_all(request.as_bytes())?;
        let mut socket = Self { stream, unread: Vec::new(), head: String::new() };
        let end = loop {
            if let Some(at) = socket.unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break at + 4;
            }
            if !socket.fill()? {
                bail!("closed before an answer: {:?}", String::from_utf8_lossy(&socket.unread));
            }
        };
        let rest = socket.unread.split_off(end);
        socket.head = String::from_utf8(std::mem::replace(&mut socket.unread, rest)).context("no UTF-8")?;
        Ok(socket)
    }

    /// Sends one final frame.
    pub fn send(&mut self, opcode: u8, payload: &[u8]) -> Result<()> {
        self.raw(&frame(0x80 | opcode, payload))
    }

    /// Sends a frame that is not the last of its message.
    pub fn send_part(&mut self, opcode: u8, payload: &[u8]) -> Result<()> {
        self.raw(&frame(opcode, payload))
    }

    /// Sends raw bytes.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).context("cannot write to the server")
    }

    /// The next frame; `None` when the server closed the connection.
    pub fn next_frame(&mut self) -> Result<Option<Frame>> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(Some(frame));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Bytes of the binary messages until `count` of them have come.
    pub fn binary(&mut self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            match self.next_frame()? {
                Some(Frame { opcode: opcode::BINARY | opcode::CONTINUATION, payload }) => {
                    bytes.extend(payload)
                }
                other => bail!("expected a binary frame, got {other:?} after {bytes:02x?}"),
            }
        }
        Ok(bytes)
    }

    fn take(&mut self) -> Result<Option<Frame>> {
        let [first, second, ..] = self.unread[..] else { return Ok(None) };
        ensure!(second & 0x80 == 0, "a server must not mask (RFC 6455, 5.1)");
        let (start, length) = match second {
            126 if self.unread.len() >= 4 => {
                (4, usize::from(u16::from_be_bytes([self.unread[2], self.unread[3]])))
            }
            127 if self.unread.len() >= 10 => {
                let length: [u8; 8] = self.unread[2..10].try_into().context("eight bytes")?;
                (10, usize::try_from(u64::from_be_bytes(length))?)
            }
            126 | 127 => return Ok(None),
            short => (2, usize::from(short)),
        };
        if self.unread.len() < start + length {
            return Ok(None);
        }
        let payload = self.unread[start..start + length].to_vec();
        self.unread.drain(..start + length);
        Ok(Some(Frame { opcode: first & 0x0F, payload }))
    }

    fn fill(&mut self) -> Result<bool> {
        let mut buffer = [0; 65_536];
        match self.stream.read(&mut buffer) {
            Ok(0) => Ok(false),
            Ok(count) => {
                self.unread.extend_from_slice(&buffer[..count]);
                Ok(true)
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Ok(false),
            Err(error) => Err(error).context("cannot read from the server"),
        }
    }
}

/// A masked frame whose first byte is given whole.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];
    let mut bytes = vec![first];
    match payload.len() {
        short @ 0..=125 => bytes.push(0x80 | short as u8),
        medium @ 126..=65_535 => {
            bytes.push(0x80 | 126);
            bytes.extend((medium as u16).to_be_bytes());
        }
        long => {
            bytes.push(0x80 | 127);
            bytes.extend((long as u64).to_be_bytes());
        }
    }
    bytes.extend(MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}
