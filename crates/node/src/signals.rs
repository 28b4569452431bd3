//! Signals of the process: SIGTERM and SIGINT end it, SIGHUP reads its files again.
//!
//! Listen before anything is started or announced: a signal that comes early is then kept, not lost and not fatal. With
//! handlers the signals work for a container's main process too, which the kernel would otherwise shield from them. What
//! a first and a second signal mean is decided in [`crate::run`].

use std::sync::mpsc::{self, Receiver, Sender};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::Error;
use crate::node::{Drained, Node};

/// What happens to a process that runs a node.
pub(crate) enum Event {
    /// The node that was being started runs, or cannot.
    Started(Box<Result<Node, Error>>),
    /// SIGTERM or SIGINT, with its number: leave.
    Leave(u8),
    /// SIGHUP: read certificates, keys, passwords and rules again.
    Reload,
    /// The drain that a signal began is over.
    Drained(Drained),
}

/// The process's signals in the order they came.
#[derive(Debug)]
pub struct Signals {
    pub(crate) events: Receiver<Event>,
    /// Also keeps the channel open for as long as somebody reads it.
    pub(crate) sender: Sender<Event>,
}

impl Signals {
    /// Handles SIGTERM, SIGINT and SIGHUP from now on, for the rest of the process.
    ///
    /// # Errors
    /// When the system lets no handler be set or no thread be started.
    pub fn listen() -> Result<Self, Error> {
        let refused =
            |error: std::io::Error| Error::System(format!("signals cannot be listened for: {error}"));
        let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(refused)?;
        let (sender, events) = mpsc::channel();
        let heard = sender.clone();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    let event = match signal {
                        SIGHUP => Event::Reload,
                        number => Event::Leave(u8::try_from(number).unwrap_or(u8::MAX)),
                    };
                    if heard.send(event).is_err() {
                        return;
                    }
                }
            })
            .map_err(refused)?;
        Ok(Self { events, sender })
    }
}
