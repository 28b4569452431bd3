//! Logins between the redirect to the provider and the callback.
//!
//! A login is taken once, by the browser that began it, within [`LOGIN_LIFETIME`]. Anybody can
//! begin one, so their number is bounded.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::secret::{Digest, Secret};
use crate::{Error, Refusal, ReturnPath};

/// Logins that wait. One takes about 300 bytes, and up to 1 KB more for its path. When there are as
/// many, the oldest ends: a person may have left it.
pub const LOGINS_MAX: usize = 1_024;

/// The time for a person to log in at the provider.
pub const LOGIN_LIFETIME: Duration = Duration::from_secs(600);

/// One login that has begun: all that the callback is checked against.
#[derive(Debug)]
pub struct PendingLogin {
    pub(crate) state: Secret,
    pub(crate) nonce: Secret,
    pub(crate) verifier: Secret,
    pub(crate) return_to: ReturnPath,
}

impl PendingLogin {
    pub(crate) fn new(return_to: ReturnPath) -> Result<Self, Error> {
        let random = Secret::random;
        Ok(Self { state: random()?, nonce: random()?, verifier: random()?, return_to })
    }

    /// Where the browser goes after the login.
    pub fn return_to(&self) -> &ReturnPath {
        &self.return_to
    }
}

/// The logins of all browsers.
#[derive(Default)]
pub struct PendingLogins {
    /// In the order in which they began, which is the order of their ends.
    waiting: Mutex<VecDeque<Waiting>>,
}

struct Waiting {
    browser: Digest,
    began: Instant,
    login: PendingLogin,
}

impl PendingLogins {
    /// Keeps a login. Returns the token for the browser's cookie [`crate::Cookie::Login`].
    pub fn add(&self, login: PendingLogin, now: Instant) -> Result<Secret, Error> {
        let cookie = Secret::random()?;
        let mut waiting = self.waiting.lock();
        while waiting.front().is_some_and(|first| !first.is_alive(now)) || waiting.len() >= LOGINS_MAX {
            waiting.pop_front();
        }
        waiting.push_back(Waiting { browser: Digest::of(cookie.expose()), began: now, login });
        Ok(cookie)
    }

    /// Takes the login of this state, for the browser that shows this cookie. A login whose state
    /// comes from another browser has leaked, and ends with the refusal.
    pub fn take(&self, state: &Secret, cookie: Option<&str>, now: Instant) -> Result<PendingLogin, Refusal> {
        let mut waiting = self.waiting.lock();
        let of_state = |one: &Waiting| one.login.state.matches(state.expose());
        let at = waiting.iter().position(of_state).ok_or(Refusal::UnknownState)?;
        let taken = waiting.remove(at).ok_or(Refusal::UnknownState)?;
        if !taken.is_alive(now) {
            return Err(Refusal::UnknownState);
        }
        match cookie.is_some_and(|cookie| taken.browser.matches(&Digest::of(cookie))) {
            true => Ok(taken.login),
            false => Err(Refusal::OtherBrowser),
        }
    }

    /// How many wait, those among them that expired since the last [`PendingLogins::add`].
    pub fn len(&self) -> usize {
        self.waiting.lock().len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Waiting {
    fn is_alive(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.began) < LOGIN_LIFETIME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(logins: &PendingLogins, now: Instant) -> (Secret, Secret) {
        let login = PendingLogin::new(ReturnPath::default()).expect("random");
        let state = login.state.clone();
        (state, logins.add(login, now).expect("random"))
    }

    #[test]
    fn a_login_is_taken_once_by_its_browser() {
        let (logins, now) = (PendingLogins::default(), Instant::now());
        let (state, cookie) = begun(&logins, now);
        assert!(logins.take(&state, Some(cookie.expose()), now).is_ok());
        let replayed = logins.take(&state, Some(cookie.expose()), now).err();
        assert_eq!(replayed, Some(Refusal::UnknownState));
    }

    #[test]
    fn another_browser_ends_it() {
        let now = Instant::now();
        for shows in [None, Some("A"), Some("")] {
            let logins = PendingLogins::default();
            let (state, cookie) = begun(&logins, now);
            assert_eq!(logins.take(&state, shows, now).err(), Some(Refusal::OtherBrowser));
            let again = logins.take(&state, Some(cookie.expose()), now).err();
            assert_eq!(again, Some(Refusal::UnknownState));
        }
        let logins = PendingLogins::default();
        let (mine, _) = begun(&logins, now);
        let (_, of_other) = begun(&logins, now);
        assert_eq!(logins.take(&mine, Some(of_other.expose()), now).err(), Some(Refusal::OtherBrowser));
    }

    #[test]
    fn it_expires_after_ten_minutes() {
        let (logins, now) = (PendingLogins::default(), Instant::now());
        let (early, early_cookie) = begun(&logins, now);
        let (late, late_cookie) = begun(&logins, now);
        let last = now + LOGIN_LIFETIME - Duration::from_millis(1);
        assert!(logins.take(&early, Some(early_cookie.expose()), last).is_ok());
        let after = logins.take(&late, Some(late_cookie.expose()), now + LOGIN_LIFETIME).err();
        assert_eq!(after, Some(Refusal::UnknownState));
    }

    #[test]
    fn the_oldest_ends_when_there_are_too_many() {
        let (logins, now) = (PendingLogins::default(), Instant::now());
        let (oldest, oldest_cookie) = begun(&logins, now);
        let (second, second_cookie) = begun(&logins, now);
        for _ in 2..=LOGINS_MAX {
            begun(&logins, now);
        }
        assert_eq!(logins.len(), LOGINS_MAX);
        assert!(logins.take(&oldest, Some(oldest_cookie.expose()), now).is_err());
        assert!(logins.take(&second, Some(second_cookie.expose()), now).is_ok());
        begun(&logins, now + LOGIN_LIFETIME);
        assert_eq!(logins.len(), 1, "those that expired make room");
    }

    #[test]
    fn no_secret_is_printed() {
        let login = PendingLogin::new(ReturnPath::default()).expect("random");
        let shown = format!("{login:?}");
        for secret in [&login.state, &login.nonce, &login.verifier] {
            assert!(!shown.contains(secret.expose()), "{shown}");
        }
    }
}
