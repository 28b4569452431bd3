//! Discovery, as `stadium_discovery` takes it.
//!
//! The password is read here, from its file: settings never hold secrets.

use std::time::Duration;

use stadium_discovery::{Backend, Config, Credentials, Resolve, StaticService, Tls};

use crate::error::Error;
use crate::mapping::secrets;
use crate::settings::{Access, Discovery, DiscoveryBackend, ListedService};

/// What discovery is started with; `None` when there is none.
pub(crate) fn config(discovery: &Discovery) -> Result<Option<Config>, Error> {
    let backend = match discovery.backend {
        DiscoveryBackend::None => return Ok(None),
        DiscoveryBackend::Static => Backend::Static(services(&discovery.services)),
        DiscoveryBackend::Etcd => Backend::Etcd {
            endpoints: discovery.endpoints.clone(),
            user: credentials(&discovery.access)?,
            tls: discovery.access.ca.clone().map(|authorities| Tls {
                authorities,
                identity: discovery.access.identity(),
                server_name: None,
            }),
        },
        DiscoveryBackend::ZooKeeper => Backend::ZooKeeper {
            connect: discovery.endpoints.join(","),
            user: credentials(&discovery.access)?,
        },
    };
    Ok(Some(Config {
        backend,
        prefix: discovery.prefix.clone(),
        session_ttl: Duration::from_secs(u64::from(discovery.session_ttl_s)),
        refresh: Duration::from_secs(u64::from(discovery.refresh_s)),
        update_interval: Duration::from_millis(u64::from(discovery.update_interval_ms)),
        retry_delay_max: Duration::from_millis(u64::from(discovery.retry_delay_max_ms)),
        resolve: Resolve::default(),
    }))
}

/// The list of the settings, by service.
pub(crate) fn services(listed: &[ListedService]) -> Vec<StaticService> {
    let mut services: Vec<StaticService> = Vec::new();
    for ListedService { name, version, place } in listed {
        match services.iter_mut().find(|service| service.name == *name && service.version == *version) {
            Some(service) => service.instances.push(place.clone().into()),
            None => services.push(StaticService {
                name: name.clone(),
                version: version.clone(),
                instances: vec![place.clone().into()],
            }),
        }
    }
    services
}

fn credentials(access: &Access) -> Result<Option<Credentials>, Error> {
    let user = secrets::user("discovery", access).map_err(Error::Services)?;
    Ok(user.map(|(user, password)| Credentials { user, password }))
}
