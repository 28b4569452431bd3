//! Where a service is looked for: one instance, or discovery.
//!
//! The flags are the same for every `stadium service` command. Without any the services of a server on this
//! machine are meant.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use clap::Args;
use stadium_discovery::{Backend, Config, Discovery, StaticService};
use stadium_node::CallTls;
use stadium_rpc::{Client, ClientConfig, ServiceClient};

use crate::failure::{Context, Failure};

/// Where services of this machine listen unless told otherwise.
const HERE: &str = "127.0.0.1:7800";

/// How services are known to be who they say they are.
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
    /// Call this instance and ask no discovery [default without --discovery: 127.0.0.1:7800]
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
    /// A client for what the flags say, with this many attempts of a call.
    pub(super) fn client(&self, attempts: u32) -> Result<Client, Failure> {
        self.tls.client(&self.open()?, self.instance.as_deref(), attempts)
    }
}

impl TlsFlags {
    /// One instance of a service, called directly.
    pub(super) fn at(&self, address: SocketAddr, name: &str) -> Result<ServiceClient, Failure> {
        Ok(self.client(&Place::Instance(address), None, 1)?.service(name))
    }

    /// `named` is how the instance was named, where it was.
    fn client(&self, place: &Place, named: Option<&str>, attempts: u32) -> Result<Client, Failure> {
        let mut config = match place {
            Place::Instance(address) => ClientConfig::at(vec![*address]),
            Place::Discovery(discovery) => ClientConfig::discovered(discovery.clone()),
        };
        config.hedge = None;
        config.retry.attempts_max = attempts;
        config.name = "stadium-service".to_owned();
        if let Some(authorities) = &self.ca {
            let host = match (place, named.and_then(|named| named.rsplit_once(':'))) {
                (Place::Discovery(_), _) => None,
                (Place::Instance(_), Some((host, _))) => Some(host.trim_matches(['[', ']']).to_owned()),
                (Place::Instance(address), None) => Some(address.ip().to_string()),
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
    /// At this address.
    Instance(SocketAddr),
    /// Wherever discovery says.
    Discovery(Discovery),
}

impl PlaceFlags {
    /// What the flags say.
    pub(super) fn open(&self) -> Result<Place, Failure> {
        match &self.discovery {
            None => address(self.instance.as_deref().unwrap_or(HERE)).map(Place::Instance),
            Some(url) => discovery(url, &self.prefix).map(Place::Discovery),
        }
    }
}

/// Discovery at a URL as `--discovery` takes it.
pub(crate) fn discovery(url: &str, prefix: &str) -> Result<Discovery, Failure> {
    let config = Config { backend: backend(url)?, prefix: prefix.to_owned(), ..Config::default() };
    Discovery::start(config).map_err(|error| Failure::Usage(format!("--discovery {url}: {error}")))
}

/// An instance's address; a host's first one.
pub(super) fn address(text: &str) -> Result<SocketAddr, Failure> {
    let mut found = text
        .to_socket_addrs()
        .map_err(|error| Failure::Usage(format!("{text:?} is no HOST:PORT: {error}")))?;
    found.next().ok_or_else(|| Failure::Usage(format!("{text:?} has no address")))
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
        let read = line.split_once('=').and_then(|(service, place)| {
            let (name, version) = service.split_once('/')?;
            Some((name, version, place.parse::<SocketAddr>().ok()?))
        });
        let Some((name, version, place)) = read else {
            let at = number + 1;
            return Err(Failure::Usage(format!(
                "{}:{at}: {line:?} is not NAME/VERSION=HOST:PORT",
                path.display()
            )));
        };
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
}
