//! The way to a backend: opened, used until it fails, opened again.
//!
//! A *session* is one stretch of contact with the backend. Everything that talks to it (a follower
//! for each watched name, a registrar for each entry) lives and dies with its session, and starts
//! by comparing what it knows with what the backend has; so there is one path for the first
//! contact, a member that was killed and an outage of an hour.

use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::{AbortHandle, JoinSet};

use crate::error::Error;
use crate::hub::{EntryId, Hub, PendingList};
use crate::instance::Instance;
use crate::outage::Outage;
use crate::registration::{Entry, Standing};
use crate::snapshot::Service;

/// A session that lasted this long ends an outage; a shorter one counts as a failed attempt, so that a backend that
/// accepts and drops us is not asked in a circle.
const STEADY: Duration = Duration::from_secs(2);

/// Opens sessions.
pub(crate) trait Backend {
    /// What it opens.
    type Session: Session;

    /// Opens one and makes sure that it answers. May be cancelled. The error is for people.
    async fn open(&mut self, hub: &Hub) -> Result<Self::Session, String>;
}

/// One stretch of contact.
pub(crate) trait Session: 'static {
    /// Waits until contact is lost, probing for it, and returns the reason.
    async fn ended(&self) -> String;

    /// Reports the instances of `name` to the hub, from now on. Returns only in trouble.
    async fn follow(&self, hub: &Hub, name: &str) -> Trouble;

    /// Keeps an entry in the tree until it is to go and has gone.
    async fn keep(&self, hub: &Hub, id: EntryId, entry: &Entry) -> Result<(), Trouble>;

    /// Everything in the tree, as name and instance.
    async fn list(&self, hub: &Hub) -> Result<Vec<(String, Instance)>, Trouble>;
}

/// Why something ended before its time.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Contact is lost: the session is over.
    Lost(String),
    /// The backend is there and refused: the session goes on, and this is tried again later.
    Refused(String),
}

/// Keeps the hub in contact with the backend, for ever.
pub(crate) async fn run<B: Backend>(hub: Rc<Hub>, mut backend: B) {
    let mut outage = Outage::new(hub.config.retry_delay_max);
    // Short enough to notify watchers soon, long enough for the next member to answer.
    let patience = (hub.config.session_ttl / 4).min(Duration::from_secs(1));
    let mut lost_at = Instant::now();
    let mut why = "not reached yet".to_owned();
    loop {
        let session = loop {
            let mut opening = pin!(backend.open(&hub));
            let opened = match tokio::time::timeout(patience, &mut opening).await {
                Ok(opened) => opened,
                Err(_) => {
                    hub.lost(lost_at, &why);
                    opening.await
                }
            };
            match opened {
                Ok(session) => break session,
                Err(failure) => {
                    tracing::debug!(error = failure, "Cannot reach the discovery backend");
                    why = failure;
                    hub.lost(lost_at, &why);
                    hub.count(|status| status.failed_attempts += 1);
                    tokio::time::sleep(outage.failed(fastrand::f64())).await;
                }
            }
        };
        let opened_at = Instant::now();
        hub.back();
        why = serve(&hub, session).await;
        lost_at = Instant::now();
        tracing::warn!(
            error = why,
            backend = hub.config.backend.name(),
            "Lost contact with the discovery backend"
        );
        hub.unsure();
        if opened_at.elapsed() >= STEADY {
            outage.ended();
        } else {
            tokio::time::sleep(outage.failed(fastrand::f64())).await;
        }
    }
}

/// What a task of a session came to.
enum Done {
    Lost(String),
    Withdrawn(EntryId),
    Listed,
}

/// Runs a session's tasks until contact is lost, and returns the reason.
async fn serve<S: Session>(hub: &Rc<Hub>, session: S) -> String {
    let session = Rc::new(session);
    // Dropping it at the end of the session stops them all.
    let mut tasks: JoinSet<Done> = JoinSet::new();
    let mut following: BTreeMap<String, AbortHandle> = BTreeMap::new();
    let mut keeping: BTreeMap<EntryId, AbortHandle> = BTreeMap::new();
    let mut ended = pin!(session.ended());
    loop {
        following.retain(|name, task| {
            let wanted = hub.is_watched(name);
            if !wanted {
                task.abort();
            }
            wanted
        });
        for name in hub.watched_names() {
            following.entry(name.clone()).or_insert_with(|| {
                let (hub, session) = (hub.clone(), session.clone());
                tasks.spawn_local(async move { follow(&hub, &*session, &name).await })
            });
        }
        for (id, entry) in hub.entries() {
            keeping.entry(id).or_insert_with(|| {
                let (hub, session) = (hub.clone(), session.clone());
                tasks.spawn_local(async move { keep(&hub, &*session, id, &entry).await })
            });
        }
        for pending in hub.take_lists() {
            let (hub, session) = (hub.clone(), session.clone());
            tasks.spawn_local(async move { list(&hub, &*session, pending).await });
        }
        tokio::select! {
            why = &mut ended => return why,
            Some(done) = tasks.join_next() => match done {
                Ok(Done::Lost(why)) => return why,
                Ok(Done::Withdrawn(id)) => {
                    keeping.remove(&id);
                    hub.withdrawn(id);
                }
                Ok(Done::Listed) => {}
                Err(stopped) if stopped.is_cancelled() => {}
                Err(panicked) => {
                    tracing::error!(error = %panicked, "A task of discovery failed; its session starts again");
                    return "a task of discovery failed".to_owned();
                }
            },
            () = hub.wanted.notified() => {}
        }
    }
}

async fn follow<S: Session>(hub: &Hub, session: &S, name: &str) -> Done {
    let mut outage = Outage::new(hub.config.retry_delay_max);
    loop {
        match session.follow(hub, name).await {
            Trouble::Lost(why) => return Done::Lost(why),
            Trouble::Refused(why) => {
                tracing::warn!(
                    service = name,
                    error = why,
                    "The discovery backend refuses to tell who serves"
                );
                hub.refused(name, &why);
                tokio::time::sleep(outage.failed(fastrand::f64())).await;
            }
        }
    }
}

async fn keep<S: Session>(hub: &Hub, session: &S, id: EntryId, entry: &Entry) -> Done {
    let mut outage = Outage::new(hub.config.retry_delay_max);
    loop {
        match session.keep(hub, id, entry).await {
            Ok(()) => return Done::Withdrawn(id),
            Err(Trouble::Lost(why)) => return Done::Lost(why),
            Err(Trouble::Refused(why)) => {
                tracing::warn!(
                    service = entry.name,
                    error = why,
                    "The discovery backend refuses a registration"
                );
                hub.stand(entry, Standing::Unsure);
                tokio::time::sleep(outage.failed(fastrand::f64())).await;
            }
        }
    }
}

async fn list<S: Session>(hub: &Hub, session: &S, pending: PendingList) -> Done {
    let answer = match tokio::time::timeout_at(pending.deadline.into(), session.list(hub)).await {
        Ok(Ok(found)) => Ok(services(found)),
        Ok(Err(Trouble::Lost(why))) => {
            _ = pending.answer.send(Err(Error::Away(why.clone())));
            return Done::Lost(why);
        }
        Ok(Err(Trouble::Refused(why))) => Err(Error::Away(why)),
        Err(_) => Err(Error::Away("the backend did not answer in time".to_owned())),
    };
    // The caller may have left.
    _ = pending.answer.send(answer);
    Done::Listed
}

/// Groups by name and version, in order.
fn services(found: Vec<(String, Instance)>) -> Vec<Service> {
    let mut grouped: BTreeMap<(String, String), Vec<Instance>> = BTreeMap::new();
    for (name, instance) in found {
        grouped.entry((name, instance.version.clone())).or_default().push(instance);
    }
    let services = grouped.into_iter().map(|((name, version), mut instances)| {
        instances.sort_by_key(|instance| instance.address);
        Service { name, version, instances }
    });
    services.collect()
}
