//! The claims of a token that is genuine, in time, and of the right issuer and audience (RFC 7519).
//!
//! A token is believed where a key with its `kid` and its `alg` verifies it, `exp` is there and in
//! the future, `nbf` is past, and issuer and audience are the expected ones. The meaning of the
//! other claims is the caller's.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde_json::{Map, Value};

use crate::Key;

/// The claims of a token.
pub type Claims = Map<String, Value>;

/// The values that the claims of a token must have.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// Required `iss`, where given.
    pub issuer: Option<String>,
    /// Required member of `aud`, where given. A token with an `aud` is refused where none is given
    /// (RFC 7519, 4.1.3).
    pub audience: Option<String>,
    /// Tolerance for clocks in `exp` and `nbf`, in whole seconds.
    pub leeway: Duration,
}

/// Why a token is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is malformed, its algorithm or key is not one of ours, or its signature is wrong.
    NotGenuine,
    /// Its `exp` has passed.
    Expired,
    /// Its `nbf` has not come yet.
    NotYetValid,
    /// It is genuine, but of another issuer, for another audience, or without a required claim.
    Claims,
}

impl Expected {
    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.leeway = self.leeway.as_secs();
        validation.validate_nbf = true;
        // The library compares a claim only when it is there: what is configured must be required too.
        let mut required = vec!["exp"];
        if let Some(issuer) = &self.issuer {
            validation.set_issuer(&[issuer]);
            required.push("iss");
        }
        if let Some(audience) = &self.audience {
            validation.set_audience(&[audience]);
            required.push("aud");
        }
        validation.set_required_spec_claims(&required);
        validation
    }

    /// The time at which a token with these claims stops being good: its `exp`, and the leeway.
    /// None beyond what a clock can show.
    pub fn ends_at(&self, claims: &Claims) -> Option<SystemTime> {
        let expires = claims.get("exp").and_then(seconds)?;
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(expires))?.checked_add(self.leeway)
    }
}

/// Whether a text has the form of a token: three parts with dots between, the first a JSON object
/// with an `alg` (RFC 7515, 7.1). No password that people choose does.
pub fn looks_like_token(text: &[u8]) -> bool {
    let mut parts = text.split(|byte| *byte == b'.');
    let (Some(header), Some(_), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let header = URL_SAFE_NO_PAD.decode(header).ok();
    let header = header.and_then(|header| serde_json::from_slice::<Map<String, Value>>(&header).ok());
    header.is_some_and(|header| header.contains_key("alg"))
}

/// The claims of a token that one of the keys verifies.
pub(crate) fn verified<'k>(
    token: &[u8],
    keys: impl Iterator<Item = &'k Key>,
    expected: &Expected,
) -> Result<Claims, Fault> {
    // `none` and other unknown algorithms do not parse.
    let header = decode_header(token).map_err(|_| Fault::NotGenuine)?;
    // No extension is understood, so one that must be refuses the token (RFC 7515, 4.1.11).
    if header.crit.is_some() {
        return Err(Fault::NotGenuine);
    }
    for key in keys.filter(|key| key.id == header.kid && key.algorithm == header.alg) {
        match decode::<Claims>(token, &key.key, &expected.validation(key.algorithm)) {
            Ok(decoded) if decoded.claims.get("exp").and_then(seconds).is_none() => {
                return Err(Fault::Claims);
            }
            Ok(decoded) => return Ok(decoded.claims),
            Err(error) => match fault(error.kind()) {
                Fault::NotGenuine => {}
                // The signature was right, so no other key will do better.
                genuine => return Err(genuine),
            },
        }
    }
    Err(Fault::NotGenuine)
}

fn fault(kind: &ErrorKind) -> Fault {
    match kind {
        ErrorKind::ExpiredSignature => Fault::Expired,
        ErrorKind::ImmatureSignature => Fault::NotYetValid,
        ErrorKind::InvalidIssuer
        | ErrorKind::InvalidAudience
        | ErrorKind::InvalidSubject
        | ErrorKind::InvalidClaimFormat(_)
        | ErrorKind::MissingRequiredClaim(_) => Fault::Claims,
        _ => Fault::NotGenuine,
    }
}

/// A NumericDate (RFC 7519, 2), which may have a fraction.
fn seconds(value: &Value) -> Option<u64> {
    // `as` saturates, and the library has compared the same number with the clock before.
    value.as_u64().or_else(|| value.as_f64().filter(|seconds| *seconds >= 0.0).map(|seconds| seconds as u64))
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
    fn a_token_ends_with_its_leeway_and_never_where_its_end_is_no_number() {
        let expected = Expected { leeway: Duration::from_secs(30), ..Expected::default() };
        let end = |exp: Value| {
            let claims = Map::from_iter([("exp".to_owned(), exp)]);
            let end = expected.ends_at(&claims)?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
            Some(end.as_secs())
        };
        assert_eq!(end(Value::from(1_000)), Some(1_030));
        assert_eq!(end(Value::from(1_000.9)), Some(1_030));
        assert_eq!(end(Value::from("soon")), None);
        assert_eq!(end(Value::from(u64::MAX)), None);
    }
}
