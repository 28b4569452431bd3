//! The provider: its metadata and keys, and the two halves of a login.
//!
//! Metadata and keys are fetched by the login that needs them, together, and kept for an hour. A
//! failure is retried after a growing delay; until then logins fail at once, or go on with the
//! documents that are known. A token of an unknown key fetches them earlier, as providers publish
//! a key and then sign with it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use stadium_token_keys::{Intervals, Key, SET_BYTES_MAX, SYSTEM_AUTHORITIES, Timing, public_of_set};

use crate::endpoint::{Client, Endpoints, Tokens};
use crate::id_token::{self, Expected, Fault};
use crate::identity::{self, Claims};
use crate::metadata::{ClientProof, Metadata};
use crate::pending::PendingLogin;
use crate::secret::{Secret, challenge};
use crate::{Callback, Error, Identity, Now, Refusal, ReturnPath, Settings, form};

/// Bytes of the metadata. Providers with many features publish some 10 KB.
const METADATA_BYTES_MAX: u64 = 128 * 1_024;

/// How often documents are fetched. A person waits for a login, so failures delay it by a minute at
/// most.
const INTERVALS: Intervals = Intervals {
    refresh: Duration::from_secs(3_600),
    again_min: Duration::from_secs(10),
    retry_max: Duration::from_secs(60),
};

/// The scopes that are asked for where none are set, and the one that some providers want besides.
const SCOPES: &str = "openid profile email";
const GROUPS_SCOPE: &str = "groups";

/// One OpenID provider, and this server's registration there. Its calls block.
pub struct Provider {
    settings: Settings,
    endpoints: Endpoints,
    known: RwLock<Option<Arc<Known>>>,
    /// Held while the documents are fetched, so that logins at the same time fetch them once.
    fetching: Mutex<Fetching>,
}

/// The documents of a provider.
struct Known {
    metadata: Metadata,
    keys: Vec<Key>,
}

struct Fetching {
    timing: Option<Timing>,
    /// Why the last fetch failed.
    problem: String,
}

/// A login that began: the browser goes to the URL, and the login waits in
/// [`crate::PendingLogins`].
#[derive(Debug)]
pub struct BegunLogin {
    /// The provider's page, with the request in its query. It holds no secret of the client.
    pub authorization_url: String,
    /// The login.
    pub pending: PendingLogin,
}

impl Provider {
    /// Checks the settings. Nothing is fetched: a server starts while its provider is down.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        stadium_token_keys::install();
        settings.check()?;
        let wrong = |problem: String| Error::Setting { name: "authorities", problem };
        let of_system = match (&settings.authorities, settings.issuer.starts_with("https://")) {
            (None, true) => {
                let read = std::fs::read(SYSTEM_AUTHORITIES);
                Some(read.map_err(|error| wrong(format!("cannot read {SYSTEM_AUTHORITIES}: {error}")))?)
            }
            _ => None,
        };
        let authorities = settings.authorities.as_deref().or(of_system.as_deref());
        let endpoints = Endpoints::new(authorities).map_err(|error| wrong(error.to_string()))?;
        let fetching = Fetching { timing: None, problem: String::new() };
        Ok(Self { settings, endpoints, known: RwLock::default(), fetching: Mutex::new(fetching) })
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Begins a login: Authorization Code with state, nonce and PKCE. Blocks where the provider's
    /// documents are to be fetched, for at most 20 s.
    pub fn begin(&self, return_to: ReturnPath, now: Instant) -> Result<BegunLogin, Error> {
        let known = self.known(now)?;
        let metadata = &known.metadata;
        let pending = PendingLogin::new(return_to)?;
        let scope = match &self.settings.scopes {
            Some(scopes) => scopes.join(" "),
            None if metadata.offers_scope(GROUPS_SCOPE) => format!("{SCOPES} {GROUPS_SCOPE}"),
            None => SCOPES.to_owned(),
        };
        let authorization_url = form::with_query(
            &metadata.authorization_endpoint,
            &[
                ("response_type", "code"),
                ("client_id", &self.settings.client_id),
                ("redirect_uri", &self.settings.redirect_url),
                ("scope", &scope),
                ("state", pending.state.expose()),
                ("nonce", pending.nonce.expose()),
                ("code_challenge", &challenge(&pending.verifier)),
                ("code_challenge_method", "S256"),
            ],
        );
        Ok(BegunLogin { authorization_url, pending })
    }

    /// Ends a login that [`crate::PendingLogins::take`] returned for this callback: exchanges the
    /// code, validates the ID token, and reads the groups, from the userinfo endpoint where the
    /// token has none. Blocks, for at most 40 s.
    pub fn finish(&self, callback: &Callback, login: &PendingLogin, now: Now) -> Result<Identity, Error> {
        if !login.state.matches(callback.state.expose()) {
            return Err(Refusal::UnknownState.into());
        }
        let started = Instant::now();
        let known = self.known(now.instant)?;
        self.check_issuer(callback, &known.metadata)?;
        let code = callback.outcome.as_ref().map_err(Clone::clone)?;
        let tokens = self.exchange(&known.metadata, code, login)?;
        // The token was issued after `now`: a slow provider must not look like a wrong clock.
        let took = started.elapsed();
        let now = Now { instant: now.instant + took, time: now.time + took };
        let claims = self.verify(&tokens, &known, login, now)?;
        self.identity(&known.metadata, &claims, tokens)
    }

    /// The page where the provider ends its own session and sends the browser on (OpenID Connect
    /// RP-Initiated Logout 1.0). None where the provider has none, or was never reached.
    pub fn logout_url(&self, id_token_hint: Option<&Secret>) -> Option<String> {
        let known = self.known.read().clone()?;
        let endpoint = known.metadata.end_session_endpoint.as_deref()?;
        let mut fields = vec![("client_id", self.settings.client_id.as_str())];
        fields.extend(id_token_hint.map(|hint| ("id_token_hint", hint.expose())));
        let after = self.settings.post_logout_redirect_url.as_deref();
        fields.extend(after.map(|after| ("post_logout_redirect_uri", after)));
        Some(form::with_query(endpoint, &fields))
    }

    /// RFC 9207, 2.4: a callback of another provider is not this one's, with a code or an error.
    fn check_issuer(&self, callback: &Callback, metadata: &Metadata) -> Result<(), Refusal> {
        let is_good = match &callback.issuer {
            Some(issuer) => *issuer == self.settings.issuer,
            None => !metadata.authorization_response_iss_parameter_supported,
        };
        if is_good { Ok(()) } else { Err(Refusal::OtherIssuer) }
    }

    fn exchange(&self, metadata: &Metadata, code: &Secret, login: &PendingLogin) -> Result<Tokens, Error> {
        let secret = self.settings.client_secret.as_ref();
        let proof = match secret {
            None => ClientProof::Public,
            Some(_) => metadata.proof_by_secret().ok_or_else(|| {
                Error::provider(
                    "it takes client secrets neither by client_secret_basic nor by client_secret_post",
                )
            })?,
        };
        let client = Client { id: &self.settings.client_id, secret, proof };
        let redirect_url = &self.settings.redirect_url;
        self.endpoints.exchange(&metadata.token_endpoint, &client, code, &login.verifier, redirect_url)
    }

    fn verify(
        &self,
        tokens: &Tokens,
        known: &Arc<Known>,
        login: &PendingLogin,
        now: Now,
    ) -> Result<Claims, Error> {
        let expected = Expected {
            issuer: &self.settings.issuer,
            client_id: &self.settings.client_id,
            nonce: &login.nonce,
            leeway: self.settings.leeway,
            time: now.time,
        };
        let mut verified = id_token::verify(&tokens.id_token, &known.keys, &expected);
        if verified == Err(Fault::UnknownKey)
            && let Some(known) = self.fetched_again(known, now.instant)?
        {
            verified = id_token::verify(&tokens.id_token, &known.keys, &expected);
        }
        verified.map_err(|fault| match fault {
            Fault::UnknownKey => {
                Refusal::Token("is signed with a key that the provider does not publish").into()
            }
            Fault::Rule(rule) => Refusal::Token(rule).into(),
        })
    }

    fn identity(&self, metadata: &Metadata, claims: &Claims, tokens: Tokens) -> Result<Identity, Error> {
        let subject = identity::subject(claims).ok_or(Refusal::Token("names no person (sub)"))?;
        let claim = &self.settings.groups_claim;
        let mut groups = identity::groups(claims, claim).map_err(Refusal::Token)?;
        let mut name = identity::name(claims);
        let mut email = identity::text(claims, "email");
        if groups.is_none()
            && let (Some(url), Some(access_token)) = (&metadata.userinfo_endpoint, &tokens.access_token)
        {
            let more = self.endpoints.userinfo(url, access_token)?;
            // Core 1.0, 5.3.2: the claims of anybody else must not be used.
            if identity::subject(&more) != Some(subject) {
                return Err(Error::provider(format!("userinfo endpoint {url} answered for another person")));
            }
            let of_userinfo = identity::groups(&more, claim);
            groups = of_userinfo.map_err(|problem| {
                Error::provider(format!("the answer of userinfo endpoint {url} {problem}"))
            })?;
            name = name.or_else(|| identity::name(&more));
            email = email.or_else(|| identity::text(&more, "email"));
        }
        Ok(Identity {
            issuer: self.settings.issuer.clone(),
            subject: subject.to_owned(),
            name,
            email,
            groups: groups.unwrap_or_default(),
            id_token_hint: identity::hint(tokens.id_token),
        })
    }

    /// The documents, fetched where their time has come.
    fn known(&self, now: Instant) -> Result<Arc<Known>, Error> {
        let known = self.known.read().clone();
        if let Some(known) = known {
            // A login that finds others fetching does not wait for them.
            let Some(mut fetching) = self.fetching.try_lock() else { return Ok(known) };
            if !fetching.is_due(now) {
                return Ok(known);
            }
            return Ok(self.fetch(&mut fetching, now).unwrap_or(known));
        }
        let mut fetching = self.fetching.lock();
        if let Some(known) = self.known.read().clone() {
            return Ok(known);
        }
        match fetching.is_due(now) {
            true => self.fetch(&mut fetching, now),
            false => Err(Error::provider(fetching.problem.clone())),
        }
    }

    /// Documents newer than these, because a key is missing in them. None where they were fetched a
    /// moment ago: then the key does not exist.
    fn fetched_again(&self, old: &Arc<Known>, now: Instant) -> Result<Option<Arc<Known>>, Error> {
        let mut fetching = self.fetching.lock();
        let newer = self.known.read().clone().filter(|known| !Arc::ptr_eq(known, old));
        if newer.is_some() {
            return Ok(newer);
        }
        match fetching.timing.as_ref().is_none_or(|timing| timing.may_hurry(now)) {
            true => self.fetch(&mut fetching, now).map(Some),
            false => Ok(None),
        }
    }

    fn fetch(&self, fetching: &mut Fetching, now: Instant) -> Result<Arc<Known>, Error> {
        let started = Instant::now();
        let timing = fetching.timing.get_or_insert_with(|| Timing::new(INTERVALS, now));
        timing.begun(now);
        let fetched = self.documents();
        // The time of the caller, and the time that the fetch took.
        let ended = now + started.elapsed();
        match fetched {
            Ok(known) => {
                timing.succeeded(ended);
                let known = Arc::new(known);
                *self.known.write() = Some(Arc::clone(&known));
                Ok(known)
            }
            Err(problem) => {
                timing.failed(ended);
                let retry_in_s = timing.next().saturating_duration_since(ended).as_secs();
                tracing::warn!(
                    error = problem,
                    retry_in_s,
                    "The documents of the OpenID provider were not fetched"
                );
                fetching.problem.clone_from(&problem);
                Err(Error::provider(problem))
            }
        }
    }

    fn documents(&self) -> Result<Known, String> {
        let issuer = &self.settings.issuer;
        let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let json = self.endpoints.document(&url, METADATA_BYTES_MAX)?;
        let metadata = Metadata::parse(&json, issuer).map_err(|problem| format!("{url}: {problem}"))?;
        let json = self.endpoints.document(&metadata.jwks_uri, SET_BYTES_MAX)?;
        let keys = public_of_set(&json).map_err(|problem| format!("{}: {problem}", metadata.jwks_uri))?;
        Ok(Known { metadata, keys })
    }
}

impl Fetching {
    fn is_due(&self, now: Instant) -> bool {
        self.timing.as_ref().is_none_or(|timing| now >= timing.next())
    }
}
