//! The commands of handles to the thread `discovery`.
//!
//! A subscription is a watcher's side of a watch.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::error::Error;
use crate::registration::Entry;
use crate::snapshot::{Service, Snapshot, Versions};

/// Where the answer to [`crate::Discovery::list`] goes.
pub(crate) type ListAnswer = std::sync::mpsc::SyncSender<Result<Vec<Service>, Error>>;

/// A command to the thread.
pub(crate) enum Command {
    Watch(Subscription),
    Register(Entry),
    List { within: Duration, answer: ListAnswer },
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Watch(_) => "Watch",
            Self::Register(_) => "Register",
            Self::List { .. } => "List",
        })
    }
}

/// A watcher's side of a watch.
pub(crate) struct Subscription {
    pub(crate) name: String,
    pub(crate) versions: Versions,
    pub(crate) on_change: Box<dyn FnMut(Snapshot) + Send>,
    pub(crate) ended: Arc<AtomicBool>,
}
