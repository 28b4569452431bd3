//! The shards that a command asks, and the merge of the answers of several.
//!
//! A machine defines this itself. The client that asks the shards knows no command.

use crate::{Refusal, StateMachine};

/// A state machine whose commands find their shards by themselves.
pub trait Routed: StateMachine {
    /// How the answers of several shards become one.
    type Merge: Merge<Self>;

    /// The shards, of so many, that a command asks.
    fn route(command: Self::Command, shards: u16) -> Route<Self>;
}

/// Shards, and the command for each.
pub type Asked<M> = Vec<(u16, <M as StateMachine>::Command)>;

/// The shards that a command asks.
pub enum Route<M: Routed> {
    /// One, whose answer is the answer.
    One(u16, M::Command),
    /// These, each with its part of the command, in the order in which they are to be asked.
    Many(Asked<M>, M::Merge),
}

impl<M: Routed> Route<M> {
    /// The shards that are asked, and how their answers become one; none where the one answer is
    /// the answer.
    pub fn into_parts(self) -> (Asked<M>, Option<M::Merge>) {
        match self {
            Route::One(shard, command) => (vec![(shard, command)], None),
            Route::Many(asked, merge) => (asked, Some(merge)),
        }
    }
}

/// Makes one answer out of those of several shards.
pub trait Merge<M: StateMachine>: Send + 'static {
    /// The shards that are asked next, once these have answered. Their answers come behind these.
    fn then(&self, _answers: &[Result<M::Answer, Refusal>]) -> Asked<M> {
        Vec::new()
    }

    /// The answer, out of those of all shards, in the order in which they were asked.
    ///
    /// # Errors
    ///
    /// A refusal that stands for the whole command.
    fn merge(&self, answers: Vec<Result<M::Answer, Refusal>>) -> Result<M::Answer, Refusal>;
}
