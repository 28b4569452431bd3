//! Where a service is looked for: one instance, or discovery.
//!
//! The flags are the same for every `stadium service` command. Without any the services of a server on this
//! machine are meant.

use std::path::{Path, PathBuf};

use clap::Args;
use stadium_discovery::{Backend, Config, Discovery, HostPort, StaticService};
use stadium_node::CallTls;
use stadium_rpc::{Client, ClientConfig, ServiceClient};

use crate::failure::{Context, Failure};

/// Where services of this machine listen by default.
const HERE: &str = "127.0.0.1:7800";

/// How services prove their identity.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsFlags {
    /// Call over TLS; authorities that sign services' certificates, PEM
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The name that services' certificates carry [default: the instance's host]
    #[arg(long, value_name = "NAME", requires = "ca")]
    server_name: Option<String>,
    /// A certificate to show, PEM
    #[arg(long, value_name = "FILE", requires = "ca", requires = "key_file")]
    certificate: Option<PathBuf>,
    /// Its private key, PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key_file: Option<PathBuf>,
}

/// Where to look.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Where")]
pub(crate) struct PlaceFlags {
    /// Call this instance and ask no discovery; of a name with several addresses, one that answers [default without
    /// --discovery: 127.0.0.1:7800]
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "discovery")]
    instance: Option<String>,
    /// Find instances in etcd://HOST:PORT,..., in zk://HOST:PORT,..., or in a file with a line NAME/VERSION=HOST:PORT for each
    #[arg(long, value_name = "URL", env = "STADIUM_SERVICE_DISCOVERY")]
    discovery: Option<String>,
    /// Root of the tree in etcd and ZooKeeper
    #[arg(long, value_name = "PATH", default_value = "/services")]
    prefix: String,
    #[command(flatten)]
    pub(super) tls: TlsFlags,
}

impl PlaceFlags {
    /// A client for the flags, with this many attempts of a call.
    pub(super) fn client(&self, attempts: u32) -> Result<Client, Failure> {
        self.tls.client(&self.open()?, attempts)
    }
}

impl TlsFlags {
    /// One instance of a service, called directly.
    pub(super) fn at(&self, instance: &HostPort, name: &str) -> Result<ServiceClient, Failure> {
        Ok(self.client(&Place::Instance(instance.clone()), 1)?.service(name))
    }

    fn client(&self, place: &Place, attempts: u32) -> Result<Client, Failure> {
        let mut config = match place {
            Place::Instance(instance) => match instance.address() {
                Some(address) => ClientConfig::at(vec![address]),
                None => ClientConfig::at_names([instance.to_string()]),
            },
            Place::Discovery(discovery) => ClientConfig::discovered(discovery.clone()),
        };
        config.hedge = None;
        config.retry.attempts_max = attempts;
        config.name = "stadium-service".to_owned();
        if let Some(authorities) = &self.ca {
            let host = match place {
                Place::Discovery(_) => None,
                Place::Instance(instance) => Some(instance.host()),
            };
            let server_name = self
                .server_name
                .clone()
                .or(host)
                .ok_or_else(|| Failure::Usage("--ca with --discovery needs --server-name".to_owned()))?;
            let identity = self.certificate.as_deref().zip(self.key_file.as_deref());
            let tls = CallTls { authorities, server_name: &server_name, identity }.open();
            config.tls = Some(tls.map_err(|error| Failure::new(error.to_string()))?);
        }
        Client::start(config).context("the client cannot start")
    }
}

/// Where services are looked for.
#[derive(Debug)]
pub(super) enum Place {
    /// At this address or name.
    Instance(HostPort),
    /// Wherever discovery finds it.
    Discovery(Discovery),
}

impl PlaceFlags {
    /// The place that the flags name.
    pub(super) fn open(&self) -> Result<Place, Failure> {
        match &self.discovery {
            None => match &self.instance {
                Some(instance) => read("--instance", instance).map(Place::Instance),
                None => read("--instance", HERE).map(Place::Instance),
            },
            Some(url) => discovery(url, &self.prefix).map(Place::Discovery),
        }
    }
}

/// Discovery at a URL as `--discovery` takes it.
pub(crate) fn discovery(url: &str, prefix: &str) -> Result<Discovery, Failure> {
    let config = Config { backend: backend(url)?, prefix: prefix.to_owned(), ..Config::default() };
    Discovery::start(config).map_err(|error| Failure::Usage(format!("--discovery {url}: {error}")))
}

/// An instance, as `setting` names it.
pub(super) fn read(setting: &str, text: &str) -> Result<HostPort, Failure> {
    text.parse().map_err(|why| Failure::Usage(format!("{setting}: {why}")))
}

fn backend(url: &str) -> Result<Backend, Failure> {
    if let Some(members) = url.strip_prefix("etcd://") {
        let endpoints = members.split(',').map(|member| format!("http://{member}")).collect();
        return Ok(Backend::Etcd { endpoints, user: None, tls: None });
    }
    if let Some(connect) = url.strip_prefix("zk://") {
        return Ok(Backend::ZooKeeper { connect: connect.to_owned(), user: None });
    }
    if url.contains("://") {
        return Err(Failure::Usage(format!("{url:?} is neither etcd://..., nor zk://..., nor a file")));
    }
    listed(&PathBuf::from(url)).map(Backend::Static)
}

/// The services of a file; `#` begins a comment.
fn listed(path: &Path) -> Result<Vec<StaticService>, Failure> {
    let text = std::fs::read_to_string(path).context(format_args!("{} cannot be read", path.display()))?;
    let mut services: Vec<StaticService> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let at = format!("{}:{}", path.display(), number + 1);
        let parts = line.split_once('=').and_then(|(service, place)| {
            let (name, version) = service.split_once('/')?;
            Some((name, version, place))
        });
        let Some((name, version, place)) = parts else {
            return Err(Failure::Usage(format!("{at}: {line:?} is not NAME/VERSION=HOST:PORT")));
        };
        let place = read(&at, place)?;
        match services.iter_mut().find(|service| service.name == name && service.version == version) {
            Some(service) => service.instances.push(place.into()),
            None => services.push(StaticService {
                name: name.to_owned(),
                version: version.to_owned(),
                instances: vec![place.into()],
            }),
        }
    }
    Ok(services)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_lists_instances_by_service() {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let path = folder.path().join("services");
        std::fs::write(&path, "# ours\ngeo/1=127.0.0.1:7801\n\ngeo/1=127.0.0.1:7802 # the second\n")
            .expect("the directory is writable");
        let services = listed(&path).expect("it is well formed");
        assert_eq!(services.len(), 1);
        assert_eq!((services[0].name.as_str(), services[0].instances.len()), ("geo", 2));
        std::fs::write(&path, "geo=127.0.0.1:7801\n").expect("the directory is writable");
        let failure = listed(&path).expect_err("a version is missing").to_string();
        assert!(failure.contains("services:1"), "{failure}");
    }

    #[test]
    fn an_instance_in_a_file_may_have_a_name_and_a_wrong_one_is_refused_with_its_line() {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let path = folder.path().join("services");
        std::fs::write(&path, "geo/1=geo.internal:7801\n").expect("the directory is writable");
        let services = listed(&path).expect("it is well formed");
        assert_eq!(services[0].instances[0].place.to_string(), "geo.internal:7801");
        for (place, expected) in [
            ("geo.internal", "the port is missing"),
            (":7800", "the host is missing"),
            ("geo.internal:0", "from 1 to 65535"),
            ("geo.internal:70000", "from 1 to 65535"),
            ("geo internal:7800", "letters, digits"),
        ] {
            std::fs::write(&path, format!("# ours\ngeo/1={place}\n")).expect("the directory is writable");
            let failure = listed(&path).expect_err(place).to_string();
            assert!(failure.contains("services:2: ") && failure.contains(expected), "{failure}");
        }
    }
}
