//! Sockets: TCP and Unix, connected within a time, then read and written without waiting.
//!
//! The first command on a socket finds out which protocol its server speaks.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Shutdown, ToSocketAddrs as _};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use socket2::{Domain, SockAddr, Socket, Type};

use super::raw::{Raw, left, set_timeouts};
#[cfg(feature = "tls")]
use super::session::Session;
use super::settings::Settings;
use crate::address::Address;
use crate::error::Error;
use crate::protocol::Dialect;
use crate::tls_error::TlsError;

/// A connected socket that never waits.
#[derive(Debug)]
pub(super) struct Stream {
    socket: Socket,
    #[cfg(feature = "tls")]
    session: Option<Session>,
}

/// A server's refusal to let the client in.
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// The error of operations whose connection failed or ended so.
pub(super) fn disconnected(error: &io::Error) -> Error {
    let inner = error.get_ref();
    if let Some(tls) = inner.and_then(|inner| inner.downcast_ref::<TlsError>()) {
        return Error::Tls(tls.clone());
    }
    match inner.and_then(|inner| inner.downcast_ref::<Refused>()) {
        Some(Refused(text)) => Error::Authentication(text.as_str().into()),
        None => Error::Disconnected(error.to_string().into()),
    }
}

/// True where a server closed the connection in place of an answer.
fn hung_up(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

impl Stream {
    /// Connects, finds out which protocol the server speaks, and makes the socket non-blocking.
    pub(super) fn connect(address: &Address, settings: &Settings) -> io::Result<(Self, Dialect)> {
        let deadline = Instant::now() + settings.connect_timeout;
        let dialect = settings.dialect;
        let mut stream = Self::open(address, settings, deadline)?;
        let spoken = match dialect {
            Some(Dialect::Classic) => stream.greet(b"version\r\n", deadline)?,
            Some(Dialect::Meta) => stream.greet(b"mn\r\n", deadline)?,
            None => match stream.greet(b"mn\r\n", deadline) {
                // A proxy such as twemproxy hangs up on a command that it does not know.
                Err(error) if hung_up(&error) => {
                    stream = Self::open(address, settings, deadline)?;
                    stream.greet(b"version\r\n", deadline)?
                }
                spoken => spoken?,
            },
        };
        if dialect == Some(Dialect::Meta) && spoken == Dialect::Classic {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the server lacks the meta protocol"));
        }
        stream.socket.set_nonblocking(true)?;
        Ok((stream, spoken))
    }

    /// Connects, with a session of TLS and a login where the settings have them.
    fn open(address: &Address, settings: &Settings, deadline: Instant) -> io::Result<Self> {
        let socket = match address {
            Address::Tcp { host, port } => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                let mut connected = None;
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
                    match socket.connect_timeout(&address.into(), left(deadline)?) {
                        Ok(()) => {
                            socket.set_tcp_nodelay(true)?;
                            connected = Some(socket);
                            break;
                        }
                        Err(error) => last = error,
                    }
                }
                connected.ok_or(last)?
            }
            Address::Unix(path) => {
                let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
                socket.connect_timeout(&SockAddr::unix(path)?, left(deadline)?)?;
                socket
            }
        };
        #[cfg(feature = "tls")]
        let session = match (&settings.tls, address) {
            (Some(tls), Address::Tcp { host, .. }) => Some(Session::begin(tls, host, &socket, deadline)?),
            _ => None,
        };
        let stream = Self {
            socket,
            #[cfg(feature = "tls")]
            session,
        };
        if let Some(credentials) = &settings.credentials {
            let line = stream.ask(&credentials.command(), deadline)?;
            if line != b"STORED\r\n" {
                return Err(io::Error::new(io::ErrorKind::InvalidData, Refused(shown(&line))));
            }
        }
        Ok(stream)
    }

    /// Sends a first command: the meta protocol is there where `mn` is known.
    fn greet(&self, command: &[u8], deadline: Instant) -> io::Result<Dialect> {
        match self.ask(command, deadline)?.as_slice() {
            b"MN\r\n" => Ok(Dialect::Meta),
            b"ERROR\r\n" => Ok(Dialect::Classic),
            line if line.starts_with(b"VERSION ") => Ok(Dialect::Classic),
            line if line.starts_with(b"CLIENT_ERROR unauth") => {
                Err(io::Error::new(io::ErrorKind::InvalidData, Refused(shown(line))))
            }
            line => {
                let text = shown(line);
                Err(io::Error::new(io::ErrorKind::InvalidData, format!("no memcached answers so: {text}")))
            }
        }
    }

    /// Sends a command and reads a line, while the socket still waits.
    fn ask(&self, command: &[u8], deadline: Instant) -> io::Result<Vec<u8>> {
        let mut rest = command;
        while !rest.is_empty() {
            set_timeouts(&self.socket, deadline)?;
            rest = &rest[self.write(rest)?..];
        }
        self.flush()?;
        let mut line = Vec::with_capacity(64);
        let mut buffer = [0; 64];
        while line.last() != Some(&b'\n') && line.len() <= 512 {
            set_timeouts(&self.socket, deadline)?;
            match self.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => line.extend_from_slice(&buffer[..bytes]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "the server does not answer"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(line)
    }

    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(feature = "tls")]
        if let Some(session) = &self.session {
            return session.read(&self.socket, buffer);
        }
        Raw(&self.socket).read(buffer)
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(feature = "tls")]
        if let Some(session) = &self.session {
            return session.write(&self.socket, bytes);
        }
        Raw(&self.socket).write(bytes)
    }

    /// Writes bytes that were taken and not written, which only TLS has.
    pub(super) fn flush(&self) -> io::Result<()> {
        #[cfg(feature = "tls")]
        if let Some(session) = &self.session {
            return session.flush(&self.socket);
        }
        Ok(())
    }

    /// True while there are such bytes.
    pub(super) fn is_blocked(&self) -> bool {
        #[cfg(feature = "tls")]
        if let Some(session) = &self.session {
            return session.is_blocked();
        }
        false
    }

    /// Waits until it can be read, or also written, or until the time is over.
    pub(super) fn wait(&self, also_writable: bool, timeout: Duration) {
        let mut flags = PollFlags::IN;
        flags.set(PollFlags::OUT, also_writable);
        let mut fds = [PollFd::from_borrowed_fd(self.socket.as_fd(), flags)];
        let timeout = Timespec::try_from(timeout).ok();
        // An interrupted or refused wait is a short one: the caller reads and sees.
        let _ = poll(&mut fds, timeout.as_ref());
    }

    /// The server's IP address.
    pub(super) fn peer(&self) -> Option<IpAddr> {
        self.socket.peer_addr().ok()?.as_socket().map(|address| address.ip())
    }

    pub(super) fn shutdown(&self) {
        // It may be closed already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// The beginning of an answer, for people.
fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..line.len().min(80)]).trim_end().to_owned()
}
