//! JSON Web Tokens (RFC 7519) in the place of the MQTT password.
//!
//! The signature, `exp`, `nbf`, issuer and audience are `stadium_token_keys`' business; here is the
//! principal that the other claims name. Verification is fast enough for a loop (some 100 µs), so
//! verdicts are immediate.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use stadium_token_keys::{Expected, Fault, KeySources, Keys};

use super::verdict::{GROUPS_MAX, is_principal};
use super::watched::Watched;
use super::{ClientIdBinding, Credentials, DenyReason, Error, Identity, TokenConfig, TokenUsername, Via};

/// The tolerance for clocks that still makes sense.
const LEEWAY_MAX: Duration = Duration::from_secs(600);

/// Verifies tokens.
pub(super) struct Tokens {
    config: TokenConfig,
    expected: Expected,
    keys: Keys,
    watched: Watched,
}

impl Tokens {
    pub(super) fn open(config: &TokenConfig, now: Instant) -> Result<Self, Error> {
        if config.leeway > LEEWAY_MAX {
            return Err(Error::Setting { name: "leeway of tokens", bounds: "0 to 10 minutes" });
        }
        let sources = KeySources {
            keys: config.keys.clone(),
            key_sets: config.key_sets.clone(),
            fetch: config.fetch.clone(),
        };
        let watched = Watched::new(sources.files(), now);
        let expected = Expected {
            issuer: config.issuer.clone(),
            audience: config.audience.clone(),
            leeway: config.leeway,
        };
        Ok(Self { config: config.clone(), expected, keys: Keys::open(sources)?, watched })
    }

    /// Reads the keys of files again; on an error what was read before stays.
    pub(super) fn reload(&self) -> Result<(), Error> {
        Ok(self.keys.reload()?)
    }

    /// Has the sets at URLs fetched now.
    pub(super) fn refresh(&self) {
        self.keys.refresh();
    }

    /// For a token that was refused as not genuine: when to retry, where a set that may have its key
    /// is being fetched, or has just arrived.
    pub(super) fn fetch_key_of(&self, token: &[u8], now: Instant) -> Option<Duration> {
        self.keys.fetch_key_of(token, &self.expected, now)
    }

    /// Whether a key's file has changed and wants [`Tokens::reload`].
    pub(super) fn changed(&self, now: Instant) -> bool {
        self.watched.changed(now)
    }

    /// Whom the token in the password names.
    pub(super) fn verify(&self, token: &[u8], shown: &Credentials) -> Result<Identity, DenyReason> {
        let claims = self.keys.claims(token, &self.expected).map_err(reason)?;
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
        // `exp` was compared before; here it is the end of the connection.
        let expires_at = self.expected.ends_at(&claims);
        Ok(Identity { principal: principal.into(), via: Via::Token, expires_at, groups })
    }
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

fn reason(fault: Fault) -> DenyReason {
    match fault {
        Fault::NotGenuine => DenyReason::BadToken,
        Fault::Expired => DenyReason::TokenExpired,
        Fault::NotYetValid => DenyReason::TokenNotYetValid,
        Fault::Claims => DenyReason::TokenClaims,
    }
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
