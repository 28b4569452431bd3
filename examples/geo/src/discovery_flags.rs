//! The flags by which both programs find each other: an etcd, a ZooKeeper, or neither.

use anyhow::Context as _;
use stadium_discovery::{Backend, Config, Discovery};

/// Where services are registered and found; at most one of the two.
#[derive(clap::Args, Clone, Debug)]
#[group(multiple = false)]
pub struct DiscoveryFlags {
    /// A member of an etcd, as http://127.0.0.1:2379; name several by commas
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub etcd: Vec<String>,
    /// A ZooKeeper, as 127.0.0.1:2181,127.0.0.2:2181/chroot
    #[arg(long, value_name = "HOST:PORT")]
    pub zookeeper: Option<String>,
}

impl DiscoveryFlags {
    /// Starts discovery if a flag asks for it. A backend that is away is no error: it is tried again until it comes.
    ///
    /// # Errors
    /// A flag's value makes no sense.
    pub fn start(&self) -> anyhow::Result<Option<Discovery>> {
        let backend = match (&self.zookeeper, self.etcd.as_slice()) {
            (Some(connect), _) => Backend::ZooKeeper { connect: connect.clone(), user: None },
            (None, []) => return Ok(None),
            (None, endpoints) => Backend::Etcd { endpoints: endpoints.to_vec(), user: None, tls: None },
        };
        let config = Config { backend, ..Config::default() };
        Discovery::start(config).map(Some).context("cannot start discovery")
    }
}
