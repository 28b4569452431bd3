//! Answers of the HTTP callback in memcached, where all servers with the same secret find them.
//!
//! When a fleet reconnects to all servers at once, the callback is asked once for each key: memcached elects
//! one caller, the others wait for its answer. Anybody on the network may read and write memcached,
//! so keys and entries are made with a secret ([`Secret`]). The cache never refuses a
//! device: whenever it fails, is slow or forged, the callback is asked. All of it runs on the callback's pool.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use stadium_memcache::{Client, Lookup, Pending, Recache, Stored, Value};

use super::cache_counts::{CacheCounters, Event};
use super::cache_entry::{Entry, Secret};
use super::circuit::Circuit;
use super::decision::Decision;
use super::remembered::{Remembered, Tag};
use super::{AnswerCacheConfig, AnswerScope, CacheCounts, CacheLogin, Credentials, Error};

/// One caller renews an answer that has less than this left, while the others use it.
const EARLY: Duration = Duration::from_secs(3);

/// Shorter lives are not kept: memcached counts in whole seconds, and the last three renew.
const LIFE_MIN: Duration = Duration::from_secs(5);

/// The longest life that an answer may name: a day, as the setting's bound.
const LIFE_MAX: Duration = Duration::from_secs(86_400);

/// The time for which a copy in this process is used, so that devices with one token need no thread of the pool each.
const NEAR: Duration = Duration::from_secs(1);

/// Such copies, a few hundred bytes each.
const NEAR_MAX: usize = 8_192;

/// Failures in a row after which the cache is left alone for [`REST`]: a server that is paused would otherwise
/// delay each device by the time-out.
const FAILURES_MAX: u32 = 5;
const REST: Duration = Duration::from_secs(1);

/// The pauses of a caller that waits for another one's answer.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// Between two lines of the log about one kind of trouble.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// The cache.
pub(super) struct AnswerCache {
    client: Client,
    secret: Secret,
    url: String,
    scope: AnswerScope,
    keep: Duration,
    keep_denial: Duration,
    recache: Recache,
    /// The longest wait of a caller for another one's answer.
    wait_max: Duration,
    near: Remembered<Decision>,
    circuit: Circuit,
    servers: usize,
    /// Entries that were made before this time are not used: the server was asked to read all again.
    not_before_ms: AtomicU64,
    counters: CacheCounters,
    failures: Reports,
    forgeries: Reports,
}

/// The state of the cache about a key.
pub(super) enum Found {
    /// An answer that may be used.
    Answer(Decision),
    /// The caller is to ask the callback.
    Ask(Slot),
}

/// The place of an answer that the caller is to fetch.
pub(super) struct Slot {
    place: Place,
    /// An answer for the case that the callback fails, and when it ends.
    fallback: Option<(Decision, u64)>,
}

/// The destination of the answer.
#[derive(Clone, Copy)]
enum Place {
    /// Nowhere: the cache cannot be used.
    Nowhere,
    /// In the place of an entry, or of an empty item for which others wait, of this number.
    Of(u64),
    /// In the place of whatever is there: its maker did not keep its promise.
    Any,
    /// In the place of a note of this number; another note is not needed.
    Noted(u64),
}

impl AnswerCache {
    /// Reads the secret; connects to nothing yet. A caller may wait `wait_max` for another one's answer.
    pub(super) fn open(
        config: &AnswerCacheConfig,
        url: &str,
        ask_max: Duration,
        wait_max: Duration,
    ) -> Result<Self, Error> {
        let secret = Secret::read(&config.secret_file)?;
        let mut client = config.client.clone();
        client.timeout /= 2;
        client.credentials = config.login.as_ref().map(CacheLogin::credentials).transpose()?;
        let servers = client.servers.len();
        let client = Client::with(client)
            .map_err(|error| Error::Callback { problem: format!("its cache: {error}") })?;
        Ok(Self {
            client,
            secret,
            url: url.to_owned(),
            scope: config.scope,
            keep: config.keep,
            keep_denial: config.keep_denial,
            recache: Recache { lease: ask_max + Duration::from_secs(1), early: EARLY },
            wait_max,
            near: Remembered::new(NEAR, NEAR_MAX)?,
            circuit: Circuit::new(FAILURES_MAX, REST),
            servers,
            not_before_ms: AtomicU64::new(0),
            counters: CacheCounters::default(),
            failures: Reports::default(),
            forgeries: Reports::default(),
        })
    }

    /// The key of the answer about these credentials.
    pub(super) fn tag(&self, shown: &Credentials) -> Tag {
        let presence = [u8::from(shown.username.is_some()), u8::from(shown.password.is_some())];
        let peer = shown.peer.ip().to_string();
        let whom: [&[u8]; 3] = match self.scope {
            AnswerScope::Device => [b"device", shown.client_id.as_bytes(), peer.as_bytes()],
            AnswerScope::Credential => {
                let app = shown.client_id.split_once('/').map_or("", |(app, _)| app);
                [b"credential", app.as_bytes(), b""]
            }
        };
        self.secret.key(&[
            self.url.as_bytes(),
            whom[0],
            whom[1],
            whom[2],
            &presence,
            shown.username.as_deref().unwrap_or_default().as_bytes(),
            shown.password.as_deref().unwrap_or_default(),
            shown.certificate.as_deref().unwrap_or_default(),
        ])
    }

    /// The answer that this process read or wrote a moment ago.
    pub(super) fn near(&self, tag: &Tag, now: Instant) -> Option<Decision> {
        self.near.recall(tag, now)
    }

    /// No answer from before now is used any more by this process.
    pub(super) fn forget(&self) {
        self.not_before_ms.store(now_ms(), Ordering::Relaxed);
        self.near.clear();
    }

    pub(super) fn counts(&self) -> CacheCounts {
        let ejected = if self.circuit.resting(Instant::now()).is_some() {
            self.servers
        } else {
            self.client.ejected().len()
        };
        self.counters.snapshot(ejected)
    }

    /// Reads the answer, or elects the caller to fetch it. Blocks for half the cache's time-out, and where
    /// another caller fetches it for that one, at most for the longest wait.
    pub(super) fn find(&self, tag: &Tag) -> Found {
        let start = Instant::now();
        if self.circuit.permit(start).is_err() {
            self.counters.count(Event::Rest);
            return Found::Ask(Slot::NONE);
        }
        let key = text_of(tag);
        let (mut pause, mut is_first) = (PAUSE_MIN, true);
        loop {
            let found = match self.client.lookup(&key, &self.recache) {
                Ok(found) => found,
                Err(error) => {
                    self.failed(&error);
                    return Found::Ask(Slot::NONE);
                }
            };
            self.circuit.succeeded();
            match found {
                Lookup::Fresh(value) | Lookup::Stale(value) => return self.fit(tag, &value, Event::Hit),
                Lookup::Won(value) => return self.fit(tag, &value, Event::Renewal),
                Lookup::Make { cas } => {
                    self.counters.count(Event::Miss);
                    return Found::Ask(Slot { place: Place::Of(cas), fallback: None });
                }
                Lookup::Made => {
                    if std::mem::take(&mut is_first) {
                        self.counters.count(Event::Wait);
                    }
                    let left = self.wait_max.saturating_sub(start.elapsed());
                    if left.is_zero() {
                        self.counters.count(Event::Miss);
                        return Found::Ask(Slot { place: Place::Any, fallback: None });
                    }
                    thread::sleep(pause.min(left));
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            }
        }
    }

    /// Uses a value where it can be used, and counts `event` then.
    fn fit(&self, tag: &Tag, value: &Value, event: Event) -> Found {
        let place = value.cas.map_or(Place::Any, Place::Of);
        let ask = |event, place, fallback| {
            self.counters.count(event);
            Found::Ask(Slot { place, fallback })
        };
        let Some(Entry { answer, made_ms, ends_ms }) = self.secret.unseal(tag, &value.bytes) else {
            if let Some(more) = self.forgeries.due() {
                tracing::warn!(
                    more,
                    "An entry in the cache of the authentication callback is not of a server with this secret"
                );
            }
            return ask(Event::Forgery, place, None);
        };
        let now = now_ms();
        if ends_ms <= now || made_ms < self.not_before_ms.load(Ordering::Relaxed) {
            return ask(Event::Miss, place, None);
        }
        match answer {
            None => ask(Event::Miss, value.cas.map_or(Place::Nowhere, Place::Noted), None),
            Some(answer) if event == Event::Renewal => ask(event, place, Some((answer, ends_ms))),
            Some(answer) => {
                self.counters.count(event);
                let left = Duration::from_millis(ends_ms - now);
                self.near.remember_for(left, *tag, answer.clone(), Instant::now());
                Found::Answer(answer)
            }
        }
    }

    /// Stores the callback's answer for as long as it or the settings say, or a note that it is not kept. Blocks for
    /// half the cache's time-out.
    pub(super) fn store(&self, tag: &Tag, slot: &Slot, answer: &Decision) {
        let life = self.life(answer);
        if life < LIFE_MIN {
            return self.note(tag, slot);
        }
        if self.write(tag, slot.place, Some(answer), life) {
            self.near.remember(*tag, answer.clone(), Instant::now());
        }
    }

    /// The callback gave no answer: nobody is to wait for it. An old answer stays.
    pub(super) fn give_up(&self, tag: &Tag, slot: &Slot) {
        if slot.fallback.is_none() {
            self.note(tag, slot);
        }
    }

    fn note(&self, tag: &Tag, slot: &Slot) {
        if !matches!(slot.place, Place::Noted(_)) {
            self.write(tag, slot.place, None, LIFE_MIN);
        }
    }

    /// Writes an entry; true where it is there now.
    fn write(&self, tag: &Tag, place: Place, answer: Option<&Decision>, life: Duration) -> bool {
        let key = text_of(tag);
        let entry = self.secret.seal(tag, answer, now_ms(), life);
        let stored = match place {
            Place::Nowhere => return false,
            Place::Of(cas) | Place::Noted(cas) => {
                self.client.cas(key, &entry, cas, life).and_then(Pending::wait)
            }
            Place::Any => self.client.set(key, &entry, life).and_then(Pending::wait).map(|()| Stored::Stored),
        };
        match stored {
            // Otherwise another server's is newer.
            Ok(stored) => stored == Stored::Stored,
            Err(error) => {
                self.failed(&error);
                false
            }
        }
    }

    /// The time for which an answer may be used.
    pub(super) fn life(&self, answer: &Decision) -> Duration {
        let by_setting = if answer.allow { self.keep } else { self.keep_denial };
        answer.cache_s.map_or(by_setting, |s| Duration::from_secs(u64::from(s))).min(LIFE_MAX)
    }

    fn failed(&self, error: &stadium_memcache::Error) {
        self.counters.count(Event::Failure);
        self.circuit.failed(Instant::now());
        if let Some(more) = self.failures.due() {
            tracing::warn!(
                %error,
                more,
                "The cache of the authentication callback failed; the callback is asked instead"
            );
        }
    }
}

impl Slot {
    /// Of a cache that cannot be used.
    const NONE: Self = Self { place: Place::Nowhere, fallback: None };

    /// An answer for the case that the callback failed, if it has not ended meanwhile.
    pub(super) fn fallback(&self) -> Option<&Decision> {
        self.fallback.as_ref().filter(|(_, ends_ms)| now_ms() < *ends_ms).map(|(answer, _)| answer)
    }
}

impl CacheLogin {
    /// Reads the password.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or the user or the password cannot be used.
    pub fn credentials(&self) -> Result<stadium_memcache::Credentials, Error> {
        let path = &self.password_file;
        let text =
            std::fs::read_to_string(path).map_err(|source| Error::File { path: path.clone(), source })?;
        let password = text.trim_end_matches(['\r', '\n']);
        stadium_memcache::Credentials::new(&self.user, password)
            .map_err(|error| Error::Callback { problem: format!("its cache: {}: {error}", path.display()) })
    }
}

/// The key as memcached has it.
fn text_of(tag: &Tag) -> String {
    format!("auth/{}", URL_SAFE_NO_PAD.encode(tag.0))
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Bounds the lines of the log about one kind of trouble.
#[derive(Default)]
struct Reports(Mutex<(Option<Instant>, u64)>);

impl Reports {
    /// The number of those that were not logged since the last line, if a line is due.
    fn due(&self) -> Option<u64> {
        let mut state = self.0.lock();
        if state.0.is_some_and(|last| last.elapsed() < LOG_EVERY) {
            state.1 += 1;
            return None;
        }
        state.0 = Some(Instant::now());
        Some(std::mem::take(&mut state.1))
    }
}
