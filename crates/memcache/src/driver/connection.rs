//! A connection that its callers drive: no thread of its own reads answers.
//!
//! The first caller that waits *turns* the connection: it lets others submit, writes for all of
//! them, reads answers for all of them, and wakes them with one call of the kernel. See
//! [`super::turn`]; [`super::submit`] and [`super::background`] have the rest.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::command::{Command, Span};
use super::lossy::{Read, Sockets};
use super::settings::Settings;
use super::shared::Shared;
use crate::address::Address;
use crate::error::Error;
use crate::metrics::{Ending, Operation, ServerMetrics};
use crate::protocol::{Answer, Dialect};

/// The handle of a connection; it closes with its last clone in the client and its pending writes.
pub(crate) struct Connection {
    shared: Arc<Shared>,
}

impl Connection {
    pub(crate) fn new(address: Address, udp: Option<u16>, settings: Settings) -> Self {
        Self { shared: Arc::new(Shared::new(address, udp, settings)) }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.shared.address
    }

    /// Bytes of a value at most.
    pub(crate) fn value_bytes_max(&self) -> usize {
        self.shared.settings.value_bytes_max
    }

    /// The place to which gets over UDP go. A name is not looked up here, where it could take any time:
    /// the connection has its address.
    pub(crate) fn udp_peer(&self, deadline: Instant) -> Result<SocketAddr, Error> {
        let (Some(port), Address::Tcp { host, .. }) = (self.shared.udp, &self.shared.address) else {
            return Err(Error::Config(format!("{} has no UDP port", self.shared.address).into()));
        };
        let ip = match host.parse() {
            Ok(ip) => Some(ip),
            Err(_) => self.shared.link(deadline)?.stream.as_ref().and_then(|stream| stream.peer()),
        };
        let ip = ip.ok_or_else(|| Error::Disconnected("the server's address is not known".into()))?;
        Ok(SocketAddr::new(ip, port))
    }

    pub(crate) fn sockets(&self) -> &Sockets {
        &self.shared.sockets
    }

    /// Counts a get over UDP.
    pub(crate) fn note_lossy(&self, key: &[u8], duration: Duration, read: &Read) {
        let ending = match read {
            Ok((answer, _)) => Ending::of(&Ok(*answer)),
            Err(error) => Ending::of(&Err(error.clone())),
        };
        let mut state = self.shared.lock();
        state.slots.note_other(Operation::LossyGet, key, false, ending, duration);
        let ended = state.slots.ended();
        drop(state);
        self.shared.report(&ended);
    }

    /// Its numbers, without what the client knows itself.
    pub(crate) fn metrics(&self) -> ServerMetrics {
        let state = self.shared.lock();
        ServerMetrics {
            address: self.shared.address.clone(),
            is_connected: state.stream.is_some(),
            is_ejected: false,
            operations: state.slots.len(),
            unsent_bytes: state.unsent_bytes(),
            figures: state.slots.figures.clone(),
        }
    }

    /// Connects where there is no connection yet.
    pub(crate) fn connect(&self, deadline: Instant) -> Result<Dialect, Error> {
        self.shared.link(deadline).map(|state| state.dialect)
    }

    /// Ready when there is a connection, or when connecting failed. A task that stops waiting leaves
    /// nothing but its waker, until connecting ends.
    #[cfg(feature = "tokio")]
    pub(crate) async fn linked(&self) {
        let mut failures_before = None;
        std::future::poll_fn(|context| self.shared.poll_link(&mut failures_before, context)).await;
    }

    /// Takes an operation, whose value is to come into `buffer`. Waits for a connection only.
    /// The helper is not woken for a caller that waits at once (`is_waiting`).
    pub(crate) fn submit(
        &self,
        command: Command<'_>,
        is_waiting: bool,
        buffer: Vec<u8>,
        span: Span,
    ) -> Result<u32, (Error, Vec<u8>)> {
        match self.shared.admit(command, span.link_by) {
            Ok(state) => self.shared.enqueue(state, command, span.begun, is_waiting, buffer),
            Err(error) => {
                self.shared.refuse(command, span.begun, &error);
                Err((error, buffer))
            }
        }
    }

    /// Writes the reads that were submitted.
    pub(crate) fn send(&self) {
        let state = self.shared.lock();
        if self.shared.has_work.swap(false, Ordering::AcqRel) {
            drop(self.shared.flush(state, false));
        }
    }

    /// Waits for an operation; the second part is its buffer.
    pub(crate) fn wait(&self, operation: u32, deadline: Instant) -> (Result<Answer, Error>, Vec<u8>) {
        let done = self.shared.wait(operation, deadline);
        self.shared.mind(&done.0);
        done
    }

    pub(crate) fn is_done(&self, operation: u32) -> bool {
        self.shared.lock().slots.is_done(operation)
    }

    pub(crate) fn abandon(&self, operation: u32) {
        self.shared.lock().slots.abandon(operation);
    }

    /// The result, or the promise to wake the task; at the deadline, a timeout.
    pub(crate) fn poll(
        &self,
        operation: u32,
        deadline: Instant,
        context: &mut Context<'_>,
    ) -> Poll<(Result<Answer, Error>, Vec<u8>)> {
        let shared = &self.shared;
        let mut state = shared.lock();
        if let Some(done) = state.slots.take(operation) {
            shared.mind(&done.0);
            return Poll::Ready(done);
        }
        if deadline <= Instant::now() {
            let buffer = state.slots.time_out(operation, Instant::now());
            let ended = state.slots.ended();
            drop(state);
            shared.report(&ended);
            return Poll::Ready((Err(Error::Timeout), buffer));
        }
        state.slots.await_by(operation, context.waker(), deadline);
        state.is_forced = true;
        shared.has_work.store(true, Ordering::Release);
        if state.is_asleep {
            drop(shared.flush(state, true));
        } else if !state.is_turning {
            shared.call_helper(&mut state);
        }
        Poll::Pending
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        // Sets that no caller waits for still leave.
        if state.stream.is_some() && state.unsent_bytes() > 0 {
            state.is_forced = true;
            state = self.shared.flush(state, true);
        }
        state.is_closed = true;
        // The helper reads what is owed and closes: a socket that is closed with unread answers in it is
        // reset, and the server may then lose what it has not read.
        self.shared.bell.notify_one();
    }
}
