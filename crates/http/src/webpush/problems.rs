//! Problems that a sender of web push may get; docs/reference/errors/webpush.md explains each code.
//!
//! Senders act on the status: on 404 and 410 they forget the subscription, on 429 they retry, on
//! 401 and 403 they look at their keys.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::request::problem::{Code, Problem};

macro_rules! codes {
    ($($name:ident = $code:literal $status:literal $title:literal;)*) => {
        $(pub(crate) const $name: &Code = &Code { code: $code, status: $status, title: $title };)*
        /// Every code of web push.
        #[cfg(test)]
        pub(crate) const CODES: &[&Code] = &[$($name),*];
    };
}

codes! {
    TTL = "WEB-001" 400 "The header TTL is missing or no number";
    HEADER = "WEB-002" 400 "A header of the push message is wrong";
    ENCODING = "WEB-003" 415 "The content encoding is not one of web push";
    LARGE = "WEB-004" 413 "The push message is too large";
    ENDPOINT_UNKNOWN = "WEB-005" 404 "No subscription has this endpoint";
    SUBSCRIPTION_OVER = "WEB-006" 410 "The subscription is over";
    VAPID_MISSING = "WEB-007" 401 "The subscription needs VAPID";
    VAPID_WRONG = "WEB-008" 403 "The VAPID token is not valid";
    MESSAGE_UNKNOWN = "WEB-009" 404 "No message is at this address";
    NOT_DELIVERED = "WEB-010" 410 "The message will not be delivered";
    SUBSCRIPTIONS_FULL = "WEB-011" 409 "The device has too many subscriptions";
    SUBSCRIPTION_UNKNOWN = "WEB-012" 404 "The device has no such subscription";
}

/// A problem as senders of web push hear it: 401 asks for VAPID, not for an API key.
pub(crate) struct Refused(pub(crate) Problem);

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        let headers = response.headers_mut();
        if headers.contains_key(header::WWW_AUTHENTICATE) {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("vapid"));
        }
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_pages::{section, sections};

    #[test]
    fn every_code_has_its_section_and_every_section_its_code() {
        for code in CODES {
            let section = section(code.code).unwrap_or_else(|| panic!("{} has no section", code.code));
            assert_eq!(section.title, code.title, "{}", code.code);
            assert!(section.text.starts_with(&format!("Status {}.", code.status)), "{}", code.code);
        }
        assert_eq!(sections().filter(|section| section.code.starts_with("WEB-")).count(), CODES.len());
    }
}
