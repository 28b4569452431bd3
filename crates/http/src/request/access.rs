//! The key of a request, and whether its role may ask for it.
//!
//! A handler names the role it needs in its arguments, so no route can forget the question. The order is always:
//! key, role, then everything else, so a stranger learns nothing from other errors.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use crate::audit_log::CallerPlace;
use crate::key_store::{Key, Role};
use crate::request::app::App;
use crate::request::problem::{KEY_MISSING, KEY_UNKNOWN, Problem, ROLE_TOO_LOW};

/// A caller that may read.
pub(crate) struct Reader;

/// A caller that may push.
pub(crate) struct Sender {
    /// The id of the caller's key: idempotency keys of two callers never meet.
    pub(crate) key_id: String,
}

/// A caller that may do everything.
pub(crate) struct Admin {
    /// The id of the caller's key, for the log.
    pub(crate) key_id: String,
}

impl<S: Sync> FromRequestParts<S> for Reader
where
    Arc<App>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let app = Arc::<App>::from_ref(state);
        let anonymous = !parts.headers.contains_key(header::AUTHORIZATION);
        if anonymous && app.config.open_read && host_is_literal(&parts.headers) {
            return Ok(Self);
        }
        caller(parts, &app, Role::Read).map(|_| Self)
    }
}

impl<S: Sync> FromRequestParts<S> for Sender
where
    Arc<App>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let app = Arc::<App>::from_ref(state);
        caller(parts, &app, Role::Send).map(|key| Self { key_id: key.id.clone() })
    }
}

impl<S: Sync> FromRequestParts<S> for Admin
where
    Arc<App>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let app = Arc::<App>::from_ref(state);
        caller(parts, &app, Role::Admin).map(|key| Self { key_id: key.id.clone() })
    }
}

/// The key that the request carries, if its role contains the one that is needed, and the request
/// has no parameter that is not described.
fn caller(parts: &Parts, app: &App, needed: Role) -> Result<Arc<Key>, Problem> {
    let secret = bearer(&parts.headers).ok_or_else(|| {
        Problem::new(KEY_MISSING, "send the header `Authorization: Bearer sk_...` with an API key")
    })?;
    let key = app.keys.authenticate(secret).ok_or_else(|| {
        Problem::new(KEY_UNKNOWN, "the key was never made here, was revoked, or was copied incompletely")
    })?;
    if let Some(place) = parts.extensions.get::<CallerPlace>() {
        // Set once for a request; a second extractor finds the same key.
        let _ = place.set(Arc::clone(&key));
    }
    if key.role < needed {
        let detail =
            format!("key {} has the role `{}`; this needs `{}`", key.id, key.role.word(), needed.word());
        return Err(Problem::new(ROLE_TOO_LOW, detail));
    }
    if let Some(parameters) = app.parameters.get() {
        parameters.check(parts)?;
    }
    Ok(key)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Whether `Host` is an address or `localhost`, so that no foreign name led the browser here (DNS rebinding).
fn host_is_literal(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().is_some_and(|address| address.parse::<IpAddr>().is_ok());
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_addresses_and_localhost_count_as_literal_hosts() {
        let literal = |host: &'static str| {
            host_is_literal(&HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]))
        };
        for yes in ["127.0.0.1:8080", "127.0.0.1", "localhost:8080", "LOCALHOST", "[::1]:8080"] {
            assert!(literal(yes), "{yes}");
        }
        for no in ["evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "[evil]:1", ""] {
            assert!(!literal(no), "{no}");
        }
        assert!(!host_is_literal(&HeaderMap::new()));
    }
}
