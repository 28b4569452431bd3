//! What a function knows about the call that it answers.
//!
//! [`Call`] borrows from the request while an inline function runs. [`CallContext`] is owned, for functions that
//! outlive the loop's turn; it also reports when the caller has gone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use stadium_reactor::tls::CertificateNames;
use stadium_rsocket::metadata::authentication::{self, Authentication};
use stadium_rsocket::metadata::{self, Mime};

use crate::wire;

/// A call, while its function runs on the loop.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub(crate) route: &'a str,
    pub(crate) metadata: &'a [u8],
    pub(crate) left_ms: u32,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) certificate: Option<&'a Arc<CertificateNames>>,
}

impl<'a> Call<'a> {
    /// `SERVICE/METHOD`.
    #[must_use]
    pub fn route(&self) -> &'a str {
        self.route
    }

    /// Time that was left of the deadline when the request was read.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        Duration::from_millis(u64::from(self.left_ms))
    }

    /// The caller's address, where it is known; behind a proxy the proxy's.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// The names of the certificate that the caller's connection was opened with, where it showed
    /// one. The TLS layer has verified it then; it may have ended since.
    #[must_use]
    pub fn certificate(&self) -> Option<&'a Arc<CertificateNames>> {
        self.certificate
    }

    /// The request's composite metadata, as it came.
    #[must_use]
    pub fn metadata(&self) -> &'a [u8] {
        self.metadata
    }

    /// The affinity key, where the caller gave one.
    #[must_use]
    pub fn key(&self) -> Option<&'a [u8]> {
        self.entry(wire::KEY_MIME)
    }

    /// The content of the first metadata entry of a MIME type that is not among the well-known ones.
    #[must_use]
    pub fn entry(&self, mime: &[u8]) -> Option<&'a [u8]> {
        find(self.metadata, mime)
    }

    /// Who calls, by the authentication entry.
    #[must_use]
    pub fn authentication(&self) -> Option<Authentication<'a>> {
        authentication_in(self.metadata)
    }

    pub(crate) fn to_context(self, cancelled: Arc<AtomicBool>) -> CallContext {
        CallContext {
            route: self.route.into(),
            metadata: self.metadata.into(),
            deadline: Instant::now() + self.time_left(),
            peer: self.peer,
            certificate: self.certificate.cloned(),
            cancelled,
        }
    }
}

fn find<'a>(bytes: &'a [u8], mime: &[u8]) -> Option<&'a [u8]> {
    metadata::find(bytes, Mime::Named(mime))
}

fn authentication_in(bytes: &[u8]) -> Option<Authentication<'_>> {
    metadata::find(bytes, Mime::AUTHENTICATION).and_then(|content| authentication::read(content).ok())
}

/// A call that outlives the loop's turn.
#[derive(Clone, Debug)]
pub struct CallContext {
    route: Arc<str>,
    metadata: Arc<[u8]>,
    deadline: Instant,
    peer: Option<SocketAddr>,
    certificate: Option<Arc<CertificateNames>>,
    cancelled: Arc<AtomicBool>,
}

impl CallContext {
    /// `SERVICE/METHOD`.
    #[must_use]
    pub fn route(&self) -> &str {
        &self.route
    }

    /// When the caller stops waiting.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Time that is left now; zero where it has passed.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The caller's address, where it is known; behind a proxy the proxy's.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// The names of the certificate that the caller's connection was opened with, as
    /// [`Call::certificate`].
    #[must_use]
    pub fn certificate(&self) -> Option<&Arc<CertificateNames>> {
        self.certificate.as_ref()
    }

    /// The request's composite metadata, as it came.
    #[must_use]
    pub fn metadata(&self) -> &[u8] {
        &self.metadata
    }

    /// The affinity key, where the caller gave one.
    #[must_use]
    pub fn key(&self) -> Option<&[u8]> {
        find(&self.metadata, wire::KEY_MIME)
    }

    /// The content of the first metadata entry of a MIME type that is not among the well-known ones.
    #[must_use]
    pub fn entry(&self, mime: &[u8]) -> Option<&[u8]> {
        find(&self.metadata, mime)
    }

    /// Who calls, by the authentication entry.
    #[must_use]
    pub fn authentication(&self) -> Option<Authentication<'_>> {
        authentication_in(&self.metadata)
    }

    /// Whether nobody waits for the answer any more: the caller cancelled, has gone, or its deadline passed.
    /// Blocking functions ask now and then; futures are dropped.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}
