//! The HTTP client towards other people's services: the callback, and sets of keys.
//!
//! No redirect is followed and no proxy of the environment is used: what is asked may hold a
//! password, and what is answered decides who is let in.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use super::Error;

/// The authorities of the system, where Debian keeps them.
const SYSTEM_AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// How a client connects.
pub(super) struct Connections {
    /// Time for one request with its answer.
    pub(super) timeout: Duration,
    /// Connections that stay open between requests.
    pub(super) kept_max: usize,
}

/// A client for this address. Certificates of `https://` lead to these authorities, PEM, or to the
/// system's. Statuses are answers.
pub(super) fn agent(
    url: &str,
    authorities: Option<&Path>,
    Connections { timeout, kept_max }: Connections,
) -> Result<ureq::Agent, Error> {
    let tls = match url {
        url if url.starts_with("https://") => tls(authorities)?,
        url if url.starts_with("http://") => TlsConfig::default(),
        _ => {
            return Err(Error::Callback {
                problem: format!("{url} does not start with http:// or https://"),
            });
        }
    };
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .tls_config(tls)
        .max_idle_connections(kept_max)
        .max_idle_connections_per_host(kept_max)
        .user_agent("stadium");
    Ok(config.build().new_agent())
}

fn tls(authorities: Option<&Path>) -> Result<TlsConfig, Error> {
    let path = authorities.unwrap_or(Path::new(SYSTEM_AUTHORITIES));
    let pem = std::fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
    let certificates: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(Error::Callback { problem: format!("{} holds no certificate", path.display()) });
    }
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&certificates))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}
