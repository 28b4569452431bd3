//! Audiences: saved ones, previews, and static lists.
//!
//! A saved audience is a selector under a name; a push to it means the devices that match when the push starts. A static list is a set
//! of devices that is kept by hand.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRef, Request, State};
use axum::http::StatusCode;
use stadium_push::{Audience, AudienceName, Command, DeviceView, NewPush, Pace, Preview, Refusal, refusal};
use stadium_registry::{AppName, Changes, DeviceId, ListName, Selector, Tag};
use utoipa_axum::router::OpenApiRouter;

use crate::audiences::fields;
use crate::audiences::views::{
    AudienceFields, AudienceList, AudienceReport, ListFields, PreviewFields, PreviewReport,
};
use crate::devices::registry::several;
use crate::devices::views::{ChangedDevice, ChangedDevices};
use crate::platform::app_name;
use crate::platform::problems::{PlatformLookProblems, PlatformProblems};
use crate::platform::{in_path, selector};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::read_json;
use crate::request::endpoints::endpoints;
use crate::request::problem::Problem;
use crate::request::query::{Name, Names};
use crate::shards::ask_for;
use crate::spelling::{field, named};

/// The endpoints of audiences.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
{
    endpoints![list, save, remove, preview, add_to_list, remove_from_list]
}

/// Device ids in a preview's sample unless the caller asks for another number.
const SAMPLE_DEFAULT: u32 = 10;

/// Device ids in a sample at most.
const SAMPLE_MAX: u32 = 100;

/// The saved audiences of an app, by name.
#[utoipa::path(get, operation_id = "list_audiences", path = "/api/apps/{app}/audiences", tag = "Push platform",
    extensions(("x-right" = json!("audience.read:{app}"))),
    params(("app" = String, Path, description = "The app.", example = "default")),
    responses((status = 200, description = "The audiences.", body = AudienceList), PlatformLookProblems))]
pub(crate) async fn list(
    _: Caller,
    State(app): State<Arc<App>>,
    Name(name): Name,
) -> Result<Json<AudienceList>, Problem> {
    let audiences: Vec<(AudienceName, Selector)> =
        ask_for(&app, Command::Audiences { app: app_name(&name)? }).await?;
    let report = |(name, selector): (AudienceName, Selector)| AudienceReport {
        name: name.to_string(),
        audience: selector.to_json(),
    };
    Ok(Json(AudienceList { audiences: audiences.into_iter().map(report).collect() }))
}

/// Saves a selector under a name; one that was there is replaced. Pushes that have started keep the one that they had.
#[utoipa::path(put, operation_id = "save_audience", path = "/api/apps/{app}/audiences/{name}", tag = "Push platform",
    extensions(("x-right" = json!("audience.write:{app}"))), request_body = AudienceFields,
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("name" = String, Path, description = "Small letters, digits, `.`, `_` and `-`; at most 64 bytes.", example = "vips")),
    responses((status = 200, description = "It is saved.", body = AudienceReport), PlatformProblems))]
pub(crate) async fn save(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(of, name): Names,
    request: Request,
) -> Result<Json<AudienceReport>, Problem> {
    let (of, name) = (app_name(&of)?, audience_name(&name)?);
    let (fields, _): (AudienceFields, _) = read_json(&app, request).await?;
    let audience = selector("audience", &fields.audience)?;
    let report = AudienceReport { name: name.to_string(), audience: audience.to_json() };
    let () = ask_for(&app, Command::SaveAudience { app: of, name, audience }).await?;
    Ok(Json(report))
}

/// Forgets a saved audience.
#[utoipa::path(delete, operation_id = "drop_audience", path = "/api/apps/{app}/audiences/{name}", tag = "Push platform",
    extensions(("x-right" = json!("audience.write:{app}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("name" = String, Path, description = "The audience.")),
    responses((status = 204, description = "It is forgotten."), PlatformProblems))]
pub(crate) async fn remove(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(of, name): Names,
) -> Result<StatusCode, Problem> {
    let command = Command::DropAudience { app: app_name(&of)?, name: audience_name(&name)? };
    let () = ask_for(&app, command).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Counts the devices that an audience reaches, and those that each clause leaves out.
#[utoipa::path(post, operation_id = "preview_audience", path = "/api/apps/{app}/audiences/preview", tag = "Push platform",
    extensions(("x-right" = json!("audience.read:{app}"))), request_body = PreviewFields,
    params(("app" = String, Path, description = "The app.", example = "default")),
    responses((status = 200, description = "Whom it reaches now.", body = PreviewReport), PlatformProblems))]
pub(crate) async fn preview(
    _: Caller,
    State(app): State<Arc<App>>,
    Name(of): Name,
    request: Request,
) -> Result<Json<PreviewReport>, Problem> {
    let of = app_name(&of)?;
    let (fields, _): (PreviewFields, _) = read_json(&app, request).await?;
    let sample_max = fields.sample.unwrap_or(SAMPLE_DEFAULT);
    if sample_max > SAMPLE_MAX {
        return Err(field("sample", &format!("it is 0 to {SAMPLE_MAX}, not {sample_max}")));
    }
    let audience = fields::audience("audience", &fields.audience)?;
    let pace = fields.pace.map_or(Ok(Pace::AtOnce), |pace| pace.check("pace"))?;
    let preview = count(&app, &of, audience, sample_max, None).await?;
    Ok(Json(PreviewReport::of(&preview, pace)))
}

/// Whom an audience reaches now, or this push to it.
pub(crate) async fn count(
    app: &App,
    of: &AppName,
    audience: Audience,
    sample_max: u32,
    push: Option<Box<NewPush>>,
) -> Result<Box<Preview>, Problem> {
    let audience = resolved(app, of, audience).await?;
    ask_for(app, Command::Preview { app: of.clone(), audience, sample_max, push }).await
}

/// The selector of an audience, of a saved one as it is now.
pub(crate) async fn resolved(app: &App, of: &AppName, audience: Audience) -> Result<Selector, Problem> {
    match audience {
        Audience::Device(device) => Ok(Selector::Device(device)),
        Audience::Selector(selector) => Ok(selector),
        Audience::Saved(name) => {
            let all: Vec<(AudienceName, Selector)> =
                ask_for(app, Command::Audiences { app: of.clone() }).await?;
            let found = all.into_iter().find(|(known, _)| *known == name);
            let (_, selector) = found.ok_or_else(|| {
                let reason = format!("app {:?} has no saved audience {:?}", of.as_str(), name.as_str());
                Problem::from(Refusal::Rejected { code: refusal::AUDIENCE_UNKNOWN, reason })
            })?;
            Ok(selector)
        }
    }
}

/// Puts up to 1,000 registered devices onto a static list; those that are on it stay.
#[utoipa::path(put, operation_id = "add_to_list", path = "/api/apps/{app}/lists/{name}/devices", tag = "Push platform",
    extensions(("x-right" = json!("audience.write:{app}"))), request_body = ListFields,
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("name" = String, Path, description = "Letters, digits, `-`, `_` and `.`; at most 64 bytes.", example = "beta")),
    responses((status = 200, description = "What became of each.", body = ChangedDevices), PlatformProblems))]
pub(crate) async fn add_to_list(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(of, name): Names,
    request: Request,
) -> Result<Json<ChangedDevices>, Problem> {
    let tag = Tag::list(&list_name(&name)?);
    on_list(&app, &of, request, Changes { tags_added: vec![tag], ..Changes::default() }).await
}

/// Takes up to 1,000 devices off a static list.
#[utoipa::path(delete, operation_id = "remove_from_list", path = "/api/apps/{app}/lists/{name}/devices", tag = "Push platform",
    extensions(("x-right" = json!("audience.write:{app}"))), request_body = ListFields,
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("name" = String, Path, description = "The list.")),
    responses((status = 200, description = "What became of each.", body = ChangedDevices), PlatformProblems))]
pub(crate) async fn remove_from_list(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(of, name): Names,
    request: Request,
) -> Result<Json<ChangedDevices>, Problem> {
    let tag = Tag::list(&list_name(&name)?);
    on_list(&app, &of, request, Changes { tags_removed: vec![tag], ..Changes::default() }).await
}

/// Changes those devices of a request that are registered: a list registers nobody.
async fn on_list(
    app: &App,
    of: &str,
    request: Request,
    changes: Changes,
) -> Result<Json<ChangedDevices>, Problem> {
    let of = app_name(of)?;
    let (fields, _): (ListFields, _) = read_json(app, request).await?;
    if !(1..=1_000).contains(&fields.devices.len()) {
        return Err(field("devices", &format!("it names 1 to 1,000 devices, not {}", fields.devices.len())));
    }
    let each = fields.devices.iter().enumerate();
    let ids = each.map(|(index, text)| named(&format!("devices[{index}]"), DeviceId::new(text)));
    let ids: Vec<DeviceId> = ids.collect::<Result<_, _>>()?;
    let command = Command::Devices {
        app: of.clone(),
        audience: Some(Selector::Devices(ids.clone())),
        prefix: String::new(),
        after: None,
        devices_max: 1_000,
    };
    let found: Vec<DeviceView> = ask_for(app, command).await?;
    let found: HashSet<DeviceId> = found.into_iter().map(|view| view.device.id).collect();
    let (known, unknown): (Vec<_>, Vec<_>) = ids.into_iter().partition(|device| found.contains(device));
    let refused = |device: DeviceId| {
        let reason = format!("app {of} has no device {device}");
        let problem = Problem::from(Refusal::Rejected { code: refusal::DEVICE_UNKNOWN, reason });
        ChangedDevice::of(device.to_string(), Err(problem))
    };
    let mut results: Vec<_> = unknown.into_iter().map(refused).collect();
    let known: Vec<_> = known.into_iter().map(|device| (device, changes.clone())).collect();
    if !known.is_empty() {
        let Json(changed) = several(app, of, known).await?;
        results.extend(changed.results);
    }
    Ok(Json(ChangedDevices { results }))
}

/// An audience's name out of the path.
fn audience_name(text: &str) -> Result<AudienceName, Problem> {
    in_path("name", AudienceName::new(text))
}

/// A list's name out of the path.
fn list_name(text: &str) -> Result<ListName, Problem> {
    in_path("name", ListName::new(text))
}
