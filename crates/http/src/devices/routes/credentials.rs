//! Credentials of devices, and devices that may not connect any more.
//!
//! A secret is made here, shown once, and kept nowhere: the shard gets its SHA-256. A device that
//! loses its credential or is revoked is cut at once.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use stadium_registry::{AppName, Changes, DeviceId, client_ids};

use crate::devices::registry::{apply, disconnect, known};
use crate::devices::views::{CredentialReport, device_id};
use crate::platform::app_name;
use crate::platform::ids::random;
use crate::platform::problems::PlatformProblems;
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::problem::Problem;
use crate::request::query::Names;

/// Makes a secret for a device: its MQTT password from now on. One that it had does not work any more.
#[utoipa::path(post, operation_id = "issue_credential", path = "/api/apps/{app}/devices/{device}/credential", tag = "Push platform",
    extensions(("x-right" = json!("device.manage:{app}/{device}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("device" = String, Path, description = "The device, percent-encoded.")),
    responses((status = 201, description = "The secret; it cannot be seen again.", body = CredentialReport), PlatformProblems))]
pub(crate) async fn issue(
    caller: Caller,
    State(app): State<Arc<App>>,
    Names(name, device): Names,
) -> Result<(StatusCode, Json<CredentialReport>), Problem> {
    let secret = URL_SAFE_NO_PAD.encode(random::<32>()?);
    let hash = ring::digest::digest(&ring::digest::SHA256, secret.as_bytes());
    let hash = hash.as_ref().try_into().expect("SHA-256 has 32 bytes");
    let changes = Changes { credential: Some(Some(hash)), ..Changes::default() };
    let (name, device) = changed(&app, (&name, &device), changes).await?;
    tracing::info!(app = name.as_str(), device = device.as_str(), by = caller.key_id(), "Credential issued");
    let client_id = client_ids(&name, &device).next().unwrap_or_default();
    Ok((StatusCode::CREATED, Json(CredentialReport::of(&device, client_id, secret))))
}

/// Takes a device's credential away and closes its connection. Other ways to log in are not touched: to keep it out, revoke it.
#[utoipa::path(delete, operation_id = "withdraw_credential", path = "/api/apps/{app}/devices/{device}/credential", tag = "Push platform",
    extensions(("x-right" = json!("device.manage:{app}/{device}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("device" = String, Path, description = "The device, percent-encoded.")),
    responses((status = 204, description = "It has none."), PlatformProblems))]
pub(crate) async fn withdraw(
    caller: Caller,
    State(app): State<Arc<App>>,
    Names(name, device): Names,
) -> Result<StatusCode, Problem> {
    let changes = Changes { credential: Some(None), ..Changes::default() };
    let (name, device) = changed(&app, (&name, &device), changes).await?;
    disconnect(&app, &name, &device, "its credential was withdrawn").await;
    tracing::info!(
        app = name.as_str(),
        device = device.as_str(),
        by = caller.key_id(),
        "Credential withdrawn"
    );
    Ok(StatusCode::NO_CONTENT)
}

/// Keeps a device out: its connection is closed now, and it gets no other one and no push until it is restored.
#[utoipa::path(post, operation_id = "revoke_device", path = "/api/apps/{app}/devices/{device}/revoke", tag = "Push platform",
    extensions(("x-right" = json!("device.manage:{app}/{device}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("device" = String, Path, description = "The device, percent-encoded.")),
    responses((status = 204, description = "It is revoked."), PlatformProblems))]
pub(crate) async fn revoke(
    caller: Caller,
    State(app): State<Arc<App>>,
    Names(name, device): Names,
) -> Result<StatusCode, Problem> {
    let changes = Changes { revoked: Some(true), ..Changes::default() };
    let (name, device) = changed(&app, (&name, &device), changes).await?;
    disconnect(&app, &name, &device, "the device was revoked").await;
    tracing::info!(app = name.as_str(), device = device.as_str(), by = caller.key_id(), "Device revoked");
    Ok(StatusCode::NO_CONTENT)
}

/// Lets a revoked device connect again.
#[utoipa::path(post, operation_id = "restore_device", path = "/api/apps/{app}/devices/{device}/restore", tag = "Push platform",
    extensions(("x-right" = json!("device.manage:{app}/{device}"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("device" = String, Path, description = "The device, percent-encoded.")),
    responses((status = 204, description = "It is not revoked."), PlatformProblems))]
pub(crate) async fn restore(
    caller: Caller,
    State(app): State<Arc<App>>,
    Names(name, device): Names,
) -> Result<StatusCode, Problem> {
    let changes = Changes { revoked: Some(false), ..Changes::default() };
    let (name, device) = changed(&app, (&name, &device), changes).await?;
    tracing::info!(app = name.as_str(), device = device.as_str(), by = caller.key_id(), "Device restored");
    Ok(StatusCode::NO_CONTENT)
}

/// Has a registered device, which the path names, changed; one that is not registered is unknown.
async fn changed(
    app: &App,
    (name, device): (&str, &str),
    changes: Changes,
) -> Result<(AppName, DeviceId), Problem> {
    let (name, device) = (app_name(name)?, device_id(device)?);
    known(app, &name, &device).await?;
    apply(app, &name, &device, changes).await?;
    Ok((name, device))
}
