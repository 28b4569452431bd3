//! The HTTP client towards other people's services: callbacks, key sets, identity providers.
//!
//! No redirect is followed and no proxy of the environment is used: a request may hold a password,
//! and an answer decides who is let in.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use crate::Error;

/// The authorities of the system, where Debian keeps them.
pub const SYSTEM_AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// How a client connects.
pub struct Connections {
    /// Time for one request with its answer.
    pub timeout: Duration,
    /// Connections that stay open between requests.
    pub kept_max: usize,
}

/// The PEM of the authorities holds no certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCertificate;

impl fmt::Display for NoCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no certificate in the PEM of the authorities")
    }
}

impl std::error::Error for NoCertificate {}

/// A client. Certificates of `https://` lead to these authorities, in PEM; without authorities it
/// speaks `http://` only. An error status is an answer, not an error of the call.
pub fn agent(
    authorities: Option<&[u8]>,
    Connections { timeout, kept_max }: Connections,
) -> Result<ureq::Agent, NoCertificate> {
    let tls = authorities.map_or_else(|| Ok(TlsConfig::default()), tls)?;
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

/// A client for this address. Certificates of `https://` lead to the authorities of this file, PEM,
/// or to the system's.
///
/// # Errors
/// The file cannot be read or holds no certificate.
pub fn agent_of(
    url: &str,
    authorities: Option<&Path>,
    connections: Connections,
) -> Result<ureq::Agent, Error> {
    let path = authorities.unwrap_or(Path::new(SYSTEM_AUTHORITIES));
    let pem = match url.starts_with("https://") {
        true => Some(std::fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })?),
        false => None,
    };
    let no_certificate =
        |NoCertificate| Error::Key { path: path.to_owned(), problem: "it holds no certificate".to_owned() };
    agent(pem.as_deref(), connections).map_err(no_certificate)
}

fn tls(authorities: &[u8]) -> Result<TlsConfig, NoCertificate> {
    let certificates: Vec<_> = parse_pem(authorities)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(NoCertificate);
    }
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&certificates))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}

/// Whether a URL is `http://` on this machine.
pub fn is_loopback_http(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = rest.split(['/', ':', '?', '#']).next().unwrap_or_default();
    let ipv6 = rest.strip_prefix("[::1]");
    matches!(host, "localhost" | "127.0.0.1")
        || ipv6.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/', '?', '#']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_the_whole_host() {
        for (url, is_good) in [
            ("http://127.0.0.1:8081/keys", true),
            ("http://localhost/keys", true),
            ("http://[::1]:80/keys", true),
            ("http://[::1]", true),
            ("https://localhost/keys", false),
            ("http://id.example.org/keys", false),
            ("http://127.0.0.1.example.org/keys", false),
            ("http://127.0.0.1@example.org/keys", false),
            ("http://[::1].example.org/keys", false),
            ("ftp://127.0.0.1/keys", false),
        ] {
            assert_eq!(is_loopback_http(url), is_good, "{url}");
        }
    }

    #[test]
    fn authorities_without_a_certificate_are_refused() {
        let connections = || Connections { timeout: Duration::from_secs(1), kept_max: 0 };
        assert!(agent(Some(b"no PEM"), connections()).is_err());
        assert!(agent(None, connections()).is_ok());
    }
}
