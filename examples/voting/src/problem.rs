//! The messages for people and devices when a request came to nothing, in one table for both ways
//! in.
//!
//! Codes are stable: the README lists them. Over HTTP a problem is a problem+json of RFC 9457, over MQTT an answer with the
//! same code.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::bank::Refused;

/// Why nothing happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Of HTTP.
    pub(crate) status: StatusCode,
    /// `VOT-NNN`.
    pub(crate) code: &'static str,
    /// The code in words.
    pub(crate) title: &'static str,
    /// What exactly, and what to do.
    pub(crate) detail: String,
}

impl Problem {
    /// The request has an impossible value.
    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "VOT-001", "malformed request", detail)
    }

    /// The ticket is not the voter's.
    pub(crate) fn ticket() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "VOT-002",
            "wrong ticket",
            "this is not the voter's ticket: type it as it is printed",
        )
    }

    /// The token is nobody's, or too old; or the key is not the operator's.
    pub(crate) fn token() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "VOT-003",
            "not logged in",
            "send `Authorization: Bearer TOKEN` with a token of POST /api/login (for credits: the operator's key)",
        )
    }

    /// Nobody of that name stands on the ballot.
    pub(crate) fn candidate(id: &str) -> Self {
        let id: String = id.chars().take(64).collect();
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "VOT-004",
            "unknown candidate",
            format!("{id:?} is not on the ballot: GET /api/candidates lists it"),
        )
    }

    fn new(status: StatusCode, code: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, title, detail: detail.into() }
    }

    /// The message for a device.
    pub(crate) fn to_answer(&self) -> Value {
        let status = if self.is_busy() { "busy" } else { "refused" };
        json!({ "status": status, "code": self.code, "title": self.title, "detail": self.detail })
    }

    fn is_busy(&self) -> bool {
        self.status == StatusCode::SERVICE_UNAVAILABLE
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NoCredit => Self::new(
                StatusCode::PAYMENT_REQUIRED,
                "VOT-005",
                "no vote left",
                "each vote must be paid for, and all of yours are cast",
            ),
            Refused::Closed => Self::new(
                StatusCode::FORBIDDEN,
                "VOT-006",
                "voting has closed",
                "the vote came too late; nothing was taken",
            ),
            Refused::Busy(why) => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "VOT-007",
                "busy",
                format!("ask the same again with the same id, it counts once ({why})"),
            ),
            Refused::Reused => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "VOT-008",
                "id reused",
                "this id was used for something else: take another one",
            ),
            Refused::Other(code, reason) => Self::new(
                StatusCode::BAD_GATEWAY,
                "VOT-009",
                "refused by Stadium",
                format!("{reason} ({code})"),
            ),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({
            "type": "about:blank",
            "title": self.title,
            "status": self.status.as_u16(),
            "code": self.code,
            "detail": self.detail,
        });
        let mut response = (self.status, body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/problem+json"));
        if self.is_busy() {
            headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        response
    }
}
