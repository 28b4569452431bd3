//! The span of a request: by the semantic conventions of OpenTelemetry for HTTP servers.
//!
//! Neither the query nor a header is in it, because both may hold secrets. Requests for health and
//! metrics have none: they come every few seconds and say nothing.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use stadium_telemetry::{Kind, Outcome, Root, Trace, TraceContext, Tracer};

use crate::live::health::is_health;
use crate::request::peer::Peer;

/// The header of W3C Trace Context.
const TRACEPARENT: &str = "traceparent";

/// Bytes of a path and of a user agent that are exported; what follows is left out.
const TEXT_BYTES_MAX: usize = 256;

/// A request that may be exported: its span, and the part of its description that is known only while
/// it is there.
pub(super) struct Traced {
    root: Root,
    agent: Option<HeaderValue>,
}

impl Traced {
    /// The span that the request's work belongs to.
    pub(super) fn trace(&self) -> &Arc<Trace> {
        self.root.trace()
    }
}

/// The description of a request in its span.
pub(super) struct Described<'a> {
    pub(super) label: &'a str,
    pub(super) method: &'a Method,
    pub(super) route: Option<&'a str>,
    pub(super) path: &'a str,
    pub(super) peer: Option<Peer>,
}

/// Begins the span of a request, if it is to be recorded.
pub(super) fn begin(tracer: &Tracer, request: &Request) -> Option<Traced> {
    let path = request.uri().path();
    if !tracer.is_on() || is_health(path) || path == "/metrics" {
        return None;
    }
    let caller = request.headers().get(TRACEPARENT).and_then(|value| value.to_str().ok());
    // Its name and its attributes are given at its end: most spans are dropped there.
    let root = tracer.begin("", Kind::Server, caller.and_then(TraceContext::parse))?;
    Some(Traced { root, agent: request.headers().get(header::USER_AGENT).cloned() })
}

/// Ends it with the status of its answer, and with the code of a refusal.
pub(super) fn end(traced: Traced, request: &Described<'_>, status: StatusCode, code: Option<&str>) {
    let Traced { root, agent } = traced;
    let failed =
        status.is_server_error().then(|| code.map_or_else(|| status.as_str().to_owned(), str::to_owned));
    let outcome = failed.clone().map_or(Outcome::Answered, Outcome::Failed);
    root.end_described(outcome, |span| {
        span.name = request.label.to_owned().into();
        span.set("http.request.method", request.method.as_str().to_owned());
        if let Some(route) = request.route {
            span.set("http.route", route.to_owned());
        }
        span.set("url.path", cut(request.path));
        if let Some(Peer(address)) = request.peer {
            span.set("client.address", address.to_string());
        }
        if let Some(agent) = agent.as_ref().and_then(|agent| agent.to_str().ok()) {
            span.set("user_agent.original", cut(agent));
        }
        span.set("http.response.status_code", i64::from(status.as_u16()));
        if let Some(code) = code {
            span.set("stadium.error.code", code.to_owned());
        }
        if let Some(kind) = failed {
            span.set("error.type", kind);
        }
    });
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
}
