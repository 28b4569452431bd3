//! TLS on a socket: whoever drives the connection drives the session.
//!
//! One thread may read while another writes. The lock is held for calls that never wait, but for the
//! handshake. Bytes that the socket did not take stay here: [`Session::flush`] says so.

use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustls::ClientConnection;
use socket2::Socket;

use super::raw::{Raw, set_timeouts};
use crate::tls::Tls;
use crate::tls_error::TlsError;

/// A TLS session as a client.
#[derive(Debug)]
pub(super) struct Session(Mutex<ClientConnection>);

impl Session {
    /// Shakes hands. The socket waits, for as long as is left.
    pub(super) fn begin(tls: &Tls, host: &str, socket: &Socket, deadline: Instant) -> io::Result<Self> {
        let mut connection =
            ClientConnection::new(Arc::clone(tls.config()), tls.name(host)?).map_err(failed)?;
        while connection.is_handshaking() {
            set_timeouts(socket, deadline)?;
            if connection.wants_write() {
                connection.write_tls(&mut Raw(socket)).map_err(silent)?;
                continue;
            }
            if connection.read_tls(&mut Raw(socket)).map_err(silent)? == 0 {
                let why = TlsError::Refused("it closed the connection".into());
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            process(&mut connection, socket)?;
        }
        Ok(Self(Mutex::new(connection)))
    }

    pub(super) fn read(&self, socket: &Socket, buffer: &mut [u8]) -> io::Result<usize> {
        let mut connection = self.lock();
        loop {
            match connection.reader().read(buffer) {
                Ok(bytes) => return Ok(bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The peer closed the socket and not the session: the protocol has its own lengths.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) => return Err(error),
            }
            if connection.read_tls(&mut Raw(socket))? == 0 {
                return Ok(0);
            }
            process(&mut connection, socket)?;
        }
    }

    /// Takes bytes, and writes what the socket takes. Nothing is taken while earlier bytes are left.
    pub(super) fn write(&self, socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
        let mut connection = self.lock();
        drain(&mut connection, socket)?;
        let taken = connection.writer().write(bytes)?;
        match drain(&mut connection, socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(taken),
            drained => drained.map(|()| taken),
        }
    }

    /// Writes what is left; an error that says "would block" where something still is.
    pub(super) fn flush(&self, socket: &Socket) -> io::Result<()> {
        drain(&mut self.lock(), socket)
    }

    /// True while bytes wait for the socket.
    pub(super) fn is_blocked(&self) -> bool {
        self.lock().wants_write()
    }

    fn lock(&self) -> MutexGuard<'_, ClientConnection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn drain(connection: &mut ClientConnection, socket: &Socket) -> io::Result<()> {
    while connection.wants_write() {
        connection.write_tls(&mut Raw(socket))?;
    }
    Ok(())
}

fn process(connection: &mut ClientConnection, socket: &Socket) -> io::Result<()> {
    connection.process_new_packets().map(drop).map_err(|error| {
        // The alert that says why; the connection ends in any case.
        let _ = connection.write_tls(&mut Raw(socket));
        failed(error)
    })
}

fn silent(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            io::Error::new(io::ErrorKind::TimedOut, "the server does not answer the TLS handshake")
        }
        _ => error,
    }
}

fn failed(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, TlsError::from(error))
}
