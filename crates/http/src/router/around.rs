//! The rules of every request: a time limit, headers that make a browser careful, a count, a span, an
//! entry in the audit log.
//!
//! A path with a time limit of its own, or without entries in the audit log, is named here.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use stadium_telemetry::{enter, in_trace};

use crate::audit_log::{AuditedPath, CallerPlace, Change, DryRun};
use crate::live::health::is_health;
use crate::metrics::requests::Requests;
use crate::principal::Principal;
use crate::queue::routes::leases::WAIT_MAX;
use crate::request::app::App;
use crate::request::peer::Peer;
use crate::request::problem::{KEY_UNKNOWN, Problem, TIMED_OUT};
use crate::sign_in::config::CALLBACK;
use crate::sign_in::routes::LOGOUT;
use traces::Described;

mod traces;

/// The path whose request takes as long as its file.
const IMPORT: &str = "/api/apps/{app}/devices/import";

/// The path whose requests may wait for work.
const RESERVE: &str = "/api/queues/{queue}/reserve";

/// The path under which jobs are put.
const PUT_JOBS: &str = "/api/queues/{queue}/jobs";

/// The path that names a user who is to be erased. The audit log has it without the name.
const ERASE: &str = "/api/users/{user}/erase";

/// Time that a file of devices may take to come.
const IMPORT_MAX: Duration = Duration::from_secs(3_600);

/// Answers a request within its time limit, counts it, and adds the headers that make a browser
/// careful.
pub(crate) async fn around(
    State(app): State<Arc<App>>,
    State(requests): State<Arc<Requests>>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let path = request.extensions().get::<MatchedPath>().cloned();
    let path = path.as_ref().map(MatchedPath::as_str);
    let is_private = ["/api/", "/auth/"].iter().any(|start| request.uri().path().starts_with(start));
    let waits = match path {
        Some(RESERVE) => WAIT_MAX,
        Some(IMPORT) => IMPORT_MAX,
        _ => Duration::ZERO,
    };
    let peer = request.extensions().get::<Peer>().copied();
    let may_ask = match is_health(request.uri().path()) {
        true => Ok(()),
        false => app.keyless.check(&request),
    };
    let asked = request.uri().clone();
    let change = ChangeAsked::of(&mut request, path);
    let limit = app.config.request_timeout + waits;
    let route = requests.label(&method, path);
    let traced = traces::begin(&app.config.tracer, &request);
    let answered = match may_ask {
        Ok(()) => {
            let trace = traced.as_ref().map(|traced| Arc::clone(traced.trace()));
            tokio::time::timeout(limit, in_trace(trace, next.run(request))).await
        }
        Err(problem) => Ok(problem.into_response()),
    };
    let mut response = answered.unwrap_or_else(|_| {
        let limit = limit.as_secs_f64();
        let detail =
            format!("it was not answered within {limit} s; repeat a push, a put or a transfer with its Idempotency-Key");
        Problem::new(TIMED_OUT, detail).retry_after(Duration::from_secs(1)).into_response()
    });
    let headers = response.headers_mut();
    let careful = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in careful {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if is_private {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if header(&response, ERROR_CODE) == Some(KEY_UNKNOWN.code) {
        record(&app, None, peer, &route, &asked, &response);
    } else if let Some(change) = change {
        change.answered(&app, peer, &route, &asked, &response);
    }
    let took = started.elapsed();
    let entered = traced.as_ref().map(|traced| enter(Arc::clone(traced.trace())));
    tracing::debug!(
        route = &*route,
        status = response.status().as_u16(),
        took_us = took.as_micros(),
        "HTTP request"
    );
    drop(entered);
    if let Some(traced) = traced {
        let described = Described { label: &route, method: &method, route: path, path: asked.path(), peer };
        traces::end(traced, &described, response.status(), header(&response, ERROR_CODE));
    }
    app.keyless.answered(peer, response.status());
    requests.answered(route, response.status().as_u16(), took);
    response
}

/// A request that may change something, on its way to its entry in the audit log.
struct ChangeAsked {
    caller: CallerPlace,
    /// Somebody comes or goes: that is written down even where nobody is known.
    is_sign_in: bool,
}

impl ChangeAsked {
    /// None of a request that only looks, of work on jobs and transfers, which have histories of their
    /// own, and of messages to topics, which are counted.
    fn of(request: &mut Request, route: Option<&str>) -> Option<Self> {
        let route = route?;
        let own_history = [
            "/api/jobs",
            "/api/leases",
            "/api/transfers",
            "/api/together",
            "/api/publish",
            "/api/topics",
            RESERVE,
            PUT_JOBS,
        ];
        let looks = *request.method() == Method::GET || *request.method() == Method::HEAD;
        let is_sign_in = match route {
            CALLBACK => looks,
            LOGOUT => !looks,
            _ => false,
        };
        if !is_sign_in
            && (looks
                || route.ends_with("/preview")
                || !route.starts_with("/api/")
                || own_history.iter().any(|start| route.starts_with(start)))
        {
            return None;
        }
        let caller = CallerPlace::default();
        request.extensions_mut().insert(Arc::clone(&caller));
        Some(Self { caller, is_sign_in })
    }

    /// Writes it down, unless no key is known or its handler changed nothing.
    fn answered(&self, app: &App, peer: Option<Peer>, route: &Arc<str>, asked: &Uri, response: &Response) {
        let caller = self.caller.get();
        if (caller.is_none() && !self.is_sign_in) || response.extensions().get::<DryRun>().is_some() {
            return;
        }
        record(app, caller, peer, route, asked, response);
    }
}

/// The header with the code of a refusal.
const ERROR_CODE: HeaderName = HeaderName::from_static("stadium-error");

fn header(response: &Response, name: HeaderName) -> Option<&str> {
    response.headers().get(name).and_then(|value| value.to_str().ok())
}

/// Writes an entry of the audit log.
fn record(
    app: &App,
    caller: Option<&Arc<dyn Principal>>,
    peer: Option<Peer>,
    route: &Arc<str>,
    asked: &Uri,
    response: &Response,
) {
    // The query names the thing that is changed where a path stands for several. That of a callback
    // holds the provider's code, and where a sign-in goes is no thing that it made.
    let is_sign_in = matches!(asked.path(), CALLBACK | LOGOUT);
    let (path, made) = match is_sign_in {
        true => (asked.path(), None),
        false => {
            let whole = asked.path_and_query().map_or(asked.path(), |whole| whole.as_str());
            let other = response.extensions().get::<AuditedPath>().map(|AuditedPath(path)| path.as_str());
            // Also a refusal must not name the user for ever.
            let whole = other.unwrap_or(if route.ends_with(ERASE) { ERASE } else { whole });
            (whole, header(response, header::LOCATION))
        }
    };
    let change = Change {
        caller,
        address: peer.map(|Peer(address)| address),
        route,
        path,
        made,
        status: response.status().as_u16(),
        code: header(response, ERROR_CODE),
    };
    app.audit.record(&change, SystemTime::now());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoints::endpoints;

    #[test]
    fn paths_with_a_rule_of_their_own_are_endpoints() {
        let described = endpoints().into_openapi().paths.paths;
        for path in [IMPORT, RESERVE, PUT_JOBS, ERASE] {
            assert!(described.contains_key(path), "{path}");
        }
    }
}
