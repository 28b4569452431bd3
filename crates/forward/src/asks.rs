//! Those who wait for answers.
//!
//! The table holds them, and hands them back with their answers.

use stadium_state_machine::TraceContext;

/// The caller that waits for the answer of a command.
pub trait Asks {
    /// Distinguishes those who are not answered. The parts of one search have the same.
    fn id(&self) -> u64;

    /// Whether nobody waits for the answer any more.
    fn is_gone(&self) -> bool;

    /// The span that the command belongs to on the node that is asked, where its trace is sampled.
    fn trace(&self) -> Option<TraceContext> {
        None
    }
}

impl Asks for stadium_shard::Asker {
    fn id(&self) -> u64 {
        stadium_shard::Asker::id(self)
    }

    fn is_gone(&self) -> bool {
        stadium_shard::Asker::is_gone(self)
    }

    fn trace(&self) -> Option<TraceContext> {
        self.forwarded()
    }
}
