//! One TCP socket and the connection on it: reads, hands out events, writes what they lead to.
//!
//! Time is milliseconds since the process began. A turn ends when bytes came, when the connection's own deadline
//! passed, or when the caller's did.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use stadium_rsocket::{Connection, Event};

use crate::Result;

/// Milliseconds since the process began.
pub fn now_ms() -> u64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    let elapsed = BEGAN.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_millis()).expect("a process does not run for 500 million years")
}

/// The socket's side of a connection.
pub struct Link {
    socket: TcpStream,
    inbound: Vec<u8>,
    /// Frames to be written at the end of the turn.
    pub out: Vec<u8>,
}

/// How a turn ended.
#[derive(PartialEq, Eq)]
pub enum Turn {
    /// Go on.
    Open,
    /// The peer closed its side, or the socket failed.
    Ended,
}

impl Link {
    pub fn new(socket: TcpStream) -> Result<Self> {
        socket.set_nodelay(true)?;
        Ok(Self { socket, inbound: Vec::new(), out: Vec::new() })
    }

    /// Waits for bytes at most until `until_ms`, gives each event to `handle`, then writes.
    pub fn turn(
        &mut self,
        connection: &mut Connection,
        until_ms: u64,
        mut handle: impl FnMut(&mut Connection, Event<'_>, &mut Vec<u8>) -> Result<()>,
    ) -> Result<Turn> {
        self.flush()?;
        let due = connection.deadline_ms().map_or(until_ms, |own| own.min(until_ms));
        let wait = due.saturating_sub(now_ms()).max(1);
        self.socket.set_read_timeout(Some(Duration::from_millis(wait)))?;
        let mut bytes = [0; 64 * 1024];
        let turn = match self.socket.read(&mut bytes) {
            Ok(0) => Turn::Ended,
            Ok(count) => {
                self.inbound.extend_from_slice(&bytes[..count]);
                // Only now: what is given to `receive` counts as a sign of life.
                self.drain(connection, &mut handle)?;
                Turn::Open
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Turn::Open,
            Err(error) if error.kind() == ErrorKind::Interrupted => Turn::Open,
            Err(_) => Turn::Ended,
        };
        while connection.deadline_ms().is_some_and(|due| due <= now_ms()) {
            if let Some(event) = connection.advance(now_ms(), &mut self.out) {
                handle(connection, event, &mut self.out)?;
            }
        }
        // The peer may be gone before it has read everything; the end of the socket shows it in the
        // next turn.
        let written = self.flush();
        Ok(if written.is_err() { Turn::Ended } else { turn })
    }

    /// Gives out what has been read already.
    fn drain(
        &mut self,
        connection: &mut Connection,
        handle: &mut impl FnMut(&mut Connection, Event<'_>, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut at = 0;
        loop {
            let received = connection.receive(now_ms(), &self.inbound[at..], &mut self.out);
            let used = received.used;
            at += used;
            match received.event {
                Some(event) => handle(connection, event, &mut self.out)?,
                None if used == 0 => break,
                None => {}
            }
        }
        self.inbound.drain(..at);
        Ok(())
    }

    /// Writes what is to be sent.
    pub fn flush(&mut self) -> Result<()> {
        if !self.out.is_empty() {
            self.socket.write_all(&self.out)?;
            self.out.clear();
        }
        Ok(())
    }

    /// Ends the socket at once, whatever is unsent.
    pub fn cut(&self) {
        // It may have ended already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
