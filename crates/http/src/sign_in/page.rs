//! An error of the sign-in as a page: a person reads it, where a program reads a problem document.

use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};

use crate::docs::{page, prose};
use crate::request::problem::Problem;

/// The page of an error, with the error's status and headers.
pub(super) struct ErrorPage(pub(super) Problem);

impl From<Problem> for ErrorPage {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl IntoResponse for ErrorPage {
    fn into_response(self) -> Response {
        let (code, title, detail) = self.0.code_title_detail();
        let body = format!(
            "<h1>{title} <small>{code}</small></h1>{}\
             <p><a href=\"/auth/login\">Sign in again</a></p>\
             <p><a href=\"/live\">Back to the console</a></p>\
             <p><a href=\"/docs/errors/{code}\">About this error</a></p>",
            prose(detail)
        );
        let mut shown = page(title, &body);
        let plain = self.0.into_response();
        *shown.status_mut() = plain.status();
        for name in [HeaderName::from_static("stadium-error"), header::RETRY_AFTER] {
            if let Some(value) = plain.headers().get(&name) {
                shown.headers_mut().insert(name, value.clone());
            }
        }
        shown
    }
}
