//! The principal behind a call: the holder of an API key, of a signed token, or of a certificate.
//!
//! A key or a token is sent as a bearer token in the authentication metadata, and wins over the
//! certificate of the connection. A bearer token that was found good is believed for [`BELIEVED`]:
//! looking a key up costs a hash and a look at a file, and verifying a token some 100 µs, which is
//! more than a small call costs. Devices, whose requests carry no bearer token, can call nothing
//! here.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use foldhash::fast::RandomState;
use parking_lot::Mutex;
use stadium_http::key_store::KeyStore;
use stadium_http::{ChangeLog, Principal};
use stadium_rpc::net::CertificateNames;
use stadium_rpc::{Call, CallContext, Refusal};
use stadium_rsocket::metadata::authentication::Authentication;
use stadium_rsocket::metadata::{self, Mime};
use stadium_token_keys::looks_like_token;

use crate::identities::Identities;
use crate::refused::refused;
use crate::tokens::Tokens;

/// The metadata entry with the client id of the device whose request a node hands on. The node
/// calls with its own certificate then, whose rights are not the device's.
pub const DEVICE_MIME: &[u8] = b"message/x.stadium.device.v1";

/// How long a bearer token is believed without looking again: so long after it was revoked it may
/// still work here.
const BELIEVED: Duration = Duration::from_millis(250);

/// Bearer tokens that are believed at once. Beyond it all are looked up anew; a fleet of services
/// has a handful.
const BELIEVED_MAX: usize = 256;

/// All whom a node's services know, and the log of the changes that they make.
pub struct Principals {
    keys: Arc<KeyStore>,
    tokens: Option<Tokens>,
    identities: Option<Identities>,
    pub(crate) log: ChangeLog,
    believed: Mutex<HashMap<Box<str>, Believed, RandomState>>,
}

/// A bearer token that was looked up.
#[derive(Clone)]
struct Believed {
    principal: Arc<dyn Principal>,
    until: Instant,
}

/// The bearer token of a thread's last call. The calls of a connection come one after the other and
/// show the same one, each at the gate and again in its function: most need no lock and no hash.
struct Last {
    /// The address of the [`Principals`] that looked it up.
    principals: usize,
    secret: Box<str>,
    believed: Believed,
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// The credentials of a call.
pub(crate) struct Shown<'a> {
    route: &'a str,
    metadata: &'a [u8],
    authentication: Option<Authentication<'a>>,
    certificate: Option<&'a Arc<CertificateNames>>,
    pub(crate) address: Option<IpAddr>,
}

impl<'a> From<&Call<'a>> for Shown<'a> {
    fn from(call: &Call<'a>) -> Self {
        Self {
            route: call.route(),
            metadata: call.metadata(),
            authentication: call.authentication(),
            certificate: call.certificate(),
            address: call.peer().map(|peer| peer.ip()),
        }
    }
}

impl<'a> From<&'a CallContext> for Shown<'a> {
    fn from(context: &'a CallContext) -> Self {
        Self {
            route: context.route(),
            metadata: context.metadata(),
            authentication: context.authentication(),
            certificate: context.certificate(),
            address: context.peer().map(|peer| peer.ip()),
        }
    }
}

impl Principals {
    /// The holders of these keys; their changes are written to this log.
    pub fn new(keys: Arc<KeyStore>, log: ChangeLog) -> Self {
        Self { keys, tokens: None, identities: None, log, believed: Mutex::default() }
    }

    /// The same, and the holders of these tokens.
    #[must_use]
    pub fn with_tokens(self, tokens: Tokens) -> Self {
        Self { tokens: Some(tokens), ..self }
    }

    /// The same, and the holders of certificates with these names.
    #[must_use]
    pub fn with_identities(self, identities: Identities) -> Self {
        Self { identities: Some(identities), ..self }
    }

    /// Reads the keys of tokens again, and has those at URLs fetched.
    ///
    /// # Errors
    /// A file that cannot be used, in words; what it held before stays in force.
    pub fn reload(&self) -> Result<(), String> {
        let reloaded = self.tokens.as_ref().map_or(Ok(()), Tokens::reload);
        reloaded.map_err(|error| error.to_string())
    }

    /// The time on the clock by which limits of grants are kept, the same at every door.
    pub(crate) fn clock(&self, now: Instant) -> Duration {
        self.keys.clock(now)
    }

    /// The principal that shows these credentials.
    ///
    /// # Errors
    /// The refusal of credentials that nobody here has.
    pub(crate) fn of(&self, shown: &Shown<'_>, now: Instant) -> Result<Arc<dyn Principal>, Refusal> {
        match shown.authentication {
            Some(Authentication::Bearer(secret)) => self.by_secret(secret, shown.address, now),
            _ => self.by_certificate(shown),
        }
    }

    fn by_certificate(&self, shown: &Shown<'_>) -> Result<Arc<dyn Principal>, Refusal> {
        let (Some(identities), Some(names)) = (&self.identities, shown.certificate) else {
            let needed = match (&self.tokens, &self.identities) {
                (None, None) => "an API key, sent as a bearer token",
                (Some(_), None) => "an API key or a signed token, sent as a bearer token",
                (None, Some(_)) => "an API key, sent as a bearer token, or a client certificate",
                (Some(_), Some(_)) => {
                    "an API key or a signed token, sent as a bearer token, or a client certificate"
                }
            };
            return Err(refused(format!("{} needs {needed}", shown.route)));
        };
        if metadata::find(shown.metadata, Mime::Named(DEVICE_MIME)).is_some() {
            return Err(refused(format!("{} is not for devices", shown.route)));
        }
        identities.holder(names, SystemTime::now()).cloned()
    }

    fn by_secret(
        &self,
        secret: &str,
        address: Option<IpAddr>,
        now: Instant,
    ) -> Result<Arc<dyn Principal>, Refusal> {
        let principals = std::ptr::from_ref(self) as usize;
        let last = LAST.with_borrow(|last| {
            let same = |last: &&Last| last.principals == principals && *last.secret == *secret;
            let last = last.as_ref().filter(same)?;
            (last.believed.until > now).then(|| Arc::clone(&last.believed.principal))
        });
        if let Some(principal) = last {
            return Ok(principal);
        }
        let believed = self.believed(secret, address, now)?;
        let principal = Arc::clone(&believed.principal);
        LAST.set(Some(Last { principals, secret: secret.into(), believed }));
        Ok(principal)
    }

    fn believed(&self, secret: &str, address: Option<IpAddr>, now: Instant) -> Result<Believed, Refusal> {
        if let Some(known) = self.believed.lock().get(secret).filter(|known| known.until > now) {
            return Ok(known.clone());
        }
        let found = self.look_up(secret, address, now);
        let mut all = self.believed.lock();
        match &found {
            Ok(believed) => {
                if all.len() >= BELIEVED_MAX {
                    all.clear();
                }
                all.insert(secret.into(), believed.clone());
            }
            Err(_) => {
                all.remove(secret);
            }
        }
        found
    }

    fn look_up(&self, secret: &str, address: Option<IpAddr>, now: Instant) -> Result<Believed, Refusal> {
        // No API key has a dot.
        if let Some(tokens) = self.tokens.as_ref().filter(|_| looks_like_token(secret.as_bytes())) {
            let (holder, ends_at) = tokens.holder(secret, now)?;
            let left = ends_at.duration_since(SystemTime::now()).unwrap_or_default();
            return Ok(Believed { principal: Arc::new(holder), until: now + left.min(BELIEVED) });
        }
        let key = self.keys.authenticate(secret).map_err(|unknown| refused(unknown.to_string()))?;
        self.keys.used(&key, address, SystemTime::now());
        Ok(Believed { principal: key, until: now + BELIEVED })
    }
}
