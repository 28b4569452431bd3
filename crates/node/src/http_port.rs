//! The HTTP port while it runs: bound, served on the control plane's threads, and stopped in order.
//!
//! It outlives the devices' listeners in a drain, so that `/readyz` and the live page report it to
//! the end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stadium_http::ChangeLog;
use stadium_http::key_store::KeyStore;
use stadium_http::{
    About, ClusterUsers, Config, Fleet, MetricReader, Queues, Reloader, Server, SharedDocuments, SocketTaker,
};
use stadium_shard::Shards;
use stadium_telemetry::Tracer;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::mapping;
use crate::settings::Settings;

/// The port, open.
pub(crate) struct HttpPort {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    /// The API keys, with the use of their limits.
    pub(crate) keys: Arc<KeyStore>,
    /// The audit log.
    pub(crate) change_log: ChangeLog,
    /// Takes what the console shows of this process.
    pub(crate) about: About,
    /// Reads the metrics for a collector.
    pub(crate) metrics: MetricReader,
    queues: Queues,
    reloader: Reloader,
    shutdown: Option<oneshot::Sender<()>>,
    served: Option<JoinHandle<()>>,
}

impl HttpPort {
    /// Opens it on `listen`, for so many connections, and serves it on `runtime`. `shared` are the
    /// documents of the cluster that the node is of.
    pub(crate) fn open(
        settings: &Settings,
        tracer: Tracer,
        shared: Option<Arc<dyn SharedDocuments>>,
        (listen, connections_max): (SocketAddr, usize),
        runtime: &Runtime,
        fleet: Arc<dyn Fleet>,
        taker: Arc<dyn SocketTaker>,
    ) -> Result<Self, Error> {
        let config = Config { connections_max, shared, tracer, ..mapping::http::config(settings, listen) };
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let server = runtime
            .block_on(Server::bind(config, fleet, Some(taker)))
            .map_err(|error| Error::Http(error.to_string()))?;
        let (address, reloader, queues) = (server.address(), server.reloader(), server.queues());
        let (keys, change_log, about) = (server.keys(), server.change_log(), server.about());
        let metrics = server.metrics();
        let (shutdown, stopped) = oneshot::channel::<()>();
        let served = runtime.spawn(server.run(async move {
            // A dropped sender means that the node is going, too.
            let _ = stopped.await;
        }));
        Ok(Self {
            address,
            scheme,
            keys,
            change_log,
            about,
            metrics,
            queues,
            reloader,
            shutdown: Some(shutdown),
            served: Some(served),
        })
    }

    /// Answers for queues from now on, by these shards.
    pub(crate) fn serve(&self, shards: Shards) {
        self.queues.serve(shards);
    }

    /// Exports and erases users with all nodes of the cluster from now on.
    pub(crate) fn serve_users(&self, users: Arc<ClusterUsers>) {
        self.queues.serve_users(users);
    }

    /// Reads them again from elsewhere.
    pub(crate) fn reloader(&self) -> Reloader {
        self.reloader.clone()
    }

    /// Reads its certificate and the API keys again.
    pub(crate) fn reload(&self) -> Result<(), Error> {
        self.reloader.reload().map_err(|error| Error::Http(error.to_string()))
    }

    /// Stops accepting, and waits until running requests are answered or `patience` is over.
    pub(crate) async fn close(&mut self, patience: Duration) {
        if let Some(shutdown) = self.shutdown.take() {
            let _ = shutdown.send(());
        }
        if let Some(served) = self.served.take() {
            let abort = served.abort_handle();
            if tokio::time::timeout(patience, served).await.is_err() {
                abort.abort();
            }
        }
    }
}
