//! Sets of keys (JWK sets, RFC 7517) at a URL, as identity providers publish them.
//!
//! A thread fetches each set at the start and again when its time has come. A token whose key is
//! not known asks for it earlier, because providers publish a new key and then sign with it;
//! strangers can do the same, so it is not fetched more often than [`KeyFetchConfig::again_min`]. A
//! set that cannot be fetched or read stays as it was, and is tried again after a growing delay.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, Guard};
use parking_lot::{Condvar, Mutex};

use super::client::{Connections, agent};
use super::token_keys::{self, Key};
use super::{Error, KeyFetchConfig};

/// Time for one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of a set that are read. Providers publish a few keys of about 500 bytes.
const SET_BYTES_MAX: u64 = 256 * 1_024;

/// Keys of one set.
const KEYS_MAX: usize = 64;

/// The delay after the first failure; each further one doubles it.
const RETRY_MIN: Duration = Duration::from_secs(1);
/// The longest delay after failures.
const RETRY_MAX: Duration = Duration::from_secs(300);

/// When a device whose key is being fetched may retry.
const COME_AGAIN: Duration = Duration::from_secs(2);

/// One set. Its thread ends when it is dropped.
pub(super) struct KeyFetcher {
    shared: Arc<Shared>,
}

struct Shared {
    url: String,
    agent: ureq::Agent,
    keys: ArcSwap<Vec<Key>>,
    state: Mutex<State>,
    wake: Condvar,
}

struct State {
    timing: Timing,
    /// A fetch is due or under way.
    fetching: bool,
    closed: bool,
}

/// When the set is fetched. Pure: its owner tells the time.
struct Timing {
    refresh: Duration,
    again_min: Duration,
    next: Instant,
    /// When the last attempt began.
    last: Option<Instant>,
    failures: u32,
}

impl Timing {
    fn new(config: &KeyFetchConfig, now: Instant) -> Self {
        let KeyFetchConfig { refresh, again_min, .. } = *config;
        Self { refresh, again_min, next: now, last: None, failures: 0 }
    }

    fn begun(&mut self, now: Instant) {
        self.last = Some(now);
    }

    fn succeeded(&mut self, now: Instant) {
        self.failures = 0;
        self.next = now + self.refresh;
    }

    fn failed(&mut self, now: Instant) {
        let delay = RETRY_MIN.saturating_mul(1 << self.failures.min(16)).min(RETRY_MAX).min(self.refresh);
        self.failures = self.failures.saturating_add(1);
        self.next = now + delay.max(self.again_min);
    }

    /// Whether the set may be fetched now because a key is missing.
    fn may_hurry(&self, now: Instant) -> bool {
        self.last.is_none_or(|last| now.saturating_duration_since(last) >= self.again_min)
    }
}

impl KeyFetcher {
    /// Starts to fetch the set.
    pub(super) fn start(url: &str, config: &KeyFetchConfig) -> Result<Self, Error> {
        if !url.starts_with("https://") && !is_loopback(url) {
            let problem = "a set of keys is fetched over https:// (http:// from this machine only)";
            return Err(Error::TokenKey { path: url.into(), problem: problem.to_owned() });
        }
        let connections = Connections { timeout: TIMEOUT, kept_max: 0 };
        let shared = Arc::new(Shared {
            url: url.to_owned(),
            agent: agent(url, config.authorities.as_deref(), connections)?,
            keys: ArcSwap::default(),
            state: Mutex::new(State {
                timing: Timing::new(config, Instant::now()),
                fetching: true,
                closed: false,
            }),
            wake: Condvar::new(),
        });
        let fetching = Arc::clone(&shared);
        thread::Builder::new()
            .name("auth-key-set".to_owned())
            .spawn(move || fetching.run())
            .map_err(|source| Error::System { attempt: "start a thread", source })?;
        Ok(Self { shared })
    }

    /// The keys that were fetched last.
    pub(super) fn keys(&self) -> Guard<Arc<Vec<Key>>> {
        self.shared.keys.load()
    }

    /// A token names a key that is not here. Returns when the device may retry, where the set is
    /// being fetched; none where it was fetched a moment ago, so that the key does not exist.
    pub(super) fn miss(&self, now: Instant) -> Option<Duration> {
        let mut state = self.shared.state.lock();
        if !state.fetching && state.timing.may_hurry(now) {
            state.fetching = true;
            self.shared.wake.notify_one();
        }
        state.fetching.then_some(COME_AGAIN)
    }

    /// Has the set fetched now, for SIGHUP.
    pub(super) fn refresh(&self) {
        self.shared.state.lock().fetching = true;
        self.shared.wake.notify_one();
    }
}

impl Drop for KeyFetcher {
    fn drop(&mut self) {
        self.shared.state.lock().closed = true;
        self.shared.wake.notify_one();
    }
}

impl Shared {
    fn run(&self) {
        while self.wait() {
            let fetched = self.fetch();
            let mut state = self.state.lock();
            state.fetching = false;
            let now = Instant::now();
            match fetched {
                Ok(keys) => {
                    state.timing.succeeded(now);
                    self.keys.store(Arc::new(keys));
                }
                Err(error) => {
                    state.timing.failed(now);
                    let retry_in_s = state.timing.next.saturating_duration_since(now).as_secs();
                    drop(state);
                    tracing::warn!(url = self.url, error, retry_in_s, "A set of keys stays as it was");
                }
            }
        }
    }

    /// Waits until the set is to be fetched; false when it no longer is.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return false;
            }
            let now = Instant::now();
            if state.fetching || now >= state.timing.next {
                state.fetching = true;
                state.timing.begun(now);
                return true;
            }
            let next = state.timing.next;
            self.wake.wait_until(&mut state, next);
        }
    }

    fn fetch(&self) -> Result<Vec<Key>, String> {
        let mut response = self.agent.get(&self.url).call().map_err(|error| error.to_string())?;
        if response.status().as_u16() != 200 {
            return Err(format!("it answered with status {}", response.status().as_u16()));
        }
        let body = response.body_mut().with_config().limit(SET_BYTES_MAX).read_to_vec();
        let mut keys = token_keys::of_set(&body.map_err(|error| error.to_string())?)?;
        // A secret that is published is none.
        keys.retain(Key::is_public);
        if keys.is_empty() || keys.len() > KEYS_MAX {
            return Err(format!("it holds {} public keys that can be used, not 1 to {KEYS_MAX}", keys.len()));
        }
        Ok(keys)
    }
}

/// Whether a URL is `http://` on this machine.
fn is_loopback(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    matches!(host, "localhost" | "127.0.0.1") || rest.starts_with("[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_set_is_fetched_again_in_its_time_and_later_each_time_it_fails() {
        let start = Instant::now();
        let config = KeyFetchConfig { again_min: seconds(0), ..KeyFetchConfig::default() };
        let mut timing = Timing::new(&config, start);
        assert_eq!(timing.next, start, "at once");
        timing.succeeded(start);
        assert_eq!(timing.next - start, seconds(3_600));
        let mut delays = Vec::new();
        for _ in 0..11 {
            timing.failed(start);
            delays.push((timing.next - start).as_secs());
        }
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        timing.succeeded(start);
        timing.failed(start);
        assert_eq!(timing.next - start, seconds(1), "a success ends the delay");
    }

    #[test]
    fn missing_keys_hurry_it_once_in_a_while() {
        let start = Instant::now();
        let mut timing = Timing::new(&KeyFetchConfig::default(), start);
        assert!(timing.may_hurry(start));
        timing.begun(start);
        assert!(!timing.may_hurry(start + seconds(9)));
        assert!(timing.may_hurry(start + seconds(10)));
    }

    #[test]
    fn keys_come_over_https_or_from_this_machine() {
        for (url, is_good) in [
            ("https://id.example.org/keys", true),
            ("http://127.0.0.1:8081/keys", true),
            ("http://localhost/keys", true),
            ("http://[::1]:80/keys", true),
            ("http://id.example.org/keys", false),
            ("http://127.0.0.1.example.org/keys", false),
            ("ftp://127.0.0.1/keys", false),
        ] {
            assert_eq!(url.starts_with("https://") || is_loopback(url), is_good, "{url}");
        }
    }
}
