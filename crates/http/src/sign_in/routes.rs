//! The pages under `/auth`: to the provider, back from it, out again, and who is signed in.
//!
//! They are for browsers and no part of the API. Errors of the first two are pages, since a person
//! follows a redirect to them; the others are asked by the console's scripts.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde::Serialize;
use stadium_oidc::{Callback, Cookie, LOGIN_LIFETIME, Now, Refusal, ReturnPath};

use crate::audit_log::CallerPlace;
use crate::principal::Principal;
use crate::request::app::App;
use crate::request::peer::Peer;
use crate::request::problem::{KEY_MISSING, Problem, SIGN_IN_REFUSED};
use crate::request::query::{Query, wrong};
use crate::sign_in::config::CALLBACK;
use crate::sign_in::page::ErrorPage;
use crate::sign_in::people::People;
use crate::sign_in::person::person;

/// The way out.
pub(crate) const LOGOUT: &str = "/auth/logout";

/// The paths by which people come and go, where sign-in is set up.
pub(crate) fn routes<S>(people: Arc<People>) -> Router<S> {
    Router::new()
        .route("/auth/login", get(login))
        .route(CALLBACK, get(callback))
        .route(LOGOUT, post(logout))
        .with_state(people)
}

/// Sends the browser to the provider. `to` is the path to come back to.
async fn login(
    State(people): State<Arc<People>>,
    peer: Option<Extension<Peer>>,
    uri: Uri,
) -> Result<Response, ErrorPage> {
    people.may_begin(peer.map(|Extension(peer)| peer))?;
    let query = Query::read(&uri, &["to"])?;
    let to = match query.value("to") {
        None => ReturnPath::default(),
        Some(text) => ReturnPath::parse(text)
            .ok_or_else(|| wrong("to", "`to` is a path of this server, of at most 1024 bytes".to_owned()))?,
    };
    let begun = people.ask(people.call()?, move |provider| provider.begin(to, Instant::now())).await?;
    let kept = people.pending.add(begun.pending, Instant::now());
    let cookie = kept.map_err(|error| People::problem(&error))?;
    let cookie = Cookie::Login.set(&cookie, LOGIN_LIFETIME, people.transport());
    Ok(redirect(&begun.authorization_url, &[cookie]))
}

/// Takes the browser back from the provider.
async fn callback(
    State(people): State<Arc<People>>,
    Extension(place): Extension<CallerPlace>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let (to, session) = match signed_in(&people, &place, &headers, &uri).await {
        Ok(signed_in) => signed_in,
        Err(problem) => return ErrorPage(problem).into_response(),
    };
    redirect(to.as_str(), &[session, Cookie::Login.clear(people.transport())])
}

/// Ends a sign-in: the path to go to, and the cookie of the session.
async fn signed_in(
    people: &People,
    place: &CallerPlace,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<(ReturnPath, String), Problem> {
    let refused = |refusal: Refusal| People::problem(&refusal.into());
    let call = people.call()?;
    let callback = Callback::parse(uri.query().unwrap_or_default()).map_err(refused)?;
    let browser = people.cookie(Cookie::Login, headers);
    let login = people.pending.take(callback.state(), browser, Instant::now()).map_err(refused)?;
    let to = login.return_to().clone();
    let identity = people.ask(call, move |provider| provider.finish(&callback, &login, Now::read())).await?;
    let person = person(&identity, people.roles(&identity));
    let person = person.map_err(|invalid| Problem::new(SIGN_IN_REFUSED, invalid.to_string()))?;
    let person = Arc::new(person);
    // Set once for a request, and here for the first time.
    let _ = place.set(Arc::clone(&person) as Arc<dyn Principal>);
    if person.roles().is_empty() {
        let detail = format!(
            "{} is known, but in no group that has a role here; an administrator adds one to `http.oidc.roles`",
            person.name()
        );
        tracing::info!(by = person.id(), groups = identity.groups.len(), "A sign-in gave no role");
        return Err(Problem::new(SIGN_IN_REFUSED, detail));
    }
    people.end(headers);
    let begun = people.begin(identity, Arc::clone(&person))?;
    tracing::info!(by = person.id(), roles = person.roles_in_words(), "Signed in");
    Ok((to, people.cookie_of(&begun)))
}

/// Where the console goes after a logout, for scripts: a script cannot follow a redirect to the
/// provider.
#[derive(Serialize)]
struct LoggedOut {
    to: String,
}

/// Ends the session.
async fn logout(
    State(people): State<Arc<People>>,
    Extension(place): Extension<CallerPlace>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Some(session) = people.session(&headers) else {
        return Err(Problem::new(KEY_MISSING, "nobody is signed in in this browser"));
    };
    // As above.
    let _ = place.set(Arc::clone(session.grants()) as Arc<dyn Principal>);
    people.may_change(&session, &method, &headers)?;
    people.end(&headers);
    tracing::info!(by = session.grants().id(), "Signed out");
    let to = people.after_logout(&session);
    let cookie = Cookie::Session.clear(people.transport());
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if accepts.is_some_and(|accepts| accepts.contains("application/json")) {
        return Ok((AppendHeaders([(header::SET_COOKIE, cookie)]), Json(LoggedOut { to })).into_response());
    }
    Ok(redirect(&to, &[cookie]))
}

/// The person who is signed in, for the console.
#[derive(Serialize)]
struct SessionReport<'a> {
    /// Whether people can sign in.
    offered: bool,
    signed_in: Option<SignedInReport<'a>>,
}

#[derive(Serialize)]
struct SignedInReport<'a> {
    name: &'a str,
    email: Option<&'a str>,
    roles: Vec<&'static str>,
    /// The value of `stadium-csrf` for changes.
    csrf: &'a str,
}

/// Says who is signed in. It is there without sign-in too, so that the console need not guess.
pub(crate) async fn session(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let session = app.people.as_ref().and_then(|people| people.session(&headers));
    let signed_in = session.as_ref().map(|session| SignedInReport {
        name: session.grants().name(),
        email: session.identity().email.as_deref(),
        roles: session.grants().roles().iter().map(|role| role.word()).collect(),
        csrf: session.csrf_token().expose(),
    });
    Json(SessionReport { offered: app.people.is_some(), signed_in }).into_response()
}

/// A redirect that is followed with GET (RFC 9110, 15.4.4).
fn redirect(to: &str, cookies: &[String]) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    // URLs of the provider and paths of ours hold visible ASCII only, and cookies too.
    let value = |text: &str| HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("/"));
    headers.insert(header::LOCATION, value(to));
    for cookie in cookies {
        headers.append(header::SET_COOKIE, value(cookie));
    }
    response
}
