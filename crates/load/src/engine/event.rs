//! Events of a run: from its loops, from its workers, and from the code that controls it.

use std::sync::mpsc::Sender;

use serde::{Deserialize, Serialize};

use super::tally;
use crate::error::Error;
use crate::machine::Load;
use crate::swarm;

/// An event for the coordinator of a run.
pub(crate) enum Event {
    /// An event of a loop.
    Tally(Tally),
    /// A loop has ended.
    Ended {
        /// Its number.
        share: u32,
        /// Whether it should have.
        result: Result<(), Error>,
    },
    /// From a [`Control`].
    Ask(Ask),
    /// A worker reports nothing more, before its loops have ended.
    Lost {
        /// Its number.
        worker: usize,
        /// The event.
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

/// The counts of a loop since its tally before.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tally {
    Users(Box<tally::Tally>),
    Devices(Box<swarm::Tally>),
}

impl Tally {
    /// Number of the loop, over all processes of the run.
    pub(crate) fn share(&self) -> u32 {
        match self {
            Tally::Users(tally) => tally.share,
            Tally::Devices(tally) => tally.share,
        }
    }

    /// Whether it is the loop's last.
    pub(crate) fn is_last(&self) -> bool {
        match self {
            Tally::Users(tally) => tally.last,
            Tally::Devices(tally) => tally.last,
        }
    }
}

/// A request of a [`Control`].
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

    /// Cuts all connections of a swarm at once (a storm): devices come back at once, and how fast
    /// is reported. A scenario's users know no storms: nothing happens.
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
