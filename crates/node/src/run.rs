//! Running a node as a process: until a signal ends it.
//!
//! The first SIGTERM or SIGINT drains; a second one, of either kind, leaves at once. While the node
//! starts, which may take long where journals are, the first one leaves at once: nothing is owned
//! yet. SIGHUP reads files again. The service manager, where one started the process, is notified
//! of each step.

use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration;

use crate::error::Error;
use crate::node::{Drained, Node};
use crate::service_manager::{ServiceManager, State};
use crate::settings::Settings;
use crate::signals::{Event, Signals};

/// How long a start that is almost done may hold up a process that is to leave.
const START_PATIENCE: Duration = Duration::from_millis(250);

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
    /// Starts a node, as [`Self::start`]; `None` where a signal asked to leave before it ran. Parts
    /// that had begun by then end with the process, which loses nothing: recovery only reads what
    /// is acknowledged.
    ///
    /// # Errors
    /// What could not be started.
    pub fn start_unless_signalled(settings: &Settings, signals: &Signals) -> Result<Option<Self>, Error> {
        let (settings, done) = (settings.clone(), signals.sender.clone());
        thread::Builder::new()
            .name("start".to_owned())
            .spawn(move || {
                let started = Box::new(Self::start(&settings));
                // Nobody listens any more when a signal came first.
                let _ = done.send(Event::Started(started));
            })
            .map_err(|error| Error::System(format!("the start cannot start: {error}")))?;
        let mut again = false;
        // The channel cannot close while `signals` lives.
        while let Ok(event) = signals.events.recv() {
            match event {
                Event::Started(started) => {
                    let node = (*started)?;
                    if again {
                        let _ = signals.sender.send(Event::Reload);
                    }
                    return Ok(Some(node));
                }
                // Which files were read already is not known.
                Event::Reload => again = true,
                Event::Leave(_) => break,
                Event::Drained(_) => {}
            }
        }
        tracing::info!("Leaving before the node runs");
        match signals.events.recv_timeout(START_PATIENCE) {
            Ok(Event::Started(started)) => {
                if let Ok(node) = *started {
                    node.stop();
                }
            }
            Ok(_) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        Ok(None)
    }

    /// Serves until a signal ends it. Each step is logged, and `report` gets a line for people.
    ///
    /// # Errors
    /// When the system refuses a thread for the drain; the node is stopped then.
    pub fn run_until_signalled(self, signals: Signals, mut report: impl FnMut(&str)) -> Result<Ended, Error> {
        let Signals { events, sender } = signals;
        let mut node = Some(self);
        let manager = ServiceManager::of_process();
        manager.notify(State::Ready);
        // The channel cannot close while `sender` lives, which is as long as this loop.
        while let Ok(event) = events.recv() {
            match (event, node.take()) {
                (Event::Reload, Some(running)) => {
                    manager.notify(State::Reloading);
                    reload(&running, &mut report);
                    // Also where a file was refused: the old one stays in force, and the server serves.
                    manager.notify(State::Ready);
                    node = Some(running);
                }
                (Event::Reload, None) => {}
                // It did already.
                (Event::Started(_), running) => node = running,
                (Event::Leave(_), Some(running)) => {
                    manager.notify(State::Stopping);
                    tracing::info!("Draining");
                    report("Draining: devices are being moved away. A second signal leaves at once.");
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
                    tracing::info!(signal, "Leaving at once");
                    report("Leaving at once.");
                    return Ok(Ended::LeftAtOnce { signal });
                }
                (Event::Drained(Drained { cut: 0 }), _) => {
                    tracing::info!("Drained");
                    report("Drained.");
                    break;
                }
                (Event::Drained(Drained { cut }), _) => {
                    tracing::warn!(connections = cut, "Drained; some connections were still open");
                    report(&format!(
                        "Drained, except for {cut} connections that were still open at the end."
                    ));
                    break;
                }
            }
        }
        Ok(Ended::Drained)
    }
}

fn reload(node: &Node, report: &mut impl FnMut(&str)) {
    match node.reload() {
        Ok(()) => {
            tracing::info!("Certificates, keys, passwords and rules were read again");
            report("Certificates, keys, passwords and rules were read again.");
        }
        Err(errors) => {
            for error in errors {
                tracing::error!(%error, "A file could not be read again; what it held stays in force");
                report(&format!("Not reloaded: {error}. What it held before stays in force."));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc;

    use super::*;
    use crate::settings::from_toml;

    fn settings(data: &Path) -> Settings {
        let text = format!(
            "[server]\ndata = {data:?}\nloops = 1\n[mqtt]\nlisten = \"off\"\n[http]\nlisten = \"off\"\n\
             [rpc]\nlisten = \"off\"\n[journal]\nsegment_bytes = 16777216\n[shards]\ncount = 1\n"
        );
        from_toml(&text, Path::new("stadium.toml")).expect("these are settings").settings
    }

    #[test]
    fn a_signal_during_the_start_leaves() {
        let data = tempfile::tempdir().expect("a temporary directory can be made");
        let (sender, events) = mpsc::channel();
        let signals = Signals { events, sender };
        signals.sender.send(Event::Leave(15)).expect("it is listened to");
        let started = Node::start_unless_signalled(&settings(data.path()), &signals);
        assert!(started.expect("nothing is wrong").is_none());
    }

    #[test]
    fn a_start_without_a_signal_gives_the_node_and_later_signals() {
        let data = tempfile::tempdir().expect("a temporary directory can be made");
        let (sender, events) = mpsc::channel();
        let signals = Signals { events, sender };
        signals.sender.send(Event::Reload).expect("it is listened to");
        let started = Node::start_unless_signalled(&settings(data.path()), &signals);
        let node = started.expect("it starts").expect("nobody asked it to leave");
        assert!(matches!(signals.events.try_recv(), Ok(Event::Reload)));
        node.stop();
    }
}
