//! Deliveries of a push: of all devices, of one device with why, and that a device's user opened or
//! clicked it.
//!
//! Times of sends and acknowledgements are kept in a bounded store: where they were dropped, the
//! state is there without times.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use stadium_push::{ClickAction, Command, DeliveryView, Trace};
use stadium_registry::DeviceId;
use utoipa::ToSchema;

use crate::devices::export::{Export, What};
use crate::devices::import::Format;
use crate::devices::routes::files::attachment;
use crate::devices::views::device_id;
use crate::platform::app_name;
use crate::platform::problems::{PlatformLookProblems, PlatformProblems};
use crate::platform::states::{DeliveryReport, TraceReport};
use crate::push::live;
use crate::push::routes::pushes::{find, known_id, only_durable};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::read_json;
use crate::request::problem::Problem;
use crate::request::query::{Names, Query, Three, wrong};
use crate::shards::ask_for;
use crate::spelling::named;

/// Deliveries on a page unless the caller asks for another number.
const PAGE_DEFAULT: usize = 100;

/// Deliveries on a page at most.
const PAGE_MAX: usize = 10_000;

/// Why a live push has no deliveries to ask for.
const COUNTS_ALONE: &str = "its deliveries are counted, and not kept for each device";

/// A page of deliveries, shard by shard.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeliveryPage {
    deliveries: Vec<DeliveryReport>,
    /// `after` of the next page; none on the last one.
    next: Option<String>,
}

/// How deliveries are answered.
#[derive(Clone, Copy)]
enum Form {
    Page,
    File(Format),
}

/// What became of a push for each device that it was for: a page of them, or all as a file.
#[utoipa::path(get, operation_id = "list_deliveries", path = "/api/apps/{app}/pushes/{push}/deliveries", tag = "Push platform",
    extensions(("x-right" = json!("push.read:{app}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("push" = String, Path, description = "The push."),
           ("format" = Option<String>, Query, description = "`json`: a page, the default. `csv`, `ndjson`: all of them as a file."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 10000, description = "Of a page; 100 by default."),
           ("after" = Option<String>, Query, description = "Only devices after this one: `next` of the page before.")),
    responses((status = 200, description = "The deliveries.", content((DeliveryPage = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"))),
              PlatformLookProblems))]
pub(crate) async fn list(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(of, push): Names,
    uri: Uri,
) -> Result<Response, Problem> {
    let (of, push) = (app_name(&of)?, known_id(&push)?);
    let query = Query::read(&uri, &["format", "limit", "after"])?;
    let words =
        [("json", Form::Page), ("csv", Form::File(Format::Csv)), ("ndjson", Form::File(Format::Ndjson))];
    let limit = query.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let after = query.value("after").map(DeviceId::new).transpose();
    let after = after.map_err(|error| wrong("after", error.to_string()))?;
    let form = query.one_of("format", &words)?;
    only_durable(&app, &of, push, COUNTS_ALONE)?;
    find(&app, &of, push).await?;
    if let Form::File(format) = form {
        let what = What::Deliveries(push);
        return attachment(Export { app, of, format, what, after }, &format!("deliveries-{push}")).await;
    }
    let command = Command::Deliveries { app: of, push, after, deliveries_max: limit as u32 };
    let deliveries: Vec<DeliveryView> = ask_for(&app, command).await?;
    let next = deliveries.last().filter(|_| deliveries.len() >= limit).map(|view| view.device.to_string());
    let deliveries = deliveries.iter().map(DeliveryReport::of).collect();
    Ok(Json(DeliveryPage { deliveries, next }).into_response())
}

/// Why a device did or did not get a push: the answer in a sentence, and what happened.
#[utoipa::path(get, operation_id = "trace_push", path = "/api/apps/{app}/pushes/{push}/devices/{device}", tag = "Push platform",
    extensions(("x-right" = json!("push.read:{app}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("push" = String, Path, description = "The push."),
           ("device" = String, Path, description = "The device, percent-encoded.", example = "phone-7")),
    responses((status = 200, description = "The trace.", body = TraceReport), PlatformLookProblems))]
pub(crate) async fn trace(
    _: Caller,
    State(app): State<Arc<App>>,
    Three(of, push, device): Three,
) -> Result<Json<TraceReport>, Problem> {
    let (of, push, device) = (app_name(&of)?, known_id(&push)?, device_id(&device)?);
    if let Some(live) = app.fleet.push_report(&of, push) {
        return Ok(Json(TraceReport::of(live::trace(&app, &live, device).await?)));
    }
    let trace: Box<Trace> = ask_for(&app, Command::Trace { app: of, push, device }).await?;
    Ok(Json(TraceReport::of(*trace)))
}

/// Who opened a push.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenedFields {
    /// The device.
    #[schema(example = "phone-7")]
    device: String,
}

/// Notes that the user of a device opened a push. Once is enough, and again changes nothing.
#[utoipa::path(post, operation_id = "push_opened", path = "/api/apps/{app}/pushes/{push}/opened", tag = "Push platform",
    extensions(("x-right" = json!("push.send:{app}"))), request_body = OpenedFields,
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("push" = String, Path, description = "The push.")),
    responses((status = 204, description = "It is noted."), PlatformProblems))]
pub(crate) async fn opened(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(of, push): Names,
    request: Request,
) -> Result<StatusCode, Problem> {
    let (of, push) = (app_name(&of)?, known_id(&push)?);
    let (fields, _): (OpenedFields, _) = read_json(&app, request).await?;
    let device = named("device", DeviceId::new(&fields.device))?;
    only_durable(&app, &of, push, COUNTS_ALONE)?;
    let () = ask_for(&app, Command::Opened { app: of, device, push }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A click of a push, and the part of it that was clicked.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClickedFields {
    /// The device.
    #[schema(example = "phone-7")]
    device: String,
    /// The part of the push, such as a button, by the app's own name for it.
    #[schema(example = "buy")]
    action: Option<String>,
}

/// Notes that the user of a device clicked a push, or an action of it. Counts as opened too. The
/// first click of a device counts; a further one changes nothing, whatever its action.
#[utoipa::path(post, operation_id = "push_clicked", path = "/api/apps/{app}/pushes/{push}/clicked", tag = "Push platform",
    extensions(("x-right" = json!("push.send:{app}"))), request_body = ClickedFields,
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("push" = String, Path, description = "The push.")),
    responses((status = 204, description = "It is noted."), PlatformProblems))]
pub(crate) async fn clicked(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(of, push): Names,
    request: Request,
) -> Result<StatusCode, Problem> {
    let (of, push) = (app_name(&of)?, known_id(&push)?);
    let (fields, _): (ClickedFields, _) = read_json(&app, request).await?;
    let device = named("device", DeviceId::new(&fields.device))?;
    let action = fields.action.map(|action| named("action", ClickAction::new(&action))).transpose()?;
    only_durable(&app, &of, push, COUNTS_ALONE)?;
    let () = ask_for(&app, Command::Clicked { app: of, device, push, action }).await?;
    Ok(StatusCode::NO_CONTENT)
}
