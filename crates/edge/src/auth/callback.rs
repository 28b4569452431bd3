//! Asks an HTTP service whom a device is.
//!
//! A call blocks a thread of the callback's own pool, for no longer than its time-out, so a service that is slow
//! cannot hold up password hashes. One that does not answer is left alone for a while, see [`Circuit`], and
//! devices are asked to reconnect later. Only a clear no denies: an error of the service never
//! does, and never allows. No redirect is followed and no proxy of the environment is used: the
//! body holds a password. Answers that other servers share are in [`AnswerCache`].

use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use stadium_token_keys::Connections;

use super::cache::{AnswerCache, Found};
use super::certificate;
use super::circuit::Circuit;
use super::client::agent;
use super::counts::increment;
use super::decision::Decision;
use super::remembered::{Remembered, Tag};
use super::{CacheCounts, CallbackConfig, Credentials, Error, Identity, Verdict};

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
    /// For how long, at most.
    remember: Duration,
    cache: Option<AnswerCache>,
}

/// The digests of what the service would be asked: in this process, and for the cache.
pub(super) struct Tags {
    own: Tag,
    shared: Option<Tag>,
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

/// The outcome of a call.
enum Reply {
    Answer(Decision),
    /// The service asks to be asked later.
    Later(Duration),
}

impl Callback {
    pub(super) fn open(config: &CallbackConfig) -> Result<Self, Error> {
        if !(TIMEOUT_MIN..=TIMEOUT_MAX).contains(&config.timeout) {
            return Err(Error::Setting { name: "timeout of the callback", bounds: "50 ms to 9 s" });
        }
        let connections = Connections { timeout: config.timeout, kept_max: config.in_flight_max };
        let agent = agent(&config.url, config.authorities.as_deref(), connections)?;
        // With the call itself the wait for another server's ends before the connection's time does.
        let wait_max = config.timeout.min(TIMEOUT_MAX - config.timeout);
        let open = |cache| AnswerCache::open(cache, &config.url, config.timeout, wait_max);
        Ok(Self {
            url: config.url.clone(),
            agent,
            circuit: Circuit::new(config.failures_max, config.rest),
            remembered: Remembered::new(config.remember, config.remember_max)?,
            remember: config.remember,
            cache: config.cache.as_ref().map(open).transpose()?,
        })
    }

    /// The digests of what the service would be asked; the port of the peer does not count, it always changes.
    pub(super) fn tags(&self, shown: &Credentials) -> Tags {
        let username = shown.username.as_deref().unwrap_or_default();
        let presence = [u8::from(shown.username.is_some()), u8::from(shown.password.is_some())];
        let own = self.remembered.tag(&[
            &presence,
            shown.client_id.as_bytes(),
            username.as_bytes(),
            shown.password.as_deref().unwrap_or_default(),
            shown.certificate.as_deref().unwrap_or_default(),
            shown.peer.ip().to_string().as_bytes(),
        ]);
        Tags { own, shared: self.cache.as_ref().map(|cache| cache.tag(shown)) }
    }

    /// The service's recent answer, as far as this process has it.
    pub(super) fn recall(&self, tags: &Tags, shown: &Credentials, now: Instant) -> Option<Verdict> {
        if let Some(identity) = self.remembered.recall(&tags.own, now) {
            return Some(Verdict::Allow(identity));
        }
        let (cache, tag) = (self.cache.as_ref()?, tags.shared.as_ref()?);
        cache.near(tag, now).and_then(|answer| answer.verdict(shown).ok())
    }

    /// For how long the service is left alone, where nobody else may have its answer.
    pub(super) fn resting(&self, now: Instant) -> Option<Duration> {
        if self.cache.is_some() { None } else { self.circuit.resting(now) }
    }

    /// Forgets the answers of the service.
    pub(super) fn forget(&self) {
        self.remembered.clear();
        if let Some(cache) = &self.cache {
            cache.forget();
        }
    }

    pub(super) fn remembered_now(&self) -> usize {
        self.remembered.len()
    }

    pub(super) fn cache_counts(&self) -> Option<CacheCounts> {
        self.cache.as_ref().map(AnswerCache::counts)
    }

    /// Finds the service's answer, or asks it; blocks for the time-out and the cache's at most, and as long again
    /// where another server asks just now. Calls without an answer are counted in `failures`.
    pub(super) fn ask(&self, shown: &Credentials, tags: &Tags, failures: &AtomicU64) -> Verdict {
        let (Some(cache), Some(tag)) = (&self.cache, &tags.shared) else {
            return match self.ask_service(shown, failures) {
                Ok((answer, verdict)) => self.learned(tags, &answer, verdict),
                Err(busy) => busy,
            };
        };
        let slot = match cache.find(tag) {
            Found::Answer(answer) => match answer.verdict(shown) {
                Ok(verdict) => return verdict,
                Err(_) => return Verdict::Busy { retry_after: RETRY },
            },
            Found::Ask(slot) => slot,
        };
        match self.ask_service(shown, failures) {
            Ok((answer, verdict)) => {
                cache.store(tag, &slot, &answer);
                self.learned(tags, &answer, verdict)
            }
            Err(busy) => {
                cache.give_up(tag, &slot);
                slot.fallback().and_then(|answer| answer.verdict(shown).ok()).unwrap_or(busy)
            }
        }
    }

    /// Remembers a yes, unless its answer names a shorter time.
    fn learned(&self, tags: &Tags, answer: &Decision, verdict: Verdict) -> Verdict {
        let shorter =
            answer.cache_s.is_some_and(|cache_s| Duration::from_secs(u64::from(cache_s)) < self.remember);
        if let (Verdict::Allow(identity), false) = (&verdict, shorter) {
            self.remembered.remember(tags.own, identity.clone(), Instant::now());
        }
        verdict
    }

    /// The service's answer and its meaning for this device, or that it has to reconnect later.
    fn ask_service(&self, shown: &Credentials, failures: &AtomicU64) -> Result<(Decision, Verdict), Verdict> {
        if let Err(retry_after) = self.circuit.permit(Instant::now()) {
            return Err(Verdict::Busy { retry_after });
        }
        let usable = |reply| match reply {
            Reply::Answer(answer) => answer.verdict(shown).map(|verdict| Ok((answer, verdict))),
            Reply::Later(retry_after) => Ok(Err(Verdict::Busy { retry_after })),
        };
        match self.call(shown).and_then(usable) {
            Ok(answered) => {
                self.circuit.succeeded();
                answered
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
                let retry_after = self.circuit.resting(Instant::now()).unwrap_or(RETRY);
                Err(Verdict::Busy { retry_after })
            }
        }
    }

    fn call(&self, shown: &Credentials) -> Result<Reply, String> {
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
                return Ok(Reply::Later(after.map_or(RETRY, Duration::from_secs).min(RETRY_MAX)));
            }
            400..=499 => return Ok(Reply::Answer(Decision::DENIAL)),
            status => return Err(format!("it answered with status {status}")),
        }
        let answer = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json::<Decision>();
        answer
            .map(Reply::Answer)
            .map_err(|error| format!("its answer is not the JSON that was agreed on: {error}"))
    }
}
