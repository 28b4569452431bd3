//! A service's own entry in the tree, as the service sees it.
//!
//! The handle holds what is wanted; the thread `discovery` makes the backend agree and reports back what it knows.
//! Neither waits for the other.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use crate::error::Error;
use crate::held::Taken;
use crate::instance::{State, Value};
use crate::name::{self, Place};

/// What to register.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    /// The service's name, as `geo`: 1 to 64 letters, digits, `.`, `_` or `-`.
    pub name: String,
    /// Its version, as `1`: 1 to 32 of the same.
    pub version: String,
    /// Where clients reach it. Not the wildcard address.
    pub address: SocketAddr,
    /// Its first value.
    pub value: Value,
}

impl Registration {
    pub(crate) fn check(&self) -> Result<(), Error> {
        name::check_name(&self.name)?;
        name::check_version(&self.version)?;
        if self.address.ip().is_unspecified() || self.address.port() == 0 {
            return Err(Error::Setting(format!("no client can reach {} at {}", self.name, self.address)));
        }
        if !self.value.makes_sense() {
            return Err(Error::Setting(format!(
                "the first value of {} is out of bounds: {:?}",
                self.name, self.value
            )));
        }
        Ok(())
    }
}

/// An entry that is kept in the tree: through lost leases and sessions, and restarts of the backend, until withdrawn.
///
/// Dropping it withdraws without waiting; a process that exits at once leaves its entry behind for
/// [`crate::Config::session_ttl`]. Use [`Registered::withdraw`] to be sure.
#[derive(Debug)]
pub struct Registered {
    /// `None` once withdrawn: closing this channel notifies the registrar.
    wanted: Option<watch::Sender<Value>>,
    standing: Arc<StandingCell>,
    /// Keeps the thread.
    _thread: Arc<dyn fmt::Debug + Send + Sync>,
    _place: Taken,
}

impl Registered {
    /// Reports to the others how busy we are and whether we take calls; returns at once.
    ///
    /// A changed state is written at once. A load factor is written when it moved by more than 0.05, at most once in
    /// [`crate::Config::update_interval`], the newest winning. One that is negative or not finite is ignored.
    pub fn update(&self, load: f32, state: State) {
        let Some(wanted) = &self.wanted else { return };
        wanted.send_if_modified(|value| {
            let load = if load.is_finite() && load >= 0.0 { load } else { value.load };
            let modified = value.load != load || value.state != state;
            (value.load, value.state) = (load, state);
            modified
        });
    }

    /// Whether the backend is known to hold the entry now.
    pub fn is_registered(&self) -> bool {
        *self.standing.standing.lock() == Standing::Registered
    }

    /// Waits until the backend holds the entry; `false` when it did not within `within`.
    pub fn wait(&self, within: Duration) -> bool {
        self.standing.wait_for(Standing::Registered, within)
    }

    /// Takes the entry out of the tree, saying goodbye, so that clients drop it at once.
    ///
    /// # Errors
    /// [`Error::Away`] when the backend did not confirm within `within`; the entry then ends with its lease or session.
    pub fn withdraw(mut self, within: Duration) -> Result<(), Error> {
        self.wanted = None;
        if self.standing.wait_for(Standing::Withdrawn, within) {
            return Ok(());
        }
        Err(Error::Away(
            "the backend did not confirm the withdrawal; the entry ends with its session".to_owned(),
        ))
    }
}

/// The registrar's knowledge of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The backend does not hold it, or we do not know.
    Unsure,
    Registered,
    Withdrawn,
}

/// [`Standing`] with a way to wait for it.
#[derive(Debug)]
pub(crate) struct StandingCell {
    standing: Mutex<Standing>,
    changed: Condvar,
}

impl StandingCell {
    pub(crate) fn set(&self, standing: Standing) {
        *self.standing.lock() = standing;
        self.changed.notify_all();
    }

    pub(crate) fn is(&self, standing: Standing) -> bool {
        *self.standing.lock() == standing
    }

    fn wait_for(&self, wanted: Standing, within: Duration) -> bool {
        let deadline = Instant::now().checked_add(within);
        let mut standing = self.standing.lock();
        while *standing != wanted {
            match deadline {
                Some(deadline) => {
                    if self.changed.wait_until(&mut standing, deadline).timed_out() {
                        return *standing == wanted;
                    }
                }
                None => self.changed.wait(&mut standing),
            }
        }
        true
    }
}

/// The registrar's side of an entry.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) place: Place,
    /// The value that the service wants to publish; closed when the entry is to go.
    pub(crate) wanted: watch::Receiver<Value>,
    pub(crate) standing: Arc<StandingCell>,
}

impl Entry {
    /// Whether the service has withdrawn it.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.wanted.has_changed().is_err()
    }
}

/// Both sides of a new entry.
pub(crate) fn entry(
    registration: Registration,
    thread: Arc<dyn fmt::Debug + Send + Sync>,
    taken: Taken,
) -> (Registered, Entry) {
    let (wanted, receiver) = watch::channel(registration.value);
    let standing = Arc::new(StandingCell { standing: Mutex::new(Standing::Unsure), changed: Condvar::new() });
    let place = Place { version: registration.version, address: registration.address };
    let entry = Entry { name: registration.name, place, wanted: receiver, standing: standing.clone() };
    (Registered { wanted: Some(wanted), standing, _thread: thread, _place: taken }, entry)
}
