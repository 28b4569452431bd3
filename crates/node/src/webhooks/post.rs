//! Posts a job to a webhook and returns the outcome.
//!
//! A call blocks a thread of Tokio's blocking pool, for no longer than its time-out; how many at once is bounded for all feeds together.
//! No redirect is followed and no proxy of the environment is used: events go to the configured
//! address or nowhere.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use stadium_push::feed::Webhook;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use super::signature::sign;

/// The authorities of the system, where Debian keeps them.
const SYSTEM_AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The longest `Retry-After` of a receiver that is heeded.
const RETRY_MAX: Duration = Duration::from_secs(3_600);

/// Idle connections that are kept.
const IDLE_MAX: usize = 32;

/// What may be posted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Any address.
    Everywhere,
    /// Public ones: not this machine, not its neighbours.
    PublicOnly,
}

/// What became of a post.
#[derive(Debug, PartialEq)]
pub(super) enum Posted {
    /// The receiver took it.
    Taken,
    /// It did not, and why; to be tried again, after so long where it named a time.
    Failed {
        /// For the job's history.
        reason: String,
        /// What the receiver asked for.
        retry_after: Option<Duration>,
    },
}

/// Posts.
#[derive(Clone)]
pub(super) struct Poster {
    agent: ureq::Agent,
}

impl Poster {
    pub(super) fn new(reach: Reach, timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .tls_config(tls())
            .max_idle_connections(IDLE_MAX)
            .max_idle_connections_per_host(4)
            .user_agent("stadium")
            .build();
        let resolver = Within { reach, names: DefaultResolver::default() };
        Self { agent: ureq::Agent::with_parts(config, DefaultConnector::new(), resolver) }
    }

    /// Posts a job's payload; blocks for the time-out at most.
    pub(super) fn post(&self, webhook: &Webhook, id: &str, body: &Bytes) -> Posted {
        let timestamp = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let sent = self
            .agent
            .post(&webhook.url)
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", timestamp.to_string())
            .header("webhook-signature", sign(&webhook.secret, id, timestamp, body))
            .send(&body[..]);
        let response = match sent {
            Ok(response) => response,
            Err(error) => return Posted::Failed { reason: error.to_string(), retry_after: None },
        };
        let status = response.status().as_u16();
        if (200..300).contains(&status) {
            return Posted::Taken;
        }
        let after =
            response.headers().get("retry-after").and_then(|after| after.to_str().ok()?.trim().parse().ok());
        let asked = matches!(status, 429 | 503);
        let retry_after = after.filter(|_| asked).map(|seconds| Duration::from_secs(seconds).min(RETRY_MAX));
        Posted::Failed { reason: format!("the receiver answered with status {status}"), retry_after }
    }
}

/// TLS with the authorities of the system. Without them only `http://` works, and a post to
/// `https://` fails with the reason.
fn tls() -> TlsConfig {
    let pem = std::fs::read(SYSTEM_AUTHORITIES).unwrap_or_default();
    let certificates: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        tracing::warn!(
            path = SYSTEM_AUTHORITIES,
            "No authority is known, so webhooks over https will fail; install ca-certificates"
        );
    }
    TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&certificates))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}

/// Resolves names, and keeps the addresses that may be posted to: after the name is looked up, so that no name leads elsewhere.
#[derive(Debug)]
struct Within {
    reach: Reach,
    names: DefaultResolver,
}

impl Resolver for Within {
    fn resolve(
        &self,
        uri: &ureq::http::Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.names.resolve(uri, config, timeout)?;
        if self.reach == Reach::Everywhere {
            return Ok(found);
        }
        let mut allowed = self.empty();
        for address in found.iter().filter(|address| is_public(**address)) {
            allowed.push(*address);
        }
        if allowed.is_empty() {
            let reason = "its address is private, and webhooks.private_addresses is false";
            return Err(ureq::Error::Io(std::io::Error::other(reason)));
        }
        Ok(allowed)
    }
}

fn is_public(address: SocketAddr) -> bool {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => {
            // Unique local, link local, site local; and addresses that hold an IPv4 one (NAT64, 6to4).
            let first = v6.segments()[0];
            let embedded = match v6.segments() {
                [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
                    let [a, b] = high.to_be_bytes();
                    let [c, d] = low.to_be_bytes();
                    Some(Ipv4Addr::new(a, b, c, d))
                }
                _ => None,
            };
            let local = first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfe80 || first & 0xffc0 == 0xfec0;
            !(v6.is_loopback() || v6.is_unspecified() || v6.is_multicast() || local)
                && embedded.is_none_or(is_public_v4)
        }
    }
}

fn is_public_v4(v4: Ipv4Addr) -> bool {
    let [a, b, c, _] = v4.octets();
    // 100.64.0.0/10 is shared by carriers, 192.0.0.0/24 and 198.18.0.0/15 are for protocols and tests, 240.0.0.0/4 is reserved.
    let special = a == 0
        || (a == 100 && b & 0xc0 == 64)
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && b & 0xfe == 18)
        || a >= 240;
    !(v4.is_loopback()
        || v4.is_private()
        || v4.is_link_local()
        || v4.is_multicast()
        || v4.is_documentation()
        || special)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_and_its_neighbours_are_not_public() {
        let public = |ip: &str| is_public(SocketAddr::new(ip.parse().expect("an address"), 443));
        for yes in ["8.8.8.8", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"] {
            assert!(public(yes), "{yes}");
        }
        for no in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "::1",
            "::",
            "fd00::1",
            "fe80::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
        ] {
            assert!(!public(no), "{no}");
        }
    }
}
