//! Errors as the API answers them: RFC 9457 problem documents with a stable code.
//!
//! Every code of this crate is a row of [`CODES`] and has a section in
//! docs/reference/errors/http.md, topic.md or erasure.md, see [`crate::error_pages`]. Codes of a
//! fleet's or a shard's refusal pass through under their own name.

use std::borrow::Cow;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::fleet::Refusal;

/// A kind of error: its stable code, its status, and its one-line title.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// For example `HTTP-004`.
    pub code: &'static str,
    /// The HTTP status that goes with it.
    pub status: u16,
    /// The same words each time (RFC 9457, 3.1.3).
    pub title: &'static str,
}

macro_rules! codes {
    ($($name:ident = $code:literal $status:literal $title:literal;)*) => {
        $(pub(crate) const $name: &Code = &Code { code: $code, status: $status, title: $title };)*
        /// Every code of this crate.
        pub const CODES: &[&Code] = &[$($name),*];
    };
}

codes! {
    KEY_MISSING = "HTTP-001" 401 "An API key is needed";
    KEY_UNKNOWN = "HTTP-002" 401 "The API key is not known";
    RIGHT_MISSING = "HTTP-003" 403 "The caller has no right to this";
    BODY_NOT_JSON = "HTTP-004" 400 "The body is not JSON";
    FIELD_WRONG = "HTTP-005" 422 "A field of the body is wrong";
    CONTENT_TYPE_WRONG = "HTTP-006" 415 "The body must be application/json";
    TOO_LARGE = "HTTP-007" 413 "The body or the message is too large";
    PATH_UNKNOWN = "HTTP-008" 404 "Nothing is at this path";
    METHOD_WRONG = "HTTP-009" 405 "The path does not take this method";
    PUSH_UNKNOWN = "HTTP-010" 404 "The push is not known";
    DEVICE_UNKNOWN = "HTTP-011" 404 "The device is not known";
    DEVICE_AWAY = "HTTP-012" 409 "The device is not connected";
    FLEET_BUSY = "HTTP-013" 503 "The fleet is busy";
    NOT_READY = "HTTP-014" 503 "The server is not ready";
    ID_REUSED = "HTTP-015" 422 "The idempotency key belongs to another request";
    ID_WRONG = "HTTP-016" 400 "The idempotency key is not valid";
    QUERY_WRONG = "HTTP-017" 400 "A query parameter is wrong";
    TIMED_OUT = "HTTP-018" 504 "The request took too long";
    VIEWS_FULL = "HTTP-019" 503 "Too many live views are open";
    API_KEY_UNKNOWN = "HTTP-020" 404 "No API key has this id";
    LAST_ADMIN = "HTTP-021" 409 "The last admin key stays";
    KEYS_FULL = "HTTP-022" 409 "There are too many API keys";
    KEYS_NOT_WRITTEN = "HTTP-023" 500 "The API keys could not be saved";
    WEBSOCKET_ELSEWHERE = "HTTP-024" 501 "MQTT over WebSocket is not served on this port";
    CONNECTIONS_FULL = "HTTP-025" 503 "Too many connections are open";
    SHARDS_STARTING = "HTTP-026" 503 "The shards are not running yet";
    ANSWER_STRANGE = "HTTP-027" 504 "The answer did not fit the request";
    NAME_WRONG = "HTTP-028" 422 "A name in the path is not valid";
    AUDIT_NOT_READ = "HTTP-029" 500 "The audit log cannot be read";
    NO_RANDOM_BYTES = "HTTP-030" 503 "The system gave no random bytes";
    REQUESTS_TOO_MANY = "HTTP-031" 429 "Too many requests without an API key";
    LIMIT_REACHED = "HTTP-032" 429 "The limit of the API key's grant is reached";
    TOKEN_MISSING = "HTTP-033" 403 "The request lacks the session's token";
    SIGN_IN_REFUSED = "HTTP-034" 403 "The sign-in is refused";
    SIGN_IN_AWAY = "HTTP-035" 503 "Signing in is not possible now";
    DEVICE_TOKEN_WRONG = "HTTP-036" 401 "The device token is not valid";
    NO_CLUSTER = "HTTP-037" 404 "The server is not part of a cluster";
    KEYS_AWAY = "HTTP-038" 503 "API keys cannot be changed now";
    RULES_CHANGED = "RULES-001" 412 "The rules are others by now";
    RULES_WRONG = "RULES-002" 422 "A rule is wrong";
    RULES_FIXED = "RULES-003" 409 "The rules cannot be set here";
    RULES_NOT_WRITTEN = "RULES-004" 500 "The rules could not be saved";
    TOPIC_WRONG = "TOPIC-001" 422 "The topic or the filter is not valid";
    RETAINED_FULL = "TOPIC-002" 409 "There is no room to keep the message";
    STREAMS_FULL = "TOPIC-003" 503 "Too many streams are open";
    TICKET_WRONG = "TOPIC-004" 401 "The ticket is not valid";
    BALANCES_LEFT = "ERA-001" 409 "The user has accounts that are not empty";
    ERASURE_UNKNOWN = "ERA-002" 404 "The erasure is not known";
    ERASURES_FULL = "ERA-003" 503 "Too many erasures";
    NODE_SILENT = "ERA-004" 503 "A node of the cluster does not answer";
    ERASURES_NOT_KEPT = "ERA-005" 500 "The erasures cannot be read or written";
    RECEIPT_WRONG = "ERA-006" 422 "The receipt is not genuine";
    ERASURES_AWAY = "ERA-007" 503 "The erasures of the cluster are out of reach";
    NODES_LATE = "ERA-008" 503 "Nodes have not ended the user's sessions yet";
    NODE_ALIVE = "ERA-009" 409 "The node takes part in the cluster";
    NODE_UNKNOWN = "ERA-010" 404 "The node is not in the list of nodes with sessions";
}

/// An error on its way to the caller.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    code: Cow<'static, str>,
    status: u16,
    title: Cow<'static, str>,
    detail: String,
    path: Option<String>,
    retry_after: Option<Duration>,
}

/// The document that a failed request answers (RFC 9457), as `application/problem+json`.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemDocument<'a> {
    /// Where the code is explained.
    r#type: String,
    /// The kind of error in words, the same each time.
    title: Cow<'a, str>,
    /// The HTTP status.
    status: u16,
    /// The stable code, for programs to compare.
    #[schema(example = "HTTP-005")]
    code: Cow<'a, str>,
    /// What happened this time, and what to do.
    detail: Cow<'a, str>,
    /// The field of the body or the query parameter that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Cow<'a, str>>,
    /// Seconds to wait before another try, as in the header `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_s: Option<u64>,
}

/// The document as descriptions of endpoints name it.
pub(crate) type ProblemSchema = ProblemDocument<'static>;

impl Problem {
    /// Whether it may have happened.
    pub(crate) fn is_unknown(&self) -> bool {
        self.status == 504
    }

    pub(crate) fn new(code: &'static Code, detail: impl Into<String>) -> Self {
        Self {
            code: code.code.into(),
            status: code.status,
            title: code.title.into(),
            detail: detail.into(),
            path: None,
            retry_after: None,
        }
    }

    /// A refusal of another crate, under its own code and title.
    pub(crate) fn foreign(code: &'static str, status: u16, title: String, detail: String) -> Self {
        let (code, title) = (code.into(), title.into());
        Self { code, status, title, detail, path: None, retry_after: None }
    }

    /// Its title and detail, for a page.
    pub(crate) fn code_title_detail(&self) -> (&str, &str, &str) {
        (&self.code, &self.title, &self.detail)
    }

    pub(crate) fn has_code(&self, code: &str) -> bool {
        self.code == code
    }

    /// What is wrong, with the field's path: for callers without HTTP.
    pub(crate) fn in_words(&self) -> String {
        match self.path.as_deref().filter(|path| !path.is_empty()) {
            Some(path) => format!("{path}: {} ({})", self.detail, self.code),
            None => format!("{} ({})", self.detail, self.code),
        }
    }

    /// The same of something that stands inside of something else: `pushes[3].`.
    pub(crate) fn within(mut self, at: &str) -> Self {
        self.path = self.path.map(|path| format!("{at}{path}"));
        self
    }

    /// Names the field or parameter that is wrong.
    pub(crate) fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Adds details about what happened.
    pub(crate) fn adding(mut self, words: &str) -> Self {
        self.detail = format!("{}; {words}", self.detail);
        self
    }

    /// Whether the same may be asked again: nothing happened, or it is not known.
    pub(crate) fn may_be_repeated(&self) -> bool {
        self.retry_after.is_some()
    }

    pub(crate) fn retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }

    fn document(&self) -> ProblemDocument<'_> {
        ProblemDocument {
            r#type: format!("/docs/errors/{}", self.code),
            title: Cow::Borrowed(&self.title),
            status: self.status,
            code: Cow::Borrowed(&self.code),
            detail: Cow::Borrowed(&self.detail),
            path: self.path.as_deref().map(Cow::Borrowed),
            retry_after_s: self.retry_after.map(whole_seconds),
        }
    }

    /// The document itself, for an answer about several things of which this one failed.
    pub(crate) fn into_document(self) -> ProblemDocument<'static> {
        ProblemDocument {
            r#type: format!("/docs/errors/{}", self.code),
            title: self.title,
            status: self.status,
            code: self.code,
            detail: self.detail.into(),
            path: self.path.map(Cow::Owned),
            retry_after_s: self.retry_after.map(whole_seconds),
        }
    }
}

/// Retry-After counts whole seconds (RFC 9110, 10.2.3): rounded up, and never "at once".
fn whole_seconds(delay: Duration) -> u64 {
    let up = u64::from(delay.subsec_nanos() > 0);
    (delay.as_secs() + up).max(1)
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Busy { retry_after, reason } => Self::new(FLEET_BUSY, reason).retry_after(retry_after),
            Refusal::Rejected { code, reason } => Self {
                code: code.into(),
                status: 422,
                title: "The fleet rejected it".into(),
                detail: reason,
                path: None,
                retry_after: None,
            },
            Refusal::Unknown { reason } => Self::new(TIMED_OUT, reason).retry_after(Duration::from_secs(1)),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.document()).expect("strings and numbers always serialise");
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        // The label of the error in the request metrics, and what a caller greps for in a trace.
        if let Ok(code) = HeaderValue::from_str(&self.code) {
            headers.insert(HeaderName::from_static("stadium-error"), code);
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"stadium\""));
        }
        if let Some(delay) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(delay)));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_never_used_twice() {
        let mut codes: Vec<_> = CODES.iter().map(|code| code.code).collect();
        codes.dedup();
        assert_eq!(codes.len(), CODES.len());
    }

    #[test]
    fn retry_after_is_rounded_up_to_a_second() {
        assert_eq!(whole_seconds(Duration::from_millis(1)), 1);
        assert_eq!(whole_seconds(Duration::ZERO), 1);
        assert_eq!(whole_seconds(Duration::from_millis(2_500)), 3);
    }
}
