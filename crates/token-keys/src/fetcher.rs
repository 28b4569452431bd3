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

use crate::client::agent_of;
use crate::{
    Connections, Error, Intervals, Key, KeyFetchConfig, SET_BYTES_MAX, Timing, is_loopback_http,
    public_of_set,
};

/// Time for one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The longest delay after failures.
const RETRY_MAX: Duration = Duration::from_secs(300);

/// When the holder of a token whose key is being fetched may retry.
pub(crate) const COME_AGAIN: Duration = Duration::from_secs(2);

/// One set. Its thread ends when it is dropped.
pub(crate) struct KeyFetcher {
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

impl KeyFetcher {
    /// Starts to fetch the set.
    pub(crate) fn start(url: &str, config: &KeyFetchConfig) -> Result<Self, Error> {
        if !url.starts_with("https://") && !is_loopback_http(url) {
            let problem = "a set of keys is fetched over https:// (http:// from this machine only)";
            return Err(Error::Key { path: url.into(), problem: problem.to_owned() });
        }
        let KeyFetchConfig { refresh, again_min, .. } = *config;
        let intervals = Intervals { refresh, again_min, retry_max: RETRY_MAX };
        let connections = Connections { timeout: TIMEOUT, kept_max: 0 };
        let shared = Arc::new(Shared {
            url: url.to_owned(),
            agent: agent_of(url, config.authorities.as_deref(), connections)?,
            keys: ArcSwap::default(),
            state: Mutex::new(State {
                timing: Timing::new(intervals, Instant::now()),
                fetching: true,
                closed: false,
            }),
            wake: Condvar::new(),
        });
        let fetching = Arc::clone(&shared);
        thread::Builder::new()
            .name("key-set".to_owned())
            .spawn(move || fetching.run())
            .map_err(Error::Thread)?;
        Ok(Self { shared })
    }

    /// The keys that were fetched last.
    pub(crate) fn keys(&self) -> Guard<Arc<Vec<Key>>> {
        self.shared.keys.load()
    }

    /// A token names a key that is not here. Returns when its holder may retry, where the set is
    /// being fetched; none where it was fetched a moment ago, so that the key does not exist.
    pub(crate) fn miss(&self, now: Instant) -> Option<Duration> {
        let mut state = self.shared.state.lock();
        if !state.fetching && state.timing.may_hurry(now) {
            state.fetching = true;
            self.shared.wake.notify_one();
        }
        state.fetching.then_some(COME_AGAIN)
    }

    /// Has the set fetched now, for SIGHUP.
    pub(crate) fn refresh(&self) {
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
                    let retry_in_s = state.timing.next().saturating_duration_since(now).as_secs();
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
            if state.fetching || now >= state.timing.next() {
                state.fetching = true;
                state.timing.begun(now);
                return true;
            }
            let next = state.timing.next();
            self.wake.wait_until(&mut state, next);
        }
    }

    fn fetch(&self) -> Result<Vec<Key>, String> {
        let mut response = self.agent.get(&self.url).call().map_err(|error| error.to_string())?;
        if response.status().as_u16() != 200 {
            return Err(format!("it answered with status {}", response.status().as_u16()));
        }
        let body = response.body_mut().with_config().limit(SET_BYTES_MAX).read_to_vec();
        public_of_set(&body.map_err(|error| error.to_string())?)
    }
}
