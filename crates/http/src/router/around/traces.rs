//! The span of a request: by the semantic conventions of OpenTelemetry for HTTP servers.
//!
//! Neither the query nor a header is in it, because both may hold secrets. Requests for health and
//! metrics have none: they come every few seconds and say nothing.

use axum::extract::Request;
use axum::http::{StatusCode, header};
use stadium_telemetry::{Kind, Outcome, Root, TraceContext, Tracer};

use crate::live::health::is_health;
use crate::request::peer::Peer;

/// The header of W3C Trace Context.
const TRACEPARENT: &str = "traceparent";

/// Bytes of a path and of a user agent that are exported; what follows is left out.
const TEXT_BYTES_MAX: usize = 256;

/// Begins the span of a request, if it is to be recorded.
pub(super) fn begin(
    tracer: &Tracer,
    request: &Request,
    label: &str,
    route: Option<&str>,
    peer: Option<Peer>,
) -> Option<Root> {
    let path = request.uri().path();
    if !tracer.is_on() || is_health(path) || path == "/metrics" {
        return None;
    }
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let caller = header(TRACEPARENT).and_then(TraceContext::parse);
    let mut root = tracer.begin(label.to_owned(), Kind::Server, caller)?;
    let span = &mut root.span;
    span.set("http.request.method", request.method().as_str().to_owned());
    if let Some(route) = route {
        span.set("http.route", route.to_owned());
    }
    span.set("url.path", cut(path));
    if let Some(Peer(address)) = peer {
        span.set("client.address", address.to_string());
    }
    if let Some(agent) = header(header::USER_AGENT.as_str()) {
        span.set("user_agent.original", cut(agent));
    }
    Some(root)
}

/// Ends it with the status of its answer, and with the code of a refusal.
pub(super) fn end(mut root: Root, status: StatusCode, code: Option<&str>) {
    root.span.set("http.response.status_code", i64::from(status.as_u16()));
    if let Some(code) = code {
        root.span.set("stadium.error.code", code.to_owned());
    }
    if status.is_server_error() {
        let kind = code.map_or_else(|| status.as_str().to_owned(), str::to_owned);
        root.span.set("error.type", kind.clone());
        root.end(Outcome::Failed(kind));
    } else {
        root.end(Outcome::Answered);
    }
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
}
