//! The messages of other threads to a server's loop.

use super::sessions::Resumption;
use crate::answer::Refusal;

/// A word to a loop.
pub(crate) enum Item {
    /// Tasks are ready to be polled.
    Woken,
    /// A blocking function is done.
    Done {
        /// The call's place in the loop's table.
        place: u32,
        /// And its number, because places are used again.
        serial: u64,
        /// The encoded answer.
        answer: Result<Vec<u8>, Refusal>,
    },
    /// Take on nothing new, notify the peers, and close each connection when it has nothing under
    /// way.
    Quiesce,
    /// The server's connections hold too much that is unfinished, and this loop's hold most.
    OverBudget,
    /// Comes with a client's new socket: its session is on this loop.
    Resumes(Box<Resumption>),
}
