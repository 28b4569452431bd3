//! Schedules of pushes: the same push again and again.
//!
//! The platform checks expressions and time zones. Each occurrence makes one push, with an id of
//! its own.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use stadium_push::{Command, Held, ScheduleView, refusal};
use stadium_registry::AppName;

use crate::platform::app_name;
use crate::platform::problems::{PlatformLookProblems, PlatformProblems};
use crate::push::schedules::{
    PushScheduleFields, PushScheduleReport, PushSchedules, known_id, schedule_name,
};
use crate::push::views::Shown;
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::read_json;
use crate::request::problem::Problem;
use crate::request::query::{Name, Names};
use crate::shards::ask_for;

/// The schedules of an app, each with its next occurrences and the last ones.
#[utoipa::path(get, operation_id = "list_push_schedules", path = "/api/apps/{app}/schedules", tag = "Push platform",
    extensions(("x-right" = json!(["push.read:{app}", "push.payload:{app}?"]))),
    params(("app" = String, Path, description = "The app.", example = "default")),
    responses((status = 200, description = "The schedules, by name.", body = PushSchedules), PlatformLookProblems))]
pub(crate) async fn list(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(of): Name,
) -> Result<Json<PushSchedules>, Problem> {
    let of = app_name(&of)?;
    let shown = Shown::listed(&caller, &of);
    let all = all(&app, of).await?;
    let schedules = all.iter().map(|view| PushScheduleReport::of(view, shown)).collect();
    Ok(Json(PushSchedules { schedules }))
}

async fn all(app: &App, of: AppName) -> Result<Vec<ScheduleView>, Problem> {
    ask_for(app, Command::Schedules { app: of }).await
}

/// Makes a push at each occurrence of a cron expression. The same name replaces the schedule.
#[utoipa::path(put, operation_id = "set_push_schedule", path = "/api/apps/{app}/schedules/{name}", tag = "Push platform",
    extensions(("x-right" = json!(["push.send:{app}", "push.payload:{app}?"]))), request_body = PushScheduleFields,
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("name" = String, Path, description = "Small letters, digits, `.`, `_` and `-`; at most 64 bytes.", example = "morning-news")),
    responses((status = 200, description = "It is on disk.", body = PushScheduleReport), PlatformProblems))]
pub(crate) async fn set(
    caller: Caller,
    State(app): State<Arc<App>>,
    Names(of, name): Names,
    request: Request,
) -> Result<Json<PushScheduleReport>, Problem> {
    let (of, name) = (app_name(&of)?, schedule_name(&name)?);
    let (fields, _): (PushScheduleFields, _) = read_json(&app, request).await?;
    let known = known_id(&all(&app, of.clone()).await?, &name);
    let schedule = Box::new(fields.check(of.clone(), name.clone(), known)?);
    let () = ask_for(&app, Command::Schedule { schedule }).await?;
    let all = all(&app, of.clone()).await?;
    let found = all.iter().find(|view| view.schedule.name == name);
    found.map(|view| Json(PushScheduleReport::of(view, Shown::listed(&caller, &of)))).ok_or_else(|| {
        let reason = format!("schedule {name} of app {of} was ended meanwhile");
        stadium_push::Refusal::Rejected { code: refusal::SCHEDULE_UNKNOWN, reason }.into()
    })
}

/// Ends a schedule; pushes that it made stay.
#[utoipa::path(delete, operation_id = "end_push_schedule", path = "/api/apps/{app}/schedules/{name}", tag = "Push platform",
    extensions(("x-right" = json!("push.send:{app}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("name" = String, Path, description = "The schedule.")),
    responses((status = 204, description = "It makes nothing any more."), PlatformProblems))]
pub(crate) async fn end(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(of, name): Names,
) -> Result<StatusCode, Problem> {
    let command = Command::Unschedule { app: app_name(&of)?, name: schedule_name(&name)? };
    let () = ask_for(&app, command).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Holds a schedule: it makes nothing until it is resumed, and occurrences meanwhile are skipped.
#[utoipa::path(post, operation_id = "pause_push_schedule", path = "/api/apps/{app}/schedules/{name}/pause", tag = "Push platform",
    extensions(("x-right" = json!("push.send:{app}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("name" = String, Path, description = "The schedule.")),
    responses((status = 204, description = "It is paused."), PlatformProblems))]
pub(crate) async fn pause(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(of, name): Names,
) -> Result<StatusCode, Problem> {
    hold(&app, &of, &name, Held::Paused).await
}

/// Lets a paused schedule go on.
#[utoipa::path(post, operation_id = "resume_push_schedule", path = "/api/apps/{app}/schedules/{name}/resume", tag = "Push platform",
    extensions(("x-right" = json!("push.send:{app}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("name" = String, Path, description = "The schedule.")),
    responses((status = 204, description = "It goes on."), PlatformProblems))]
pub(crate) async fn resume(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(of, name): Names,
) -> Result<StatusCode, Problem> {
    hold(&app, &of, &name, Held::Active).await
}

async fn hold(app: &App, of: &str, name: &str, held: Held) -> Result<StatusCode, Problem> {
    let command = Command::PauseSchedule { app: app_name(of)?, name: schedule_name(name)?, held };
    let () = ask_for(app, command).await?;
    Ok(StatusCode::NO_CONTENT)
}
