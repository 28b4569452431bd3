//! The body of a request and its headers about repeating it, read strictly.
//!
//! A body is JSON with known fields; an unknown or mistaken one is refused with its path, and
//! nothing has happened.

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::request::app::App;
use crate::request::idempotency::KEY_CHARS_MAX;
use crate::request::problem::{BODY_NOT_JSON, CONTENT_TYPE_WRONG, FIELD_WRONG, ID_WRONG, Problem, TOO_LARGE};

/// Reads a JSON body strictly, and returns its bytes too.
pub(crate) async fn read_json<T: DeserializeOwned>(
    app: &App,
    request: Request,
) -> Result<(T, Bytes), Problem> {
    json_type(request.headers())?;
    let body = bytes(app, request).await?;
    Ok((parse(&body)?, body))
}

/// As [`read_json`], where a request without a body means the defaults.
pub(crate) async fn read_json_or_default<T: DeserializeOwned + Default>(
    app: &App,
    request: Request,
) -> Result<T, Problem> {
    let type_checked = json_type(request.headers());
    let body = bytes(app, request).await?;
    if body.is_empty() {
        return Ok(T::default());
    }
    type_checked?;
    parse(&body)
}

fn json_type(headers: &HeaderMap) -> Result<(), Problem> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = content_type.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let given = content_type.unwrap_or("nothing");
    Err(Problem::new(CONTENT_TYPE_WRONG, format!("the content type is {given}")))
}

/// The bytes of a body, within the bound.
pub(crate) async fn bytes(app: &App, request: Request) -> Result<Bytes, Problem> {
    Bytes::from_request(request, &()).await.map_err(|error| {
        if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
            let bound = app.config.body_bytes_max;
            Problem::new(TOO_LARGE, format!("the body has more bytes than body_bytes_max allows, {bound}"))
        } else {
            Problem::new(BODY_NOT_JSON, format!("the body ended early: {error}"))
        }
    })
}

/// Reads JSON text strictly.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    // Serde would also take a list of the fields' values in their order, which nobody should rely on.
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(Problem::new(FIELD_WRONG, "the body is a JSON object with named fields, not a list"));
    }
    // The path of a mistake is kept track of only where there is one.
    if let Ok(value) = serde_json::from_slice(body) {
        return Ok(value);
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        match inner.classify() {
            serde_json::error::Category::Data => Problem::new(FIELD_WRONG, inner.to_string()).at(path),
            _ => Problem::new(BODY_NOT_JSON, inner.to_string()),
        }
    })?;
    json.end().map_err(|error| Problem::new(BODY_NOT_JSON, error.to_string()))?;
    Ok(value)
}

/// The request's own name, where it has one.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut given = headers.get_all("idempotency-key").iter();
    let Some(value) = given.next() else { return Ok(None) };
    let visible = |byte: &u8| byte.is_ascii_graphic();
    let bytes = value.as_bytes();
    if given.next().is_some() || bytes.is_empty() || bytes.len() > KEY_CHARS_MAX || !bytes.iter().all(visible)
    {
        let detail =
            format!("`Idempotency-Key` is sent once and has 1 to {KEY_CHARS_MAX} visible ASCII characters");
        return Err(Problem::new(ID_WRONG, detail));
    }
    Ok(Some(String::from_utf8_lossy(bytes).into_owned()))
}
