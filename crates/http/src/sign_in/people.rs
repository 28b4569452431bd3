//! The people who are signed in, and the session of a request.
//!
//! A browser sends the session's cookie with every request, also with one that another site made it
//! send. So a change needs a token besides, which only pages of this server can read, and comes
//! from a page of this server where its `Origin` names one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName, Method, header};
use stadium_addresses::{Buckets, Limit, origin_is_allowed};
use stadium_grants::Role;
use stadium_oidc::{
    BegunSession, Cookie, Error, Identity, Now, PendingLogins, Provider, RoleMap, Session, Sessions,
    Transport,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::principal::Holder;
use crate::request::peer::Peer;
use crate::request::problem::{
    NO_RANDOM_BYTES, Problem, REQUESTS_TOO_MANY, SIGN_IN_AWAY, SIGN_IN_REFUSED, TOKEN_MISSING,
};
use crate::sign_in::config::{OidcConfig, WrongSetting, wrong};

/// The header with the session's token.
const TOKEN: HeaderName = HeaderName::from_static("stadium-csrf");

/// Calls of the provider at a time, a thread each. One more gets 503: a provider answers within
/// milliseconds, and one that is away must not take all threads of the pool.
const CALLS_MAX: usize = 8;

/// Sign-ins that one address may begin. A further one of all addresses ends the oldest that waits,
/// so one address must not begin as many as the server keeps.
const BEGINS: Limit = Limit { burst: 30, refill: Duration::from_secs(2), ban: Duration::from_secs(2) };

/// How long a browser waits before it tries again.
const RETRY: Duration = Duration::from_secs(5);

/// Somebody's session.
pub(crate) type PersonSession = Session<Arc<Holder>>;

/// A place among the calls of the provider.
pub(crate) struct Call(OwnedSemaphorePermit);

/// The sign-in of a server.
pub(crate) struct People {
    provider: Arc<Provider>,
    /// Sign-ins on their way over the provider's pages.
    pub(crate) pending: PendingLogins,
    sessions: Sessions<Arc<Holder>>,
    roles: RoleMap,
    transport: Transport,
    calls: Arc<Semaphore>,
    /// None where all requests come from the address of a proxy.
    begins: Option<Buckets>,
    /// Origins whose pages may make changes, besides those of the host that a request names.
    origins: Vec<String>,
}

impl People {
    /// Reads the files of the settings. The provider is not asked for anything: the server starts
    /// while it is away.
    pub(crate) fn open(
        config: &OidcConfig,
        allowed_origins: &[String],
        by_address: bool,
    ) -> Result<Self, WrongSetting> {
        config.check()?;
        let provider = config.provider()?;
        let transport = provider.settings().transport();
        let mut origins = allowed_origins.to_vec();
        // Behind a proxy `Host` may be another name than the browser's.
        origins.extend(origin_of(&config.redirect_url));
        Ok(Self {
            provider: Arc::new(provider),
            pending: PendingLogins::default(),
            sessions: Sessions::new(config.sessions()).map_err(wrong)?,
            roles: config.role_map()?,
            transport,
            calls: Arc::new(Semaphore::new(CALLS_MAX)),
            begins: by_address.then(|| Buckets::new(BEGINS, Instant::now())),
            origins,
        })
    }

    /// How browsers reach this server.
    pub(crate) fn transport(&self) -> Transport {
        self.transport
    }

    /// Refuses a sign-in from an address that began too many.
    pub(crate) fn may_begin(&self, peer: Option<Peer>) -> Result<(), Problem> {
        let (Some(begins), Some(Peer(address))) = (&self.begins, peer) else { return Ok(()) };
        let now = Instant::now();
        if !begins.is_banned(address, now) && !begins.take(address, now) {
            return Ok(());
        }
        let detail = "your address begins too many sign-ins";
        Err(Problem::new(REQUESTS_TOO_MANY, detail).retry_after(BEGINS.ban))
    }

    /// A place for a call of the provider, or the refusal where all are taken.
    pub(crate) fn call(&self) -> Result<Call, Problem> {
        Arc::clone(&self.calls).try_acquire_owned().map(Call).map_err(|_| {
            Problem::new(SIGN_IN_AWAY, "too many people sign in at this moment").retry_after(RETRY)
        })
    }

    /// Calls the provider on the pool for calls that block. The place is kept to the end of the
    /// call, whether or not the browser still waits.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        call: Call,
        ask: impl FnOnce(&Provider) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Problem> {
        let provider = Arc::clone(&self.provider);
        let asked = tokio::task::spawn_blocking(move || {
            let _place = call.0;
            ask(&provider)
        });
        match asked.await {
            Ok(answer) => answer.map_err(|error| Self::problem(&error)),
            Err(error) => {
                tracing::error!(error = %error, "A call of the OpenID provider did not end");
                Err(Problem::new(SIGN_IN_AWAY, "the sign-in did not end; begin again").retry_after(RETRY))
            }
        }
    }

    /// The roles of a person, by its groups.
    pub(crate) fn roles(&self, identity: &Identity) -> Vec<Role> {
        self.roles.roles(&identity.groups).into_iter().filter_map(|word| word.parse().ok()).collect()
    }

    /// A failed call as the browser sees it. Details for the operator are in the log only.
    pub(crate) fn problem(error: &Error) -> Problem {
        match error {
            Error::Refused(refusal) => Problem::new(SIGN_IN_REFUSED, format!("{refusal}; sign in again")),
            Error::Random => Problem::new(NO_RANDOM_BYTES, error.to_string()).retry_after(RETRY),
            Error::Provider { .. } | Error::Setting { .. } => {
                tracing::warn!(error = %error, "Nobody can sign in");
                let detail = "the OpenID provider does not answer as it should; \
                              the server's log has the details";
                Problem::new(SIGN_IN_AWAY, detail).retry_after(RETRY)
            }
        }
    }

    /// Begins a session.
    pub(crate) fn begin(
        &self,
        identity: Identity,
        person: Arc<Holder>,
    ) -> Result<BegunSession<Arc<Holder>>, Problem> {
        self.sessions.begin(identity, person, Now::read()).map_err(|error| Self::problem(&error))
    }

    /// The value of `Set-Cookie` for a session that began.
    pub(crate) fn cookie_of(&self, begun: &BegunSession<Arc<Holder>>) -> String {
        Cookie::Session.set(&begun.cookie, self.sessions.config().lifetime, self.transport)
    }

    /// The session of a request, while it lasts.
    pub(crate) fn session(&self, headers: &HeaderMap) -> Option<Arc<PersonSession>> {
        self.sessions.find(self.cookie(Cookie::Session, headers)?, Instant::now())
    }

    /// Ends the session of a request.
    pub(crate) fn end(&self, headers: &HeaderMap) {
        if let Some(cookie) = self.cookie(Cookie::Session, headers) {
            self.sessions.end(cookie);
        }
    }

    /// Where a browser goes after its session ended.
    pub(crate) fn after_logout(&self, session: &PersonSession) -> String {
        let hint = session.identity().id_token_hint.as_ref();
        self.provider.logout_url(hint).unwrap_or_else(|| "/".to_owned())
    }

    /// A cookie of a request.
    pub(crate) fn cookie<'h>(&self, cookie: Cookie, headers: &'h HeaderMap) -> Option<&'h str> {
        let fields = headers.get_all(header::COOKIE).into_iter().map(|value| value.as_bytes());
        cookie.find(fields, self.transport)
    }

    /// Refuses a request of this session that may change something, unless a page of this server
    /// made it.
    pub(crate) fn may_change(
        &self,
        session: &PersonSession,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<(), Problem> {
        if matches!(*method, Method::GET | Method::HEAD) {
            return Ok(());
        }
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        if headers.contains_key(header::ORIGIN) {
            let origin = text(&header::ORIGIN).unwrap_or_default();
            if !origin_is_allowed(origin, text(&header::HOST), &self.origins) {
                let detail = "a page of another origin may not use this session; \
                              server.allowed_origins lists those that may";
                return Err(Problem::new(TOKEN_MISSING, detail));
            }
        }
        match text(&TOKEN).is_some_and(|shown| session.csrf_matches(shown)) {
            true => Ok(()),
            false => {
                let detail = "send the header `stadium-csrf` with the token that /auth/session shows, \
                              or an API key in place of the cookie";
                Err(Problem::new(TOKEN_MISSING, detail))
            }
        }
    }
}

/// Scheme, host and port of a URL.
fn origin_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?']).next()?;
    Some(format!("{scheme}://{host}"))
}
