//! A journal whose log others write too: it follows the owner before it becomes one.

use crate::{Error, Journal, Record};

/// The standing of a replica to its log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It follows the owner.
    Following,
    /// It claims the log.
    Claiming,
    /// It is the owner. After a failed append it may be about to claim the log again.
    Serving,
    /// It was fenced, or cannot go on.
    Ended,
}

/// A journal that several nodes keep, of which one is the owner.
///
/// As a follower it takes no records: [`Journal::append`] answers `Fenced`. Its readers see the
/// records that [`Following::poll`] gave.
pub trait Following: Journal {
    /// Does all that can be done now, and never waits. Call it after each wake. `on_record` gets the
    /// records of others in their order, from the durable position that the journal had when it was
    /// opened or followed again.
    ///
    /// # Errors
    /// Those of [`Journal::durable`]. After `Fenced` it may follow again; all others end it.
    fn poll(&mut self, on_record: &mut dyn FnMut(Record<'_>)) -> Result<Standing, Error>;

    /// Begins to claim the log; [`Following::poll`] goes on until it serves. Only a follower claims.
    fn claim(&mut self);

    /// Follows the log from the last record that it accepted: an owner that was fenced, or that hands
    /// over. Records that are not durable are forgotten here.
    ///
    /// # Errors
    /// Those that ended it, but for `Fenced`.
    fn follow_again(&mut self) -> Result<(), Error>;

    /// Messages of the log that it has not read, of those that the log had when its end was looked for
    /// last. `None` where the log has not told its end yet. Looks for the end anew.
    fn behind(&mut self) -> Option<u64>;
}
