//! etcd: finding a member that answers. What is done with it is in [`session`].
//!
//! A member is good when it answers a read that needs the quorum; so one that is alive but cut off from the others is
//! left for the next. All members are tried at once, a little apart, and the first good one is taken.

mod api;
mod messages;
mod session;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tonic::Code;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use self::api::Client;
use self::session::{Memory, Session};
use crate::config::{Config, Credentials, Tls};
use crate::hub::Hub;
use crate::link;
use crate::timing::Timing;

/// How much later each further member is tried.
const STAGGER: Duration = Duration::from_millis(100);

/// Finds members.
pub(crate) struct Backend {
    endpoints: Vec<String>,
    user: Option<Credentials>,
    tls: Option<Tls>,
    prefix: String,
    timing: Timing,
    /// Which endpoint to try first.
    first: usize,
    memory: Rc<RefCell<Memory>>,
}

impl Backend {
    /// Has not spoken to anybody yet.
    pub(crate) fn new(
        config: &Config,
        endpoints: Vec<String>,
        user: Option<Credentials>,
        tls: Option<Tls>,
    ) -> Self {
        let timing = Timing::new(config);
        // Clients that start together do not all choose the first member.
        let first = fastrand::usize(..endpoints.len().max(1));
        let memory = Memory { contact: Instant::now(), marks: BTreeMap::new(), leases: BTreeMap::new() };
        let prefix = config.prefix.clone();
        Self { endpoints, user, tls, prefix, timing, first, memory: Rc::new(RefCell::new(memory)) }
    }
}

impl link::Backend for Backend {
    type Session = Session;

    async fn open(&mut self, hub: &Hub) -> Result<Session, String> {
        self.memory.borrow_mut().marks.retain(|name, _| hub.is_watched(name));
        let tls = match &self.tls {
            Some(tls) => Some(read_tls(tls).await?),
            None => None,
        };
        let mut attempts = JoinSet::new();
        let count = self.endpoints.len();
        for turn in 0..count {
            let number = (self.first + turn) % count;
            let url = self.endpoints[number].clone();
            let (user, tls, timeout) = (self.user.clone(), tls.clone(), self.timing.timeout);
            let probe = session::probe(&self.prefix);
            // Bounded by the 32 endpoints that the settings allow.
            let later = STAGGER * u32::try_from(turn).expect("32 endpoints at most");
            attempts.spawn(async move {
                tokio::time::sleep(later).await;
                let client =
                    connect(&url, user, tls, timeout).await.map_err(|why| format!("{url}: {why}"))?;
                match client.range(probe).await {
                    Ok(_) => Ok((number, client)),
                    Err(failure) => Err(format!("{url}: {}", failure.what)),
                }
            });
        }
        let mut why = "no endpoint".to_owned();
        while let Some(attempt) = attempts.join_next().await {
            match attempt {
                Ok(Ok((number, client))) => {
                    // When contact with this one is lost, the next is asked first.
                    self.first = number + 1;
                    tracing::info!(endpoint = self.endpoints[number], "Reached etcd");
                    return Ok(Session::new(client, self.prefix.clone(), self.timing, self.memory.clone()));
                }
                Ok(Err(failure)) => why = failure,
                Err(panicked) => why = panicked.to_string(),
            }
        }
        Err(why)
    }
}

/// Connects to one member and logs in.
async fn connect(
    url: &str,
    user: Option<Credentials>,
    tls: Option<ClientTlsConfig>,
    timeout: Duration,
) -> Result<Client, String> {
    let endpoint = Endpoint::from_shared(url.to_owned()).map_err(describe)?.connect_timeout(timeout);
    let endpoint = match tls {
        Some(tls) if url.starts_with("https:") => endpoint.tls_config(tls).map_err(describe)?,
        _ => endpoint,
    };
    let channel = match tokio::time::timeout(timeout, endpoint.connect()).await {
        Ok(connected) => connected.map_err(describe)?,
        Err(_) => return Err("no connection in time".to_owned()),
    };
    let client = Client::new(channel, timeout);
    let Some(Credentials { user, password }) = user else { return Ok(client) };
    match client.clone().authenticate(user, password).await {
        Ok(client) => Ok(client),
        Err(failure) if failure.code == Code::FailedPrecondition => {
            tracing::warn!(error = failure.what, "etcd does not ask who we are; going on without logging in");
            Ok(client)
        }
        Err(failure) => Err(failure.what),
    }
}

/// An error with what caused it: tonic's own text is only "transport error".
fn describe(error: tonic::transport::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

async fn read_tls(tls: &Tls) -> Result<ClientTlsConfig, String> {
    let authorities = Certificate::from_pem(read(&tls.authorities).await?);
    let mut config = ClientTlsConfig::new().ca_certificate(authorities);
    if let Some((certificate, key)) = &tls.identity {
        config = config.identity(Identity::from_pem(read(certificate).await?, read(key).await?));
    }
    if let Some(name) = &tls.server_name {
        config = config.domain_name(name);
    }
    Ok(config)
}

async fn read(path: &Path) -> Result<Vec<u8>, String> {
    // Small files, read when a connection is made.
    std::fs::read(path).map_err(|why| format!("cannot read {}: {why}", path.display()))
}
