//! The bytes of a socket, and the time for which it waits.
//!
//! TLS is on top of it, where there is TLS.

use std::io;
use std::time::{Duration, Instant};

use rustix::net::SendFlags;
use socket2::Socket;

/// The bytes of a socket.
pub(super) struct Raw<'a>(pub(super) &'a Socket);

impl io::Read for Raw<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl io::Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // No SIGPIPE: a program that is not written in Rust may not ignore it.
        Ok(rustix::net::send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Lets a socket that waits do so until the deadline.
pub(super) fn set_timeouts(socket: &Socket, deadline: Instant) -> io::Result<()> {
    let left = left(deadline)?;
    socket.set_read_timeout(Some(left))?;
    socket.set_write_timeout(Some(left))
}

/// The time that is left, or the error that it is over.
pub(super) fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "the time to connect is over"));
    }
    Ok(left)
}
