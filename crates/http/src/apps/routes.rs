//! Apps: each is a tenant with devices, audiences, pushes and schedules of its own.
//!
//! The app `default` is always there; others are made known by giving them settings.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRef, Request, State};
use axum::http::{StatusCode, Uri};
use stadium_grants::Verb;
use stadium_push::{AppView, Command, refusal};
use stadium_registry::{AppName, DeviceId};
use utoipa_axum::router::OpenApiRouter;

use crate::apps::views::{AppFields, AppPage, AppReport};
use crate::devices::registry;
use crate::platform::app_name;
use crate::platform::problems::{PlatformLookProblems, PlatformProblems};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::read_json_or_default;
use crate::request::endpoints::endpoints;
use crate::request::problem::Problem;
use crate::request::query::{Name, Query, wrong};
use crate::shards::ask_for;

/// The endpoints of apps.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
{
    endpoints![list, show, declare, remove]
}

/// Apps on a page unless the caller asks for another number.
const PAGE_DEFAULT: usize = 100;

/// Apps on a page at most.
const PAGE_MAX: usize = 1_000;

/// Apps by name, with their settings and figures, page by page.
#[utoipa::path(get, operation_id = "list_apps", path = "/api/apps", tag = "Push platform",
    extensions(("x-right" = json!("app.read:{app}"))),
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Apps on the page; 100 by default."),
           ("after" = Option<String>, Query, description = "Only apps after this one: `next` of the page before.")),
    responses((status = 200, description = "A page of apps.", body = AppPage), PlatformLookProblems))]
pub(crate) async fn list(
    caller: Caller,
    State(app): State<Arc<App>>,
    uri: Uri,
) -> Result<Json<AppPage>, Problem> {
    let query = Query::read(&uri, &["limit", "after"])?;
    let limit = query.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let after = query.value("after").map(AppName::new).transpose();
    let after = after.map_err(|error| wrong("after", error.to_string()))?;
    let apps: Vec<AppView> = ask_for(&app, Command::Apps { after, apps_max: limit as u32 }).await?;
    let next = apps.last().filter(|_| apps.len() >= limit).map(|view| view.app.to_string());
    let seen = |view: &&AppView| caller.allows(Verb::AppRead, view.app.as_str());
    Ok(Json(AppPage { apps: apps.iter().filter(seen).map(AppReport::of).collect(), next }))
}

/// One app with its figures.
#[utoipa::path(get, operation_id = "find_app", path = "/api/apps/{app}", tag = "Push platform",
    extensions(("x-right" = json!("app.read:{app}"))),
    params(("app" = String, Path, description = "The app.", example = "default")),
    responses((status = 200, description = "The app.", body = AppReport), PlatformLookProblems))]
pub(crate) async fn show(
    _: Caller,
    State(app): State<Arc<App>>,
    Name(name): Name,
) -> Result<Json<AppReport>, Problem> {
    let name = app_name(&name)?;
    let found = find(&app, &name).await?;
    let found = found.ok_or_else(|| unknown(&name))?;
    Ok(Json(AppReport::of(&found)))
}

/// Makes an app known, or changes its settings. Fields left out stay; a new app has the defaults.
#[utoipa::path(put, operation_id = "declare_app", path = "/api/apps/{app}", tag = "Push platform",
    extensions(("x-right" = json!("app.manage:{app}"))), request_body = Option<AppFields>,
    params(("app" = String, Path, description = "Small letters, digits, `.`, `_` and `-`; at most 64 bytes.", example = "matchday")),
    responses((status = 200, description = "The app.", body = AppReport), PlatformProblems))]
pub(crate) async fn declare(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(name): Name,
    request: Request,
) -> Result<Json<AppReport>, Problem> {
    let name = app_name(&name)?;
    let fields: AppFields = read_json_or_default(&app, request).await?;
    let found = find(&app, &name).await?;
    if found.is_none() {
        check_name(&app, &name).await?;
    }
    let settings = fields.check(found.and_then(|view| view.settings).unwrap_or_default())?;
    let () = ask_for(&app, Command::DeclareApp { app: name.clone(), settings }).await?;
    tracing::info!(app = name.as_str(), by = caller.key_id(), "App declared");
    let found = find(&app, &name).await?.ok_or_else(|| unknown(&name))?;
    Ok(Json(AppReport::of(&found)))
}

/// Forgets an app with all its devices, pushes and schedules. `default` stays: `PSH-009`.
#[utoipa::path(delete, operation_id = "drop_app", path = "/api/apps/{app}", tag = "Push platform",
    extensions(("x-right" = json!("app.manage:{app}"))),
    params(("app" = String, Path, description = "The app.")),
    responses((status = 204, description = "It is forgotten."), PlatformProblems))]
pub(crate) async fn remove(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(name): Name,
) -> Result<StatusCode, Problem> {
    let name = app_name(&name)?;
    find(&app, &name).await?.ok_or_else(|| unknown(&name))?;
    let () = ask_for(&app, Command::DropApp { app: name.clone() }).await?;
    tracing::info!(app = name.as_str(), by = caller.key_id(), "App dropped");
    Ok(StatusCode::NO_CONTENT)
}

/// One app, looked for page by page.
async fn find(app: &App, name: &AppName) -> Result<Option<AppView>, Problem> {
    let mut after = None;
    loop {
        let command = Command::Apps { after, apps_max: PAGE_MAX as u32 };
        let apps: Vec<AppView> = ask_for(app, command).await?;
        let whole = apps.len() >= PAGE_MAX;
        let last = apps.last().map(|view| view.app.clone());
        if let Some(found) = apps.into_iter().find(|view| view.app == *name) {
            return Ok(Some(found));
        }
        match last {
            Some(last) if whole && last < *name => after = Some(last),
            _ => return Ok(None),
        }
    }
}

/// Refuses a name that a device of the app `default` has: topics of that device would contain those
/// of the new app's devices.
async fn check_name(app: &App, name: &AppName) -> Result<(), Problem> {
    let Ok(device) = DeviceId::new(name.as_str()) else { return Ok(()) };
    if registry::find(app, &AppName::default(), &device).await?.is_none() {
        return Ok(());
    }
    let reason = format!("{name} is a device of the app `default`: remove it, or call the app differently");
    Err(stadium_push::Refusal::Rejected { code: refusal::NAME_TAKEN, reason }.into())
}

fn unknown(name: &AppName) -> Problem {
    let reason = format!("no app is called {name}; make it known with PUT /api/apps/{name}");
    stadium_push::Refusal::Rejected { code: refusal::APP_UNKNOWN, reason }.into()
}
