//! The people who are logged in, in memory: a restart logs everybody out.
//!
//! A session ends at the latest [`SessionConfig::lifetime`] after its login, and
//! [`SessionConfig::idle`] after its last request. Its id exists in the browser's cookie only; the
//! SHA-256 of the id is kept here. Finding by that digest leaks nothing that helps to guess an id.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::identity::Identity;
use crate::secret::{Digest, Secret};
use crate::{Error, now::Now};

/// Sessions of one person. A further one ends the session that was idle for longest, so that one
/// person cannot displace all others.
pub const SESSIONS_PER_PERSON_MAX: usize = 32;

/// The bounds of sessions.
#[derive(Clone, Copy, Debug)]
pub struct SessionConfig {
    /// Sessions in all. At the bound, the one that was idle for longest ends. One takes about 1 KB,
    /// its groups and its ID token (up to 8 KB) apart.
    pub sessions_max: usize,
    /// The time from a login to the end of its session, whatever happens.
    pub lifetime: Duration,
    /// The time from a session's last request to its end.
    pub idle: Duration,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            sessions_max: 10_000,
            lifetime: Duration::from_secs(12 * 3_600),
            idle: Duration::from_secs(3_600),
        }
    }
}

/// Somebody who is logged in.
#[derive(Debug)]
pub struct Session<T> {
    identity: Identity,
    grants: T,
    csrf: Secret,
    began: Now,
}

impl<T> Session<T> {
    /// The person.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The rights of the person, which the caller decided at the login.
    pub fn grants(&self) -> &T {
        &self.grants
    }

    /// When the person logged in.
    pub fn began(&self) -> Now {
        self.began
    }

    /// The token that pages of this session send with each request that changes something. Other
    /// sites can make a browser send the cookie, but cannot read this.
    pub fn csrf_token(&self) -> &Secret {
        &self.csrf
    }

    /// Whether a request shows the session's CSRF token. Compares in constant time.
    pub fn csrf_matches(&self, shown: &str) -> bool {
        self.csrf.matches(shown)
    }
}

/// A session that was just begun: its id can be seen only now.
#[derive(Debug)]
pub struct BegunSession<T> {
    /// The token for the cookie [`crate::Cookie::Session`].
    pub cookie: Secret,
    /// The session.
    pub session: Arc<Session<T>>,
}

/// The sessions of a server. `T` is what the caller decided that the person may do.
pub struct Sessions<T> {
    config: SessionConfig,
    by_id: Mutex<HashMap<Digest, Entry<T>>>,
}

struct Entry<T> {
    session: Arc<Session<T>>,
    /// The last request.
    seen: Instant,
}

impl<T> Sessions<T> {
    /// No sessions. An error where a bound is zero.
    pub fn new(config: SessionConfig) -> Result<Self, Error> {
        if config.sessions_max == 0 || config.lifetime.is_zero() || config.idle.is_zero() {
            let problem = "the number, the lifetime and the idle time are above zero".to_owned();
            return Err(Error::Setting { name: "sessions", problem });
        }
        Ok(Self { config, by_id: Mutex::default() })
    }

    /// The bounds.
    pub fn config(&self) -> &SessionConfig {
        &self.config
    }

    /// Begins a session of its own id; one that the browser has is not continued, see
    /// [`Self::end`].
    pub fn begin(&self, identity: Identity, grants: T, now: Now) -> Result<BegunSession<T>, Error> {
        let (cookie, csrf) = (Secret::random()?, Secret::random()?);
        let session = Arc::new(Session { identity, grants, csrf, began: now });
        let mut by_id = self.by_id.lock();
        if by_id.len() >= self.config.sessions_max {
            by_id.retain(|_, entry| self.is_alive(entry, now.instant));
        }
        let is_same = |entry: &Entry<T>| entry.session.identity.is_same_person(&session.identity);
        if by_id.values().filter(|entry| is_same(entry)).count() >= SESSIONS_PER_PERSON_MAX {
            end_idlest(&mut by_id, is_same);
        }
        if by_id.len() >= self.config.sessions_max {
            end_idlest(&mut by_id, |_| true);
        }
        let entry = Entry { session: Arc::clone(&session), seen: now.instant };
        by_id.insert(Digest::of(cookie.expose()), entry);
        Ok(BegunSession { cookie, session })
    }

    /// The session of this cookie, while it lasts. The request counts as the session's last one.
    pub fn find(&self, cookie: &str, now: Instant) -> Option<Arc<Session<T>>> {
        let id = Digest::of(cookie);
        let mut by_id = self.by_id.lock();
        let entry = by_id.get_mut(&id)?;
        if !self.is_alive(entry, now) {
            by_id.remove(&id);
            return None;
        }
        entry.seen = entry.seen.max(now);
        Some(Arc::clone(&entry.session))
    }

    /// Ends the session of this cookie. Returns it where there was one.
    pub fn end(&self, cookie: &str) -> Option<Arc<Session<T>>> {
        self.by_id.lock().remove(&Digest::of(cookie)).map(|entry| entry.session)
    }

    /// Ends all sessions of a person. Returns how many there were.
    pub fn end_all_of(&self, issuer: &str, subject: &str) -> usize {
        let mut by_id = self.by_id.lock();
        let before = by_id.len();
        by_id.retain(|_, Entry { session, .. }| !session.identity.is(issuer, subject));
        before - by_id.len()
    }

    /// How many there are, those among them that expired and were not asked for since.
    pub fn len(&self) -> usize {
        self.by_id.lock().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn is_alive(&self, entry: &Entry<T>, now: Instant) -> bool {
        now.saturating_duration_since(entry.session.began.instant) < self.config.lifetime
            && now.saturating_duration_since(entry.seen) < self.config.idle
    }
}

/// Ends the session that was idle for longest among those that are meant.
fn end_idlest<T>(by_id: &mut HashMap<Digest, Entry<T>>, is_meant: impl Fn(&Entry<T>) -> bool) {
    let meant = by_id.iter().filter(|(_, entry)| is_meant(entry));
    if let Some(id) = meant.min_by_key(|(_, entry)| entry.seen).map(|(id, _)| *id) {
        by_id.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);
    const MOMENT: Duration = Duration::from_millis(1);

    fn person(subject: &str) -> Identity {
        Identity {
            issuer: "https://id.example.org".to_owned(),
            subject: subject.to_owned(),
            name: None,
            email: None,
            groups: Vec::new(),
            id_token_hint: Some(Secret::new("the-id-token")),
        }
    }

    fn sessions(sessions_max: usize) -> Sessions<&'static str> {
        Sessions::new(SessionConfig { sessions_max, ..SessionConfig::default() }).expect("sessions")
    }

    fn later(now: Now, by: Duration) -> Now {
        Now { instant: now.instant + by, time: now.time + by }
    }

    #[test]
    fn a_session_is_found_by_its_cookie_until_it_ends() {
        let (sessions, now) = (sessions(10), Now::read());
        let begun = sessions.begin(person("ann"), "admin", now).expect("begun");
        let other = sessions.begin(person("ann"), "read", now).expect("begun");
        let found = sessions.find(begun.cookie.expose(), now.instant).expect("found");
        assert_eq!((found.identity().subject.as_str(), *found.grants()), ("ann", "admin"));
        assert!(found.csrf_matches(begun.session.csrf_token().expose()));
        assert!(!found.csrf_matches(other.session.csrf_token().expose()) && !found.csrf_matches(""));
        assert!(!found.csrf_matches(begun.cookie.expose()), "the CSRF token is not the id");
        assert!(sessions.find("A", now.instant).is_none());
        assert!(sessions.end(begun.cookie.expose()).is_some());
        assert!(sessions.find(begun.cookie.expose(), now.instant).is_none());
        assert!(sessions.end(begun.cookie.expose()).is_none());
        assert!(sessions.find(other.cookie.expose(), now.instant).is_some());
    }

    #[test]
    fn an_idle_session_ends_after_an_hour() {
        let (sessions, now) = (sessions(10), Now::read());
        let begun = sessions.begin(person("ann"), "", now).expect("begun");
        let find = |at: Duration| sessions.find(begun.cookie.expose(), now.instant + at);
        assert!(find(HOUR - MOMENT).is_some());
        assert!(find(2 * HOUR - 2 * MOMENT).is_some(), "the request before keeps it");
        assert!(find(3 * HOUR - 2 * MOMENT).is_none());
        assert!(sessions.is_empty());
    }

    #[test]
    fn a_busy_session_ends_after_twelve_hours() {
        let (sessions, now) = (sessions(10), Now::read());
        let begun = sessions.begin(person("ann"), "", now).expect("begun");
        let find = |at: Duration| sessions.find(begun.cookie.expose(), now.instant + at);
        for half_hours in 1..24 {
            assert!(find(half_hours * HOUR / 2).is_some(), "{half_hours}");
        }
        assert!(find(12 * HOUR).is_none());
    }

    #[test]
    fn all_sessions_of_a_person_end_at_once() {
        let (sessions, now) = (sessions(10), Now::read());
        for subject in ["ann", "bob", "ann"] {
            sessions.begin(person(subject), "", now).expect("begun");
        }
        assert_eq!(sessions.end_all_of("https://other.example.org", "ann"), 0);
        assert_eq!(sessions.end_all_of("https://id.example.org", "ann"), 2);
        assert_eq!(sessions.len(), 1);
    }

    #[test]
    fn the_idlest_ends_when_there_are_too_many() {
        let (sessions, now) = (sessions(3), Now::read());
        let begin = |subject: &str, at| sessions.begin(person(subject), "", later(now, at)).expect("begun");
        let [first, second, third] = ["a", "b", "c"].map(|subject| begin(subject, Duration::ZERO));
        let is_there =
            |begun: &BegunSession<_>, at| sessions.find(begun.cookie.expose(), now.instant + at).is_some();
        assert!(is_there(&first, MOMENT) && is_there(&third, MOMENT));
        let fourth = begin("d", 2 * MOMENT);
        assert!(!is_there(&second, 3 * MOMENT) && is_there(&first, 3 * MOMENT));
        assert!(is_there(&fourth, 3 * MOMENT));
        begin("e", 2 * HOUR);
        assert_eq!(sessions.len(), 1, "those that expired make room");
    }

    #[test]
    fn one_person_displaces_nobody_else() {
        let (sessions, now) = (sessions(1_000), Now::read());
        let bob = sessions.begin(person("bob"), "", now).expect("begun");
        let mut of_ann = Vec::new();
        for at in 1..=40 {
            of_ann.push(sessions.begin(person("ann"), "", later(now, at * MOMENT)).expect("begun"));
        }
        assert_eq!(sessions.len(), 1 + SESSIONS_PER_PERSON_MAX);
        let is_there =
            |begun: &BegunSession<_>| sessions.find(begun.cookie.expose(), now.instant + HOUR / 2).is_some();
        assert!(is_there(&bob) && !is_there(&of_ann[7]) && is_there(&of_ann[8]));
    }

    #[test]
    fn no_secret_is_printed() {
        let begun = sessions(1).begin(person("ann"), "", Now::read()).expect("begun");
        let shown = format!("{begun:?}");
        let secrets = [begun.cookie.expose(), begun.session.csrf_token().expose(), "the-id-token"];
        for secret in secrets {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(shown.contains("ann"));
    }

    #[test]
    fn bounds_of_zero_are_refused() {
        for bad in [
            SessionConfig { sessions_max: 0, ..SessionConfig::default() },
            SessionConfig { lifetime: Duration::ZERO, ..SessionConfig::default() },
            SessionConfig { idle: Duration::ZERO, ..SessionConfig::default() },
        ] {
            assert!(Sessions::<()>::new(bad).is_err(), "{bad:?}");
        }
    }
}
