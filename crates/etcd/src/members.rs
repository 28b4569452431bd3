//! Finding a member that answers.
//!
//! A member is good when it answers a read that needs the quorum; so one that is alive but cut off from the others is
//! left for the next. All members are tried at once, a little apart, and the first good one is taken.

use std::path::Path;
use std::time::Duration;

use tokio::task::JoinSet;
use tonic::Code;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use crate::access::{Access, Tls, User};
use crate::client::Client;
use crate::messages::RangeRequest;

/// The members of one etcd.
#[derive(Debug)]
pub struct Members {
    access: Access,
    /// Which endpoint to try first.
    first: usize,
    /// How much later each further member is tried.
    stagger: Duration,
}

impl Members {
    /// Has not spoken to any of them yet. Each is tried `stagger` after the one before it.
    #[must_use]
    pub fn new(access: Access, stagger: Duration) -> Self {
        // Clients that start together do not all choose the first member.
        let first = fastrand::usize(..access.endpoints.len().max(1));
        Self { access, first, stagger }
    }

    /// A member that answers `probe`, whose calls may take `timeout` each. May be cancelled.
    ///
    /// # Errors
    /// What the last member that was tried said or did, for people.
    pub async fn reach(&mut self, probe: &RangeRequest, timeout: Duration) -> Result<Client, String> {
        let tls = match &self.access.tls {
            Some(tls) => Some(read_tls(tls)?),
            None => None,
        };
        let mut attempts = JoinSet::new();
        let count = self.access.endpoints.len();
        for turn in 0..count {
            let number = (self.first + turn) % count;
            let url = self.access.endpoints[number].clone();
            let (user, tls, probe) = (self.access.user.clone(), tls.clone(), probe.clone());
            // Bounded by the 32 endpoints that the settings allow.
            let later = self.stagger * u32::try_from(turn).expect("32 endpoints at most");
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
                    tracing::info!(endpoint = self.access.endpoints[number], "Reached etcd");
                    return Ok(client);
                }
                Ok(Err(failure)) => why = failure,
                Err(panicked) => why = panicked.to_string(),
            }
        }
        Err(why)
    }
}

/// Connects to the member at one endpoint and logs in, where `access` has a user. Each step, and each
/// call of the client, may take `timeout`.
///
/// # Errors
/// The member's refusal, or how the connection failed, for people.
pub async fn connect_to(access: &Access, endpoint: &str, timeout: Duration) -> Result<Client, String> {
    let tls = access.tls.as_ref().map(read_tls).transpose()?;
    connect(endpoint, access.user.clone(), tls, timeout).await
}

async fn connect(
    url: &str,
    user: Option<User>,
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
    let Some(User { name, password }) = user else { return Ok(client) };
    match client.clone().authenticate(name, password).await {
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

fn read_tls(tls: &Tls) -> Result<ClientTlsConfig, String> {
    let authorities = Certificate::from_pem(read(&tls.authorities)?);
    let mut config = ClientTlsConfig::new().ca_certificate(authorities);
    if let Some((certificate, key)) = &tls.identity {
        config = config.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    if let Some(name) = &tls.server_name {
        config = config.domain_name(name);
    }
    Ok(config)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    // Small files, read when a connection is made.
    std::fs::read(path).map_err(|why| format!("cannot read {}: {why}", path.display()))
}
