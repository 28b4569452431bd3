//! Calls by route, and what became of them as an exit code.
//!
//! A call of the framework's own methods is typed; others go by bytes that [`super::contract`] makes and reads.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use prost::Message;
use stadium_discovery::HostPort;
use stadium_rpc::{CallError, CallOptions, Idempotency, ServiceClient};
use stadium_rsocket::metadata::authentication::{self, Authentication};

use super::contract::Contract;
use super::place::{Place, PlaceFlags};
use crate::failure::{Context, Failure};

/// The caller's own name.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct BearerFlags {
    /// File with a token to show, such as an API key
    #[arg(long, value_name = "FILE")]
    bearer_file: Option<PathBuf>,
}

impl BearerFlags {
    /// The metadata that shows the token; empty without one.
    pub(super) fn metadata(&self) -> Result<Vec<u8>, Failure> {
        let mut metadata = Vec::new();
        if let Some(path) = &self.bearer_file {
            let token =
                std::fs::read_to_string(path).context(format_args!("{} cannot be read", path.display()))?;
            authentication::write(&mut metadata, Authentication::Bearer(token.trim()));
        }
        Ok(metadata)
    }
}

/// Calls one of the framework's methods of a service.
pub(super) fn call_trait<A: Message + Default>(
    service: &ServiceClient,
    route: &str,
    request: &impl Message,
    metadata: &[u8],
    deadline: Duration,
) -> Result<A, Failure> {
    let options = CallOptions { deadline: Some(deadline), metadata, ..CallOptions::default() };
    let pending = service.call_bytes(route, Idempotency::Idempotent, request.encode_to_vec(), &options);
    let answer = pending.wait().map_err(|error| failure(route, error))?;
    A::decode(answer.as_slice()).map_err(|error| Failure::new(format!("{route}: {error}")))
}

/// A service's description of itself.
pub(super) fn contract(service: &ServiceClient, name: &str, deadline: Duration) -> Result<Contract, Failure> {
    let request = stadium_rpc::proto::DescribeRequest {};
    Contract::read(call_trait(service, &format!("{name}/describe"), &request, &[], deadline)?)
}

/// A call that was not answered, as a failure with its exit code.
pub(super) fn failure(route: &str, error: CallError) -> Failure {
    let text = format!("{route}: {error}");
    match error {
        CallError::Busy { .. } => Failure::Busy(text),
        CallError::Rejected { .. } => Failure::Rejected(text),
        CallError::Deadline => Failure::Deadline(text),
        CallError::Unknown { .. }
        | CallError::Unavailable(_)
        | CallError::Broken(_)
        | CallError::Cancelled => Failure::Unavailable(text),
        CallError::Application { .. } | CallError::Protocol(_) => Failure::Failed(text),
    }
}

/// Every instance of a service: the one that was named, or all that discovery knows.
pub(super) fn instances(
    name: &str,
    flags: &PlaceFlags,
    deadline: Duration,
) -> Result<Vec<HostPort>, Failure> {
    match flags.open()? {
        Place::Instance(instance) => Ok(vec![instance]),
        Place::Discovery(discovery) => {
            let services =
                discovery.list(deadline).map_err(|error| Failure::Unavailable(error.to_string()))?;
            let found: Vec<HostPort> = services
                .iter()
                .filter(|service| service.name == name)
                .flat_map(|service| service.instances.iter().map(|instance| instance.address.into()))
                .collect();
            if found.is_empty() {
                let status = discovery.status();
                let why = status.trouble().map(|why| format!(": {why}")).unwrap_or_default();
                return Err(Failure::Unavailable(format!("discovery knows no instance of {name}{why}")));
            }
            Ok(found)
        }
    }
}

/// The time until `until`, at least 1 ms, so that a late call reports itself that it is late.
pub(super) fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}
