//! Registered devices: list, show, register, change, remove.
//!
//! Registering one that is known changes it. `PUT` has all fields of a device, `PATCH` and the list
//! those that become different.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri};
use serde_json::Value;
use stadium_push::{Changed, Command, DeviceView};
use stadium_registry::DeviceId;

use crate::devices::registry::{apply, disconnect, find, known, several};
use crate::devices::selection::{Sought, audience};
use crate::devices::views::{
    ChangedDevices, DeviceFields, DevicePage, DeviceReport, DevicesFields, RemovedDevices, device_id, listed,
    replacing, whole,
};
use crate::platform::app_name;
use crate::platform::changes;
use crate::platform::problems::{PlatformLookProblems, PlatformProblems};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::read_json;
use crate::request::problem::Problem;
use crate::request::query::{Name, Names, Query, wrong};
use crate::shards::ask_for;

/// Devices on a page unless the caller asks for another number.
const PAGE_DEFAULT: usize = 100;

/// Devices on a page at most.
const PAGE_MAX: usize = 1_000;

/// Registered devices by id, page by page.
///
/// With `search` or `state` up to 20,000 devices after `after` are looked through: a page may have
/// fewer devices than `limit`, or none, while `next` leads on.
#[utoipa::path(get, operation_id = "list_registered_devices", path = "/api/apps/{app}/devices", tag = "Push platform",
    extensions(("x-right" = json!("device.read:{app}/*"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("prefix" = Option<String>, Query, description = "Only devices whose ids begin with this."),
           ("named_user" = Option<String>, Query, description = "Only devices of this named user."),
           ("audience" = Option<String>, Query, description = "Only devices that this selector means, as JSON."),
           ("search" = Option<String>, Query, description = "Only devices with this in their id, named user, platform, version, language, country, time zone, a tag or the text of an attribute; in any case."),
           ("state" = Option<String>, Query, description = "Only devices that are `connected`, `away`, `opted_out` or `revoked`; `all` by default."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Devices on the page; 100 by default."),
           ("after" = Option<String>, Query, description = "Only devices after this one: `next` of the page before.")),
    responses((status = 200, description = "A page of devices.", body = DevicePage),
              (status = 431, description = "The path, the query and the headers have more than 16 KiB; without a body."), PlatformLookProblems))]
pub(crate) async fn list(
    _: Caller,
    State(app): State<Arc<App>>,
    Name(name): Name,
    uri: Uri,
) -> Result<Json<DevicePage>, Problem> {
    let name = app_name(&name)?;
    let known = ["prefix", "named_user", "audience", "search", "state", "limit", "after"];
    let query = Query::read(&uri, &known)?;
    let limit = query.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let sought = Sought::read(&query)?;
    let audience = audience(&query)?;
    let prefix = query.value("prefix").unwrap_or_default();
    let after = query.value("after").map(DeviceId::new).transpose();
    let mut after = after.map_err(|error| wrong("after", error.to_string()))?;
    let (looked_at_max, pages) = if sought.is_any() { (limit, 1) } else { (PAGE_MAX, SOUGHT_PAGES_MAX) };
    let mut devices = Vec::new();
    for _ in 0..pages {
        let command = Command::Devices {
            app: name.clone(),
            audience: audience.clone(),
            prefix: prefix.to_owned(),
            after: after.clone(),
            devices_max: looked_at_max as u32,
        };
        let found: Vec<DeviceView> = ask_for(&app, command).await?;
        let is_last = found.len() < looked_at_max;
        for view in found {
            if sought.fits(&view) {
                devices.push(listed(&view));
            }
            after = Some(view.device.id);
            if devices.len() >= limit {
                let next = after.map(|device| device.to_string());
                return Ok(Json(DevicePage { devices, next }));
            }
        }
        if is_last {
            return Ok(Json(DevicePage { devices, next: None }));
        }
    }
    Ok(Json(DevicePage { devices, next: after.map(|device| device.to_string()) }))
}

/// Pages of [`PAGE_MAX`] devices that one request looks through, so that a search takes a bounded
/// time of the shards.
const SOUGHT_PAGES_MAX: usize = 20;

/// One device: what is registered, where it is connected, what it is owed, and its newest pushes.
#[utoipa::path(get, operation_id = "find_registered_device", path = "/api/apps/{app}/devices/{device}", tag = "Push platform",
    extensions(("x-right" = json!("device.read:{app}/{device}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("device" = String, Path, description = "The device, percent-encoded. One whose id is `import` or `export` is read under `%69mport`, `%65xport`.")),
    responses((status = 200, description = "The device.", body = DeviceReport), PlatformLookProblems))]
pub(crate) async fn show(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(name, device): Names,
) -> Result<Json<Value>, Problem> {
    let (name, device) = (app_name(&name)?, device_id(&device)?);
    Ok(Json(whole(&*known(&app, &name, &device).await?)))
}

/// Registers up to 1,000 devices or changes them, each with an outcome of its own.
#[utoipa::path(post, operation_id = "change_registered_devices", path = "/api/apps/{app}/devices", tag = "Push platform",
    extensions(("x-right" = json!("device.write:{app}/*"))), request_body = DevicesFields,
    params(("app" = String, Path, description = "The app.", example = "default")),
    responses((status = 200, description = "What became of each.", body = ChangedDevices), PlatformProblems))]
pub(crate) async fn change_several(
    _: Caller,
    State(app): State<Arc<App>>,
    Name(name): Name,
    request: Request,
) -> Result<Json<ChangedDevices>, Problem> {
    let name = app_name(&name)?;
    let (fields, _): (DevicesFields, _) = read_json(&app, request).await?;
    let devices = fields.check()?;
    several(&app, name, devices).await
}

/// Registers a device, or makes it equal to the body: fields that the body leaves out are cleared.
/// Lists, and whether it is opted in, stay.
#[utoipa::path(put, operation_id = "replace_registered_device", path = "/api/apps/{app}/devices/{device}", tag = "Push platform",
    extensions(("x-right" = json!("device.write:{app}/{device}"))), request_body = DeviceFields,
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("device" = String, Path, description = "At most 128 bytes, without `/`, `+`, `#` and control characters; percent-encoded.", example = "phone-7")),
    responses((status = 201, description = "It is registered.", body = DeviceReport),
              (status = 200, description = "It was known, and is now so.", body = DeviceReport), PlatformProblems))]
pub(crate) async fn replace(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(name, device): Names,
    request: Request,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let (name, device) = (app_name(&name)?, device_id(&device)?);
    let (json, _): (Value, _) = read_json(&app, request).await?;
    let given = changes("", &json)?;
    let known_now = find(&app, &name, &device).await?;
    let replaced = replacing(given, known_now.as_ref().map(|view| &view.device));
    let changed = apply(&app, &name, &device, replaced).await?;
    let status = if changed == Changed::Registered { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(whole(&*known(&app, &name, &device).await?))))
}

/// Changes a device. Fields that are left out stay, `null` clears.
#[utoipa::path(patch, operation_id = "change_registered_device", path = "/api/apps/{app}/devices/{device}", tag = "Push platform",
    extensions(("x-right" = json!("device.write:{app}/{device}"))), request_body = DeviceFields,
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("device" = String, Path, description = "The device, percent-encoded.", example = "phone-7")),
    responses((status = 200, description = "The device.", body = DeviceReport), PlatformProblems))]
pub(crate) async fn change(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(name, device): Names,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let (name, device) = (app_name(&name)?, device_id(&device)?);
    let (json, _): (Value, _) = read_json(&app, request).await?;
    let given = changes("", &json)?;
    known(&app, &name, &device).await?;
    apply(&app, &name, &device, given).await?;
    Ok(Json(whole(&*known(&app, &name, &device).await?)))
}

/// Forgets a device with what it is owed, and closes its connection.
#[utoipa::path(delete, operation_id = "remove_registered_device", path = "/api/apps/{app}/devices/{device}", tag = "Push platform",
    extensions(("x-right" = json!("device.manage:{app}/{device}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("device" = String, Path, description = "The device, percent-encoded.")),
    responses((status = 204, description = "It is forgotten."), PlatformProblems))]
pub(crate) async fn remove(
    caller: Caller,
    State(app): State<Arc<App>>,
    Names(name, device): Names,
) -> Result<StatusCode, Problem> {
    let (name, device) = (app_name(&name)?, device_id(&device)?);
    known(&app, &name, &device).await?;
    let _: u64 = ask_for(&app, Command::Remove { app: name.clone(), devices: vec![device.clone()] }).await?;
    disconnect(&app, &name, &device, "the device was removed").await;
    tracing::info!(app = name.as_str(), device = device.as_str(), by = caller.key_id(), "Device removed");
    Ok(StatusCode::NO_CONTENT)
}

/// Forgets up to 1,000 registered devices that match, with what they are owed, and closes their
/// connections. A fleet is removed in several requests: each gives the `next` of the one before as
/// `after`, until there is none. One that was cut off is sent again: a removed device is not
/// counted twice.
#[utoipa::path(delete, operation_id = "remove_registered_devices", path = "/api/apps/{app}/devices", tag = "Push platform",
    extensions(("x-right" = json!("device.manage:{app}/*"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("prefix" = Option<String>, Query, description = "Only devices whose ids begin with this."),
           ("named_user" = Option<String>, Query, description = "Only devices of this named user."),
           ("audience" = Option<String>, Query, description = "Only devices that this selector means, as JSON; `\"all\"` for all. One of `prefix`, `named_user` and `audience` is needed."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Devices removed at most; 1000 by default."),
           ("after" = Option<String>, Query, description = "Only devices after this one: `next` of the answer before.")),
    responses((status = 200, description = "How many are forgotten, and whether there may be more.", body = RemovedDevices),
              (status = 431, description = "The path, the query and the headers have more than 16 KiB; without a body."), PlatformProblems))]
pub(crate) async fn remove_several(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(name): Name,
    uri: Uri,
) -> Result<Json<RemovedDevices>, Problem> {
    let name = app_name(&name)?;
    let query = Query::read(&uri, &["prefix", "named_user", "audience", "limit", "after"])?;
    let limit = query.limit(PAGE_MAX, PAGE_MAX)?;
    let after = query.value("after").map(DeviceId::new).transpose();
    let (prefix, audience) = (query.value("prefix").unwrap_or_default().to_owned(), audience(&query)?);
    if prefix.is_empty() && audience.is_none() {
        let detail =
            "say which devices: `prefix`, `named_user` or `audience`; audience=\"all\" means all of the app";
        return Err(wrong("audience", detail.to_owned()));
    }
    let command = Command::Devices {
        app: name.clone(),
        audience,
        prefix,
        after: after.map_err(|error| wrong("after", error.to_string()))?,
        devices_max: limit as u32,
    };
    let found: Vec<DeviceView> = ask_for(&app, command).await?;
    let next = found.last().filter(|_| found.len() >= limit).map(|view| view.device.id.to_string());
    let devices: Vec<DeviceId> = found.into_iter().map(|view| view.device.id).collect();
    let mut removed = 0;
    if !devices.is_empty() {
        removed = ask_for(&app, Command::Remove { app: name.clone(), devices: devices.clone() }).await?;
        for device in &devices {
            disconnect(&app, &name, device, "the device was removed").await;
        }
        tracing::info!(app = name.as_str(), devices = removed, by = caller.key_id(), "Devices removed");
    }
    Ok(Json(RemovedDevices { removed, next }))
}
