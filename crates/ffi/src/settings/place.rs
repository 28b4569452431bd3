//! Where instances are: a list, etcd or ZooKeeper.

use std::fmt;

use serde::Deserialize;
use stadium_discovery::{Backend, Config, Credentials, Discovery};

use crate::error::Error;

/// Discovery, as clients and servers name it.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// `etcd://HOST:PORT,HOST:PORT` or `zk://HOST:PORT,HOST:PORT`.
    pub url: String,
    /// The root of the tree. Default `/services`.
    pub prefix: Option<String>,
    /// The user to log in as, where authentication is on.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<String>,
    /// How long a registration outlives its process. 1,000 to 600,000 ms, default 10,000.
    pub session_ttl_ms: Option<u64>,
}

impl Place {
    /// Starts discovery.
    pub(super) fn start(&self) -> Result<Discovery, Error> {
        let user = match (&self.user, &self.password) {
            (Some(user), Some(password)) => {
                Some(Credentials { user: user.clone(), password: password.clone() })
            }
            (None, None) => None,
            _ => return Err(Error::invalid("discovery needs both user and password, or neither")),
        };
        let mut config = Config { backend: self.backend(user)?, ..Config::default() };
        super::set(&mut config.prefix, self.prefix.clone());
        super::set_ms(&mut config.session_ttl, self.session_ttl_ms);
        Discovery::start(config).map_err(|error| Error::invalid(format!("discovery {}: {error}", self.url)))
    }

    fn backend(&self, user: Option<Credentials>) -> Result<Backend, Error> {
        if let Some(members) = self.url.strip_prefix("etcd://") {
            let endpoints = members.split(',').map(|member| format!("http://{member}")).collect();
            return Ok(Backend::Etcd { endpoints, user, tls: None });
        }
        if let Some(connect) = self.url.strip_prefix("zk://") {
            return Ok(Backend::ZooKeeper { connect: connect.to_owned(), user });
        }
        Err(Error::invalid(format!(
            "discovery {:?} is neither etcd://HOST:PORT,.. nor zk://HOST:PORT,..",
            self.url
        )))
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("url", &self.url).field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
