//! A device on a raw socket: each byte it sends and when is the suite's choice.
//!
//! Reads have a deadline. [`Device::cut`] resets the connection as a dying carrier does; dropping a device
//! closes it with FIN and without DISCONNECT.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use socket2::SockRef;

use crate::deadline::PATIENCE;
use crate::wire::{self, Connect, Frame, Kind, Publish, Received, Version};

/// A connection that a suite drives by hand.
#[derive(Debug)]
pub struct Device {
    stream: TcpStream,
    version: Version,
    unread: Vec<u8>,
    /// CONNACK, once connected.
    pub connack: Option<Frame>,
}

/// What was read of a connection.
enum Read {
    Some,
    Ended,
    DeadlinePassed,
}

impl Device {
    /// Opens the connection and sends nothing.
    pub fn dial(address: SocketAddr, version: Version) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)
            .with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, version, unread: Vec::new(), connack: None })
    }

    /// Opens the connection, sends CONNECT and takes a CONNACK that accepts it.
    pub fn connect(address: SocketAddr, connect: &Connect) -> Result<Self> {
        let mut device = Self::dial(address, connect.version)?;
        device.send(&connect.encode())?;
        let connack = device.expect(Kind::Connack)?;
        let reason = connack.reason(connect.version);
        ensure!(reason == 0, "{} was refused with {reason:#04x}", connect.id);
        device.connack = Some(connack);
        Ok(device)
    }

    /// A clean device of this version.
    pub fn clean(address: SocketAddr, version: Version, id: &str) -> Result<Self> {
        Self::connect(address, &Connect::new(version, id))
    }

    /// The version it speaks.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Whether CONNACK reported that a session was there.
    pub fn session_present(&self) -> bool {
        self.connack.as_ref().is_some_and(Frame::session_present)
    }

    /// The socket, for its options.
    pub fn socket(&self) -> SockRef<'_> {
        SockRef::from(&self.stream)
    }

    /// Sends raw bytes.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).context("cannot write to the server")
    }

    /// Sends raw bytes; the next read shows what happened to them.
    pub fn send_if_open(&mut self, bytes: &[u8]) {
        // A server that has cut the connection already is the answer that hostile suites look for.
        let _ = self.stream.write_all(bytes);
    }

    /// The next packet.
    pub fn next_packet(&mut self) -> Result<Frame> {
        self.packet_within(PATIENCE)
    }

    /// The next packet, which must come in time.
    pub fn packet_within(&mut self, within: Duration) -> Result<Frame> {
        self.poll(within)?.with_context(|| format!("no packet within {within:?}"))
    }

    /// The next packet, if one comes in time. Fails when the connection ends.
    pub fn poll(&mut self, within: Duration) -> Result<Option<Frame>> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(frame) = Frame::take(&mut self.unread)? {
                return Ok(Some(frame));
            }
            match self.read(deadline)? {
                Read::Some => {}
                Read::Ended => bail!("the server closed the connection"),
                Read::DeadlinePassed => return Ok(None),
            }
        }
    }

    /// The next packet, which must be of this type.
    pub fn expect(&mut self, kind: Kind) -> Result<Frame> {
        let frame = self.next_packet().with_context(|| format!("waited for {kind:?}"))?;
        ensure!(frame.is(kind), "expected {kind:?}, got {:02x} {:02x?}", frame.first, frame.body);
        Ok(frame)
    }

    /// The next packet, which must be PUBLISH. Does not acknowledge it.
    pub fn receive(&mut self) -> Result<Received> {
        self.expect(Kind::Publish)?.publish(self.version)
    }

    /// The next packet, which must be PUBLISH of QoS 0 or 1, acknowledged.
    pub fn take(&mut self) -> Result<Received> {
        let received = self.receive()?;
        if received.qos == 1 {
            self.send(&wire::acknowledge(Kind::Puback, received.id))?;
        }
        Ok(received)
    }

    /// Subscribes and requires that every filter is granted.
    pub fn subscribe(&mut self, filters: &[&str], qos: u8) -> Result<()> {
        self.send(&wire::subscribe(self.version, 1, filters, qos))?;
        let suback = self.expect(Kind::Suback)?;
        let codes = match self.version {
            Version::V311 => &suback.body[2..],
            Version::V5 => suback.after_properties(2).context("SUBACK is cut short")?,
        };
        ensure!(codes.iter().all(|code| *code <= qos), "SUBACK {codes:02x?}");
        Ok(())
    }

    /// Publishes; at QoS 1 waits for PUBACK.
    pub fn publish(&mut self, publish: &Publish<'_>) -> Result<()> {
        self.send(&publish.encode(self.version))?;
        if publish.qos == 1 {
            self.expect(Kind::Puback)?;
        }
        Ok(())
    }

    /// Asks for PINGRESP: everything that was sent before has been dealt with when it comes.
    pub fn ping(&mut self) -> Result<()> {
        self.send(&wire::PINGREQ)?;
        self.expect(Kind::Pingresp).map(drop)
    }

    /// Waits until the server closes the connection, and returns the packets that came before.
    pub fn end(&mut self, within: Duration) -> Result<Vec<Frame>> {
        let deadline = Instant::now() + within;
        let mut frames = Vec::new();
        loop {
            match self.read(deadline)? {
                Read::Some => {}
                Read::Ended => break,
                Read::DeadlinePassed => bail!("the server kept the connection for {within:?}"),
            }
            while let Some(frame) = Frame::take(&mut self.unread)? {
                frames.push(frame);
            }
        }
        while let Some(frame) = Frame::take(&mut self.unread)? {
            frames.push(frame);
        }
        Ok(frames)
    }

    /// Waits until the server closes the connection, whatever it sends before, MQTT or not.
    pub fn closed(&mut self, within: Duration) -> Result<()> {
        let deadline = Instant::now() + within;
        loop {
            match self.read(deadline)? {
                Read::Some => self.unread.clear(),
                Read::Ended => return Ok(()),
                Read::DeadlinePassed => bail!("the server kept the connection for {within:?}"),
            }
        }
    }

    /// Closes with RST, without DISCONNECT.
    pub fn cut(self) -> Result<()> {
        self.socket().set_linger(Some(Duration::ZERO)).context("cannot set SO_LINGER")
    }

    /// Sends DISCONNECT and waits for the server to close.
    pub fn leave(mut self) -> Result<()> {
        self.send(&wire::DISCONNECT)?;
        self.stream.shutdown(Shutdown::Write).context("cannot shut down")?;
        self.end(PATIENCE).map(drop)
    }

    fn read(&mut self, deadline: Instant) -> Result<Read> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Read::DeadlinePassed);
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut buffer = [0; 65_536];
        match self.stream.read(&mut buffer) {
            Ok(0) => Ok(Read::Ended),
            Ok(count) => {
                self.unread.extend_from_slice(&buffer[..count]);
                Ok(Read::Some)
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => Ok(Read::DeadlinePassed),
                ErrorKind::Interrupted => Ok(Read::Some),
                ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Ok(Read::Ended),
                _ => Err(error).context("cannot read from the server"),
            },
        }
    }
}
