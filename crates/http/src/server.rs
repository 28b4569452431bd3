//! The listener: accepts connections, gives `/mqtt` away, serves the rest, and stops gracefully.
//!
//! Each connection is bounded from its first byte: the time until a request's head is complete, the
//! size of that head, the number of connections. A slow client costs one small task for ten
//! seconds.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::http::Request;
use axum::response::IntoResponse;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use stadium_shard::Shards;
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt;

use crate::about::facts::About;
use crate::audit_log;
use crate::change_log::ChangeLog;
use crate::config::Config;
use crate::connections::Connections;
use crate::fleet::Fleet;
use crate::key_store::KeyStore;
use crate::live::broadcast::Live;
use crate::live::health::is_health;
use crate::live::sampler as live;
use crate::metrics::exported::MetricReader;
use crate::port::Port;
use crate::queue::samples;
use crate::request::app::App;
use crate::request::peer::Peer;
use crate::router;
use crate::server::peek::FirstBytes;
use crate::server::places::{Entry, Full, Places};
use crate::server::progress::{Progress, Reset};
use crate::server::socket_taker::{SocketTaker, TakenPath, TakenSocket, TakenTls};
use crate::server::tls::Certificate;
use crate::server::tls::stream::TlsStream;
use crate::server::unread::watched;
use crate::start_error::StartError;
use crate::users::cluster::{ClusterSlot, ClusterUsers};
use crate::users::worker;
use crate::wallet::figures;

pub(crate) mod peek;
mod places;
mod progress;
pub(crate) mod socket_taker;
pub(crate) mod tls;
mod unread;

/// Bytes of a request's line and headers; hyper answers 431 beyond it. Headers of real clients are
/// under 4 KB.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Time that a connection in a spare place gets from its first byte to the end of its answer.
const SPARE_TIME: Duration = Duration::from_secs(1);

/// Ticks of the audit log between two writes of the last uses of keys.
const USAGE_TICKS: u64 = 60;

/// Connections that the system keeps for us between two accepts.
const BACKLOG: u32 = 1_024;

/// The HTTP port: bound and listening, not yet answering until [`Server::run`].
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    port: Port,
    router: Router,
    taker: Option<Arc<dyn SocketTaker>>,
    certificate: Option<Arc<Certificate>>,
}

/// Reads certificates and keys again while the server runs, for SIGHUP.
#[derive(Clone)]
pub struct Reloader {
    keys: Arc<KeyStore>,
    certificate: Option<Arc<Certificate>>,
}

impl Reloader {
    /// Reads the certificate and the API keys again. A part that cannot be read stays as it was.
    ///
    /// # Errors
    /// The first thing that could not be read.
    pub fn reload(&self) -> Result<(), StartError> {
        if let Some(certificate) = &self.certificate {
            certificate.reload().map_err(StartError::Certificate)?;
        }
        self.keys.reload().map_err(StartError::Keys)
    }
}

/// Hands the shards to a server, before it runs or while it does.
#[derive(Clone)]
pub struct Queues {
    app: Arc<App>,
    cluster_users: Arc<ClusterSlot>,
}

impl Queues {
    /// From now on queues and wallets are answered by these shards; until then each request gets
    /// 503. The first shards stay: a second call changes nothing.
    pub fn serve(&self, shards: Shards) {
        let _ = self.app.shards.set(shards);
    }

    /// From now on users are exported and erased with all nodes of the cluster; the first call
    /// counts.
    pub fn serve_users(&self, users: Arc<ClusterUsers>) {
        let _ = self.cluster_users.set(users);
    }
}

impl Server {
    /// Opens the keys, reads the certificate and listens. `taker` gets the sockets that ask for
    /// MQTT over WebSocket; without it they get the answer that it is not served here.
    ///
    /// Must be called inside a Tokio runtime.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left listening.
    pub async fn bind(
        config: Config,
        fleet: Arc<dyn Fleet>,
        taker: Option<Arc<dyn SocketTaker>>,
    ) -> Result<Self, StartError> {
        let port = Port::open(config, fleet)?;
        let app: Arc<App> = port.part();
        let certificate = match &app.config.tls {
            Some(files) => Some(Arc::new(Certificate::read(files.clone()).map_err(StartError::Certificate)?)),
            None => None,
        };
        let listen = app.config.listen;
        let failed = |error| StartError::Listen { address: listen, error };
        let listener = listen_on(listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let router = router::router(&port);
        Ok(Self { listener, address, app, port, router, taker, certificate })
    }

    /// Where it listens, with the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What serves queues once there are shards; keep it before [`Server::run`].
    pub fn queues(&self) -> Queues {
        Queues { app: Arc::clone(&self.app), cluster_users: self.port.part() }
    }

    /// Takes the facts of the process that it runs in, before [`Server::run`] or while it runs.
    pub fn about(&self) -> About {
        self.app.about.clone()
    }

    /// The API keys in use.
    pub fn keys(&self) -> Arc<KeyStore> {
        Arc::clone(&self.app.keys)
    }

    /// The audit log, for other doors of the node.
    pub fn change_log(&self) -> ChangeLog {
        ChangeLog::of(&self.app.audit)
    }

    /// Reads the metrics for a collector; keep it before [`Server::run`].
    pub fn metrics(&self) -> MetricReader {
        MetricReader::new(self.port.part())
    }

    /// What reads certificates and keys again; keep it before [`Server::run`].
    pub fn reloader(&self) -> Reloader {
        Reloader { keys: Arc::clone(&self.app.keys), certificate: self.certificate.clone() }
    }

    /// Answers requests until `shutdown` completes; then stops accepting, ends live views, lets
    /// running requests finish within [`Config::drain_timeout`], and returns.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let drain_timeout = self.app.config.drain_timeout;
        let graceful = GracefulShutdown::new();
        let samplers = [
            tokio::spawn(live::sample(self.port.part(), self.port.part(), self.port.part())),
            tokio::spawn(samples::sample(self.port.part(), self.port.part())),
            tokio::spawn(figures::sample(self.port.part(), self.port.part())),
            tokio::spawn(settle_audit(Arc::clone(&self.app))),
            tokio::spawn(worker::work(Arc::clone(&self.app), self.port.part())),
        ];
        let places = Places::new(&self.app.config);
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut shutdown => break,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => self.welcome(stream, peer, &places, graceful.watcher()),
                Err(error) => {
                    tracing::warn!(error = %error, "HTTP cannot accept a connection");
                    // Out of files, most likely: accepting again at once would only spin.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(self.listener);
        samplers.iter().for_each(|sampler| sampler.abort());
        self.app.views.close();
        self.port.part::<Arc<Live>>().close();
        self.app.draining.send_replace(true);
        if tokio::time::timeout(drain_timeout, graceful.shutdown()).await.is_err() {
            tracing::warn!("HTTP requests were still running at the end of the drain time");
        }
        self.app.audit.settle(SystemTime::now());
        keep_usage(&self.app.keys);
    }

    fn welcome(&self, stream: TcpStream, peer: SocketAddr, places: &Places, watcher: Watcher) {
        // Small answers leave at once. A socket whose option fails is dead already, and its read
        // will fail.
        let _ = stream.set_nodelay(true);
        let entry = places.enter(peer.ip());
        let connections = self.port.part::<Arc<Connections>>();
        let connection = |head_timeout| Connection {
            app: Arc::clone(&self.app),
            router: self.router.clone(),
            taker: self.taker.clone(),
            certificate: self.certificate.clone(),
            peer,
            head_timeout,
        };
        match entry {
            Entry::Whole(held) => {
                let (connection, open) = (connection(self.app.config.head_timeout), connections.enter());
                tokio::spawn(async move {
                    connection.begin(stream, Serving::Whole(watcher)).await;
                    drop((held, open));
                });
            }
            Entry::Spare(permit, full) => {
                connections.turned_away();
                let connection = connection(SPARE_TIME);
                tokio::spawn(async move {
                    let served = connection.begin(stream, Serving::Health(full));
                    let _ = tokio::time::timeout(SPARE_TIME, served).await;
                    drop(permit);
                });
            }
            Entry::None => connections.turned_away(),
        }
    }
}

/// Writes down the counts of the audit log each second, and the last uses of keys each minute.
async fn settle_audit(app: Arc<App>) {
    let mut ticks = tokio::time::interval(audit_log::TICK);
    for tick in 1_u64.. {
        ticks.tick().await;
        app.audit.settle(SystemTime::now());
        if tick % USAGE_TICKS == 0 {
            let keys = Arc::clone(&app.keys);
            // The next minute tries again; the server goes on without it.
            let _ = tokio::task::spawn_blocking(move || keep_usage(&keys)).await;
        }
    }
}

fn keep_usage(keys: &KeyStore) {
    if let Err(error) = keys.keep_usage() {
        tracing::warn!(error = %error, "The last uses of API keys cannot be saved");
    }
}

fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4(),
        SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6(),
    }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A connection on its way from its first byte to the router.
struct Connection {
    app: Arc<App>,
    router: Router,
    taker: Option<Arc<dyn SocketTaker>>,
    certificate: Option<Arc<Certificate>>,
    peer: SocketAddr,
    head_timeout: Duration,
}

/// Gives a socket to the event loops.
fn give(
    taker: &dyn SocketTaker,
    stream: TcpStream,
    tls: Option<Box<TakenTls>>,
    peer: SocketAddr,
    path: TakenPath,
) {
    match stream.into_std() {
        Ok(stream) => taker.take(TakenSocket { stream, tls, peer, path }),
        Err(error) => tracing::warn!(error = %error, "a socket could not be given to the event loops"),
    }
}

/// The requests that a connection may make.
enum Serving {
    /// Everything, until the server stops.
    Whole(Watcher),
    /// Health, once: there is no place for the connection.
    Health(Full),
}

impl Connection {
    async fn begin(self, stream: TcpStream, serving: Serving) {
        match self.certificate.clone() {
            Some(certificate) => self.begin_tls(&certificate, stream, serving).await,
            None => self.begin_plain(stream, serving).await,
        }
    }

    async fn begin_plain(self, stream: TcpStream, serving: Serving) {
        let Some(taker) = self.taker.clone() else { return self.serve(stream, serving).await };
        match peek::first_bytes(&stream, self.app.config.echo, self.head_timeout).await {
            FirstBytes::Ours => self.serve(stream, serving).await,
            FirstBytes::Theirs(path) => give(&*taker, stream, None, self.peer, path),
            FirstBytes::Gone => {}
        }
    }

    async fn begin_tls(self, certificate: &Certificate, stream: TcpStream, serving: Serving) {
        let peer = self.peer;
        let handshake = TlsStream::accept(certificate.config(), stream);
        let mut stream = match tokio::time::timeout(self.head_timeout, handshake).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(error = %error, %peer, "HTTPS handshake failed"),
            Err(_) => return tracing::debug!(%peer, "HTTPS handshake took too long"),
        };
        let Some(taker) = self.taker.clone() else { return self.serve(stream, serving).await };
        match peek::first_bytes_of_tls(&mut stream, self.app.config.echo, self.head_timeout).await {
            FirstBytes::Ours => self.serve(stream, serving).await,
            FirstBytes::Theirs(path) => {
                let given = tokio::time::timeout(self.head_timeout, stream.give_away()).await;
                match given {
                    Ok(Ok((stream, tls))) => give(&*taker, stream, Some(tls), peer, path),
                    Ok(Err(error)) => tracing::debug!(error = %error, %peer, "HTTPS connection ended early"),
                    Err(_) => tracing::debug!(%peer, "HTTPS peer does not read"),
                }
            }
            FirstBytes::Gone => {}
        }
    }

    async fn serve(self, stream: impl Reset + Send + 'static, serving: Serving) {
        let peer = Peer(self.peer.ip());
        let full = match &serving {
            Serving::Whole(_) => None,
            Serving::Health(full) => Some(*full),
        };
        let router = self.router;
        let unread = Arc::new(AtomicBool::new(false));
        let stream = Progress::new(stream, self.app.config.write_timeout, Arc::clone(&unread));
        let service = tower::service_fn(move |request: Request<hyper::body::Incoming>| {
            let router = router.clone();
            let mut request = request.map(|body| watched(body, &unread));
            request.extensions_mut().insert(peer);
            async move {
                match full {
                    Some(full) if !is_health(request.uri().path()) => Ok(full.problem().into_response()),
                    _ => router.oneshot(request).await,
                }
            }
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.head_timeout)
            .max_buf_size(HEAD_BYTES_MAX)
            .keep_alive(full.is_none())
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        let ended = match serving {
            Serving::Whole(watcher) => watcher.watch(served).await,
            Serving::Health(_) => served.await,
        };
        if let Err(error) = ended {
            tracing::debug!(error = %error, peer = %self.peer, "HTTP connection ended early");
        }
    }
}
