//! Answers from a list in the settings. It changes only where it has names: their addresses are looked up.
//!
//! A name that has several addresses is several instances, of its zone and weight. A name that is not found makes the lists
//! that it belongs to stale, and changes nothing else.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, watch};

use crate::command::{Command, Subscription};
use crate::config::{Config, StaticService};
use crate::error::Error;
use crate::host_port::HostPort;
use crate::hub::{LISTS_MAX, PendingList, earlier, notify};
use crate::instance::{Instance, Value};
use crate::lookups::Lookup;
use crate::name::Place;
use crate::registration::{Entry, Standing};
use crate::resolver::Resolver;
use crate::snapshot::{Freshness, Service, Snapshot};
use crate::status::{Connection, Status};
use crate::timing::sleep_until;

/// Why a list is not known yet.
pub(crate) const LOOKING: &str = "names are being looked up";

/// What is known of the names of a list; the resolver changes it.
pub(crate) struct Names(watch::Receiver<Vec<Lookup>>);

impl Names {
    /// Starts looking up the names of a list; `None` where it has none.
    pub(crate) fn look_up(
        services: &[StaticService],
        config: &Config,
    ) -> Result<Option<(Self, Resolver)>, Error> {
        let places = services.iter().flat_map(|service| &service.instances).map(|one| &one.place);
        let mut places: Vec<HostPort> = places.filter(|place| place.address().is_none()).cloned().collect();
        places.sort_unstable();
        places.dedup();
        if places.is_empty() {
            return Ok(None);
        }
        let (found, names) = watch::channel(Vec::new());
        let take = move |lookups: &[Lookup]| _ = found.send_replace(lookups.to_vec());
        let resolver = Resolver::start(places, config.resolve.clone(), config.refresh, take)
            .map_err(|why| Error::Ended(format!("cannot start the thread `resolver`: {why}")))?;
        Ok(Some((Self(names), resolver)))
    }
}

/// A list, and those who want to know of it.
pub(crate) struct Fixed {
    services: Vec<StaticService>,
    /// `None` where no address can change any more.
    names: Option<Names>,
    /// What is known of the names; empty before the first look-up.
    known: Vec<Lookup>,
    /// Since when names are looked up.
    started: Instant,
    /// Those whose lists may change, each with its last snapshot.
    watches: Vec<(Subscription, Snapshot)>,
    lists: Vec<PendingList>,
    status: Arc<Mutex<Status>>,
}

impl Fixed {
    pub(crate) fn new(
        services: Vec<StaticService>,
        names: Option<Names>,
        status: Arc<Mutex<Status>>,
    ) -> Self {
        let started = Instant::now();
        Self { services, names, known: Vec::new(), started, watches: Vec::new(), lists: Vec::new(), status }
    }

    /// Answers until the last handle is gone.
    pub(crate) async fn serve(mut self, mut commands: mpsc::Receiver<Command>, unwatched: &Notify) {
        loop {
            let next = self.lists.iter().fold(None, |next, list| earlier(next, Some(list.deadline)));
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => return,
                },
                () = changed(&mut self.names) => self.learn(),
                () = unwatched.notified() => {
                    self.watches.retain(|(watch, _)| !watch.ended.load(Ordering::Acquire));
                }
                () = sleep_until(next) => {}
            }
            self.answer_lists(Instant::now());
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Watch(mut subscription) => {
                let snapshot = self.snapshot(&subscription, 1);
                notify(&mut subscription, snapshot.clone());
                if self.names.is_some() {
                    self.watches.push((subscription, snapshot));
                }
            }
            Command::Register(entry) => keep(entry),
            Command::List { within: _, answer } if self.lists.len() >= LISTS_MAX => {
                _ = answer.send(Err(Error::Busy("16 lists are asked for already")));
            }
            Command::List { within, answer } => {
                let now = Instant::now();
                // A time beyond the clock's end is as good as a year.
                let deadline = now.checked_add(within).unwrap_or(now + Duration::from_secs(31_536_000));
                self.lists.push(PendingList { deadline, answer });
            }
        }
    }

    /// Takes over what was found, and notifies those whom it concerns.
    fn learn(&mut self) {
        let Some(Names(found)) = &mut self.names else { return };
        self.known.clone_from(&found.borrow_and_update());
        self.status.lock().connection = match trouble(self.known.iter()) {
            Some((since, why)) => Connection::Away { since, why },
            None => Connection::NotNeeded,
        };
        let mut watches = std::mem::take(&mut self.watches);
        for (subscription, last) in &mut watches {
            let now = self.snapshot(subscription, last.revision + 1);
            if (&now.instances, &now.freshness) != (&last.instances, &last.freshness) {
                *last = now;
                notify(subscription, last.clone());
            }
        }
        self.watches = watches;
    }

    /// Answers those who asked for everything, where each name was looked up, or their time is over.
    fn answer_lists(&mut self, now: Instant) {
        let is_whole =
            self.names.is_none() || !self.known.is_empty() && self.known.iter().all(|one| one.is_looked_up);
        let due = |list: &mut PendingList| is_whole || list.deadline <= now;
        let due: Vec<PendingList> = self.lists.extract_if(.., due).collect();
        for list in due {
            let mut services: Vec<Service> = self.services.iter().map(|one| self.service(one)).collect();
            services.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
            _ = list.answer.send(Ok(services));
        }
    }

    /// What a watcher hears. `revision` counts what it heard.
    fn snapshot(&self, subscription: &Subscription, revision: u64) -> Snapshot {
        let Subscription { name, versions, .. } = subscription;
        let wanted = |one: &&StaticService| one.name == *name && versions.include(&one.version);
        let wanted: Vec<&StaticService> = self.services.iter().filter(wanted).collect();
        let mut instances: Vec<Instance> =
            wanted.iter().flat_map(|service| self.service(service).instances).collect();
        instances.sort_by(|one, other| (&one.version, one.address).cmp(&(&other.version, other.address)));
        let places = || wanted.iter().flat_map(|one| &one.instances).map(|one| &one.place);
        let has_names = places().any(|place| place.address().is_none());
        if has_names && self.known.is_empty() {
            // Addresses wait for the names, so that calls are not all sent to them.
            let freshness = Freshness::Stale { since: self.started, why: LOOKING.to_owned() };
            return Snapshot { instances: [].into(), freshness, revision: 0 };
        }
        let names = self.known.iter().filter(|one| places().any(|place| *place == one.place));
        let is_heard = !instances.is_empty() || names.clone().all(|one| one.is_looked_up);
        let freshness = match trouble(names) {
            Some((since, why)) => Freshness::Stale { since, why },
            None => Freshness::Static,
        };
        Snapshot { instances: instances.into(), freshness, revision: if is_heard { revision } else { 0 } }
    }

    /// A service as it is now: its instances in the order of their addresses. Of those that share an address, the one that
    /// is listed first counts.
    fn service(&self, service: &StaticService) -> Service {
        let StaticService { name, version, instances } = service;
        let mut found: Vec<Instance> = Vec::new();
        for one in instances {
            let known = self.known.iter().find(|known| known.place == one.place);
            let fixed = one.place.address();
            let addresses = known.map_or(fixed.as_slice(), |known| known.addresses.as_slice());
            found.extend(addresses.iter().map(|address: &SocketAddr| {
                let place = Place { version: version.clone(), address: *address };
                Instance::new(
                    &place,
                    Value { zone: one.zone.clone(), weight: one.weight, ..Value::default() },
                )
            }));
        }
        // A stable sort: the first that was listed stays the first.
        found.sort_by_key(|instance| instance.address);
        found.dedup_by_key(|instance| instance.address);
        Service { name: name.clone(), version: version.clone(), instances: found }
    }
}

/// Keeps an entry to oneself until it is withdrawn: there is nowhere to put it.
fn keep(entry: Entry) {
    entry.standing.set(Standing::Registered);
    tokio::task::spawn_local(async move {
        let mut wanted = entry.wanted.clone();
        while wanted.changed().await.is_ok() {}
        entry.standing.set(Standing::Withdrawn);
    });
}

/// Ends when more is known of the names.
async fn changed(names: &mut Option<Names>) {
    if let Some(Names(found)) = names
        && found.changed().await.is_ok()
    {
        return;
    }
    // The resolver ends with the last handle, and so does this thread.
    std::future::pending().await
}

/// Since when names are not found, and which, and why.
fn trouble<'a>(of: impl Iterator<Item = &'a Lookup>) -> Option<(Instant, String)> {
    let of = of.filter_map(|one| one.trouble.as_ref());
    of.fold(None, |all, (since, why)| match all {
        None => Some((*since, why.clone())),
        Some((earliest, all)) => Some((earliest.min(*since), format!("{all}, {why}"))),
    })
}
