//! Registered devices, as the shards know them: found, changed, and cut.

use axum::Json;
use stadium_push::live::ClientId;
use stadium_push::{Changed, Command, DeviceView, Refusal, refusal};
use stadium_registry::{AppName, Changes, DeviceId, client_ids};

use crate::devices::views::{ChangedDevice, ChangedDevices};
use crate::request::app::App;
use crate::request::problem::Problem;
use crate::shards::{ask_for, strange};

/// One device, where it is registered.
pub(crate) async fn find(
    app: &App,
    of: &AppName,
    device: &DeviceId,
) -> Result<Option<Box<DeviceView>>, Problem> {
    ask_for(app, Command::Device { app: of.clone(), device: device.clone() }).await
}

/// One device; a problem where it is not registered.
pub(crate) async fn known(app: &App, of: &AppName, device: &DeviceId) -> Result<Box<DeviceView>, Problem> {
    find(app, of, device).await?.ok_or_else(|| {
        let reason =
            format!("app {of} has no device {device}; register it with PUT /api/apps/{of}/devices/{device}");
        Refusal::Rejected { code: refusal::DEVICE_UNKNOWN, reason }.into()
    })
}

/// Has one device changed.
pub(crate) async fn apply(
    app: &App,
    of: &AppName,
    device: &DeviceId,
    changes: Changes,
) -> Result<Changed, Problem> {
    let command = Command::Change { app: of.clone(), devices: vec![(device.clone(), changes)] };
    let outcomes: Vec<Result<Changed, Refusal>> = ask_for(app, command).await?;
    Ok(outcomes.into_iter().next().ok_or_else(strange)??)
}

/// Has several devices changed.
pub(crate) async fn several(
    app: &App,
    of: AppName,
    devices: Vec<(DeviceId, Changes)>,
) -> Result<Json<ChangedDevices>, Problem> {
    let ids: Vec<_> = devices.iter().map(|(device, _)| device.to_string()).collect();
    let outcomes: Vec<Result<Changed, Refusal>> = ask_for(app, Command::Change { app: of, devices }).await?;
    if outcomes.len() != ids.len() {
        return Err(strange());
    }
    let outcomes = outcomes.into_iter().map(|outcome| outcome.map_err(Problem::from));
    let results = ids.into_iter().zip(outcomes).map(|(device, outcome)| ChangedDevice::of(device, outcome));
    Ok(Json(ChangedDevices { results: results.collect() }))
}

/// Closes a device's connections, where it has any: the shard cuts those that it knows, and one that never read its inbox is
/// known to its loop alone.
pub(crate) async fn disconnect(app: &App, of: &AppName, device: &DeviceId, why: &str) {
    for id in client_ids(of, device).filter_map(|id| ClientId::new(id).ok()) {
        if let Err(refusal) = app.fleet.kick(id, why.to_owned()).await {
            tracing::warn!(app = of.as_str(), device = device.as_str(), refusal = ?refusal, "A device could not be disconnected");
        }
    }
}
