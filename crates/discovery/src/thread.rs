//! The thread `discovery`: a backend, and the hub that it serves.
//!
//! It ends when the last handle, watch and registration are gone.

use std::rc::Rc;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::task::LocalSet;

use crate::command::Command;
#[cfg(feature = "etcd")]
use crate::config::access;
use crate::config::{Backend, Config};
use crate::error::Error;
#[cfg(feature = "etcd")]
use crate::etcd;
use crate::fixed::{Fixed, Names};
use crate::hub::Hub;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
use crate::link;
use crate::status::Status;
#[cfg(feature = "zookeeper")]
use crate::zookeeper;

/// Starts the thread.
pub(crate) fn start(
    config: Config,
    commands: mpsc::Receiver<Command>,
    status: Arc<Mutex<Status>>,
    unwatched: Arc<Notify>,
    names: Option<Names>,
) -> Result<(), Error> {
    let ended = |why: std::io::Error| Error::Ended(format!("cannot start the thread `discovery`: {why}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ended)?;
    let run = move || {
        LocalSet::new().block_on(&runtime, serve(config, commands, status, unwatched, names));
        // Sockets of a backend that is away must not hold the process.
        runtime.shutdown_background();
    };
    std::thread::Builder::new().name("discovery".to_owned()).spawn(run).map(drop).map_err(ended)
}

async fn serve(
    config: Config,
    commands: mpsc::Receiver<Command>,
    status: Arc<Mutex<Status>>,
    unwatched: Arc<Notify>,
    names: Option<Names>,
) {
    let hub = Rc::new(Hub::new(config, status.clone()));
    let fixed = |services| Fixed::new(services, names, status);
    match hub.config.backend.clone() {
        Backend::None => fixed(Vec::new()).serve(commands, &unwatched).await,
        Backend::Static(services) => fixed(services).serve(commands, &unwatched).await,
        #[cfg(feature = "etcd")]
        Backend::Etcd { endpoints, user, tls } => {
            let access = access(&endpoints, user.as_ref(), tls.as_ref());
            let backend = etcd::Backend::new(&hub.config, access);
            let link = tokio::task::spawn_local(link::run(hub.clone(), backend));
            hub.serve(commands, &unwatched).await;
            link.abort();
        }
        #[cfg(feature = "zookeeper")]
        Backend::ZooKeeper { connect, user } => {
            let backend = zookeeper::Backend::new(&hub.config, connect, user);
            let link = tokio::task::spawn_local(link::run(hub.clone(), backend));
            hub.serve(commands, &unwatched).await;
            link.abort();
        }
        // The settings were refused.
        #[cfg(not(all(feature = "etcd", feature = "zookeeper")))]
        _ => fixed(Vec::new()).serve(commands, &unwatched).await,
    }
}
