//! Signals of the process: SIGTERM and SIGINT end it, SIGHUP reads its files again.
//!
//! Handlers are installed, so the signals work for a container's main process too, which the kernel would otherwise
//! shield from them. What a first and a second signal mean is decided in [`crate::run`].

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that asks something of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// SIGTERM or SIGINT, with its number: leave.
    Leave(u8),
    /// SIGHUP: read certificates, keys, passwords and rules again.
    Reload,
}

/// The process's signals, in the order they come.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Installs the handlers. Must be called inside a Tokio runtime.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The next signal.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Leave(number(SignalKind::terminate())),
            _ = self.interrupt.recv() => Asked::Leave(number(SignalKind::interrupt())),
            _ = self.hangup.recv() => Asked::Reload,
        }
    }
}

fn number(kind: SignalKind) -> u8 {
    u8::try_from(kind.as_raw_value()).unwrap_or(u8::MAX)
}
