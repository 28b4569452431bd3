//! Where devices are: taken from a service that follows them into the registry.
//!
//! Each instance of the service is watched by a task of its own ([`source`]); their events are
//! collected, of each device the newest ([`pending`]), and handed to the shards in batches
//! ([`writer`]). Where shards are full, the writer waits, then the sources, and then the services,
//! whose streams get no more credit. A service that is away is no concern of readiness: devices are
//! where they were. Of a cluster's nodes one watches, or each event would be written once for each.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stadium_discovery::{Discovery, Snapshot, State, Versions};
use stadium_reactor::tls::ClientTls;
use stadium_shard::Shards;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::settings::Locations as Settings;

mod event;
mod figures;
mod pending;
mod source;
mod writer;

pub(crate) use figures::Figures;
use pending::Pending;

/// Instances that are watched; each costs a thread that mostly sleeps, and a connection.
const INSTANCES_MAX: usize = 64;

/// Takes locations from a service.
pub(crate) struct Locations {
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
    /// Dropping it ends the reports of discovery.
    _watch: stadium_discovery::Watch,
}

/// What all parts share.
struct Means {
    service: String,
    tls: Option<ClientTls>,
    minor_metres: u32,
    pending: Pending,
    figures: Arc<Figures>,
}

impl Locations {
    /// Begins to watch, where the settings name a service: while `here` says so, and for ever once nobody
    /// can change it.
    ///
    /// # Errors
    /// No service can have that name.
    pub(crate) fn start(
        settings: &Settings,
        discovery: &Discovery,
        tls: Option<ClientTls>,
        shards: Shards,
        figures: &Arc<Figures>,
        here: watch::Receiver<bool>,
        runtime: &Runtime,
    ) -> Result<Option<Self>, Error> {
        let Some(service) = settings.service.clone() else { return Ok(None) };
        let (sender, discovered) = watch::channel(Vec::new());
        let versions = Versions::Exactly(settings.version.clone());
        let watching = discovery
            .watch(&service, versions, move |snapshot| drop(sender.send_replace(addresses(&snapshot))))
            .map_err(|error| {
                Error::Services(format!("push.locations.service {service:?} cannot be watched: {error}"))
            })?;
        let (stop, stopped) = watch::channel(false);
        let means = Arc::new(Means {
            service,
            tls,
            minor_metres: settings.minor_m,
            pending: Pending::new(settings.waiting_max as usize),
            figures: Arc::clone(figures),
        });
        figures.begin();
        let every = Duration::from_millis(settings.batch_ms.into());
        let tasks = vec![
            runtime.spawn(writer::write(Arc::clone(&means), shards, every, stopped.clone())),
            runtime.spawn(follow(means, discovered, here, stopped)),
        ];
        Ok(Some(Self { stop, tasks, _watch: watching }))
    }

    /// Takes no more. Locations that were taken and not written come again when the service is
    /// watched again.
    pub(crate) async fn stop(self, at_most: Duration) {
        self.stop.send_replace(true);
        for task in self.tasks {
            let abort = task.abort_handle();
            if tokio::time::timeout(at_most, task).await.is_err() {
                abort.abort();
            }
        }
    }
}

/// Where instances are, and whether each is to be watched that is not watched yet.
fn addresses(snapshot: &Snapshot) -> Vec<(SocketAddr, State)> {
    snapshot.instances.iter().map(|instance| (instance.address, instance.state)).collect()
}

/// Watches the instances that discovery knows while that is for this node, until it is stopped.
async fn follow(
    means: Arc<Means>,
    mut discovered: watch::Receiver<Vec<(SocketAddr, State)>>,
    mut here: watch::Receiver<bool>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut sources: HashMap<SocketAddr, (watch::Sender<bool>, JoinHandle<()>)> = HashMap::new();
    // Discovery that has nothing more to report, as that of a list, hangs up.
    let mut more = true;
    let mut moves = true;
    loop {
        let is_here = *here.borrow_and_update();
        let mut known = discovered.borrow_and_update().clone();
        if !is_here {
            known.clear();
        }
        sources.retain(|address, (stop, _)| {
            let stays = known.iter().any(|(known, _)| known == address);
            if !stays {
                stop.send_replace(true);
            }
            stays
        });
        for (address, state) in known {
            if sources.contains_key(&address) || state == State::Quiescing {
                continue;
            }
            if sources.len() >= INSTANCES_MAX {
                tracing::warn!(%address, instances_max = INSTANCES_MAX, "An instance that knows locations is not watched: there are too many");
                continue;
            }
            let (stop, stopped) = watch::channel(false);
            let task = tokio::spawn(source::watch(Arc::clone(&means), address, stopped));
            sources.insert(address, (stop, task));
        }
        tokio::select! {
            biased;
            // Also where nobody can stop it any more.
            _ = stopped.wait_for(|stop| *stop) => break,
            changed = discovered.changed(), if more => more = changed.is_ok(),
            changed = here.changed(), if moves => moves = changed.is_ok(),
        }
    }
    for (stop, _) in sources.values() {
        stop.send_replace(true);
    }
    for (_, (_, task)) in sources {
        let _ = task.await;
    }
}
