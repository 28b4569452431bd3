//! Events of a run: from its loops, from its workers, and from whoever controls it.

use std::sync::mpsc::Sender;

use super::order::Order;
use super::tally::Tally;
use crate::error::Error;
use crate::machine::Load;
use crate::swarm;

/// What reaches the coordinator of a run.
pub(crate) enum Event {
    /// A worker has its assignment.
    Ready,
    /// What happened on a loop of users.
    Users(Box<Tally>),
    /// What happened on a loop of devices.
    Devices(Box<swarm::Tally>),
    /// A loop has ended.
    Ended {
        /// Its number.
        share: u32,
        /// Whether it should have.
        result: Result<(), Error>,
    },
    /// To all loops; in workers, from the parent.
    Order(Order),
    /// From a [`Control`].
    Ask(Ask),
    /// A worker reports nothing more, before its loops have ended.
    Lost {
        /// Its number.
        worker: usize,
        /// What happened to it.
        why: String,
    },
    /// How busy a worker's machine is.
    Load {
        /// Its number.
        worker: usize,
        /// Since its last report.
        load: Load,
    },
}

/// What a [`Control`] asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    Cut,
    Finish,
    Stop,
}

/// Cuts or ends a run from another thread. Cheap to clone; harmless once the run has ended.
#[derive(Debug, Clone)]
pub struct Control {
    sender: Sender<Event>,
}

impl Control {
    pub(crate) fn new(sender: Sender<Event>) -> Self {
        Control { sender }
    }

    /// Cuts all connections of a swarm at once (a storm): devices come back at once, and how fast is reported. A scenario's
    /// users know no storms: nothing happens.
    pub fn cut(&self) {
        self.ask(Ask::Cut);
    }

    /// Ends the run early: users finish what they are at, as far as the scenario's grace allows.
    pub fn finish(&self) {
        self.ask(Ask::Finish);
    }

    /// Ends the run at once; the result has the figures until then.
    pub fn stop(&self) {
        self.ask(Ask::Stop);
    }

    fn ask(&self, ask: Ask) {
        // Fails only where the run has ended.
        let _ = self.sender.send(Event::Ask(ask));
    }
}
