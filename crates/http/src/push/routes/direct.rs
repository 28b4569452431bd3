//! `POST /api/push` and `GET /api/pushes`: an alias for live pushes, by client ids and channels.
//!
//! The pushes are those of the app `default`, under the same ids and with the same records; see
//! [`crate::push::live`]. One thing differs: a persistent session keeps the message for a client that
//! is away, as it keeps any PUBLISH of QoS 1.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use parking_lot::Mutex;
use stadium_push::live::TopicPush;
use stadium_push::{AppName, PushId};

use crate::platform::ids::push_id;
use crate::push::direct::fields::PushRequest;
use crate::push::direct::views::{AcceptedPush, PushList, PushView};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::{idempotency_key, read_json};
use crate::request::idempotency::{Ids, Known, hash_of};
use crate::request::problem::{ID_REUSED, PUSH_UNKNOWN, Problem, ProblemSchema};
use crate::request::query::{Name, Query};
use crate::request::readiness::not_ready;

/// Pushes in a list unless the caller asks for another number.
const LIST_DEFAULT: usize = 50;

/// Pushes in a list at most.
const LIST_MAX: usize = 500;

/// Hands a push over.
///
/// 202: the server owns it now, and `url` shows how far it has come. 503: it does not, try again after `Retry-After`. 4xx:
/// it never will. 504: it may own it. With the header `Idempotency-Key` a repeated request gets the first answer and pushes nothing.
#[utoipa::path(post, operation_id = "push", path = "/api/push", tag = "Pushes",
    extensions(("x-right" = json!("push.send:default"))), request_body = PushRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters that name this request.")),
    responses((status = 202, description = "Accepted.", body = AcceptedPush,
               headers(("Location" = String, description = "Where to see how far it has come."),
                       ("Idempotent-Replayed" = Option<String>, description = "`true` when this is the answer to an earlier request."))),
              (status = 400, description = "`HTTP-004`, `HTTP-016`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 413, description = "`HTTP-007`", body = ProblemSchema),
              (status = 415, description = "`HTTP-006`", body = ProblemSchema),
              (status = 422, description = "`HTTP-005`, `HTTP-015`, or the fleet's own code", body = ProblemSchema),
              (status = 503, description = "`HTTP-013`, `HTTP-014`", body = ProblemSchema),
              (status = 504, description = "`HTTP-018`: it may have been taken", body = ProblemSchema)))]
pub(crate) async fn create(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(ids): State<Arc<Mutex<Ids>>>,
    request: Request,
) -> Result<Response, Problem> {
    let named = idempotency_key(request.headers())?.is_some();
    let id = push_id(request.headers(), caller.key_id(), None)?;
    let (new, body): (PushRequest, Bytes) = read_json(&app, request).await?;
    let new = new.check(id, app.config.push_bounds())?;
    if !named {
        push(&app, new)?;
        return Ok(accepted(id, Answer::First));
    }
    let name = (new.push.app.clone(), id);
    // Held while the fleet takes the push, which never blocks: of two equal requests at once one
    // pushes.
    let mut ids = ids.lock();
    match ids.begin(&name, &hash_of(&body), Instant::now()) {
        Known::Accepted | Known::UnderWay => Ok(accepted(id, Answer::Repeated)),
        Known::OtherRequest => {
            let detail =
                "the header `Idempotency-Key` came with another body before; make a new key for each push";
            Err(Problem::new(ID_REUSED, detail))
        }
        Known::New => {
            let pushed = push(&app, new);
            match &pushed {
                Ok(()) => ids.accepted(&name),
                Err(_) => ids.refused(&name),
            }
            pushed.map(|()| accepted(id, Answer::First))
        }
    }
}

fn push(app: &App, new: TopicPush) -> Result<(), Problem> {
    match not_ready(&app.fleet.readiness()) {
        Some(problem) => Err(problem),
        None => Ok(app.fleet.push(new)?),
    }
}

enum Answer {
    First,
    Repeated,
}

fn accepted(id: PushId, answer: Answer) -> Response {
    let url = format!("/api/pushes/{id}");
    let location = HeaderValue::from_str(&url).expect("a path of letters and digits is a header value");
    let body = AcceptedPush { id: id.to_string(), status: "accepted", url };
    let mut response = (StatusCode::ACCEPTED, [(header::LOCATION, location)], Json(body)).into_response();
    if let Answer::Repeated = answer {
        let replayed = HeaderName::from_static("idempotent-replayed");
        response.headers_mut().insert(replayed, HeaderValue::from_static("true"));
    }
    response
}

/// The newest pushes.
#[utoipa::path(get, operation_id = "list_pushes", path = "/api/pushes", tag = "Pushes",
    extensions(("x-right" = json!("push.read:default"))),
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "How many; 50 by default.")),
    responses((status = 200, description = "The newest first.", body = PushList),
              (status = 400, description = "`HTTP-017`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema)))]
pub(crate) async fn list(
    _: Caller,
    State(app): State<Arc<App>>,
    uri: Uri,
) -> Result<Json<PushList>, Problem> {
    let limit = Query::read(&uri, &["limit"])?.limit(LIST_DEFAULT, LIST_MAX)?;
    Ok(Json(PushList { pushes: app.fleet.pushes(None, None, limit).iter().map(PushView::of).collect() }))
}

/// How far a push has come.
#[utoipa::path(get, operation_id = "find_push", path = "/api/pushes/{id}", tag = "Pushes",
    extensions(("x-right" = json!("push.read:default"))),
    params(("id" = String, Path, description = "The push's id.")),
    responses((status = 200, description = "What is known of it.", body = PushView),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 404, description = "`HTTP-010`", body = ProblemSchema)))]
pub(crate) async fn show(
    _: Caller,
    State(app): State<Arc<App>>,
    Name(id): Name,
) -> Result<Json<PushView>, Problem> {
    let default = AppName::default();
    let unknown = || {
        Problem::new(PUSH_UNKNOWN, format!("{id:?} is no live push of the app `default` that is remembered"))
    };
    let push: PushId = id.parse().map_err(|_| unknown())?;
    let report = app.fleet.push_report(&default, push);
    let report = report
        .ok_or_else(|| unknown().adding(&format!("a durable push is at /api/apps/APP/pushes/{push}")))?;
    Ok(Json(PushView::of(&report)))
}
