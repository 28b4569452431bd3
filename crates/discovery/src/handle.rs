//! [`Discovery`]: what the rest of the process holds. Every call but [`Discovery::list`] returns at once; the work is
//! done by the thread `discovery`, which ends when the last handle, [`Watch`] and [`Registered`] are gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use crate::command::{Command, Subscription};
use crate::config::{Backend, Config};
use crate::error::Error;
use crate::fixed::{LOOKING, Names};
use crate::held::{Held, Taken};
use crate::name;
use crate::registration::{Registered, Registration, entry};
use crate::resolver::Resolver;
use crate::snapshot::{Service, Snapshot, Versions};
use crate::status::{Connection, Status};

/// Commands that wait for the thread `discovery`.
///
/// A process watches and registers a few services when it starts; a thousand at once is a loop gone wrong. When it is
/// full, the caller gets [`Error::Busy`] and nothing has happened.
const COMMANDS_MAX: usize = 1024;
/// Watches that a process holds at one time.
///
/// Each is one closure and a list that others may share; a program has as many as it calls services. Beyond it
/// [`Discovery::watch`] answers [`Error::Busy`].
pub const WATCHES_MAX: usize = 4096;
/// Entries that a process keeps in the tree at one time.
///
/// Each costs the backend a lease and a sign of life every third of it; a process has as many as it serves services.
/// Beyond it [`Discovery::register`] answers [`Error::Busy`].
pub const REGISTRATIONS_MAX: usize = 1024;

/// Knows who serves what, and where. Cheap to clone.
///
/// ```
/// use std::time::Duration;
/// use stadium_discovery::{Backend, Config, Discovery, StaticService, Versions};
///
/// let geo = StaticService {
///     name: "geo".to_owned(),
///     version: "1".to_owned(),
///     instances: vec!["127.0.0.1:7800".parse::<std::net::SocketAddr>()?.into()],
/// };
/// let discovery = Discovery::start(Config { backend: Backend::Static(vec![geo]), ..Config::default() })?;
/// let (sender, snapshots) = std::sync::mpsc::channel();
/// let watch = discovery.watch("geo", Versions::Any, move |snapshot| drop(sender.send(snapshot)))?;
/// assert_eq!(snapshots.recv_timeout(Duration::from_secs(5))?.instances.len(), 1);
/// drop(watch);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Discovery {
    shared: Arc<Shared>,
}

impl Discovery {
    /// Starts the thread. A backend that is away is no error: it is tried again until it comes.
    ///
    /// # Errors
    /// [`Error::Setting`] or [`Error::Name`] when the settings make no sense; [`Error::Ended`] when no thread could be
    /// started.
    pub fn start(config: Config) -> Result<Self, Error> {
        config.check()?;
        let (commands, received) = mpsc::channel(COMMANDS_MAX);
        let (names, resolver) = match &config.backend {
            Backend::Static(services) => Names::look_up(services, &config)?.unzip(),
            _ => (None, None),
        };
        let away = |why: &str| Connection::Away { since: std::time::Instant::now(), why: why.to_owned() };
        let connection = match config.backend {
            Backend::Static(_) if names.is_some() => away(LOOKING),
            Backend::None | Backend::Static(_) => Connection::NotNeeded,
            _ => away("not reached yet"),
        };
        let status = Arc::new(Mutex::new(Status {
            backend: config.backend.name(),
            connection,
            reconnects: 0,
            failed_attempts: 0,
            compactions: 0,
            session_losses: 0,
            unreadable: 0,
            watched: 0,
            registrations: 0,
            registered: 0,
        }));
        let unwatched = Arc::new(Notify::new());
        crate::thread::start(config, received, status.clone(), unwatched.clone(), names)?;

        Ok(Self {
            shared: Arc::new(Shared {
                commands,
                status,
                unwatched,
                watches: Held::default(),
                entries: Held::default(),
                resolver,
            }),
        })
    }

    /// Calls `on_change` with what is known of the service `name` now, and again at every change, until the
    /// [`Watch`] is dropped.
    ///
    /// It is called on the thread `discovery`: hand the snapshot over and return. A list never becomes empty only
    /// because the backend went away.
    ///
    /// # Errors
    /// [`Error::Name`] when no service can have that name; [`Error::Busy`] when there are [`WATCHES_MAX`] already, or
    /// 1,024 commands wait.
    pub fn watch(
        &self,
        name: &str,
        versions: Versions,
        on_change: impl FnMut(Snapshot) + Send + 'static,
    ) -> Result<Watch, Error> {
        name::check_name(name)?;
        if let Versions::Exactly(version) = &versions {
            name::check_version(version)?;
        }
        let place = self.shared.watches.take(WATCHES_MAX, "4,096 watches are held already")?;
        let ended = Arc::new(AtomicBool::new(false));
        let on_change = Box::new(on_change);
        self.shared.send(Command::Watch(Subscription {
            name: name.to_owned(),
            versions,
            on_change,
            ended: ended.clone(),
        }))?;
        Ok(Watch { ended, shared: self.shared.clone(), _place: place })
    }

    /// Puts an entry into the tree and keeps it there until it is withdrawn. Returns at once.
    ///
    /// # Errors
    /// [`Error::Name`] or [`Error::Setting`] when it cannot stand in the tree; [`Error::Busy`] when there are
    /// [`REGISTRATIONS_MAX`] already, or 1,024 commands wait.
    pub fn register(&self, registration: Registration) -> Result<Registered, Error> {
        registration.check()?;
        let place = self.shared.entries.take(REGISTRATIONS_MAX, "1,024 entries are kept already")?;
        let (registered, entry) = entry(registration, self.shared.clone(), place);
        self.shared.send(Command::Register(entry))?;
        Ok(registered)
    }

    /// Asks the backend for everything in the tree, ordered by name and version, and waits for the answer: for names in a
    /// static list until each was looked up once, and no longer than `within`.
    ///
    /// # Errors
    /// [`Error::Away`] when there was none within `within`.
    pub fn list(&self, within: Duration) -> Result<Vec<Service>, Error> {
        let (answer, answered) = std::sync::mpsc::sync_channel(1);
        self.shared.send(Command::List { within, answer })?;
        // The thread answers in time by itself; what is added here only covers a thread that is not scheduled.
        match answered.recv_timeout(within.saturating_add(Duration::from_secs(1))) {
            Ok(answer) => answer,
            Err(_) => Err(Error::Away("the thread `discovery` did not answer in time".to_owned())),
        }
    }

    /// Has names of a static list looked up again soon, because a connection to an instance failed or ended. Returns at
    /// once; names are looked up at most once a second. Other backends report themselves when an
    /// instance moves.
    pub fn connection_failed(&self) {
        if let Some(resolver) = &self.shared.resolver {
            resolver.ask();
        }
    }

    /// How discovery is doing.
    pub fn status(&self) -> Status {
        self.shared.status.lock().clone()
    }
}

/// Someone's interest in a service; dropping it ends the calls. One that runs at that time is
/// finished.
#[must_use = "dropping a watch ends it"]
#[derive(Debug)]
pub struct Watch {
    ended: Arc<AtomicBool>,
    shared: Arc<Shared>,
    _place: Taken,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        self.shared.unwatched.notify_one();
    }
}

/// What handles, watches and registrations share.
#[derive(Debug)]
struct Shared {
    commands: mpsc::Sender<Command>,
    status: Arc<Mutex<Status>>,
    /// Notified when a watch was dropped.
    unwatched: Arc<Notify>,
    watches: Held,
    entries: Held,
    /// Looks up the names of a static list, where it has any.
    resolver: Option<Resolver>,
}

impl Shared {
    fn send(&self, command: Command) -> Result<(), Error> {
        use mpsc::error::TrySendError;
        self.commands.try_send(command).map_err(|why| match why {
            TrySendError::Full(_) => Error::Busy("1,024 commands wait for discovery already"),
            TrySendError::Closed(_) => Error::Ended("the thread `discovery` has ended".to_owned()),
        })
    }
}
