//! The records that a log has lost and a mirror still has, as a restore of the log reports them.
//! They form whole batches, each of which the log had accepted once.

use stadium_journal::Position;

/// Records that a mirror has and its log has lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost {
    /// The position at which the log ends.
    pub from: Position,
    /// The position after the last record of the mirror.
    pub to: Position,
    /// The number of records.
    pub records: u64,
    /// The number of messages that restore them.
    pub messages: u64,
}
