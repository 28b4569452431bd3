//! Pushes: send one, durable or live, see its outcomes, change or cancel it.
//!
//! A push is accepted at most once for its id, so a request that was not answered can be sent again
//! as it was. An answer means that a durable push is on disk.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use parking_lot::Mutex;
use stadium_grants::Verb;
use stadium_push::live::LiveReport;
use stadium_push::{Accepted, Command, NewPush, PushId, PushView, Refusal, Stage, Time, refusal};
use stadium_registry::{AppName, DeviceId};

use crate::audiences::routes::count;
use crate::audiences::views::PreviewReport;
use crate::audit_log::DryRun;
use crate::devices::registry;
use crate::platform::app_name;
use crate::platform::ids::push_id;
use crate::platform::in_path;
use crate::platform::problems::{PlatformLookProblems, PlatformProblems};
use crate::push::fields::{LiveFields, PushFields};
use crate::push::live;
use crate::push::rendered::RenderedReport;
use crate::push::views::{AcceptedPushReport, PlatformPushPage, PlatformPushReport, Shown};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::{idempotency_key, read_json};
use crate::request::idempotency::{Ids, hash_of};
use crate::request::problem::Problem;
use crate::request::query::{Name, Names, Query, wrong};
use crate::shards::ask_for;

/// Pushes on a page unless the caller asks for another number.
const PAGE_DEFAULT: usize = 50;

/// Pushes on a page at most.
const PAGE_MAX: usize = 1_000;

/// Device ids in the preview of a dry run.
const SAMPLE: u32 = 10;

/// The header that distinguishes a repeated request from a first one.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Hands a push over.
///
/// 202: it is on disk, or with `live` under way, and `url` shows its progress. 200 with
/// `duplicate`: it was accepted before, nothing happened now. With `dry_run=true` nothing is
/// pushed: 200 means that it would be accepted, and has the devices that it would reach now and
/// those that it would leave out for which reason; `warning` is set where it would reach nobody.
#[utoipa::path(post, operation_id = "send_push", path = "/api/apps/{app}/pushes", tag = "Push platform",
    extensions(("x-right" = json!(["push.send:{app}", "device.read:{app}/{device}?"]))), request_body = PushFields,
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("dry_run" = Option<bool>, Query, description = "`true`: check it and preview its audience, push nothing."),
           ("device" = Option<String>, Query, description = "Of a dry run: show the texts that this device would get, with its own values in them. Takes the right `device.read`."),
           ("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters that name this request, best a UUID.")),
    responses((status = 202, description = "It is accepted: on disk, or as a live push.", body = AcceptedPushReport,
               headers(("Location" = String, description = "Where to see what becomes of it."))),
              (status = 200, description = "It had been accepted before; or it was a dry run.", body = AcceptedPushReport,
               headers(("Idempotent-Replayed" = Option<String>, description = "`true` where it had been accepted before."))),
              PlatformProblems))]
pub(crate) async fn create(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(ids): State<Arc<Mutex<Ids>>>,
    Name(of): Name,
    request: Request,
) -> Result<Response, Problem> {
    let of = app_name(&of)?;
    let query = Query::read(request.uri(), &["dry_run", "device"])?;
    let dry_run = query.one_of("dry_run", &[("false", false), ("true", true)])?;
    let device = query.value("device").map(DeviceId::new).transpose();
    let device = device.map_err(|error| wrong("device", error.to_string()))?;
    if device.is_some() && !dry_run {
        return Err(wrong("device", "`device` is for a dry run".to_owned()));
    }
    let headers = request.headers().clone();
    let (fields, body): (PushFields, Bytes) = read_json(&app, request).await?;
    let id = push_id(&headers, caller.key_id(), fields.id.as_deref())?;
    let url = format!("/api/apps/{of}/pushes/{id}");
    let is_named = fields.id.is_some() || idempotency_key(&headers)?.is_some();
    if fields.live {
        let named_by = is_named.then(|| hash_of(&body));
        let push = fields.live(of.clone(), id, app.config.push_bounds())?;
        if dry_run {
            let preview = match push {
                LiveFields::Registered(push) => Some(preview(&app, &of, push).await?),
                LiveFields::Channel(_) => None,
            };
            return Ok(valid(id, url, Accepted::Now, preview, None));
        }
        let accepted = live::accept(&app, &ids, push, named_by).await?;
        return Ok(answer(id, url, accepted));
    }
    let mut push = Box::new(fields.check("", of.clone(), id)?);
    push.options.trace = stadium_telemetry::current().and_then(|trace| trace.sampled_context());
    if dry_run {
        let known: Accepted = ask_for(&app, Command::Check { push: push.clone() }).await?;
        let rendered = match device {
            Some(device) => rendered(&app, &caller, &of, &push, &device).await?,
            None => None,
        };
        let preview = preview(&app, &of, push).await?;
        return Ok(valid(id, url, known, Some(preview), rendered));
    }
    // An id that nobody named is no live push's.
    if is_named && app.fleet.push_report(&of, id).is_some() {
        let reason = format!("push {id} is a live one: a new push needs a new id");
        return Err(Refusal::Rejected { code: refusal::ID_CONTENT, reason }.into());
    }
    let accepted: Accepted = ask_for(&app, Command::Send { push }).await?;
    Ok(answer(id, url, accepted))
}

/// The devices that a push would reach.
async fn preview(app: &App, of: &AppName, push: Box<NewPush>) -> Result<PreviewReport, Problem> {
    let (audience, pace) = (push.audience.clone(), push.options.pace);
    let preview = count(app, of, audience, SAMPLE, Some(push)).await?;
    Ok(PreviewReport::of(&preview, pace))
}

/// The texts that a device would get, to a caller that may see its values.
async fn rendered(
    app: &App,
    caller: &Caller,
    of: &AppName,
    push: &NewPush,
    device: &DeviceId,
) -> Result<Option<RenderedReport>, Problem> {
    caller.may_also(Verb::DeviceRead, &format!("{of}/{device}"))?;
    let view = registry::known(app, of, device).await?;
    Ok(RenderedReport::of(push, &view.device))
}

/// The answer to a dry run.
fn valid(
    id: PushId,
    url: String,
    known: Accepted,
    preview: Option<PreviewReport>,
    rendered: Option<RenderedReport>,
) -> Response {
    let duplicate = known == Accepted::Before;
    let report =
        AcceptedPushReport { id: id.to_string(), status: "valid", duplicate, url, preview, rendered };
    (StatusCode::OK, Extension(DryRun), Json(report)).into_response()
}

/// The answer to a push that is accepted.
fn answer(id: PushId, url: String, accepted: Accepted) -> Response {
    let location = HeaderValue::from_str(&url).expect("letters, digits and few signs are a header value");
    let report = Json(AcceptedPushReport::of(id.to_string(), url, accepted));
    match accepted {
        Accepted::Now => (StatusCode::ACCEPTED, [(header::LOCATION, location)], report).into_response(),
        Accepted::Before => {
            (StatusCode::OK, [(REPLAYED, HeaderValue::from_static("true"))], report).into_response()
        }
    }
}

/// The pushes of an app, newest first, page by page.
///
/// With `search` or `status` the newest 10,000 pushes from `before` on are looked through: a page may
/// have fewer pushes than `limit`, or none, while `next` leads on.
#[utoipa::path(get, operation_id = "list_platform_pushes", path = "/api/apps/{app}/pushes", tag = "Push platform",
    extensions(("x-right" = json!(["push.read:{app}", "push.payload:{app}?"]))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("live" = Option<bool>, Query, description = "`true`: live pushes alone; `false`: durable ones alone."),
           ("search" = Option<String>, Query, description = "Only pushes with this in their id, schedule or audience, or in their title where the caller may see it; in any case."),
           ("status" = Option<String>, Query, description = "Only pushes that are `scheduled`, `sending`, `settled` or `cancelled`; `all` by default."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Pushes on the page; 50 by default."),
           ("before" = Option<String>, Query, description = "Only pushes before this one: `next` of the page before.")),
    responses((status = 200, description = "A page of pushes.", body = PlatformPushPage), PlatformLookProblems))]
pub(crate) async fn list(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(of): Name,
    uri: Uri,
) -> Result<Json<PlatformPushPage>, Problem> {
    let query = Query::read(&uri, &["live", "search", "status", "limit", "before"])?;
    let kinds = [("all", Kinds::Both), ("true", Kinds::Live), ("false", Kinds::Durable)];
    let kinds = query.one_of("live", &kinds)?;
    let limit = query.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let mut from = query.value("before").map(before).transpose()?;
    let search = query.value("search").unwrap_or_default().to_lowercase();
    let stage = query.one_of("status", &STAGES)?;
    let of = app_name(&of)?;
    let shown = Shown::listed(&caller, &of);
    let is_sought = !search.is_empty() || stage.is_some();
    let (looked_at_max, pages) = if is_sought { (PAGE_MAX, SOUGHT_PAGES_MAX) } else { (limit, 1) };
    let mut pushes = Vec::new();
    for _ in 0..pages {
        let found = page(&app, &of, kinds, from, looked_at_max).await?;
        let is_last = found.len() < looked_at_max;
        for push in &found {
            from = Some(push.place());
            let report = push.report(shown);
            if stage.is_none_or(|stage| push.stage() == stage)
                && (search.is_empty() || report.mentions(&search))
            {
                pushes.push(report);
            }
            if pushes.len() >= limit {
                return Ok(Json(PlatformPushPage { pushes, next: next(from) }));
            }
        }
        if is_last {
            return Ok(Json(PlatformPushPage { pushes, next: None }));
        }
    }
    Ok(Json(PlatformPushPage { pushes, next: next(from) }))
}

/// The values of `status`.
const STAGES: [(&str, Option<Stage>); 5] = [
    ("all", None),
    ("scheduled", Some(Stage::Scheduled)),
    ("sending", Some(Stage::Sending)),
    ("settled", Some(Stage::Settled)),
    ("cancelled", Some(Stage::Cancelled)),
];

/// Pages of [`PAGE_MAX`] pushes that one request looks through, so that a search takes a bounded time
/// of the shards.
const SOUGHT_PAGES_MAX: usize = 10;

/// Which pushes are listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinds {
    Both,
    Live,
    Durable,
}

/// So many pushes, live and durable ones, newest first.
async fn page(
    app: &App,
    of: &AppName,
    kinds: Kinds,
    before: Option<(Time, PushId)>,
    limit: usize,
) -> Result<Vec<Found>, Problem> {
    let mut found: Vec<Found> = Vec::new();
    if kinds != Kinds::Durable {
        let live = app.fleet.pushes(Some(of), before, limit);
        found.extend(live.into_iter().map(|report| Found::Live(Box::new(report))));
    }
    // Also where they are not listed: they show whether the app is known.
    let command = Command::Pushes { app: of.clone(), before, pushes_max: limit as u32 };
    let kept: Vec<PushView> = ask_for(app, command).await?;
    if kinds != Kinds::Live {
        found.extend(kept.into_iter().map(|view| Found::Durable(Box::new(view))));
    }
    found.sort_by_key(|found| Reverse(found.place()));
    found.truncate(limit);
    Ok(found)
}

/// The `before` of the next page.
fn next(place: Option<(Time, PushId)>) -> Option<String> {
    place.map(|(at, id)| format!("{}/{id}", at.0))
}

/// The last push of the page before: when it was accepted, in milliseconds since 1970, and its id.
fn before(text: &str) -> Result<(Time, PushId), Problem> {
    let parts = text.split_once('/');
    let parts = parts.and_then(|(at, id)| Some((Time(at.parse().ok()?), id.parse().ok()?)));
    parts.ok_or_else(|| wrong("before", format!("`before` is the `next` of a page, not {text:?}")))
}

/// One push: what was asked for, how far it has come, and what happened when.
#[utoipa::path(get, operation_id = "find_platform_push", path = "/api/apps/{app}/pushes/{push}", tag = "Push platform",
    extensions(("x-right" = json!(["push.read:{app}", "push.payload:{app}?"]))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("push" = String, Path, description = "The push.")),
    responses((status = 200, description = "The push.", body = PlatformPushReport), PlatformLookProblems))]
pub(crate) async fn show(
    caller: Caller,
    State(app): State<Arc<App>>,
    Names(of, push): Names,
) -> Result<Json<PlatformPushReport>, Problem> {
    let (of, push) = (app_name(&of)?, known_id(&push)?);
    Ok(Json(find(&app, &of, push).await?.report(Shown::one(&caller, &of))))
}

/// A push, wherever it is kept.
pub(crate) enum Found {
    /// On the shards.
    Durable(Box<PushView>),
    /// At the fleet.
    Live(Box<LiveReport>),
}

impl Found {
    /// Its place in the order of pushes.
    fn place(&self) -> (Time, PushId) {
        match self {
            Self::Durable(view) => (view.accepted_at, view.push.id),
            Self::Live(report) => (report.accepted_at, report.push.id),
        }
    }

    /// How far it has come.
    pub(crate) fn stage(&self) -> Stage {
        match self {
            Self::Durable(view) => view.stage,
            Self::Live(report) => report.stage(),
        }
    }

    pub(crate) fn report(&self, shown: Shown) -> PlatformPushReport {
        match self {
            Self::Durable(view) => PlatformPushReport::of(view, shown),
            Self::Live(report) => PlatformPushReport::of_live(report, shown),
        }
    }
}

/// One push; a problem where it is not known.
pub(crate) async fn find(app: &App, of: &AppName, push: PushId) -> Result<Found, Problem> {
    match app.fleet.push_report(of, push) {
        Some(report) => Ok(Found::Live(Box::new(report))),
        None => find_durable(app, of, push).await.map(Found::Durable),
    }
}

/// Refuses what asks for more than the counts of a live push.
pub(crate) fn only_durable(app: &App, of: &AppName, push: PushId, why: &str) -> Result<(), Problem> {
    match app.fleet.push_report(of, push) {
        Some(_) => Err(live::not_kept(push, why)),
        None => Ok(()),
    }
}

async fn find_durable(app: &App, of: &AppName, push: PushId) -> Result<Box<PushView>, Problem> {
    let found: Option<Box<PushView>> = ask_for(app, Command::Push { app: of.clone(), push }).await?;
    found.ok_or_else(|| {
        let reason = format!("app {of} has no push {push}, or does not remember it any more");
        Refusal::Rejected { code: refusal::PUSH_UNKNOWN, reason }.into()
    })
}

/// A push's id out of the path.
pub(crate) fn known_id(text: &str) -> Result<PushId, Problem> {
    in_path("push", text.parse())
}

/// Changes a push that has not started. Fields that are left out stay.
#[utoipa::path(patch, operation_id = "edit_push", path = "/api/apps/{app}/pushes/{push}", tag = "Push platform",
    extensions(("x-right" = json!(["push.send:{app}", "push.payload:{app}?"]))), request_body = PushFields,
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("push" = String, Path, description = "The push.")),
    responses((status = 200, description = "The push.", body = PlatformPushReport), PlatformProblems))]
pub(crate) async fn edit(
    caller: Caller,
    State(app): State<Arc<App>>,
    Names(of, push): Names,
    request: Request,
) -> Result<Json<PlatformPushReport>, Problem> {
    let (of, id) = (app_name(&of)?, known_id(&push)?);
    let (fields, _): (PushFields, _) = read_json(&app, request).await?;
    only_durable(&app, &of, id, "it has started, and cannot be changed")?;
    let known = find_durable(&app, &of, id).await?;
    let push = Box::new(fields.edit(*known.push)?);
    let () = ask_for(&app, Command::Edit { push }).await?;
    Ok(Json(find(&app, &of, id).await?.report(Shown::one(&caller, &of))))
}

/// Ends a push: devices that have not got it yet never do. A delivery on its way may still arrive.
#[utoipa::path(post, operation_id = "cancel_push", path = "/api/apps/{app}/pushes/{push}/cancel", tag = "Push platform",
    extensions(("x-right" = json!(["push.send:{app}", "push.payload:{app}?"]))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("push" = String, Path, description = "The push.")),
    responses((status = 200, description = "The push.", body = PlatformPushReport), PlatformProblems))]
pub(crate) async fn cancel(
    caller: Caller,
    State(app): State<Arc<App>>,
    Names(of, push): Names,
) -> Result<Json<PlatformPushReport>, Problem> {
    let (of, push) = (app_name(&of)?, known_id(&push)?);
    only_durable(&app, &of, push, "it went out when it was accepted, and cannot be cancelled")?;
    let () = ask_for(&app, Command::Cancel { app: of.clone(), push }).await?;
    Ok(Json(find(&app, &of, push).await?.report(Shown::one(&caller, &of))))
}
