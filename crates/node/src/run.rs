//! Running a node as a process: until a signal ends it.
//!
//! The first SIGTERM or SIGINT drains; a second one, of either kind, leaves at once. SIGHUP reads files again.

use std::thread;

use crate::error::Error;
use crate::node::{Drained, Node};
use crate::signals::{Event, Signals};

/// How a node ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// After a drain: the exit code is 0.
    Drained,
    /// On a second signal: the exit code is 128 and its number.
    LeftAtOnce {
        /// The signal's number.
        signal: u8,
    },
}

impl Node {
    /// Serves until a signal ends it. `tell` gets a line for people at each step.
    ///
    /// # Errors
    /// When the system refuses a thread for the drain; the node is stopped then.
    pub fn run_until_signalled(self, signals: Signals, mut tell: impl FnMut(&str)) -> Result<Ended, Error> {
        let Signals { events, sender } = signals;
        let mut node = Some(self);
        // The channel cannot close while `sender` lives, which is as long as this loop.
        while let Ok(event) = events.recv() {
            match (event, node.take()) {
                (Event::Reload, Some(running)) => {
                    reload(&running, &mut tell);
                    node = Some(running);
                }
                (Event::Reload, None) => {}
                (Event::Leave(_), Some(running)) => {
                    tell("Draining: devices are being moved away. A second signal leaves at once.");
                    let done = sender.clone();
                    thread::Builder::new()
                        .name("drain".to_owned())
                        .spawn(move || {
                            // Nobody listens any more when a second signal came first.
                            let _ = done.send(Event::Drained(running.drain()));
                        })
                        .map_err(|error| Error::System(format!("the drain cannot start: {error}")))?;
                }
                (Event::Leave(signal), None) => {
                    tell("Leaving at once.");
                    return Ok(Ended::LeftAtOnce { signal });
                }
                (Event::Drained(Drained { cut: 0 }), _) => {
                    tell("Drained.");
                    break;
                }
                (Event::Drained(Drained { cut }), _) => {
                    tell(&format!("Drained, except for {cut} connections that were still open at the end."));
                    break;
                }
            }
        }
        Ok(Ended::Drained)
    }
}

fn reload(node: &Node, tell: &mut impl FnMut(&str)) {
    match node.reload() {
        Ok(()) => {
            tracing::info!("Certificates, keys, passwords and rules were read again");
            tell("Certificates, keys, passwords and rules were read again.");
        }
        Err(errors) => {
            for error in errors {
                tracing::error!(%error, "A file could not be read again; what it held stays in force");
                tell(&format!("Not reloaded: {error}. What it held before stays in force."));
            }
        }
    }
}
