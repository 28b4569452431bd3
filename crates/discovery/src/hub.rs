//! The thread `discovery`: owns what is known and who wants to know it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use crate::config::{Backend, Config};
use crate::error::Error;
use crate::handle::Command;
use crate::instance::{Instance, Value};
use crate::name::Place;
use crate::registration::Standing;
use crate::snapshot::{Freshness, Service, Snapshot};
use crate::status::Status;

/// Starts the thread.
pub(crate) fn start(
    config: Config,
    mut commands: mpsc::Receiver<Command>,
    _status: Arc<Mutex<Status>>,
    _unwatched: Arc<Notify>,
) -> Result<(), Error> {
    let thread = std::thread::Builder::new().name("discovery".to_owned());
    let run = move || {
        let services = match config.backend {
            Backend::Static(services) => services,
            _ => Vec::new(),
        };
        let services: Vec<Service> = services
            .into_iter()
            .map(|service| {
                let instances = service.instances.into_iter().map(|one| {
                    let place = Place { version: service.version.clone(), address: one.address };
                    Instance::new(&place, Value { zone: one.zone, weight: one.weight, ..Value::default() })
                });
                Service {
                    name: service.name,
                    version: service.version.clone(),
                    instances: instances.collect(),
                }
            })
            .collect();
        while let Some(command) = commands.blocking_recv() {
            match command {
                Command::Watch(mut watch) => {
                    let wanted = services.iter().filter(|service| {
                        service.name == watch.name && watch.versions.include(&service.version)
                    });
                    let instances = wanted.flat_map(|service| service.instances.iter().cloned()).collect();
                    if !watch.ended.load(Ordering::Acquire) {
                        (watch.on_change)(Snapshot { instances, freshness: Freshness::Static, revision: 1 });
                    }
                }
                Command::Register(entry) => {
                    tracing::debug!(name = entry.name, place = ?entry.place, value = ?*entry.wanted.borrow(), "Registered with nobody");
                    entry.standing.set(if entry.standing.is(Standing::Unsure) {
                        Standing::Registered
                    } else {
                        Standing::Withdrawn
                    });
                }
                Command::List { within: _, answer } => drop(answer.send(Ok(services.clone()))),
            }
        }
    };
    thread
        .spawn(run)
        .map(drop)
        .map_err(|why| Error::Ended(format!("cannot start the thread `discovery`: {why}")))
}
