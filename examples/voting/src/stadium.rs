//! Where Stadium is, how we log in, and calls that are patient.
//!
//! Every write of ours carries ids of its own, so a call whose outcome is unknown is simply made
//! again: nothing happens twice.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use prost::Message;
use serde::Deserialize;
use stadium_rpc::{CallError, Client, ClientConfig, Method, ServiceClient};
use stadium_rsocket::metadata::authentication::{self, Authentication};

/// How long a call is tried before its asker is asked to retry later.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two tries, at first; it doubles up to half a second.
const AGAIN_FIRST: Duration = Duration::from_millis(10);
const AGAIN_MAX: Duration = Duration::from_millis(500);

/// A Stadium that votes are kept in.
#[derive(Clone, Debug)]
pub struct Stadium {
    /// Where it answers RPC.
    pub rpc: SocketAddr,
    /// An API key that may move amounts and declare: an admin's.
    pub key: String,
    /// Where devices are connected, and how we log in there; none: no votes over MQTT.
    pub mqtt: Option<(SocketAddr, Option<Login>)>,
}

/// User name and password at the MQTT listener.
#[derive(Clone, Debug)]
pub struct Login {
    /// The name that rules know.
    pub user: String,
    /// Its password.
    pub password: String,
}

/// The announcement of `stadium serve` to other programs of the machine.
#[derive(Deserialize)]
struct Running {
    listeners: Vec<Listener>,
}

#[derive(Deserialize)]
struct Listener {
    name: String,
    address: SocketAddr,
}

impl Stadium {
    /// The server whose data directory this is, running on this machine.
    ///
    /// # Errors
    /// It does not run, or its files cannot be read.
    pub fn of_data_directory(data: &Path) -> anyhow::Result<Self> {
        let read = |name: &str| {
            let path = data.join(name);
            std::fs::read_to_string(&path).with_context(|| {
                format!(
                    "cannot read {}: is `stadium serve --data {}` running?",
                    path.display(),
                    data.display()
                )
            })
        };
        let running: Running = serde_json::from_str(&read("running.json")?).context("running.json")?;
        let listener = |name: &str| {
            running.listeners.iter().find(|listener| listener.name == name).map(|listener| listener.address)
        };
        Ok(Self {
            rpc: listener("rpc").context("the server does not serve RPC: see its setting rpc.listen")?,
            key: read("admin.key")?.trim().to_owned(),
            mqtt: listener("mqtt").map(|address| (address, None)),
        })
    }

    /// A client for its services.
    pub(crate) fn client(&self, name: &str) -> anyhow::Result<Client> {
        let mut metadata = Vec::new();
        authentication::write(&mut metadata, Authentication::Bearer(&self.key));
        let config = ClientConfig {
            metadata,
            name: name.to_owned(),
            busy_poll: Duration::ZERO,
            // A copy of a slow write to the same server helps nobody.
            hedge: None,
            ..ClientConfig::at(vec![self.rpc])
        };
        Client::start(config).context("cannot start the RPC client")
    }
}

/// Calls until there is an answer that stays the same, for [`PATIENCE`].
pub(crate) async fn call<Q, A>(
    service: &ServiceClient,
    method: &Method<Q, A>,
    request: &Q,
) -> Result<A, CallError>
where
    Q: Message,
    A: Message + Default,
{
    let deadline = Instant::now() + PATIENCE;
    let mut again = AGAIN_FIRST;
    loop {
        match service.call(method, request).await {
            Ok(answer) => return Ok(answer),
            Err(
                error @ (CallError::Rejected { .. }
                | CallError::Application { .. }
                | CallError::Cancelled
                | CallError::Protocol(_)),
            ) => {
                return Err(error);
            }
            Err(error) => {
                if Instant::now() + again >= deadline {
                    return Err(error);
                }
                let wait =
                    if let CallError::Busy { retry_after, .. } = &error { *retry_after } else { again };
                tokio::time::sleep(wait.clamp(again, AGAIN_MAX)).await;
                again = (again * 2).min(AGAIN_MAX);
            }
        }
    }
}
