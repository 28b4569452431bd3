//! [`Documents`]: small texts that all nodes of a cluster share, below `/stadium/CLUSTER/access/`.
//!
//! The thread `documents` reads all of them, follows them with a watch, and keeps a private copy on
//! disk. So a node goes on with those that it knows while etcd is away, and starts with them. A change
//! is one transaction, which holds only if no other change was made since the documents were read:
//! each change also writes the key `change`, and expects it to be as it was.

mod ask;
mod bounds;
mod copy;
mod known;
mod settings;
mod thread;

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stadium_etcd::messages::{Compare, RequestOp, TxnRequest};
use stadium_membership::{ClusterId, Error, check_name};
use tokio::sync::mpsc;

use crate::keys::Keys;

use self::ask::{Ask, Attempt, Change, Fresh};
use self::known::Shared;

pub use self::known::{Known, Texts};
pub use self::settings::DocumentSettings;

/// Changes that wait for the thread. Each caller has one, and the calls of one node are one by one.
const ASKS_MAX: usize = 16;

/// How long a change is tried: enough for etcd to elect another leader.
const PATIENCE: Duration = Duration::from_secs(4);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// The documents of a cluster. Dropping it ends the thread, within the time of one call.
pub struct Documents {
    keys: Keys,
    id: ClusterId,
    shared: Arc<Shared>,
    /// `None` when it is being dropped: closing this channel ends the thread.
    asks: Option<mpsc::Sender<Ask>>,
    /// Held during a change: changes of one node would only make each other begin again.
    changing: Mutex<()>,
    thread: Option<JoinHandle<()>>,
}

/// Why documents were not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotChanged {
    /// etcd is away or refuses, or other nodes change documents all the time; nothing was changed.
    Away(String),
    /// etcd did not confirm the change in time: it may be made.
    Unknown(String),
    /// A bound is reached; nothing was changed.
    TooLarge(String),
}

impl Documents {
    /// Reads the copy and starts the thread. An etcd that is away is no error: it is tried again until
    /// it answers.
    ///
    /// # Errors
    /// [`Error::Setting`] when the settings make no sense; [`Error::Unreadable`] for a copy that
    /// cannot be read; [`Error::Ended`] when no thread could be started.
    pub fn start(settings: DocumentSettings) -> Result<Self, Error> {
        check_name("cluster", &settings.cluster)?;
        settings.etcd.check().map_err(Error::Setting)?;
        let (keys, id) = (Keys::of(&settings.cluster), settings.id);
        let shared = Arc::new(Shared::new(copy::read(&settings.copy, id)?));
        let (asks, asked) = mpsc::channel(ASKS_MAX);
        let thread = thread::start(settings, keys.clone(), Arc::clone(&shared), asked)?;
        let changing = Mutex::new(());
        Ok(Self { keys, id, shared, asks: Some(asks), changing, thread: Some(thread) })
    }

    /// The version of [`Self::known`], for callers that look often.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.shared.version()
    }

    /// The documents as they are known here.
    #[must_use]
    pub fn known(&self) -> Known {
        self.shared.known()
    }

    /// Waits until the documents were read from etcd since the start.
    ///
    /// # Errors
    /// [`Error::Away`] when they were not `within` so long.
    pub fn wait_until_read(&self, within: Duration) -> Result<(), Error> {
        self.shared.wait_until_read(within).map_err(Error::Away)
    }

    /// Changes documents. `change` gets the texts as etcd has them, and is called again with newer ones
    /// if another change was made meanwhile. So it may get texts that have its own change already.
    /// Where it returns false, nothing is written.
    ///
    /// Waits for etcd, up to about eight seconds.
    ///
    /// # Errors
    /// [`NotChanged`].
    pub fn change(&self, change: &mut dyn FnMut(&mut Texts) -> bool) -> Result<Known, NotChanged> {
        let _changing = self.changing.lock();
        let number = fastrand::u64(..);
        // One that was away for long is not waited for.
        let began = self.shared.away().map_or_else(Instant::now, |(since, _)| since);
        let mut may_be_made = false;
        loop {
            let why = match self.attempt(change, number) {
                Attempt::Done(known) => return Ok(known),
                Attempt::TooLarge(why) => return Err(NotChanged::TooLarge(why)),
                Attempt::Lost => "other nodes change the documents of the cluster all the time".to_owned(),
                Attempt::Away(why) => why,
                Attempt::Unknown(why) => {
                    may_be_made = true;
                    why
                }
            };
            if began.elapsed() >= PATIENCE {
                return Err(match may_be_made {
                    true => NotChanged::Unknown(why),
                    false => NotChanged::Away(why),
                });
            }
            std::thread::sleep(PAUSE.mul_f64(fastrand::f64()));
        }
    }

    fn attempt(&self, change: &mut dyn FnMut(&mut Texts) -> bool, number: u64) -> Attempt {
        let fresh = match self.ask(Ask::Read) {
            Ok(Ok(fresh)) => fresh,
            Ok(Err(why)) | Err(why) => return Attempt::Away(why),
        };
        // Made by an attempt whose answer was lost.
        if fresh.last == Some(number) {
            return Attempt::Done(fresh.known);
        }
        let mut texts = Texts::clone(&fresh.known.texts);
        if !change(&mut texts) || texts == *fresh.known.texts {
            return Attempt::Done(fresh.known);
        }
        if let Err(why) = bounds::check(&fresh.known.texts, &texts) {
            return Attempt::TooLarge(why);
        }
        let question = self.transaction(&fresh, &texts, number);
        self.ask(|reply| Ask::Write { question, texts, reply }).unwrap_or_else(Attempt::Unknown)
    }

    fn transaction(&self, fresh: &Fresh, texts: &Texts, number: u64) -> TxnRequest {
        let guard = self.keys.change();
        let value = Change { cluster: self.id, number };
        let value = serde_json::to_vec(&value).expect("numbers always serialise");
        let before = &fresh.known.texts;
        let puts = texts.iter().filter(|(name, text)| before.get(*name) != Some(*text));
        let puts = puts.map(|(name, text)| RequestOp::put(&self.keys.document(name), text.clone().into(), 0));
        let gone = before.keys().filter(|name| !texts.contains_key(*name));
        let deletes = gone.map(|name| RequestOp::delete(&self.keys.document(name)));
        let success = puts.chain(deletes).chain([RequestOp::put(&guard, value, 0)]).collect();
        TxnRequest { compare: vec![Compare::written_at(&guard, fresh.guard)], success }
    }

    /// Asks the thread, and waits for its answer.
    fn ask<T>(&self, ask: impl FnOnce(SyncSender<T>) -> Ask) -> Result<T, String> {
        let ended = || "the thread `documents` has ended".to_owned();
        let (reply, answer) = sync_channel(1);
        let asks = self.asks.as_ref().ok_or_else(ended)?;
        // Only this caller asks, so there is room.
        asks.try_send(ask(reply)).map_err(|_| ended())?;
        answer.recv().map_err(|_| ended())
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the texts: some are secrets.
        f.debug_struct("Documents").field("version", &self.version()).finish_non_exhaustive()
    }
}

impl Drop for Documents {
    fn drop(&mut self) {
        self.asks = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            _ = thread.join();
        }
    }
}
