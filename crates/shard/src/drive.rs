//! A shard as the thread sees that drives it: turns, and when the next one makes sense.
//!
//! The thread does not know on which kind of journal a shard stands. [`crate::driver`] implements
//! this, compiled for each kind, so that no append asks which it is.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// A shard that is open, with everything that its turns need.
pub(crate) trait Drive: Send {
    /// Which.
    fn shard(&self) -> u16;

    /// Whether its next turn can be long: its journal is to be opened again, and read.
    fn recovers(&self) -> bool;

    /// Takes its mail, has its core take a turn, and sends what that produced.
    fn turn(&mut self) -> Turned;

    /// A turn panicked, outside of the core's own: the core recovers from the journal.
    fn start_over(&mut self);

    /// It has stopped: lets go of the journal, which may take long, and of everybody who waits.
    fn end(self: Box<Self>);
}

/// When a shard wants its next turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turned {
    /// At once.
    pub(crate) at_once: bool,
    /// Else after this time, or when its mailbox rings.
    pub(crate) wait: Duration,
    /// Answers that wait for a commit.
    pub(crate) awaited: usize,
    /// It has stopped.
    pub(crate) is_stopped: bool,
}

/// The rest of a shard after a panic outside of its core's turn. Others of its thread go on.
const AFTER_PANIC: Duration = Duration::from_secs(1);

/// The end of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It came to its end.
    Turned(Turned),
    /// It panicked: the shard rests for so long, whatever its mailbox has.
    Rests(Duration),
}

/// Has a shard take a turn. A panic in it is a bug of ours or of somebody's waker, and ends nothing.
pub(crate) fn take_turn(drive: &mut dyn Drive) -> Outcome {
    match catch_unwind(AssertUnwindSafe(|| drive.turn())) {
        Ok(turned) => Outcome::Turned(turned),
        Err(_) => {
            tracing::error!(
                shard = drive.shard(),
                "Shard's turn panicked; the shard is recovered from its journal: please report this"
            );
            // A second panic in it would leave everybody waiting for a thread that is gone.
            let _ = catch_unwind(AssertUnwindSafe(|| drive.start_over()));
            Outcome::Rests(AFTER_PANIC)
        }
    }
}
