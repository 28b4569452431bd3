//! Workers that discovery knows.

use std::time::Duration;

use stadium_discovery::{Discovery, State};

use super::proto::load_worker;
use crate::error::Error;

/// The addresses of all workers that discovery knows now and that take calls, in order.
///
/// # Errors
/// [`Error::Worker`] where discovery does not answer within `within`, or knows none.
pub fn find(discovery: &Discovery, within: Duration) -> Result<Vec<String>, Error> {
    let services = discovery.list(within).map_err(|error| Error::Worker(format!("discovery: {error}")))?;
    let found: Vec<String> = services
        .iter()
        .filter(|service| service.name == load_worker::NAME && service.version == load_worker::VERSION)
        .flat_map(|service| &service.instances)
        .filter(|instance| instance.state == State::Serving)
        .map(|instance| instance.address.to_string())
        .collect();
    if found.is_empty() {
        let name = load_worker::NAME;
        let status = discovery.status();
        let why = status.trouble().map(|why| format!(": {why}")).unwrap_or_default();
        return Err(Error::Worker(format!(
            "discovery knows no worker (service {name}, version {}){why}",
            load_worker::VERSION
        )));
    }
    Ok(found)
}
