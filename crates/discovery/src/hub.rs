//! The state of the thread `discovery`: the known instances, and the watchers of them.
//!
//! Everything here runs on that one thread; other threads send a [`Command`] or raise a flag. Watchers are
//! called here too, after a change is complete, and may use the handle again: it only sends.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use crate::command::{Command, ListAnswer, Subscription};
use crate::config::Config;
use crate::error::Error;

use crate::instance::Instance;
use crate::name::Place;
use crate::registration::{Entry, Standing};
use crate::roster::{After, Change, Patience, Roster};
use crate::snapshot::Snapshot;
use crate::status::{Connection, Status};
use crate::timing::sleep_until;

/// The shortest time between two snapshots of one name that differ in load factors only.
///
/// Each of a thousand instances may write once a second; a snapshot copies them all.
const LOADS_INTERVAL: Duration = Duration::from_millis(100);
/// How long the thread stays after the last handle is gone, for entries that are being withdrawn.
const WIND_UP: Duration = Duration::from_secs(1);
/// Questions for the whole tree that wait for the backend. People ask them; a seventeenth hears that we are busy.
pub(crate) const LISTS_MAX: usize = 16;

/// What identifies an entry within this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryId(u64);

/// A question for the whole tree.
pub(crate) struct PendingList {
    pub(crate) deadline: Instant,
    pub(crate) answer: ListAnswer,
}

/// What is known, and what is wanted.
pub(crate) struct Hub {
    pub(crate) config: Config,
    /// Notified when names, entries or lists changed, for the link to look again.
    pub(crate) wanted: Notify,
    /// Notified when a roster changed, for the watchers to be called.
    changed: Notify,
    status: Arc<Mutex<Status>>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    names: BTreeMap<String, Watched>,
    entries: BTreeMap<EntryId, Rc<Entry>>,
    entries_made: u64,
    lists: VecDeque<PendingList>,
    /// Since when the backend is away, and why; `None` while it is there.
    away: Option<(Instant, String)>,
    /// Whether it was ever there.
    reached: bool,
}

/// A name that somebody watches.
struct Watched {
    roster: Roster,
    subscriptions: Vec<Subscription>,
    /// The change that was not reported to the watchers yet.
    pending: Change,
    notified_at: Option<Instant>,
}

impl Hub {
    /// Knows nothing yet.
    pub(crate) fn new(config: Config, status: Arc<Mutex<Status>>) -> Self {
        Hub {
            wanted: Notify::new(),
            changed: Notify::new(),
            status,
            state: RefCell::new(State {
                away: Some((Instant::now(), "not reached yet".to_owned())),
                ..State::default()
            }),
            config,
        }
    }

    /// Obeys commands and calls watchers while the link does its work.
    pub(crate) async fn serve(self: &Rc<Self>, mut commands: mpsc::Receiver<Command>, unwatched: &Notify) {
        loop {
            let next = self.notify_watchers(Instant::now());
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => break,
                },
                () = unwatched.notified() => self.sweep(),
                () = self.changed.notified() => {}
                () = sleep_until(next) => {}
            }
        }
        // All handles are gone, so every entry is being withdrawn.
        let withdrawn = async {
            while !self.state.borrow().entries.is_empty() {
                self.changed.notified().await;
            }
        };
        if tokio::time::timeout(WIND_UP, withdrawn).await.is_err() {
            tracing::debug!("Entries are left to their leases: the discovery backend is away");
        }
    }

    fn obey(self: &Rc<Self>, command: Command) {
        let now = Instant::now();
        match command {
            Command::Watch(mut subscription) => {
                let state = &mut *self.state.borrow_mut();
                let watched = state.names.entry(subscription.name.clone()).or_insert_with(|| {
                    let unread = (now, "not read yet".to_owned());
                    let (since, why) = state.away.as_ref().unwrap_or(&unread);
                    let roster = Roster::new(Patience::new(self.config.session_ttl), *since, why);
                    Watched { roster, subscriptions: Vec::new(), pending: Change::Nothing, notified_at: None }
                });
                let known = watched.roster.snapshot(&subscription.versions);
                notify(&mut subscription, known);
                watched.subscriptions.push(subscription);
                self.status.lock().watched = state.names.len();
            }
            Command::Register(entry) => {
                let state = &mut *self.state.borrow_mut();
                state.entries_made += 1;
                state.entries.insert(EntryId(state.entries_made), Rc::new(entry));
                self.status.lock().registrations = state.entries.len();
            }
            Command::List { within, answer } => {
                let mut state = self.state.borrow_mut();
                if state.lists.len() >= LISTS_MAX {
                    _ = answer.send(Err(Error::Busy("16 lists are asked for already")));
                    return;
                }
                // A time beyond the clock's end is as good as a year.
                let deadline = now.checked_add(within).unwrap_or(now + Duration::from_secs(31_536_000));
                state.lists.push_back(PendingList { deadline, answer });
                let hub = self.clone();
                tokio::task::spawn_local(async move {
                    tokio::time::sleep_until(deadline.into()).await;
                    hub.give_up_lists();
                });
            }
        }
        self.wanted.notify_one();
    }

    /// Answers those who waited for a backend that did not come.
    fn give_up_lists(&self) {
        let state = &mut *self.state.borrow_mut();
        let now = Instant::now();
        let why = state.away.as_ref().map_or("it is busy", |(_, why)| why);
        state.lists.retain(|pending| {
            let waits = pending.deadline > now;
            if !waits {
                _ = pending
                    .answer
                    .send(Err(Error::Away(format!("the backend did not answer in time: {why}"))));
            }
            waits
        });
    }

    /// Forgets watches that were dropped.
    fn sweep(&self) {
        let mut state = self.state.borrow_mut();
        state.names.retain(|_, watched| {
            watched.subscriptions.retain(|subscription| !subscription.ended.load(Ordering::Acquire));
            !watched.subscriptions.is_empty()
        });
        self.status.lock().watched = state.names.len();
        self.wanted.notify_one();
    }

    /// Calls watchers whose name changed. Returns when to look again.
    fn notify_watchers(&self, now: Instant) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        for watched in self.state.borrow_mut().names.values_mut() {
            let Watched { roster, subscriptions, pending, notified_at } = watched;
            *pending = (*pending).max(roster.expire(now));
            let free_at = notified_at.map_or(now, |at| at + LOADS_INTERVAL);
            let due = match pending {
                Change::Nothing => None,
                Change::Loads => Some(free_at),
                Change::Members => Some(now),
            };
            match due {
                Some(due) if due <= now => {
                    subscriptions.iter_mut().for_each(|one| notify(one, roster.snapshot(&one.versions)));
                    (*pending, *notified_at) = (Change::Nothing, Some(now));
                }
                _ => next = earlier(next, due),
            }
            next = earlier(next, roster.next_expiry());
        }
        next
    }
}

/// What the link and its sessions report, and ask.
impl Hub {
    /// The backend does not answer.
    pub(crate) fn lost(&self, since: Instant, why: &str) {
        let mut state = self.state.borrow_mut();
        state.away = Some((since, why.to_owned()));
        self.status.lock().connection = Connection::Away { since, why: why.to_owned() };
        for watched in state.names.values_mut() {
            watched.pending = watched.pending.max(watched.roster.lost(since, why));
        }
        self.changed.notify_one();
    }

    /// The backend answers. Rosters are live again when they are listed.
    pub(crate) fn back(&self) {
        let mut state = self.state.borrow_mut();
        state.away = None;
        let mut status = self.status.lock();
        status.connection = Connection::Connected;
        status.reconnects += u64::from(state.reached);
        state.reached = true;
    }

    /// Contact was just lost: nobody knows which entries the backend holds.
    pub(crate) fn unsure(&self) {
        for entry in self.state.borrow().entries.values() {
            if entry.standing.is(Standing::Registered) {
                entry.standing.set(Standing::Unsure);
            }
        }
        self.status.lock().registered = 0;
    }

    /// The backend is there but does not report the instances of `name`.
    pub(crate) fn refused(&self, name: &str, why: &str) {
        self.change(name, |roster, now| roster.lost(now, why));
    }

    /// All that the backend knows of `name`.
    pub(crate) fn listed(&self, name: &str, found: Vec<Instance>, after: After) {
        self.change(name, |roster, now| roster.listed(found, after, now));
    }

    /// The report of the backend about one instance.
    pub(crate) fn announced(&self, name: &str, instance: Instance) {
        self.change(name, |roster, now| roster.announced(instance, now));
    }

    /// The backend removed an entry.
    pub(crate) fn removed(&self, name: &str, place: &Place) {
        self.change(name, |roster, now| roster.removed(place, now));
    }

    /// An instance said goodbye.
    pub(crate) fn left(&self, name: &str, place: &Place) {
        self.change(name, |roster, now| roster.left(place, now));
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Roster, Instant) -> Change) {
        let mut state = self.state.borrow_mut();
        let Some(watched) = state.names.get_mut(name) else { return };
        watched.pending = watched.pending.max(change(&mut watched.roster, Instant::now()));
        let refused = watched.roster.take_refused();
        if refused > 0 {
            self.status.lock().unreadable += refused;
        }
        self.changed.notify_one();
    }

    /// Counts something.
    pub(crate) fn count(&self, count: impl FnOnce(&mut Status)) {
        count(&mut self.status.lock());
    }

    /// What the backend is known to hold of an entry.
    pub(crate) fn stand(&self, entry: &Entry, standing: Standing) {
        entry.standing.set(standing);
        let state = self.state.borrow();
        let registered =
            state.entries.values().filter(|entry| entry.standing.is(Standing::Registered)).count();
        self.status.lock().registered = registered;
    }

    /// An entry is out of the tree.
    pub(crate) fn withdrawn(&self, id: EntryId) {
        let entry = self.state.borrow_mut().entries.remove(&id);
        if let Some(entry) = entry {
            self.stand(&entry, Standing::Withdrawn);
        }
        self.status.lock().registrations = self.state.borrow().entries.len();
        self.changed.notify_one();
    }

    pub(crate) fn is_watched(&self, name: &str) -> bool {
        self.state.borrow().names.contains_key(name)
    }

    pub(crate) fn watched_names(&self) -> Vec<String> {
        self.state.borrow().names.keys().cloned().collect()
    }

    pub(crate) fn entries(&self) -> Vec<(EntryId, Rc<Entry>)> {
        self.state.borrow().entries.iter().map(|(id, entry)| (*id, entry.clone())).collect()
    }

    pub(crate) fn take_lists(&self) -> VecDeque<PendingList> {
        std::mem::take(&mut self.state.borrow_mut().lists)
    }
}

/// Calls a watcher, unless it has ended. One that panics is not called again.
pub(crate) fn notify(subscription: &mut Subscription, snapshot: Snapshot) {
    if subscription.ended.load(Ordering::Acquire) {
        return;
    }
    // The watcher is never looked at again after a panic, so what it left half done is not seen.
    if catch_unwind(AssertUnwindSafe(|| (subscription.on_change)(snapshot))).is_err() {
        tracing::error!(service = subscription.name, "A watcher panicked and will not be called again");
        subscription.ended.store(true, Ordering::Release);
    }
}

pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    [one, other].into_iter().flatten().min()
}
