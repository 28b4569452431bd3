//! The service as a whole: connects to Stadium, opens both ways in, and leaves in order.
//!
//! It runs on threads of its own, so that a program without an asynchronous runtime, such as `stadium demo`, can hold one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context as _;
use axum::serve::ListenerExt as _;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::access::Access;
use crate::ballots::{self, Counted};
use crate::bank::{Bank, Credit, Refused};
use crate::cached::Cached;
use crate::closing;
use crate::devices::Connection;
use crate::http::{Shared, router};
use crate::poll::Poll;
use crate::results::{self, Board, Results};
use crate::secured::{Door, Secured};
use crate::stadium::Stadium;

/// Connections that take devices' votes: they share one subscription, and each has a window of its own.
const DEVICE_CONNECTIONS: usize = 4;

/// How long a start waits until devices can vote; then it goes on without, and they can as soon as it works.
const DEVICES_WAIT: Duration = Duration::from_secs(10);

/// Requests under way may take so long when the service leaves.
pub(crate) const GRACE: Duration = Duration::from_secs(10);

/// Credits that are under way at once when many are given.
const CREDITS_AT_ONCE: usize = 2_000;

/// How the service is set up.
pub struct Config {
    /// Where votes are kept.
    pub stadium: Stadium,
    /// What is voted on.
    pub poll: Poll,
    /// The voters.
    pub access: Access,
    /// Where the HTTP API listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where HTTPS is spoken besides.
    pub secured: Option<Secured>,
    /// Votes that everybody has from the first login on.
    pub welcome: u64,
    /// Distinguishes several instances of the service.
    pub instance: String,
    /// Threads; 0: one for each core.
    pub threads: usize,
    /// memcached servers through which the instances of the service share the standings; none: each asks Stadium.
    pub cache: Vec<String>,
}

/// A running service. Dropping it leaves in order too.
pub struct Voting {
    runtime: Option<Runtime>,
    bank: Arc<Bank>,
    board: Board,
    address: SocketAddr,
    door: Option<Door>,
    leaving: watch::Sender<bool>,
    /// What has something to finish.
    finishing: Vec<JoinHandle<()>>,
}

impl Voting {
    /// Starts it: when this returns, votes are taken.
    ///
    /// # Errors
    /// Stadium does not answer or refuses us, or the address is taken.
    pub fn start(config: Config) -> anyhow::Result<Self> {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        if config.threads > 0 {
            runtime.worker_threads(config.threads);
        }
        let runtime = runtime.enable_all().thread_name("voting").build().context("cannot start threads")?;
        let Config { stadium, poll, access, listen, secured, welcome, instance, threads: _, cache } = config;
        let cache = match cache.as_slice() {
            [] => None,
            servers => Some(Arc::new(Cached::new(servers, &access, poll.name())?)),
        };
        let (leaving, left) = watch::channel(false);
        let started = runtime.block_on(async {
            let opened = Bank::open(&stadium, Arc::new(poll), welcome).await;
            let bank =
                Arc::new(opened.with_context(|| format!("Stadium at {} does not let us vote", stadium.rpc))?);
            let listener =
                TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
            let address = listener.local_addr()?;

            let counted: Arc<Mutex<Counted>> = Arc::default();
            let settled: Arc<AtomicBool> = Arc::default();
            let (post, board) = results::board(&bank);
            tokio::spawn(closing::settle(Arc::clone(&bank), Arc::clone(&settled)));
            tokio::spawn(ballots::work(Arc::clone(&bank), Arc::clone(&counted)));
            tokio::spawn(results::keep(Arc::clone(&bank), counted, settled, cache, post));

            let mut finishing = Vec::new();
            if let Some((server, login)) = stadium.mqtt {
                let (up, mut ups) = mpsc::channel(DEVICE_CONNECTIONS);
                for n in 1..=DEVICE_CONNECTIONS {
                    let connection = Connection {
                        bank: Arc::clone(&bank),
                        server,
                        login: login.clone(),
                        client_id: format!("voting-{}-{instance}-{n}", bank.poll().name()),
                        up: up.clone(),
                        leaving: left.clone(),
                    };
                    finishing.push(tokio::spawn(connection.keep()));
                }
                for _ in 0..DEVICE_CONNECTIONS {
                    if timeout(DEVICES_WAIT, ups.recv()).await.is_err() {
                        tracing::warn!(%server, "Devices cannot vote yet");
                        break;
                    }
                }
            }

            let shared = Arc::new(Shared::new(Arc::clone(&bank), access, board.clone(), left.clone()));
            let listener = listener.tap_io(|stream| {
                // Without it an answer may wait for an acknowledgement; where it fails the connection has ended.
                let _ = stream.set_nodelay(true);
            });
            let mut left = left.clone();
            let routes = router(shared);
            let door = match secured {
                Some(secured) => {
                    let (door, serving) = Door::open(&secured, routes.clone())?;
                    finishing.push(serving);
                    Some(door)
                }
                None => None,
            };
            let serving = axum::serve(listener, routes).with_graceful_shutdown(async move {
                let _ = left.wait_for(|leaving| *leaving).await;
            });
            finishing.push(tokio::spawn(async move {
                if let Err(error) = serving.await {
                    tracing::error!(%error, "The HTTP API ended");
                }
            }));
            anyhow::Ok((bank, board, address, door, finishing))
        });
        let (bank, board, address, door, finishing) = started?;
        Ok(Self { runtime: Some(runtime), bank, board, address, door, leaving, finishing })
    }

    /// Where the HTTP API listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where HTTPS listens, if it does.
    #[must_use]
    pub fn secured_address(&self) -> Option<SocketAddr> {
        self.door.as_ref().map(|door| door.address)
    }

    /// How the poll stands, a quarter of a second ago at most.
    #[must_use]
    pub fn results(&self) -> Arc<Results> {
        Arc::clone(&self.board.borrow().0)
    }

    /// Gives votes that were paid for, to many at once.
    ///
    /// # Errors
    /// The first refusal; the others may be done, and the same may be asked again.
    pub fn credit(&self, credits: impl IntoIterator<Item = Credit>) -> Result<(), Refused> {
        let runtime =
            self.runtime.as_ref().ok_or_else(|| Refused::Busy("the service has ended".to_owned()))?;
        runtime.block_on(async {
            let mut under_way = tokio::task::JoinSet::new();
            let mut credits = credits.into_iter();
            loop {
                while under_way.len() < CREDITS_AT_ONCE
                    && let Some(credit) = credits.next()
                {
                    let bank = Arc::clone(&self.bank);
                    under_way.spawn(async move { bank.credit(credit).await });
                }
                match under_way.join_next().await {
                    None => return Ok(()),
                    Some(Ok(done)) => drop(done?),
                    Some(Err(error)) => return Err(Refused::Busy(error.to_string())),
                }
            }
        })
    }

    /// Takes no vote any more, finishes those that it has taken, and ends.
    pub fn stop(mut self) {
        self.leave();
    }

    fn leave(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        let _ = self.leaving.send(true);
        if let Some(door) = &self.door {
            door.leave();
        }
        let finishing = std::mem::take(&mut self.finishing);
        runtime.block_on(async {
            let _ = timeout(GRACE, futures::future::join_all(finishing)).await;
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
    }
}

impl Drop for Voting {
    fn drop(&mut self) {
        self.leave();
    }
}
