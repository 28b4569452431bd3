//! Commands that wait for an item: an optional capability of a machine.
//!
//! The shard keeps the lines of those that wait, first come, first served within a key. It carries
//! a command out when the machine says that something is ready under its key, and answers it with
//! nothing when its time is over.

use std::hash::Hash;

use crate::{Milliseconds, StateMachine};

/// A machine some of whose commands wait while there is nothing for them.
pub trait Waitable: StateMachine {
    /// The key of a line.
    type Key: Clone + Eq + Hash + Send + 'static;

    /// The line in which a command waits; none for a command that is answered at once whatever it
    /// finds.
    fn line(command: &Self::Command) -> Option<Line<'_, Self::Key>>;

    /// Whether a command with this answer found nothing, and waits.
    fn is_nothing(answer: &Self::Answer) -> bool;

    /// The answer of a command whose time is over.
    fn nothing() -> Self::Answer;

    /// Hands out the keys under which something became ready since the last call.
    fn take_ready(&mut self, into: &mut Vec<Self::Key>);

    /// Notes how many commands wait under a key, in an answer that reports it.
    fn note_waiting(_answer: &mut Self::Answer, _waiting: impl Fn(&Self::Key) -> u64) {}
}

/// The line in which a command waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a, K> {
    /// Its key.
    pub key: &'a K,
    /// How long the command waits at most; 0 where it does not wait.
    pub wait: Milliseconds,
}
