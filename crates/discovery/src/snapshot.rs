//! The snapshots that a watcher gets: the instances of a service at one time, and how far that can
//! be trusted.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::instance::Instance;

/// The instances of a service at one time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Ordered by version, then address. Includes instances that quiesce, and those that are in doubt
    /// after an outage of the backend.
    pub instances: Arc<[Instance]>,
    /// How far to trust the list.
    pub freshness: Freshness,
    /// Grows with every change, within this process. 0 means that the backend has not been heard yet: the list
    /// is empty because nothing is known, not because nobody serves.
    pub revision: u64,
}

/// How far a list of instances can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The backend reports it now.
    Live,
    /// The list is what was last heard: the backend is away, or instances have not registered again since it was, or a
    /// name of a static list is not found.
    Stale {
        /// Since when.
        since: Instant,
        /// What is the matter, for people.
        why: String,
    },
    /// The list is a setting, and each name in it was found.
    Static,
}

impl fmt::Display for Freshness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Live => f.write_str("live"),
            Self::Stale { since, why } => write!(f, "stale for {} s: {why}", since.elapsed().as_secs()),
            Self::Static => f.write_str("static"),
        }
    }
}

/// Which versions a watcher wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Versions {
    /// All of them.
    Any,
    /// This one.
    Exactly(String),
}

impl Versions {
    pub(crate) fn include(&self, version: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(wanted) => wanted == version,
        }
    }
}

/// One version of a service, as [`crate::Discovery::list`] returns it.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its instances, ordered by address.
    pub instances: Vec<Instance>,
}
