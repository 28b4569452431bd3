//! The caller of a request, and whether it may ask for this.
//!
//! An endpoint names its rights in its description (`x-right`), and takes a [`Caller`] among its
//! arguments, which asks for them. The order is always: key, right, then everything else, so a
//! stranger learns nothing from other errors. A part of a right that only the body or the shards
//! know is asked for by the handler, with the methods of [`Caller`].

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use axum::extract::{FromRef, FromRequestParts, MatchedPath, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use stadium_grants::{Asking, Grants, Kind, Refused, Verb};
use stadium_registry::AppName;
use stadium_shard::Together;
use stadium_wallet::{PrincipalId, TransferView};

use crate::audit_log::CallerPlace;
use crate::key_store::Key;
use crate::principal::Principal;
use crate::request::app::App;
use crate::request::peer::Peer;
use crate::request::problem::{KEY_MISSING, KEY_UNKNOWN, LIMIT_REACHED, Problem, RIGHT_MISSING};
use crate::rights::{self, Stop};
use crate::shards::running;
use crate::sign_in::people::PersonSession;

/// A caller that may use the endpoint, as far as its path shows.
pub(crate) struct Caller {
    who: Who,
    /// Bytes of the request's body, as announced.
    bytes: u64,
    /// The time by which limits are kept.
    now: Duration,
}

enum Who {
    Key(Arc<Key>),
    /// A person, by the cookie of its session.
    Person(Arc<PersonSession>),
    /// Anyone who reaches the port, where reading is open.
    Anyone(Arc<Grants>),
}

impl Caller {
    /// The id of the caller's key, or of the person: idempotency keys of two callers never meet.
    pub(crate) fn key_id(&self) -> &str {
        match &self.who {
            Who::Key(key) => &key.id,
            Who::Person(session) => session.grants().id(),
            Who::Anyone(_) => "anyone",
        }
    }

    /// The id of the caller's key, or of the person; none of anyone.
    pub(crate) fn key(&self) -> Option<String> {
        match &self.who {
            Who::Anyone(_) => None,
            Who::Key(_) | Who::Person(_) => Some(self.key_id().to_owned()),
        }
    }

    /// The principal that records name for what the caller asks for; none of anyone, and of an id
    /// that none can name.
    pub(crate) fn principal(&self) -> Option<PrincipalId> {
        match &self.who {
            Who::Anyone(_) => None,
            Who::Key(_) | Who::Person(_) => PrincipalId::new(self.key_id()).ok(),
        }
    }

    /// The request as the grants see it.
    pub(crate) fn asking(&self) -> Asking<'_> {
        let grants = match &self.who {
            Who::Key(key) => &key.grants,
            Who::Person(session) => session.grants().grants(),
            Who::Anyone(grants) => grants,
        };
        Asking { grants, bytes: self.bytes, now: self.now }
    }

    /// Whether it may do this, limits aside.
    pub(crate) fn allows(&self, verb: Verb, resource: &str) -> bool {
        self.asking().grants.allows(verb, resource)
    }

    /// Refuses the request unless the caller may do this.
    pub(crate) fn may(&self, verb: Verb, resource: &str) -> Result<(), Problem> {
        self.asking().may(verb, resource).map_err(|refused| self.refused(&refused))
    }

    /// Refuses the request unless the caller may do this beside the thing in the path.
    pub(crate) fn may_also(&self, verb: Verb, resource: &str) -> Result<(), Problem> {
        self.asking().may_also(verb, resource).map_err(|refused| self.refused(&refused))
    }

    /// Refuses the request unless the caller may do all of this. It counts once against limits.
    pub(crate) fn may_each<'r>(
        &self,
        rights: impl IntoIterator<Item = (Verb, &'r str)>,
    ) -> Result<(), Problem> {
        let mut parts = self.asking().parts();
        let may = rights.into_iter().try_for_each(|(verb, resource)| parts.may(verb, resource));
        may.map_err(|refused| self.refused(&refused))
    }

    /// Refuses the request unless the caller may hand this command to the queues.
    pub(crate) async fn may_ask_queue(
        &self,
        app: &App,
        command: &stadium_queue::Command,
    ) -> Result<(), Problem> {
        let may = rights::queue(running(app)?, self.asking(), command).await;
        may.map_err(|stop| self.stopped(stop))
    }

    /// Refuses the request unless the caller may hand this command to the wallets.
    pub(crate) async fn may_ask_wallet(
        &self,
        app: &App,
        command: &stadium_wallet::Command,
    ) -> Result<(), Problem> {
        let may = rights::wallet(running(app)?, self.asking(), command).await;
        may.map_err(|stop| self.stopped(stop))
    }

    /// Refuses the request unless the caller may have this done in one record.
    pub(crate) async fn may_ask_together(&self, app: &App, together: &Together) -> Result<(), Problem> {
        let may = rights::together(running(app)?, self.asking(), together).await;
        may.map_err(|stop| self.stopped(stop))
    }

    /// Refuses the request unless the caller may see this transfer.
    pub(crate) fn may_see(&self, transfer: &TransferView) -> Result<(), Problem> {
        rights::transfer_seen(self.asking(), transfer).map_err(|refused| self.refused(&refused))
    }

    fn stopped(&self, stop: Stop) -> Problem {
        match stop {
            Stop::Refused(refused) => self.refused(&refused),
            Stop::NotFound(refusal) => refusal.into(),
        }
    }

    fn refused(&self, refused: &Refused) -> Problem {
        let caller = match &self.who {
            Who::Key(key) => format!("key {}", key.id),
            Who::Person(session) => session.grants().name().to_owned(),
            Who::Anyone(_) => {
                return Problem::new(KEY_MISSING, format!("{refused}: send an API key that has it"));
            }
        };
        match refused.after {
            Some(wait) => Problem::new(LIMIT_REACHED, format!("{caller}: {refused}")).retry_after(wait),
            None => Problem::new(RIGHT_MISSING, format!("{caller}: {refused}")),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller
where
    Arc<App>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let app = Arc::<App>::from_ref(state);
        let bytes = parts.headers.get(header::CONTENT_LENGTH);
        let bytes = bytes.and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or_default();
        let caller = Self { who: who(parts, &app)?, bytes, now: app.keys.clock(Instant::now()) };
        caller.may_ask_endpoint(parts, &app).await?;
        if let Some(parameters) = app.parameters.get() {
            parameters.check(parts)?;
        }
        Ok(caller)
    }
}

impl Caller {
    /// Asks for the rights of the endpoint. An endpoint that names none is closed.
    async fn may_ask_endpoint(&self, parts: &mut Parts, app: &App) -> Result<(), Problem> {
        let path = parts.extensions.get::<MatchedPath>().cloned();
        let rights = path.as_ref().zip(app.rights.get());
        let rights = rights.and_then(|(path, table)| table.of(&parts.method, path.as_str()));
        let Some(rights) = rights else {
            return Err(Problem::new(RIGHT_MISSING, "the endpoint names no right, so nobody may use it"));
        };
        let params = RawPathParams::from_request_parts(parts, &()).await.ok();
        let mut resource = String::new();
        for right in rights.iter().filter(|right| !right.is_optional()) {
            let part = |name: &str| {
                params.as_ref()?.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
            };
            let verb = right.verb();
            if right.resource(&mut resource, part) {
                if verb.kind() == Kind::OfApp && !resource.contains('/') && resource != "*" {
                    resource.insert_str(0, &format!("{}/", AppName::DEFAULT));
                }
                self.may(verb, &resource)?;
            } else if self.asking().grants.of(verb).is_empty() {
                let refused = Refused { verb, resource: resource.clone(), after: None };
                return Err(self.refused(&refused));
            }
        }
        Ok(())
    }
}

/// The principal of a request.
fn who(parts: &Parts, app: &App) -> Result<Who, Problem> {
    let anonymous = !parts.headers.contains_key(header::AUTHORIZATION);
    if anonymous
        && let Some(people) = &app.people
        && let Some(session) = people.session(&parts.headers)
    {
        note(parts, || Arc::clone(session.grants()) as Arc<dyn Principal>);
        people.may_change(&session, &parts.method, &parts.headers)?;
        return Ok(Who::Person(session));
    }
    if anonymous && app.config.open_read && host_is_literal(&parts.headers) {
        return Ok(Who::Anyone(Arc::clone(&app.open)));
    }
    let secret = bearer(&parts.headers).ok_or_else(|| {
        Problem::new(KEY_MISSING, "send the header `Authorization: Bearer sk_...` with an API key")
    })?;
    let key =
        app.keys.authenticate(secret).map_err(|unknown| Problem::new(KEY_UNKNOWN, unknown.to_string()))?;
    let address = parts.extensions.get::<Peer>().map(|Peer(address)| *address);
    app.keys.used(&key, address, SystemTime::now());
    note(parts, || Arc::clone(&key) as Arc<dyn Principal>);
    Ok(Who::Key(key))
}

/// Names the principal for the audit log.
fn note(parts: &Parts, principal: impl FnOnce() -> Arc<dyn Principal>) {
    if let Some(place) = parts.extensions.get::<CallerPlace>() {
        // Set once for a request; a second extractor finds the same principal.
        let _ = place.set(principal());
    }
}

/// The token that a request shows.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Whether `Host` is an address or `localhost`, so that no foreign name led the browser here (DNS
/// rebinding).
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
