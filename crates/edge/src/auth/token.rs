//! JSON Web Tokens (RFC 7519) in the place of the MQTT password.
//!
//! A token is believed when a configured key with its `kid` and its `alg` verifies it, `exp` is there and in the
//! future, `nbf` is past, issuer and audience are the configured ones, and the claim that names the principal is
//! there. Verification is fast enough for a loop (some 100 µs), so verdicts are immediate.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde_json::{Map, Value};
use stadium_token_keys::Key;

use super::key_fetcher::KeyFetcher;
use super::token_keys;
use super::verdict::{GROUPS_MAX, is_principal};
use super::watched::Watched;
use super::{ClientIdBinding, Credentials, DenyReason, Error, Identity, TokenConfig, TokenUsername, Via};

/// The tolerance for clocks that still makes sense.
const LEEWAY_MAX: Duration = Duration::from_secs(600);

/// Verifies tokens.
pub(super) struct Tokens {
    config: TokenConfig,
    keys: ArcSwap<Vec<Key>>,
    watched: Watched,
    fetchers: Vec<KeyFetcher>,
}

impl Tokens {
    pub(super) fn open(config: &TokenConfig, now: Instant) -> Result<Self, Error> {
        stadium_token_keys::install();
        if config.leeway > LEEWAY_MAX {
            return Err(Error::Setting { name: "leeway of tokens", bounds: "0 to 10 minutes" });
        }
        let watched = Watched::new(token_keys::files(config), now);
        let keys = ArcSwap::from_pointee(token_keys::read(config)?);
        let fetchers = config.fetch.urls.iter().map(|url| KeyFetcher::start(url, &config.fetch));
        let fetchers = fetchers.collect::<Result<_, _>>()?;
        Ok(Self { config: config.clone(), keys, watched, fetchers })
    }

    /// Reads the keys of files again; on an error what was read before stays.
    pub(super) fn reload(&self) -> Result<(), Error> {
        self.keys.store(Arc::new(token_keys::read(&self.config)?));
        Ok(())
    }

    /// Has the sets at URLs fetched now.
    pub(super) fn refresh(&self) {
        self.fetchers.iter().for_each(KeyFetcher::refresh);
    }

    /// For a token that was refused: when to retry, where its key is not known and a set that may
    /// have it is being fetched.
    pub(super) fn fetch_key_of(&self, token: &[u8], now: Instant) -> Option<Duration> {
        let header = decode_header(token).ok().filter(|_| !self.fetchers.is_empty())?;
        let is_it = |key: &Key| key.id == header.kid && key.algorithm == header.alg;
        let is_known = self.keys.load().iter().any(is_it)
            || self.fetchers.iter().any(|one| one.keys().iter().any(is_it));
        if is_known {
            return None;
        }
        // Each of them is asked to hurry.
        let waits: Vec<_> = self.fetchers.iter().filter_map(|fetcher| fetcher.miss(now)).collect();
        waits.into_iter().max()
    }

    /// Whether a key's file has changed and wants [`Tokens::reload`].
    pub(super) fn changed(&self, now: Instant) -> bool {
        self.watched.changed(now)
    }

    /// Whom the token in the password names. Ask [`looks_like_token`] first.
    pub(super) fn verify(&self, token: &[u8], shown: &Credentials) -> Result<Identity, DenyReason> {
        let claims = self.claims(token)?;
        let text = |claim: &str| claims.get(claim).and_then(Value::as_str);

        let principal = text(&self.config.principal_claim).filter(|name| is_principal(name));
        let principal = principal.ok_or(DenyReason::TokenClaims)?;
        if self.config.username == TokenUsername::MustEqualPrincipal
            && shown.username.as_deref() != Some(principal)
        {
            return Err(DenyReason::TokenClaims);
        }
        match &self.config.client_id_claim {
            Some(claim) => {
                let named = text(claim).ok_or(DenyReason::TokenClaims)?;
                if named != shown.client_id {
                    return Err(DenyReason::ClientId);
                }
            }
            None => bind(self.config.client_id, principal, &shown.client_id)?,
        }
        let groups = match &self.config.groups_claim {
            Some(claim) => groups(claims.get(claim)).ok_or(DenyReason::TokenClaims)?,
            None => Arc::from([]),
        };
        // `exp` was required and compared by the library; here it is the end of the connection.
        let expires = claims.get("exp").and_then(seconds).ok_or(DenyReason::TokenClaims)?;
        let expires_at = SystemTime::UNIX_EPOCH
            .checked_add(Duration::from_secs(expires))
            .and_then(|expires| expires.checked_add(self.config.leeway));
        Ok(Identity { principal: principal.into(), via: Via::Token, expires_at, groups })
    }

    fn claims(&self, token: &[u8]) -> Result<Map<String, Value>, DenyReason> {
        // `none` and other unknown algorithms do not parse.
        let header = decode_header(token).map_err(|_| DenyReason::BadToken)?;
        // We understand no extension, so one that must be understood refuses the token (RFC 7515, 4.1.11).
        if header.crit.is_some() {
            return Err(DenyReason::BadToken);
        }
        let keys = self.keys.load();
        let fetched: Vec<_> = self.fetchers.iter().map(KeyFetcher::keys).collect();
        let all = keys.iter().chain(fetched.iter().flat_map(|keys| keys.iter()));
        let fitting = all.filter(|key| key.id == header.kid && key.algorithm == header.alg);
        let mut denied = DenyReason::BadToken;
        for key in fitting {
            match decode::<Map<String, Value>>(token, &key.key, &self.validation(key.algorithm)) {
                Ok(decoded) => return Ok(decoded.claims),
                Err(error) => match reason(error.kind()) {
                    DenyReason::BadToken => {}
                    // The signature was right, so no other key will do better.
                    genuine => {
                        denied = genuine;
                        break;
                    }
                },
            }
        }
        Err(denied)
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.leeway = self.config.leeway.as_secs();
        validation.validate_nbf = true;
        // The library compares a claim only when it is there: what is configured must be required too.
        let mut required = vec!["exp"];
        if let Some(issuer) = &self.config.issuer {
            validation.set_issuer(&[issuer]);
            required.push("iss");
        }
        if let Some(audience) = &self.config.audience {
            validation.set_audience(&[audience]);
            required.push("aud");
        }
        validation.set_required_spec_claims(&required);
        validation
    }
}

/// Whether a password has the form of a token: three parts with dots between, the first a JSON object with
/// an `alg` (RFC 7515, 7.1). No password that people choose does.
pub(super) fn looks_like_token(password: &[u8]) -> bool {
    let mut parts = password.split(|byte| *byte == b'.');
    let (Some(header), Some(_), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let header = URL_SAFE_NO_PAD.decode(header).ok();
    let header = header.and_then(|header| serde_json::from_slice::<Map<String, Value>>(&header).ok());
    header.is_some_and(|header| header.contains_key("alg"))
}

/// Whether a principal may take this client identifier. An empty one will be assigned by the server, and
/// then names nobody else's session.
pub(super) fn bind(binding: ClientIdBinding, principal: &str, client_id: &str) -> Result<(), DenyReason> {
    match binding {
        ClientIdBinding::Any => Ok(()),
        ClientIdBinding::MustEqualPrincipal if client_id.is_empty() || client_id == principal => Ok(()),
        ClientIdBinding::MustEqualPrincipal => Err(DenyReason::ClientId),
    }
}

fn reason(kind: &ErrorKind) -> DenyReason {
    match kind {
        ErrorKind::ExpiredSignature => DenyReason::TokenExpired,
        ErrorKind::ImmatureSignature => DenyReason::TokenNotYetValid,
        ErrorKind::InvalidIssuer
        | ErrorKind::InvalidAudience
        | ErrorKind::InvalidSubject
        | ErrorKind::InvalidClaimFormat(_)
        | ErrorKind::MissingRequiredClaim(_) => DenyReason::TokenClaims,
        _ => DenyReason::BadToken,
    }
}

/// A NumericDate (RFC 7519, 2), which may have a fraction.
fn seconds(value: &Value) -> Option<u64> {
    // `as` saturates, and the library has compared the same number with the clock before.
    value.as_u64().or_else(|| value.as_f64().filter(|seconds| *seconds >= 0.0).map(|seconds| seconds as u64))
}

/// A list of strings, or one with spaces between (as RFC 8693, 4.2 writes scopes). Absent: no groups.
fn groups(claim: Option<&Value>) -> Option<Arc<[Arc<str>]>> {
    let groups: Vec<Arc<str>> = match claim {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => {
            text.split(' ').filter(|group| !group.is_empty()).map(Arc::from).collect()
        }
        Some(Value::Array(list)) => {
            list.iter().map(|group| group.as_str().map(Arc::from)).collect::<Option<_>>()?
        }
        Some(_) => return None,
    };
    (groups.len() <= GROUPS_MAX).then(|| groups.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_distinguished_from_tokens() {
        let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
        assert!(looks_like_token(format!("{header}.e30.").as_bytes()));
        for password in ["", "secret", "a.b.c", "...", "1.2.3.4", "e30.e30.e30", &format!("{header}.x")] {
            assert!(!looks_like_token(password.as_bytes()), "{password}");
        }
    }

    #[test]
    fn groups_come_as_a_list_or_as_words() {
        let read = |json: &str| {
            let value: Value = serde_json::from_str(json).expect("JSON");
            groups(Some(&value)).map(|groups| groups.join("|"))
        };
        assert_eq!(read(r#"["a","b"]"#).as_deref(), Some("a|b"));
        assert_eq!(read(r#""a  b""#).as_deref(), Some("a|b"));
        assert_eq!(read("[1]"), None);
        assert_eq!(read("true"), None);
        assert_eq!(read(&format!("{:?}", vec!["g"; GROUPS_MAX + 1])), None);
    }
}
