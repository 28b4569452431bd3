//! `[cache]` as the client of memcached takes it.
//!
//! The settings are checked when they are read: see the conflicts. The login's password is read
//! when the client is made.

use std::time::Duration;

use stadium_edge::auth::CacheLogin;
use stadium_memcache::{Authorities, ClientCertificate, Config, Error, Routing, TlsConfig};

use crate::settings::{Access, Cache, CacheRouting};

/// Bytes of a namespace: a key has 250 at most, and the longest of ours has 48.
pub(crate) const NAMESPACE_BYTES_MAX: usize = 128;

/// The client of the cache, without its login.
pub(crate) fn client(cache: &Cache) -> Result<Config, Error> {
    let mut config = Config::for_servers(&cache.servers)?;
    for (server, weight) in config.servers.iter_mut().zip(&cache.weights) {
        server.weight = *weight;
    }
    let timeout = Duration::from_millis(u64::from(cache.timeout_ms));
    // A handshake takes several turns; devices do not wait for it.
    let connect_timeout = if cache.tls { config.connect_timeout } else { timeout / 2 };
    Ok(Config {
        routing: match cache.routing {
            CacheRouting::Rendezvous => Routing::Rendezvous,
            CacheRouting::Ketama => Routing::Ketama,
        },
        prefix: cache.namespace.clone().into_bytes(),
        timeout,
        connect_timeout,
        tls: cache.tls.then(|| tls(&cache.access)),
        ..config
    })
}

fn tls(access: &Access) -> TlsConfig {
    TlsConfig {
        authorities: access.ca.clone().map_or(Authorities::System, Authorities::File),
        client_certificate: access.identity().map(|(chain, key)| ClientCertificate { chain, key }),
        server_name: None,
    }
}

/// The login of the client.
pub(crate) fn login(cache: &Cache) -> Option<CacheLogin> {
    let (user, password_file) = cache.access.user.clone().zip(cache.access.password_file.clone())?;
    Some(CacheLogin { user, password_file })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::without_conflicts;

    #[test]
    fn weights_tls_and_the_login_reach_the_client() {
        let cache = without_conflicts(
            "[cache]\nservers = [\"a\", \"b:5\"]\nweights = [1, 7]\ntls = true\nca = \"ca.pem\"\n\
             certificate = \"own.pem\"\nkey = \"own.key\"\nuser = \"ada\"\npassword_file = \"password\"\n",
        )
        .cache;
        let config = client(&cache).expect("these are settings");
        assert_eq!(config.servers.iter().map(|one| one.weight).collect::<Vec<_>>(), [1, 7]);
        let client_certificate = Some(ClientCertificate { chain: "own.pem".into(), key: "own.key".into() });
        let authorities = Authorities::File("ca.pem".into());
        assert_eq!(config.tls, Some(TlsConfig { authorities, client_certificate, server_name: None }));
        let login = login(&cache).expect("there is one");
        assert_eq!((login.user.as_str(), login.password_file), ("ada", "password".into()));
        let plain = client(&without_conflicts("[cache]\nservers = [\"a\"]\n").cache);
        assert!(plain.is_ok_and(|config| config.tls.is_none()));
    }
}
