//! What the machine is asked, and what it answers.

use crate::Change;
use crate::page::{Page, Part};

/// A command.
#[derive(Debug, Clone)]
pub enum Command {
    /// What happened in a turn of a loop, in order. One record.
    Batch(Vec<Change>),
    /// So many entries at most, from this place on: how all of it is read when the server starts.
    Page {
        /// Of what.
        part: Part,
        /// The place that the page before ended with; 0 for the first.
        from: u32,
        /// How many.
        entries_max: u32,
    },
    /// How much there is.
    Figures,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// What became of each change of a batch.
    Batch(Vec<Outcome>),
    /// A page.
    Page(Page),
    /// Figures.
    Figures(Figures),
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is remembered, or means nothing.
    Done,
    /// This publish was taken already: nobody is owed it a second time. Also the answer to a question that finds it remembered.
    Known,
    /// It is remembered for all receivers but those at these places of its list, who were owed this publish already.
    Partly(Box<[u32]>),
    /// The receivers at these places of its list were owed this publish already, and a bound is reached for the
    /// others: nothing new is remembered, and the publish is not refused.
    PartlyFull(Box<[u32]>),
    /// A bound is reached: nothing of it is remembered.
    Full,
}

/// How much a shard keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Sessions.
    pub sessions: u64,
    /// Deliveries owed.
    pub deliveries: u64,
    /// Bytes of their messages.
    pub message_bytes: u64,
    /// Topics with a retained message.
    pub retained: u64,
    /// Bytes of those messages.
    pub retained_bytes: u64,
}
