//! [`Membership`]: what a node holds. No call waits for etcd, but [`Membership::wait`] and the end.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use stadium_membership::{Error, Request, Write};
use tokio::sync::{mpsc, watch};

use crate::command::Command;
use crate::config::Config;
use crate::lease::Certainty;
use crate::shared::{Connection, Counts, Report, Shared, Snapshot};
use crate::thread;

/// Writes and requests that wait for the thread `membership`.
///
/// A node that takes over all shards of a full cluster writes 1,024 records. Beyond twice as many the
/// caller gets [`Error::Busy`]; a record is written again half a second later in any case.
pub const WRITES_MAX: usize = 2048;

/// A node's part in its cluster. Dropping it ends the lease, so that others take over at once.
pub struct Membership {
    shared: Arc<Shared>,
    certainty: Certainty,
    report: watch::Sender<Report>,
    /// `None` when it is being dropped: closing this channel ends the thread.
    commands: Option<mpsc::Sender<Command>>,
    thread: Option<JoinHandle<()>>,
}

impl Membership {
    /// Starts the thread. An etcd that is away is no error: it is tried again until it answers.
    ///
    /// `wake` is called on that thread after each change. It wakes the node and returns.
    ///
    /// # Errors
    /// [`Error::Setting`] when the settings make no sense; [`Error::Ended`] when no thread could be
    /// started.
    pub fn start(config: Config, wake: impl Fn() + Send + Sync + 'static) -> Result<Self, Error> {
        config.check()?;
        let shared = Arc::new(Shared::new(Box::new(wake)));
        let certainty = Certainty::default();
        let (report, reported) = watch::channel(Report::default());
        let (commands, received) = mpsc::channel(WRITES_MAX);
        let thread = thread::start(config, shared.clone(), certainty.clone(), reported, received)?;
        Ok(Self { shared, certainty, report, commands: Some(commands), thread: Some(thread) })
    }

    /// The cluster as it is known now.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.snapshot()
    }

    /// Waits for a snapshot after number `seen`, for as long as `within`, and returns the last one.
    #[must_use]
    pub fn wait(&self, seen: u64, within: Duration) -> Arc<Snapshot> {
        self.shared.wait(seen, within)
    }

    /// Until when the lease is certain, for the threads that answer reads.
    #[must_use]
    pub fn certainty(&self) -> Certainty {
        self.certainty.clone()
    }

    /// Says what others are to know of this node. The newest report wins.
    pub fn report(&self, report: Report) {
        self.report.send_if_modified(|last| {
            let changed = *last != report;
            *last = report;
            changed
        });
    }

    /// Writes to the map, as [`stadium_membership::Order::Write`] asks. What came of it is in the view.
    ///
    /// # Errors
    /// [`Error::Busy`] when [`WRITES_MAX`] wait; nothing happened then.
    pub fn write(&self, write: Write) -> Result<(), Error> {
        self.send(Command::Write(write))
    }

    /// Asks something of the planner, whichever node that is. The request is in the view when etcd has
    /// it.
    ///
    /// # Errors
    /// [`Error::Busy`] when [`WRITES_MAX`] wait; [`Error::Away`] while etcd is; [`Error::Request`] when
    /// the cluster has no such shard.
    pub fn request(&self, request: Request) -> Result<(), Error> {
        let snapshot = self.snapshot();
        if let Connection::Away(why) = &snapshot.connection {
            return Err(Error::Away(why.clone()));
        }
        if let Request::Move { shard, .. } = &request
            && snapshot.view.cluster.as_ref().is_some_and(|cluster| shard.0 >= cluster.shards)
        {
            return Err(Error::Request(format!("the cluster has no shard {shard}")));
        }
        self.send(Command::Request(request))
    }

    /// Takes a request back. It is out of the view when etcd has removed it.
    ///
    /// # Errors
    /// [`Error::Busy`] when [`WRITES_MAX`] wait.
    pub fn withdraw(&self, request: Request) -> Result<(), Error> {
        self.send(Command::Withdraw(request))
    }

    /// Counts since the start.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.counts()
    }

    fn send(&self, command: Command) -> Result<(), Error> {
        let commands = self.commands.as_ref().expect("only dropping closes it");
        commands.try_send(command).map_err(|why| match why {
            mpsc::error::TrySendError::Full(_) => Error::Busy("too many writes wait for etcd"),
            mpsc::error::TrySendError::Closed(_) => {
                Error::Ended("the thread `membership` has ended".to_owned())
            }
        })
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // It ends within the time of one call. A panic there was reported when it happened.
            _ = thread.join();
        }
    }
}
