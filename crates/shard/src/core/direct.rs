//! The machine whose commands travel through a shard as they are: in no box, and answered in none.
//!
//! One machine of a shard is *direct*: the one with the most commands. Its commands may wait for an
//! item, and its answers hand out items under leases. Machines in slots are driven by the same
//! turns, and each of their commands costs a box.

use stadium_state_machine::{Leasing, Refusal, Time, Waitable};

use crate::Answer;

/// A machine that can be the direct one of a shard.
pub trait Direct: Waitable + Leasing {
    /// A change of the shards on which items of a key are placed, for those who route commands.
    type Placement: Send + 'static;

    /// The change of placement that a command brings when it succeeds.
    fn placement(command: &Self::Command) -> Option<Self::Placement>;

    /// Refuses a command whose change of placement its items do not allow, before room is made for
    /// its record.
    ///
    /// # Errors
    ///
    /// The refusal; the command is not carried out.
    fn check_placement(&self, now: Time, command: &Self::Command) -> Result<(), Refusal>;

    /// An answer as any caller of the shard gets it.
    fn answer(resolved: Self::Resolved) -> Answer;

    /// An answer of this machine as itself; none where it is another machine's.
    fn resolved(answer: &Answer) -> Option<&Self::Resolved>;
}
