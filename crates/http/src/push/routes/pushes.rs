//! Pushes of the platform: hand one over, see what became of it, change or cancel it.
//!
//! A push is accepted at most once for its id, so a request that was not answered can be sent again as it was. An answer means that the
//! push is on disk. Pushes to channels and to whoever is connected, kept nowhere, are `POST /api/push`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use stadium_push::{Accepted, Command, PushId, PushView, Refusal, Time, refusal};
use stadium_registry::AppName;

use crate::audiences::routes::count;
use crate::audiences::views::PreviewReport;
use crate::platform::app_name;
use crate::platform::ids::push_id;
use crate::platform::in_path;
use crate::platform::problems::{PlatformLookProblems, PlatformProblems};
use crate::push::fields::PushFields;
use crate::push::views::{AcceptedPushReport, PlatformPushPage, PlatformPushReport, Shown};
use crate::request::access::{Reader, Sender};
use crate::request::app::App;
use crate::request::body::read_json;
use crate::request::problem::Problem;
use crate::request::query::{Name, Names, Query, wrong};
use crate::shards::ask_for;

/// Pushes on a page unless the caller asks for another number.
const PAGE_DEFAULT: usize = 50;

/// Pushes on a page at most.
const PAGE_MAX: usize = 1_000;

/// Device ids in the preview of a dry run.
const SAMPLE: u32 = 10;

/// The header that tells a repeated request from a first one.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Hands a push over.
///
/// 202: it is on disk, and `url` shows what becomes of it. 200 with `duplicate`: it was accepted before, nothing happened now. With
/// `dry_run=true` nothing is pushed: 200 says that it would be accepted, whom it would reach now, and whom it would
/// leave out for which reason; `warning` says so where it would reach nobody.
#[utoipa::path(post, operation_id = "send_push", path = "/api/apps/{app}/pushes", tag = "Push platform", request_body = PushFields,
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("dry_run" = Option<bool>, Query, description = "`true`: check it and preview its audience, push nothing."),
           ("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters that name this request, best a UUID.")),
    responses((status = 202, description = "It is accepted, on disk.", body = AcceptedPushReport,
               headers(("Location" = String, description = "Where to see what becomes of it."))),
              (status = 200, description = "It had been accepted before; or it was a dry run.", body = AcceptedPushReport,
               headers(("Idempotent-Replayed" = Option<String>, description = "`true` where it had been accepted before."))),
              PlatformProblems))]
pub(crate) async fn create(
    sender: Sender,
    State(app): State<Arc<App>>,
    Name(of): Name,
    request: Request,
) -> Result<Response, Problem> {
    let of = app_name(&of)?;
    let dry_run =
        Query::read(request.uri(), &["dry_run"])?.one_of("dry_run", &[("false", false), ("true", true)])?;
    let headers = request.headers().clone();
    let (fields, _): (PushFields, _) = read_json(&app, request).await?;
    let id = push_id(&headers, &sender.key_id, fields.id.as_deref())?;
    let push = Box::new(fields.check("", of.clone(), id)?);
    let url = format!("/api/apps/{of}/pushes/{id}");
    if dry_run {
        let known: Accepted = ask_for(&app, Command::Check { push: push.clone() }).await?;
        let (audience, pace) = (push.audience.clone(), push.options.pace);
        let preview = count(&app, &of, audience, SAMPLE, Some(push)).await?;
        let preview = Some(PreviewReport::of(&preview, pace));
        let report = AcceptedPushReport {
            id: id.to_string(),
            status: "valid",
            duplicate: known == Accepted::Before,
            url,
            preview,
        };
        return Ok((StatusCode::OK, Json(report)).into_response());
    }
    let accepted: Accepted = ask_for(&app, Command::Send { push }).await?;
    let location = HeaderValue::from_str(&url).expect("letters, digits and few signs are a header value");
    let report = Json(AcceptedPushReport::of(id.to_string(), url, accepted));
    Ok(match accepted {
        Accepted::Now => (StatusCode::ACCEPTED, [(header::LOCATION, location)], report).into_response(),
        Accepted::Before => {
            (StatusCode::OK, [(REPLAYED, HeaderValue::from_static("true"))], report).into_response()
        }
    })
}

/// The pushes of an app, newest first, page by page.
#[utoipa::path(get, operation_id = "list_platform_pushes", path = "/api/apps/{app}/pushes", tag = "Push platform",
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Pushes on the page; 50 unless said otherwise."),
           ("before" = Option<String>, Query, description = "Only pushes before this one: `next` of the page before.")),
    responses((status = 200, description = "A page of pushes.", body = PlatformPushPage), PlatformLookProblems))]
pub(crate) async fn list(
    _: Reader,
    State(app): State<Arc<App>>,
    Name(of): Name,
    uri: Uri,
) -> Result<Json<PlatformPushPage>, Problem> {
    let query = Query::read(&uri, &["limit", "before"])?;
    let limit = query.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let before = query.value("before").map(before).transpose()?;
    let command = Command::Pushes { app: app_name(&of)?, before, pushes_max: limit as u32 };
    let pushes: Vec<PushView> = ask_for(&app, command).await?;
    let next = pushes.last().filter(|_| pushes.len() >= limit);
    let next = next.map(|view| format!("{}/{}", view.accepted_at.0, view.push.id));
    let pushes = pushes.iter().map(|view| PlatformPushReport::of(view, Shown::Listed)).collect();
    Ok(Json(PlatformPushPage { pushes, next }))
}

/// The last push of the page before: when it was accepted, in milliseconds since 1970, and its id.
fn before(text: &str) -> Result<(Time, PushId), Problem> {
    let parts = text.split_once('/');
    let parts = parts.and_then(|(at, id)| Some((Time(at.parse().ok()?), id.parse().ok()?)));
    parts.ok_or_else(|| wrong("before", format!("`before` is the `next` of a page, not {text:?}")))
}

/// One push: what was asked for, how far it has come, and what happened when.
#[utoipa::path(get, operation_id = "find_platform_push", path = "/api/apps/{app}/pushes/{push}", tag = "Push platform",
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("push" = String, Path, description = "The push.")),
    responses((status = 200, description = "The push.", body = PlatformPushReport), PlatformLookProblems))]
pub(crate) async fn show(
    _: Reader,
    State(app): State<Arc<App>>,
    Names(of, push): Names,
) -> Result<Json<PlatformPushReport>, Problem> {
    let (of, push) = (app_name(&of)?, known_id(&push)?);
    Ok(Json(PlatformPushReport::of(&*find(&app, &of, push).await?, Shown::Whole)))
}

/// One push; a problem where it is not known.
pub(crate) async fn find(app: &App, of: &AppName, push: PushId) -> Result<Box<PushView>, Problem> {
    let found: Option<Box<PushView>> = ask_for(app, Command::Push { app: of.clone(), push }).await?;
    found.ok_or_else(|| {
        let reason = format!("app {of} has no push {push}, or does not remember it any more");
        Refusal::Rejected { code: refusal::PUSH_UNKNOWN, reason }.into()
    })
}

/// A push's id out of the path.
pub(crate) fn known_id(text: &str) -> Result<PushId, Problem> {
    let problem = match in_path("push", text.parse()) {
        Ok(id) => return Ok(id),
        Err(problem) => problem,
    };
    match text.parse::<crate::fleet::PushId>() {
        Ok(_) => Err(problem.adding(&format!("a push of POST /api/push is at /api/pushes/{text}"))),
        Err(_) => Err(problem),
    }
}

/// Changes a push that has not started. What is left out stays.
#[utoipa::path(patch, operation_id = "edit_push", path = "/api/apps/{app}/pushes/{push}", tag = "Push platform", request_body = PushFields,
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("push" = String, Path, description = "The push.")),
    responses((status = 200, description = "The push.", body = PlatformPushReport), PlatformProblems))]
pub(crate) async fn edit(
    _: Sender,
    State(app): State<Arc<App>>,
    Names(of, push): Names,
    request: Request,
) -> Result<Json<PlatformPushReport>, Problem> {
    let (of, id) = (app_name(&of)?, known_id(&push)?);
    let (fields, _): (PushFields, _) = read_json(&app, request).await?;
    let known = find(&app, &of, id).await?;
    let push = Box::new(fields.edit(*known.push)?);
    let () = ask_for(&app, Command::Edit { push }).await?;
    Ok(Json(PlatformPushReport::of(&*find(&app, &of, id).await?, Shown::Whole)))
}

/// Ends a push: who has not got it yet never does. What is on its way to a device may still arrive.
#[utoipa::path(post, operation_id = "cancel_push", path = "/api/apps/{app}/pushes/{push}/cancel", tag = "Push platform",
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("push" = String, Path, description = "The push.")),
    responses((status = 200, description = "The push.", body = PlatformPushReport), PlatformProblems))]
pub(crate) async fn cancel(
    _: Sender,
    State(app): State<Arc<App>>,
    Names(of, push): Names,
) -> Result<Json<PlatformPushReport>, Problem> {
    let (of, push) = (app_name(&of)?, known_id(&push)?);
    let () = ask_for(&app, Command::Cancel { app: of.clone(), push }).await?;
    Ok(Json(PlatformPushReport::of(&*find(&app, &of, push).await?, Shown::Whole)))
}
