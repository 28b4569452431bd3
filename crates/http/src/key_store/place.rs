//! The place where keys are kept, as the store sees it: a file of the data directory
//! ([`super::key_file`]), or documents that all nodes of a cluster share ([`super::shared_keys`]).
//!
//! Both keep the same entries. [`Place::stamp`] finds changes of others without reading anything.

use super::error::Error;
use super::file::Entry;

/// Distinguishes two states of a place without reading them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp(pub(super) [i64; 3]);

/// Keys as of one stamp, oldest first.
pub(super) type Stored = (Vec<Entry>, Stamp);

/// A change of the keys. A place may call it again, with keys that have the change already.
pub(super) type Change<'a> = &'a mut dyn FnMut(&mut Vec<Entry>) -> Result<(), Error>;

/// Keeps keys.
pub(super) trait Place: Send + Sync {
    /// The stamp of the keys that [`Self::load`] would give; at most one system call.
    fn stamp(&self) -> Result<Stamp, Error>;

    /// The keys.
    fn load(&self) -> Result<Stored, Error>;

    /// The keys; where none were ever kept here, `first` makes them, once.
    fn load_or_begin(&self, first: &mut dyn FnMut() -> Result<Vec<Entry>, Error>) -> Result<Stored, Error>;

    /// Changes the keys so that no change of anybody else is lost.
    fn change(&self, change: Change<'_>) -> Result<Stored, Error>;
}
