//! Asks an HTTP service whom a device is.
//!
//! A call blocks a thread of the callback's own pool, for no longer than its time-out, so a service that is slow
//! cannot hold up password hashes. One that does not answer is left alone for a while, see [`Circuit`], and
//! devices are asked to reconnect later. Only a clear no denies: an error of the service never
//! does, and never allows. No redirect is followed and no proxy of the environment is used: the
//! body holds a password.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use stadium_token_keys::Connections;

use super::certificate;
use super::circuit::Circuit;
use super::client::agent;
use super::counts::increment;
use super::remembered::{Remembered, Tag};
use super::verdict::{GROUPS_MAX, is_principal};
use super::{CallbackConfig, Credentials, DenyReason, Error, Identity, Verdict, Via};

/// Bytes of an answer that are read. An identity with 32 groups of 256 bytes fits many times.
const ANSWER_BYTES_MAX: u64 = 65_536;

/// The time-outs that leave a connection time for an answer.
const TIMEOUT_MIN: Duration = Duration::from_millis(50);
const TIMEOUT_MAX: Duration = Duration::from_secs(9);

/// The delay that a device gets when the service failed without a `Retry-After`.
const RETRY: Duration = Duration::from_secs(2);
/// The longest `Retry-After` of the service that is forwarded.
const RETRY_MAX: Duration = Duration::from_secs(300);

/// The service.
pub(super) struct Callback {
    url: String,
    agent: ureq::Agent,
    circuit: Circuit,
    remembered: Remembered<Identity>,
}

#[derive(Serialize)]
struct Question<'a> {
    client_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    password_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_subject: Option<String>,
    peer: SocketAddr,
}

#[derive(Deserialize)]
struct Answer {
    allow: bool,
    #[serde(default)]
    principal: Option<String>,
    #[serde(default)]
    groups: Vec<String>,
}

impl Callback {
    pub(super) fn open(config: &CallbackConfig) -> Result<Self, Error> {
        if !(TIMEOUT_MIN..=TIMEOUT_MAX).contains(&config.timeout) {
            return Err(Error::Setting { name: "timeout of the callback", bounds: "50 ms to 9 s" });
        }
        let connections = Connections { timeout: config.timeout, kept_max: config.in_flight_max };
        let agent = agent(&config.url, config.authorities.as_deref(), connections)?;
        Ok(Self {
            url: config.url.clone(),
            agent,
            circuit: Circuit::new(config.failures_max, config.rest),
            remembered: Remembered::new(config.remember, config.remember_max)?,
        })
    }

    /// The digest of what the service would be asked; the port of the peer does not count, it always changes.
    pub(super) fn tag(&self, shown: &Credentials) -> Tag {
        let username = shown.username.as_deref().unwrap_or_default();
        let presence = [u8::from(shown.username.is_some()), u8::from(shown.password.is_some())];
        self.remembered.tag(&[
            &presence,
            shown.client_id.as_bytes(),
            username.as_bytes(),
            shown.password.as_deref().unwrap_or_default(),
            shown.certificate.as_deref().unwrap_or_default(),
            shown.peer.ip().to_string().as_bytes(),
        ])
    }

    /// The service's recent yes.
    pub(super) fn recall(&self, tag: &Tag, now: Instant) -> Option<Identity> {
        self.remembered.recall(tag, now)
    }

    /// For how long the service is left alone.
    pub(super) fn resting(&self, now: Instant) -> Option<Duration> {
        self.circuit.resting(now)
    }

    /// Forgets the answers of the service.
    pub(super) fn forget(&self) {
        self.remembered.clear();
    }

    pub(super) fn remembered_now(&self) -> usize {
        self.remembered.len()
    }

    /// Asks the service; blocks for the time-out at most. Calls without an answer are counted in `failures`.
    pub(super) fn ask(&self, shown: &Credentials, tag: Tag, failures: &AtomicU64) -> Verdict {
        if let Err(retry_after) = self.circuit.permit(Instant::now()) {
            return Verdict::Busy { retry_after };
        }
        match self.call(shown) {
            Ok(verdict) => {
                self.circuit.succeeded();
                if let Verdict::Allow(identity) = &verdict {
                    self.remembered.remember(tag, identity.clone(), Instant::now());
                }
                verdict
            }
            Err(problem) => {
                increment(failures);
                if self.circuit.failed(Instant::now()) {
                    tracing::warn!(
                        url = self.url,
                        error = problem,
                        "The authentication callback is left alone"
                    );
                }
                Verdict::Busy { retry_after: self.resting(Instant::now()).unwrap_or(RETRY) }
            }
        }
    }

    fn call(&self, shown: &Credentials) -> Result<Verdict, String> {
        let password = shown.password.as_deref();
        let text = password.map(std::str::from_utf8);
        let question = Question {
            client_id: &shown.client_id,
            username: shown.username.as_deref(),
            password: text.and_then(Result::ok),
            password_base64: password
                .filter(|_| matches!(text, Some(Err(_))))
                .map(|bytes| STANDARD.encode(bytes)),
            certificate_subject: shown.certificate.as_deref().and_then(certificate::subject),
            peer: shown.peer,
        };
        let mut response =
            self.agent.post(&self.url).send_json(&question).map_err(|error| error.to_string())?;
        match response.status().as_u16() {
            200 => {}
            408 | 429 => {
                let after =
                    response.headers().get("retry-after").and_then(|after| after.to_str().ok()?.parse().ok());
                let retry_after = after.map_or(RETRY, Duration::from_secs).min(RETRY_MAX);
                return Ok(Verdict::Busy { retry_after });
            }
            400..=499 => return Ok(Verdict::Deny(DenyReason::Callback)),
            status => return Err(format!("it answered with status {status}")),
        }
        let answer = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json::<Answer>();
        let answer =
            answer.map_err(|error| format!("its answer is not the JSON that was agreed on: {error}"))?;
        if !answer.allow {
            return Ok(Verdict::Deny(DenyReason::Callback));
        }
        let principal = answer.principal.as_deref().or(shown.username.as_deref()).unwrap_or(&shown.client_id);
        if !is_principal(principal) || answer.groups.len() > GROUPS_MAX {
            return Err(
                "it allowed a principal without a usable name, or with more than 32 groups".to_owned()
            );
        }
        Ok(Verdict::Allow(Identity {
            principal: principal.into(),
            via: Via::Callback,
            expires_at: None,
            groups: answer.groups.iter().map(|group| Arc::from(group.as_str())).collect(),
        }))
    }
}
